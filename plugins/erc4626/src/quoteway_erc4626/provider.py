"""The vault provider: the base for all ERC-4626 vaults, and the provider of plain ones."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from cachetools import LRUCache
from quoteway import (
    Address,
    Build,
    ConfigError,
    Context,
    DeployRequest,
    GatewayError,
    InvalidRequest,
    ManageRequest,
    Network,
    NotFound,
    Notice,
    Quote,
    Reason,
    SealedQuote,
    Series,
    Vault,
    VaultPosition,
    VaultProvider,
    VaultRequest,
)
from quoteway.evm.address import parse_address

from quoteway_erc4626.building import build_vault
from quoteway_erc4626.catalog import YieldBook, entries, positions
from quoteway_erc4626.facts import VaultBook, VaultFacts, address_of, listed
from quoteway_erc4626.history import History
from quoteway_erc4626.interface import OPERATIONS
from quoteway_erc4626.metrics import apy_series, tvl_series
from quoteway_erc4626.quoting import quote_vault
from quoteway_erc4626.received_shares import ReceivedShares
from quoteway_erc4626.taxes import TransferTaxes


class TokenizedVaults(VaultProvider):
    """Deposit, withdraw, mint, redeem, catalog, series and positions of ERC-4626 vaults.

    A subclass defines the vaults that it lists and finds.
    """

    actions = OPERATIONS

    def __init__(self, context: Context) -> None:
        self.context = context
        self.book = VaultBook(context)
        self._yields = YieldBook(context)
        self._taxes = TransferTaxes(context)
        self._histories: dict[int, History] = {}
        self._shown: LRUCache[tuple[str, str], Vault] = LRUCache(1024)

    @abstractmethod
    async def listed(self, chain_id: int) -> Sequence[VaultFacts]:
        """Returns the vaults of the catalog on a chain."""

    @abstractmethod
    async def find(self, chain_id: int, address: Address) -> VaultFacts | None:
        """Returns a vault, listed or not; None when it is not this provider's. Raises ``NotFound``."""

    def warnings(self, facts: VaultFacts) -> tuple[Notice, ...]:
        """Returns the warnings of every quote and action about a vault."""
        return ()

    async def vaults(self, chain_id: int | None) -> Sequence[Vault]:
        """See ``VaultProvider``. Vaults of a chain that cannot be read are left out."""
        chains = sorted(self.networks) if chain_id is None else [chain_id]
        found = await asyncio.gather(*(self._entries(each) for each in chains), return_exceptions=True)
        for answer in found:
            if isinstance(answer, BaseException) and (
                len(found) == 1 or not isinstance(answer, GatewayError)
            ):
                raise answer
        return [vault for answer in found if not isinstance(answer, BaseException) for vault in answer]

    async def vault(self, vault_id: str) -> Vault | None:
        """See ``VaultProvider``. Cached per block: every quote and action looks the vault's provider up."""
        facts = await self.facts(vault_id)
        if facts is None:
            return None
        chain = self.context.chain(facts.chain_id)
        key = facts.id, (await chain.head()).hash
        if key not in self._shown:
            history = self.history(facts.chain_id)
            (self._shown[key],) = await entries(chain, history, self._yields, [facts], self.warnings)
        return self._shown[key]

    async def quote(self, request: VaultRequest | ManageRequest | DeployRequest) -> Quote | None:
        """See ``VaultProvider``; raises as ``quoting.quote_vault`` does."""
        if isinstance(request, DeployRequest):
            return None
        if isinstance(request, ManageRequest) or request.action not in OPERATIONS:
            raise InvalidRequest(
                f"action must be one of {', '.join(OPERATIONS)} for this vault.",
                reason=Reason.UNSUPPORTED_ACTION,
            )
        facts = await self.facts(request.vault_id)
        if facts is None:
            return None
        chain = self.context.chain(request.chain_id)
        block = await chain.head()
        quote = await quote_vault(chain, block, request, facts, self.warnings(facts))
        (paid,) = quote.inputs
        if paid.token == facts.asset and await self._taxes.taxed(
            request.chain_id, facts.asset.address, paid.account, paid.amount, block
        ):
            raise InvalidRequest(
                "The vault's asset takes a fee on transfers: the shares would be worth less than quoted.",
                reason=Reason.UNSUPPORTED_TOKEN,
            )
        return quote

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``VaultProvider``; raises as ``building.build_vault`` does."""
        request = sealed.request
        facts = await self.facts(request.vault_id) if isinstance(request, VaultRequest) else None
        if facts is None or not isinstance(request, VaultRequest):
            raise NotFound("The vault of this quote is unknown.", reason=Reason.QUOTE_INVALID)
        chain = self.context.chain(request.chain_id)
        return await build_vault(chain, sealed, request, facts, self.warnings(facts))

    async def series(self, vault_id: str, metric: str, start: int, end: int, interval: str) -> Series | None:
        """See ``VaultProvider``."""
        facts = await self.facts(vault_id)
        if facts is None or metric not in ("tvl", "apy"):
            return None
        head = await self.context.chain(facts.chain_id).head()
        make = tvl_series if metric == "tvl" else apy_series
        # A chain's clock may be ahead of ours.
        now = max(self.context.now(), head.timestamp)
        return await make(self.history(facts.chain_id), facts, head, start, end, interval, now)

    async def positions(self, wallet: Address) -> Sequence[VaultPosition]:
        """See ``VaultProvider``."""

        async def on(chain_id: int) -> list[VaultPosition]:
            vaults, others = await asyncio.gather(self.listed(chain_id), self.received(chain_id, wallet))
            listed = {facts.id for facts in vaults}
            every = [*vaults, *(facts for facts in others if facts.id not in listed)]
            return await positions(self.context.chain(chain_id), every, wallet)

        found = await asyncio.gather(*(on(chain_id) for chain_id in sorted(self.networks)))
        return [position for each in found for position in each]

    async def received(self, chain_id: int, wallet: Address) -> list[VaultFacts]:
        """Returns vaults outside the catalog whose shares the wallet received, where an index tells it."""
        return []

    async def facts(self, vault_id: str) -> VaultFacts | None:
        """Returns a vault's facts by id; None when it is not this provider's. Raises ``NotFound``."""
        try:
            chain_id, address = address_of(vault_id)
        except ValueError:
            return None
        return await self.find(chain_id, address) if chain_id in self.networks else None

    def history(self, chain_id: int) -> History:
        """Returns the past states of a chain."""
        if chain_id not in self._histories:
            self._histories[chain_id] = History(self.context.chain(chain_id))
        return self._histories[chain_id]

    async def _entries(self, chain_id: int) -> list[Vault]:
        chain = self.context.chain(chain_id)
        facts = await self.listed(chain_id)
        return await entries(chain, self.history(chain_id), self._yields, facts, self.warnings)


class Erc4626Provider(TokenizedVaults):
    """Vaults of the configuration and of the networks' rows, and any other by its id."""

    id = "erc4626"
    title = "ERC-4626 vaults"
    docs = "https://eips.ethereum.org/EIPS/eip-4626"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._ask_chain: bool = context.settings.get("ask_chain", True)
        self._rows = listed_rows(context)
        self._received = ReceivedShares()
        self.networks = frozenset(
            network.chain_id
            for network in context.networks
            if self._ask_chain or network.chain_id in self._rows
        )

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The listed vaults. Another vault is a target only in answers to the caller who named it."""
        return dict.fromkeys(self._rows.get(chain_id, {}), "ERC-4626 vault")

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The listed vaults."""
        return tuple(self._rows.get(chain_id, {}))

    async def listed(self, chain_id: int) -> Sequence[VaultFacts]:
        """See ``TokenizedVaults``. A row that is not a vault is left out and logged."""
        rows = self._rows.get(chain_id, {})
        found = await asyncio.gather(*(self.find(chain_id, row) for row in rows), return_exceptions=True)
        for row, answer in zip(rows, found, strict=True):
            if isinstance(answer, NotFound):
                self.context.log.warning("chain %d: %s", chain_id, answer.message)
            elif isinstance(answer, BaseException):
                raise answer
            elif answer is None:
                self.context.log.warning("chain %d: %s is not a vault", chain_id, row)
        return [answer for answer in found if isinstance(answer, VaultFacts)]

    async def find(self, chain_id: int, address: Address) -> VaultFacts | None:
        """See ``TokenizedVaults``."""
        row = self._rows.get(chain_id, {}).get(address)
        if row is None and not self._ask_chain:
            return None
        facts = await self.book.find(chain_id, address)
        return facts if row is None or facts is None else listed(facts, *row)

    async def received(self, chain_id: int, wallet: Address) -> list[VaultFacts]:
        """See ``TokenizedVaults``."""
        if not self._ask_chain:
            return []
        return await self._received.vaults(self.context, chain_id, wallet, self.find)


