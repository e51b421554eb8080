"""Finds contracts that providers need and that a network does not have, and explains failures by them.

A provider is asked whether or not its contracts are missing: what is missing only explains a request that has
failed, an empty list, or a row of ``/v2/providers``. So a wrong answer of a node disables nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.evm.deployed_code import without_code
from quoteway.guard.findings import is_address
from quoteway.host.checked_provider import MOST_CHARS, contracts_of
from quoteway.host.refresh import Clock, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.states import networks_of
from quoteway.models import Address
from quoteway.providers import Provider

FIRST_CHECK_AGAIN_S = 5.0
MOST_CHECK_AGAIN_S = 300.0
"""A network is checked again after these times, which double from the first to the last. One on which
contracts are missing is also checked when a request fails or asks for them."""
POLICY = RefreshPolicy(fresh_s=1.0, retry_s=5.0, newer_wait_s=1.0, first_wait_s=1.0)
"""The waits are those of requests that have failed already."""
MOST_CHECKED = 2_000
"""The most contracts of one network that are looked for."""
_NAMED = 3
"""How many missing contracts a message names."""
_OF_ANY = frozenset({Reason.NO_ROUTE, Reason.INSUFFICIENT_LIQUIDITY, Reason.REVERTED, Reason.RPC_ERROR})
_OF_CALLED = frozenset({Reason.PROVIDER_ERROR, Reason.QUOTE_MISMATCH, Reason.UNSAFE_ANSWER})
"""The reasons of failures that any missing contract can be the cause of, and of those that only one can be
which the transactions call."""


@dataclass(frozen=True, slots=True)
class MissingContract:
    """A contract that a provider needs on a network, and that has no code there.

    ``is_called``: the provider's transactions call it; else the provider only reads it.
    """

    provider: str
    network: str
    chain_id: int
    contract: Address
    label: str
    is_called: bool

    def __str__(self) -> str:
        return f"{self.label} ({self.contract})"


class MissingContracts:
    """The missing contracts of one gateway. Networks are checked in the background, from ``watch`` on."""

    def __init__(self, runtime: Runtime, registry: Registry, clock: Clock = time.monotonic) -> None:
        self._runtime = runtime
        self._registry = registry
        self._deployed: dict[int, dict[Address, None]] = {}
        """The contracts that were found, by chain id. They are not looked for again."""
        self._absent: Refresher[int, frozenset[Address]] = Refresher(
            self._read, POLICY, most_keys=4_096, clock=clock
        )
        self._watches: list[asyncio.Task[None]] = []

    def watch(self) -> None:
        """Starts to check every network, and checks again until all contracts are found."""
        for network in self._runtime.networks:
            name = f"contracts:{network.slug}"
            self._watches.append(asyncio.create_task(self._watch(network.chain_id), name=name))

    async def close(self) -> None:
        """Ends the checks."""
        for task in self._watches:
            task.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self._absent.close()

    def of(self, provider: Provider, chain_ids: Iterable[int]) -> list[MissingContract]:
        """Returns what a provider misses on these networks by the last check of each. Waits for nothing."""
        found = []
        for chain_id in self._doubtful(chain_ids):
            found += self.known(provider, chain_id)
            self._absent.begin(chain_id)  # for those who ask next: it may have appeared
        return found

    def known(self, provider: Provider, chain_id: int) -> list[MissingContract]:
        """Returns what a provider misses on a network by its last check. Begins none."""
        absent = self._absent.known(chain_id).value
        network = self._runtime.networks.by_chain_id(chain_id)
        if not absent or network is None:
            return []
        called = contracts_of(provider, chain_id)
        return [
            MissingContract(
                *(provider.id, network.slug, chain_id),
                *(address, _shown(label, provider), address in called),
            )
            for address, label in provider.expected_contracts(chain_id).items()
            if address in absent
        ]

    async def now(self, providers: Sequence[Provider], chain_ids: Collection[int]) -> list[MissingContract]:
        """Returns what these providers miss by a check that is made now, where one has found anything.

        Waits for a network's first check too, both for a bounded time. Returns nothing for a network whose
        nodes fail or contradict themselves.
        """
        doubtful = self._doubtful(chain_ids)
        checked = await self._absent.get(doubtful)
        certain = [chain_id for chain_id in doubtful if checked[chain_id].failure is None]
        return [each for provider in providers for each in self.of(provider, certain)]

    @contextlib.asynccontextmanager
    async def explaining(self, providers: Sequence[Provider], *chain_ids: int) -> AsyncIterator[None]:
        """Replaces a failure of these providers by ``contract_missing`` when they miss contracts."""
        try:
            yield
        except GatewayError as error:
            if error.reason not in _OF_ANY | _OF_CALLED:
                raise
            found = await self.now(providers, chain_ids)
            if error.reason in _OF_CALLED:
                found = [each for each in found if each.is_called]
            if not found:
                raise
            explained = missing_error(found)
            explained.attempts, explained.revert_reason = error.attempts, error.revert_reason
            raise explained from error

    async def hiding(
        self, addresses: Collection[str], providers: Sequence[Provider], *chain_ids: int
    ) -> list[MissingContract]:
        """Returns the missing contracts for which a node knows nothing of ``addresses``.

        These are those of them that a provider needs; else those of the providers, when none of the contracts
        that their transactions call is there. Empty: the addresses are at fault.
        """
        found = await self.now(providers, chain_ids)
        named = [each for each in found if each.contract in addresses]
        if named:
            return named
        absent = {(each.chain_id, each.contract) for each in found}
        called = {(c, a) for provider in providers for c in chain_ids for a in contracts_of(provider, c)}
        return found if called <= absent else []

    def _doubtful(self, chain_ids: Iterable[int]) -> list[int]:
        """Returns the networks that no check has found complete yet; none before ``watch``."""
        if not self._watches:
            return []
        return [each for each in dict.fromkeys(chain_ids) if self._absent.known(each).value != frozenset()]

    async def _watch(self, chain_id: int) -> None:
        delay_s = FIRST_CHECK_AGAIN_S
        while True:
            await self._absent.get([chain_id])
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, MOST_CHECK_AGAIN_S)

    async def _read(self, chain_ids: Sequence[int]) -> dict[int, frozenset[Address]]:
        (chain_id,) = chain_ids
        deployed = self._deployed.setdefault(chain_id, {})
        entries = (entry.provider for entry in self._registry.providers if entry.enabled)
        expected = {
            address: None
            for provider in entries
            if chain_id in networks_of(provider)
            for address in provider.expected_contracts(chain_id)
            if is_address(address)
        }
        unknown = [address for address in expected if address not in deployed][:MOST_CHECKED]
        if not unknown:
            return {chain_id: frozenset()}
        known = next(iter(deployed), None)
        absent = await without_code(self._runtime.chain(chain_id), unknown, known=known)
        deployed.update(dict.fromkeys(address for address in unknown if address not in absent))
        return {chain_id: absent}


def missing_error(found: Sequence[MissingContract]) -> UpstreamError:
    """Returns the error of what needs these contracts. ``found`` must not be empty."""
    unique = dict.fromkeys((each.network, str(each)) for each in found)
    (network, _), *_ = unique
    named = [text for slug, text in unique if slug == network]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    makers = ", ".join(sorted({each.provider for each in found if each.network == network}))
    text = (
        f"{makers} needs contracts that have no code on {network}: {', '.join(named[:_NAMED])}{more}. "
        "missingContracts of /v2/providers lists them."
    )
    return UpstreamError(text, reason=Reason.CONTRACT_MISSING, retryable=False)


def _shown(label: str, provider: Provider) -> str:
    """Returns a provider's label where it may be shown."""
    fit = 0 < len(label) <= MOST_CHARS and label.isprintable()
    return label if fit else f"a contract of {provider.id}"
