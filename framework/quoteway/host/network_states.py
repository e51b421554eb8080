"""Says of each network, and of each capability on it, whether it is ready, and why it is not.

From memory, but for the age of the head, which is read at most once in ``head_ages.EVERY_S``. No request
depends on these states: they are for operators and, with ``[server] ready_when``, for ``/readyz``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from quoteway.host.checked_provider import contracts_of
from quoteway.host.head_ages import HeadAges, SeenHead
from quoteway.host.lists import Lists
from quoteway.host.missing_contracts import MissingContracts
from quoteway.host.registry import Registry
from quoteway.host.states import NotEnabled, ProviderEntry, networks_of
from quoteway.host.token_directory import TokenDirectory
from quoteway.host.upstream_health import upstream_health
from quoteway.models import Capability, UpstreamHealth
from quoteway.networks import Network

MAX_LAG_S: Final = 30.0
"""A node that is further behind the newest known block lags."""


class Level(StrEnum):
    """How well a network or capability is served, best first."""

    READY = "ready"
    """Nothing is known to be wrong."""
    DEGRADED = "degraded"
    """A part does not work, and others still answer."""
    DEAD = "dead"
    """Nothing can be answered."""


class Why(StrEnum):
    """All reasons why a network or capability is not ready."""

    NO_NODE_ANSWERS = "no_node_answers"
    """No RPC upstream of the network answers with its chain id."""
    HEAD_STALE = "head_stale"
    """The newest block is older than `head_stale_s` of the network."""
    HEAD_LAGS = "head_lags"
    """A node is more than 30 s of blocks behind the newest known block, or the answers go back."""
    NODE_OUT = "node_out"
    """The breaker of a node is open: it is asked only when no other answers."""
    PROVIDER_NOT_ENABLED = "provider_not_enabled"
    """A provider is not enabled; `reason` of its row in `GET /v2/providers` says why."""
    PROCESS_ENDED = "process_ended"
    """The process of an isolated plugin has ended."""
    CONTRACT_MISSING = "contract_missing"
    """Contracts that a provider needs have no code on the network."""
    BREAKER_OPEN = "breaker_open"
    """A provider failed three times in a row on the network, and has not answered since."""
    LIST_UNREAD = "list_unread"
    """A list of a provider (pools, vaults, routes, tokens) has never been read."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The level of a network or capability. ``why`` is empty when it is ready."""

    level: Level = Level.READY
    why: tuple[Why, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkState:
    """The condition of a network and of the capabilities that some plugin offers on it.

    ``head_at`` is the timestamp of its newest block; None when it is not known.
    """

    network: Network
    condition: Condition
    capabilities: Mapping[Capability, Condition]
    head_at: int | None = None


_NEED_NODES: Final = frozenset(
    {
        *(Capability.SWAP, Capability.BRIDGE, Capability.POOL, Capability.VAULT),
        *(Capability.LIQUIDITY, Capability.EXECUTION),
    }
)
"""The capabilities that answer nothing without a node."""
_CHOSEN: Final = frozenset({NotEnabled.NOT_SELECTED, NotEnabled.DISABLED, NotEnabled.SQUATTER})
"""The reasons that are the operator's choice: such a provider is not expected to work."""


class NetworkStates:
    """The states of one gateway."""

    def __init__(
        self,
        registry: Registry,
        heads: HeadAges,
        missing: MissingContracts,
        lists: Lists,
        tokens: TokenDirectory,
    ) -> None:
        self._registry = registry
        self._heads = heads
        self._missing = missing
        self._lists = lists
        self._tokens = tokens

    async def get(
        self, networks: Sequence[Network], silent: Collection[Network], behind: Collection[Network]
    ) -> list[NetworkState]:
        """Returns the states of ``networks``.

        ``silent`` are those of which no node answers, ``behind`` those whose nodes answered an older block
        than one that is known.
        """
        rows, heads = await asyncio.gather(
            upstream_health(self._registry.enabled(Capability.RPC)),
            self._heads.get(network for network in networks if network not in silent),
        )
        return [
            self._state(
                network,
                [row for _, row in rows if row.chain_id == network.chain_id],
                heads.get(network.chain_id),
                answers=network not in silent,
                goes_back=network in behind,
            )
            for network in networks
        ]

    def _state(
        self,
        network: Network,
        rows: Sequence[UpstreamHealth],
        head: SeenHead | None,
        *,
        answers: bool,
        goes_back: bool,
    ) -> NetworkState:
        found: dict[Capability, Condition] = {}
        for capability in Capability:
            entries = [
                entry
                for entry in self._registry.providers
                if entry.provider.capability is capability
                and network.chain_id in networks_of(entry.provider)
                and entry.not_enabled not in _CHOSEN
                and not self._registry.is_builtin(entry.provider)  # it only joins what others quote
            ]
            if not entries:
                continue
            parts = [self._of_provider(entry, network.chain_id) for entry in entries]
            condition = _together(parts)
            if capability is Capability.RPC and answers:
                worse = self._of_nodes(network, rows, head, goes_back=goes_back)
                condition = _with(condition, worse)
            is_asked = condition.level is not Level.DEAD  # of upstreams that are not enabled, none is
            if not answers and (capability in _NEED_NODES or (capability is Capability.RPC and is_asked)):
                condition = Condition(Level.DEAD, _ordered((*condition.why, Why.NO_NODE_ANSWERS)))
            found[capability] = condition
        nodes = found.get(Capability.RPC, Condition(Level.DEAD, (Why.PROVIDER_NOT_ENABLED,)))
        why = _ordered(each for condition in (nodes, *found.values()) for each in condition.why)
        level = Level.DEAD if nodes.level is Level.DEAD else Level.DEGRADED if why else Level.READY
        head_at = None if head is None else head.timestamp
        return NetworkState(network, Condition(level, why), found, head_at)

    def _of_nodes(
        self, network: Network, rows: Iterable[UpstreamHealth], head: SeenHead | None, *, goes_back: bool
    ) -> Iterator[Why]:
        """Yields what is wrong with the nodes of a network that answers."""
        if head is not None and self._heads.is_stale(network, head):
            yield Why.HEAD_STALE
        used = [row for row in rows if row.state != "cordoned"]
        if goes_back or any((row.lag or 0) * network.block_time_s > MAX_LAG_S for row in used):
            yield Why.HEAD_LAGS
        if any(row.state == "open" for row in used):
            yield Why.NODE_OUT

    def _of_provider(self, entry: ProviderEntry, chain_id: int) -> Condition:
        provider = entry.provider
        if not entry.enabled:
            ended = entry.not_enabled is NotEnabled.PROCESS_ENDED
            return Condition(Level.DEAD, (Why.PROCESS_ENDED if ended else Why.PROVIDER_NOT_ENABLED,))
        why = []
        missing = self._missing.known(provider, chain_id)
        if missing:
            why.append(Why.CONTRACT_MISSING)
        if self._registry.calls.is_paused(provider, chain_id):
            why.append(Why.BREAKER_OPEN)
        if self._lists.is_unread(provider, chain_id) or self._tokens.is_unread(provider):
            why.append(Why.LIST_UNREAD)
        called = set(contracts_of(provider, chain_id))
        if called and called <= {each.contract for each in missing}:
            return Condition(Level.DEAD, _ordered(why))
        return Condition(Level.DEGRADED if why else Level.READY, _ordered(why))


def _together(parts: Sequence[Condition]) -> Condition:
    """Returns the condition of what several providers serve: dead when all of them are."""
    why = _ordered(each for part in parts for each in part.why)
    if all(part.level is Level.DEAD for part in parts):
        return Condition(Level.DEAD, why)
    return Condition(Level.DEGRADED if why else Level.READY, why)


def _with(condition: Condition, more: Iterable[Why]) -> Condition:
    why = _ordered((*condition.why, *more))
    return (
        Condition(Level.DEGRADED, why)
        if why and condition.level is Level.READY
        else Condition(condition.level, why)
    )


def _ordered(why: Iterable[Why]) -> tuple[Why, ...]:
    found = set(why)
    return tuple(each for each in Why if each in found)