Rows = dict[int, dict[Address, tuple[str, str]]]
"""Chain id -> vault -> (protocol, strategy)."""


def listed_rows(context: Context) -> Rows:
    """Returns the vaults to list: public ones, the networks' rows, the configuration's. The last of several
    rows for one vault counts. Raises ``ConfigError``."""
    from quoteway_erc4626.public_vaults import ROWS

    rows: Rows = {}
    for network in context.networks:
        for row in ROWS.get(network.chain_id, ()):
            _add(rows, network, row, "public_vaults")
        for row in network.deployments.get("erc4626", ()):
            _add(rows, network, row, f"deployments.erc4626 of network {network.slug!r}")
    for item in context.settings.get("vaults", ()):
        where = "plugin.erc4626.vaults"
        if isinstance(item, str):
            # The network may itself be "eip155:N".
            slug, _, vault = item.rpartition(":")
            item = {"network": slug, "vault": vault}
        if not isinstance(item, Mapping):
            raise ConfigError(f'{where}: a vault is "network:0x..." or a table with network and vault')
        members = dict(item)
        network = context.networks.configured(members.pop("network", None), where)
        _add(rows, network, members, where)
    return rows


def _add(rows: Rows, network: Network, row: Mapping[str, Any], where: str) -> None:
    unknown = sorted(set(row) - {"vault", "protocol", "strategy"})
    if unknown:
        raise ConfigError(
            f"{where}: unknown member {unknown[0]!r}; known: network, vault, protocol, strategy"
        )
    try:
        vault = parse_address(row["vault"])
    except KeyError:
        raise ConfigError(f"{where}: a row has no vault: add its address") from None
    except (ValueError, AttributeError) as error:
        raise ConfigError(f"{where}: vault {row['vault']!r}: {error}") from None
    names = str(row.get("protocol", "erc4626")), str(row.get("strategy", ""))
    rows.setdefault(network.chain_id, {})[vault] = names
