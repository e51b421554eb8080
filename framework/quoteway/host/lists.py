"""Keeps the providers' lists (pools, vaults, tokens, routes) in memory and reads them in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from quoteway.errors import Reason, UpstreamError
from quoteway.host.list_rows import checked_rows
from quoteway.host.refresh import Clock, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.states import networks_of
from quoteway.models import Capability
from quoteway.providers import Provider

T = TypeVar("T")

READ_TIMEOUT_S = 30.0
"""Timeout of a provider's list. Requests do not wait that long, because reads run in the background."""
POLICY = RefreshPolicy(newer_wait_s=0.05, first_wait_s=2.0, old_s=60.0)
"""Each request starts a new read. A list older than ``old_s`` is waited for as long as one not read yet."""
MOST_LISTS = 4_096
"""Maximum number of lists in memory: one per provider and chain, or pair of chains."""

Scope: TypeAlias = tuple[int | None, ...]
"""Chain ids that a list is read for: one chain, or origin and destination. None means all chains."""


@dataclass(frozen=True, slots=True)
class ListKind(Generic[T]):
    """One list of the API: the capability that has it, the class of its rows, and the provider call.

    With ``by_chain``, each chain of a provider is read in a call of its own, so that a slow chain does not
    delay the others. Otherwise ``everything`` is the scope of the whole list.
    """

    capability: Capability
    model: type[T]
    ask: Callable[..., Awaitable[Sequence[T]]] = field(repr=False)
    by_chain: bool = False
    everything: Scope = (None,)


@dataclass(frozen=True, slots=True)
class Merged(Generic[T]):
    """The rows of all providers, in configured order.

    ``partial`` has the id and reason of each provider that has not answered yet or whose last read failed.
    ``read_at`` is the time of the oldest answer in Unix seconds, or None when there is no answer.
    """

    rows: Sequence[T]
    partial: Sequence[tuple[str, Reason]]
    read_at: float | None


_Key: TypeAlias = tuple[ListKind[Any], str, Scope]
_Answer: TypeAlias = tuple[tuple[Any, ...], float]


class Lists:
    """The lists of one gateway. ``kinds`` are read when the providers have started."""

    def __init__(self, registry: Registry, clock: Clock, policy: RefreshPolicy = POLICY) -> None:
        self.kinds: Sequence[ListKind[Any]] = ()
        self._registry = registry
        self._clock = clock
        self._refresher: Refresher[_Key, _Answer] = Refresher(self._read, policy, most_keys=MOST_LISTS)

    def warm(self) -> set[asyncio.Task[None]]:
        """Starts a read of every list of ``kinds``, and returns the reads."""
        enabled = ((kind, each) for kind in self.kinds for each in self._registry.enabled(kind.capability))
        keys = [key for kind, provider in enabled for key in _keys(kind, provider, None)]
        for key in keys:
            self._refresher.begin(key)
        return self._refresher.running(keys)

    async def get(self, kind: ListKind[T], scope: Scope | None, providers: Iterable[Provider]) -> Merged[T]:
        """Returns the rows of these providers; without ``scope``, of all their chains.

        Answers from memory, or after a bounded wait. Raises ``UpstreamError`` when no provider has an answer
        and at least one failed for another reason than a timeout: an empty list would be wrong.
        """
        wanted = [key for provider in providers for key in _keys(kind, provider, scope)]
        found = await self._refresher.get(wanted)
        # Rows that are missing, or old after a failure. The last reason of a provider counts.
        missing = {
            key[1]: kept.failure for key, kept in found.items() if kept.failure or kept.read_at_s is None
        }
        partial = [(provider, reason or Reason.PROVIDER_TIMEOUT) for provider, reason in missing.items()]
        answers = [kept.value for kept in found.values() if kept.value is not None]
        if found and not answers:
            failed = next((reason for _, reason in partial if reason is not Reason.PROVIDER_TIMEOUT), None)
            if failed is not None:
                raise UpstreamError("The list could not be read.", reason=failed, retryable=True)
        rows = [row for answer, _ in answers for row in answer]
        return Merged(rows, partial, min((read_at for _, read_at in answers), default=None))

    def is_unread(self, provider: Provider, chain_id: int) -> bool:
        """Returns whether a list that a provider has of a network has never been read."""
        return any(
            self._refresher.known(key).read_at_s is None
            for kind in self.kinds
            if kind.capability is provider.capability
            for key in _keys(kind, provider, (chain_id,) if kind.by_chain else None)
        )

    async def close(self) -> None:
        """Cancels running reads."""
        await self._refresher.close()

    async def _read(self, keys: Sequence[_Key]) -> dict[_Key, _Answer]:
        ((kind, provider_id, scope),) = keys
        provider = self._registry.get(kind.capability, provider_id)
        if provider is None:
            raise UpstreamError("The provider is no longer enabled.", reason=Reason.CAPABILITY_DISABLED)

        async def ask(asked: Provider) -> tuple[Any, ...]:
            return await checked_rows(asked, await kind.ask(asked, *scope) or (), kind.model)

        (outcome,) = await self._registry.calls.ask_all(
            [provider], ask, verb="list", timeout_s=READ_TIMEOUT_S
        )
        if outcome.failed:
            raise outcome.failure()
        return {keys[0]: (outcome.value or (), self._clock())}


def _keys(kind: ListKind[Any], provider: Provider, scope: Scope | None) -> list[_Key]:
    scopes = [scope or kind.everything]
    if kind.by_chain and scope is None:
        # A provider without chain ids is read in one call.
        scopes = [(chain_id,) for chain_id in sorted(networks_of(provider))] or scopes
    return [(kind, provider.id, each) for each in scopes]
