"""Which providers the caller of the current request may have quotes and actions of.

An API key may be limited to some providers. The limit is kept beside the request, as its trace is, so that
no operation can forget to pass it on. What reads for all callers, such as lists and prices, does not ask it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

from quoteway.config.keys import NamedKey
from quoteway.config.model import Config
from quoteway.errors import InvalidRequest, Reason
from quoteway.near_names import suggestion
from quoteway.providers import Provider

log = logging.getLogger("quoteway.engine.provider_sets")

ProviderSet: TypeAlias = frozenset[str] | None
"""Ids of providers; None: all."""

P = TypeVar("P", bound=Provider)

_usable: ContextVar[ProviderSet] = ContextVar("quoteway_provider_set", default=None)


class ProviderNotAllowed(InvalidRequest, status=403):
    """The caller's API key gets no quotes and actions of these providers."""


def limit_providers(ids: ProviderSet) -> None:
    """Limits the current task, and those that it starts from now on, to these providers."""
    _usable.set(ids)


@contextlib.contextmanager
def limited_to(ids: ProviderSet) -> Iterator[None]:
    """Limits what happens inside to these providers."""
    mark = _usable.set(ids)
    try:
        yield
    finally:
        _usable.reset(mark)


def provider_set() -> ProviderSet:
    """Returns the providers of the current request."""
    return _usable.get()


def usable(providers: Iterable[P]) -> list[P]:
    """Returns those of the providers that the caller may have quotes of."""
    ids = _usable.get()
    return [provider for provider in providers if ids is None or provider.id in ids]


def allowed(providers: list[P], named: str | None, is_builtin: Callable[[P], bool]) -> list[P]:
    """Returns those of the providers of a request that the caller may have quotes of, and those of the core:
    they join the quotes of others, of those alone that the caller may use.

    ``named`` is the one that the request asks for. Raises ``ProviderNotAllowed`` when none is left.
    """
    ids = _usable.get()
    if ids is None:
        return providers
    found = [provider for provider in providers if provider.id in ids or is_builtin(provider)]
    if not found:
        which = "any provider that serves this request" if named is None else f"provider {named}"
        raise not_allowed(f"This API key may not use {which}.")
    return found


def check_usable(provider_ids: Iterable[str]) -> None:
    """Raises ``ProviderNotAllowed`` for a provider that the caller may have no action of."""
    ids = _usable.get()
    for provider_id in provider_ids:
        if ids is not None and provider_id not in ids:
            raise not_allowed(f"Provider {provider_id} is none of those that this API key may use.")


def warn_of_unknown(config: Config, known: Collection[str]) -> None:
    """Logs the providers that keys and tiers name and that are not ``known``: an id may be misspelt."""
    keys = {f"key {key.name}": key.providers for key in config.auth.keys if isinstance(key, NamedKey)}
    tiers = {f"tier {name}": tier.providers for name, tier in config.limits.tiers.items()}
    for whose, ids in {**keys, **tiers}.items():
        for provider_id in ids or ():
            if provider_id not in known:
                hint = suggestion(provider_id, sorted(known))
                log.warning("the providers of %s: there is none with the id %r.%s", whose, provider_id, hint)


def not_allowed(text: str) -> ProviderNotAllowed:
    """Returns the error of what the caller's API key does not get."""
    return ProviderNotAllowed(
        f"{text} GET /v2/providers lists these.", reason=Reason.PROVIDER_NOT_ALLOWED, retryable=False
    )
