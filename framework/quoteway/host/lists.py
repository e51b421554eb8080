"""The providers' lists (pools, vaults, tokens, routes) in memory, read in the background, warmed at start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from quoteway.errors import Reason, UpstreamError
from quoteway.guard.findings import check_form
from quoteway.host.refresh import Kept, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.states import networks_of
from quoteway.models import Capability
from quoteway.providers import Provider

T = TypeVar("T")

READ_TIMEOUT_S = 30.0
"""How long a provider may take for a list. Nobody waits that long: the read runs in the background."""
POLICY = RefreshPolicy(newer_wait_s=0.05, first_wait_s=2.0, old_s=60.0)
"""Lists of the API are read anew at each request; one older than a minute nobody has asked for lately."""
MOST_LISTS = 4_096
"""Providers times chains, or pairs of chains, that are kept."""

Scope: TypeAlias = tuple[int | None, ...]
"""What a provider is asked for: one chain id, or two ends; None: all."""


@dataclass(frozen=True, slots=True)
class ListKind(Generic[T]):
    """One list of the API: the capability that has it, what it is of, and how a provider is asked for it.

    ``by_chain``: a provider is asked for each of its chains by itself, so that a slow one costs the others
    nothing. ``everything`` is the scope of the whole list where it is not asked for by chain.
    """

    capability: Capability
    model: type[T]
    ask: Callable[..., Awaitable[Sequence[T]]] = field(repr=False)
    by_chain: bool = False
    everything: Scope = (None,)


@dataclass(frozen=True, slots=True)
class Merged(Generic[T]):
    """The rows of all providers, in configured order. ``partial`` names (provider id, reason) once each: who
    has no answer yet, and who failed the last time. ``read_at`` is when the oldest answer among them was
    read, in Unix seconds; None when there is none.
    """

    rows: Sequence[T]
    partial: Sequence[tuple[str, Reason]]
    read_at: float | None


_Key: TypeAlias = tuple[ListKind[Any], str, Scope]


class Lists:
    """The lists of one gateway. ``kinds`` are read as soon as the providers are up."""

    def __init__(
        self, registry: Registry, clock: Callable[[], float], policy: RefreshPolicy = POLICY
    ) -> None:
        self.kinds: Sequence[ListKind[Any]] = ()
        self._registry = registry
        self._clock = clock
        self._refresher: Refresher[_Key, tuple[tuple[Any, ...], float]] = Refresher(
            self._read, policy, most_keys=MOST_LISTS
        )

    def warm(self) -> None:
        """Starts to read every list of ``kinds``."""
        for kind in self.kinds:
            for provider in self._registry.enabled(kind.capability):
                for key in _keys(kind, provider, None):
                    self._refresher.begin(key)

    async def get(self, kind: ListKind[T], scope: Scope | None, providers: Iterable[Provider]) -> Merged[T]:
        """What these providers list; of all their chains without a ``scope``. From memory, or after a bounded
        wait.

        Raises ``UpstreamError`` when no provider has an answer and one failed otherwise than by being slow:
        no rows would look like none.
        """
        wanted = [key for provider in providers for key in _keys(kind, provider, scope)]
        found = await self._refresher.get(wanted)
        missing = {key[1]: reason for key, kept in found.items() if (reason := _missing(kept)) is not None}
        partial = list(missing.items())
        answers = [kept.value for kept in found.values() if kept.value is not None]
        if found and not answers:
            failed = next((reason for _, reason in partial if reason is not Reason.PROVIDER_TIMEOUT), None)
            if failed is not None:
                raise UpstreamError("The list could not be read.", reason=failed, retryable=True)
        rows = [row for answer, _ in answers for row in answer]
        return Merged(rows, partial, min((read_at for _, read_at in answers), default=None))

    async def close(self) -> None:
        """Ends what is still being read."""
        await self._refresher.close()

    async def _read(self, keys: Sequence[_Key]) -> dict[_Key, tuple[tuple[Any, ...], float]]:
        ((kind, provider_id, scope),) = keys
        provider = self._registry.get(kind.capability, provider_id)
        if provider is None:
            raise UpstreamError("The provider is no longer enabled.", reason=Reason.CAPABILITY_DISABLED)

        async def ask(asked: Provider) -> tuple[Any, ...]:
            rows = tuple(await kind.ask(asked, *scope) or ())
            check_form(asked, rows, tuple[kind.model, ...])  # type: ignore[name-defined]
            return rows

        (outcome,) = await self._registry.calls.ask_all(
            [provider], ask, verb="list", timeout_s=READ_TIMEOUT_S
        )
        if outcome.kind in ("failed", "timeout"):
            raise outcome.error or UpstreamError("The provider failed.", reason=outcome.reason)
        return {keys[0]: (outcome.value or (), self._clock())}


def _keys(kind: ListKind[Any], provider: Provider, scope: Scope | None) -> list[_Key]:
    scopes = [scope or kind.everything]
    if kind.by_chain and scope is None:
        # A provider that names no chain is asked as a whole.
        scopes = [(chain_id,) for chain_id in sorted(networks_of(provider))] or scopes
    return [(kind, provider.id, each) for each in scopes]


def _missing(kept: Kept[Any]) -> Reason | None:
    """Why a key's rows are missing or old; None when they are not."""
    if kept.failure is not None:
        return kept.failure
    return Reason.PROVIDER_TIMEOUT if kept.read_at_s is None else None
