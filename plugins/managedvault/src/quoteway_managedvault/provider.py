"""The provider of managed vaults: ERC-4626 operations, deployment, management and rebalancing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from cachetools import LRUCache
from quoteway import (
    Address,
    Build,
    Context,
    DeployRequest,
    ManageRequest,
    NotFound,
    Notice,
    Quote,
    Reason,
    SealedQuote,
    UpstreamError,
    VaultRequest,
)
from quoteway.evm.address import checksum
from quoteway.evm.chain import Call
from quoteway.evm.erc20 import word
from quoteway_erc4626.facts import VaultFacts, listed
from quoteway_erc4626.provider import TokenizedVaults

from quoteway_managedvault.contracts import IS_VAULT, UNAUDITED, VAULT_COUNT, VAULTS
from quoteway_managedvault.deploying import build_deployment, quote_deployment
from quoteway_managedvault.deployments import deployments_of
from quoteway_managedvault.managing import MANAGEMENT_CALLS, build_management, quote_management

MAX_LISTED = 500
"""The newest vaults of a factory that are listed: anyone may deploy vaults. All are found by id."""


class ManagedVaultProvider(TokenizedVaults):
    """The vaults of ``ManagedVaultFactory``, with the warning ``unaudited`` in every quote and action."""

    id = "managedvault"
    title = "Managed vaults (unaudited)"
    manage_actions = tuple(MANAGEMENT_CALLS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._deployments = deployments_of(context)
        self.networks = frozenset(self._deployments)
        self.deploy_strategies = {at: tuple(each.strategies) for at, each in self._deployments.items()}
        self._vaults: LRUCache[tuple[int, int], Address] = LRUCache(8192)
        self._seen: LRUCache[tuple[int, Address], bool] = LRUCache(8192)
        # An address may become a vault of the factory later: cached for one block only.
        self._foreign: LRUCache[tuple[int, Address, str], bool] = LRUCache(1024)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The factory and those of its vaults that this process has seen; all have the factory's code."""
        deployment = self._deployments.get(chain_id)
        factory = {deployment.factory: "Managed vault factory"} if deployment else {}
        return factory | dict.fromkeys(self.spenders(chain_id), "Managed vault")

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The vaults seen. Another vault is a spender only in answers to the caller who names it."""
        return tuple(address for chain, address in self._seen if chain == chain_id)

    def warnings(self, facts: VaultFacts) -> tuple[Notice, ...]:
        """See ``TokenizedVaults``."""
        return (UNAUDITED,)

    async def listed(self, chain_id: int) -> Sequence[VaultFacts]:
        """See ``TokenizedVaults``: the factory's list, newest first. Its entries never change."""
        deployment = self._deployments.get(chain_id)
        if deployment is None:
            return []
        chain = self.context.chain(chain_id)
        (counted,) = await chain.call_many([Call(deployment.factory, VAULT_COUNT.encode([]))])
        count = word(counted)
        if count is None:
            raise UpstreamError("The managed vaults cannot be listed.", reason=Reason.PROVIDER_ERROR)
        indexes = range(max(0, count - MAX_LISTED), count)
        unknown = [index for index in indexes if (chain_id, index) not in self._vaults]
        reads = [Call(deployment.factory, VAULTS.encode([index])) for index in unknown]
        for index, answer in zip(unknown, await chain.call_many(reads) if reads else (), strict=True):
            value = word(answer)
            if value is not None:
                self._vaults[chain_id, index] = checksum(f"0x{value:040x}")
        addresses = [self._vaults.get((chain_id, index)) for index in reversed(indexes)]
        found = [await self._own(chain_id, address) for address in addresses if address is not None]
        return [facts for facts in found if facts is not None]

    async def find(self, chain_id: int, address: Address) -> VaultFacts | None:
        """See ``TokenizedVaults``: the factory says which vaults are its own."""
        if (chain_id, address) not in self._seen:
            chain = self.context.chain(chain_id)
            key = chain_id, address, (await chain.head()).hash
            if key not in self._foreign:
                call = Call(self._deployments[chain_id].factory, IS_VAULT.encode([address]))
                (answer,) = await chain.call_many([call])
                self._foreign[key] = word(answer) != 1
            if self._foreign[key]:
                return None
        return await self._own(chain_id, address)

    async def quote(self, request: VaultRequest | ManageRequest | DeployRequest) -> Quote | None:
        """See ``VaultProvider``; raises as ``quote_deployment``, ``quote_management`` and ``quote_vault``
        do."""
        deployment = self._deployments.get(request.chain_id)
        if deployment is None:
            return None
        chain = self.context.chain(request.chain_id)
        if isinstance(request, DeployRequest):
            return await quote_deployment(chain, await chain.head(), deployment, self.book, request)
        if not _is_management(request):
            return await super().quote(request)
        facts = await self.facts(request.vault_id)
        if facts is None:
            return None
        return await quote_management(chain, await chain.head(), deployment, request, facts)

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``VaultProvider``."""
        request = sealed.request
        if isinstance(request, DeployRequest):
            return await build_deployment(sealed, request)
        if not _is_management(request):
            return await super().build(sealed)
        facts = await self.facts(request.vault_id)
        if facts is None:
            raise NotFound("The vault of this quote is unknown.", reason=Reason.QUOTE_INVALID)
        return await build_management(self.context.chain(request.chain_id), sealed, request, facts)

    async def _own(self, chain_id: int, address: Address) -> VaultFacts | None:
        facts = await self.book.find(chain_id, address)
        if facts is None:
            return None
        self._seen[chain_id, address] = True
        return listed(facts, "managedvault", "managed")


def _is_management(request: object) -> TypeGuard[ManageRequest]:
    return isinstance(request, ManageRequest) and request.action in ("rebalance", *MANAGEMENT_CALLS)
