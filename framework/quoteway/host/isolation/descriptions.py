"""Descriptions of an isolated plugin's providers, and the provider objects that the server makes of them.

A description is what a provider is without being asked: its facts and networks, and the answers of its
synchronous methods (``host.checked_provider`` says which). Methods that are coroutine functions of the
provider class go through the pipe.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias

from quoteway.errors import UpstreamError
from quoteway.host.checked_provider import fixed_members_of, plugins_own
from quoteway.host.registry import CAPABILITY_HOOKS
from quoteway.models import Address, Capability
from quoteway.providers import Provider, TokenCatalog

Description: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""Capability, id and members."""


class Caller(Protocol):
    """Calls a method of a provider in the plugin's process."""

    async def call(
        self, provider: Provider, method: str, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> Any: ...


def described(provider: Provider) -> Description:
    """Returns a registered provider's description. Contracts and spenders that cannot be read are left out:
    they keep their last value.
    """
    kind = CAPABILITY_HOOKS[provider.capability][1]
    members = {name: getattr(provider, name) for name in fixed_members_of(kind)}
    networks = sorted(provider.networks)
    members["networks"] = frozenset(networks)
    with contextlib.suppress(UpstreamError):
        members["contracts"] = {each: provider.contracts(each) for each in networks}
    members["expected_contracts"] = {each: provider.expected_contracts(each) for each in networks}
    with contextlib.suppress(UpstreamError):
        members["spenders"] = {each: provider.spenders(each) for each in networks}
    if type(plugins_own(provider)).serves is not kind.serves:
        members["serves"] = [(a, b) for a in networks for b in networks if provider.serves(a, b)]
    if isinstance(provider, TokenCatalog):
        members["revision"] = provider.revision()
    return provider.capability.value, provider.id, members


def proxy(caller: Caller, description: Description) -> Provider:
    """Returns a provider of the described capability, whose methods call the plugin's process."""
    capability, provider_id, _ = description
    made: Provider = _proxy_class(Capability(capability))(caller, provider_id)
    renew(made, description)
    return made


def renew(made: Provider, description: Description) -> None:
    """Gives a proxy the members of a newer description.

    Raises ``ValueError`` when that is of another provider, or its facts have changed.
    """
    capability, provider_id, members = description
    if (made.capability.value, made.id) != (capability, provider_id):
        raise ValueError(f"a description of {capability} {provider_id!r} for {made.capability} {made.id!r}")
    facts = {name: members[name] for name in fixed_members_of(CAPABILITY_HOOKS[made.capability][1])}
    proxy_of: Any = made
    if proxy_of.facts not in ({}, facts):
        raise ValueError(f"the facts of provider {provider_id!r} have changed: restart the server")
    proxy_of.facts = facts
    for name, value in {**facts, "networks": members["networks"]}.items():
        setattr(made, name, value)
    proxy_of.answers |= {name: members[name] for name in _ANSWERED if name in members}


_ANSWERED = ("contracts", "expected_contracts", "spenders", "serves", "revision")


class _Proxy:
    """Answers the synchronous methods of providers from the description."""

    networks: Collection[int]

    def __init__(self, caller: Caller, provider_id: str) -> None:
        self.id = provider_id
        self.caller = caller
        self.facts: Mapping[str, Any] = {}
        self.answers: dict[str, Any] = {}

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        found: Mapping[Address, str] = self.answers.get("contracts", {}).get(chain_id, {})
        return found

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        found: Mapping[Address, str] = self.answers.get("expected_contracts", {}).get(chain_id, {})
        return found

    def spenders(self, chain_id: int) -> Sequence[Address]:
        found: Sequence[Address] = self.answers.get("spenders", {}).get(chain_id, ())
        return found

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        if "serves" in self.answers:
            return (chain_id, to_chain_id) in self.answers["serves"]
        inherited: bool = super().serves(chain_id, to_chain_id)  # type: ignore[misc]
        return inherited

    def revision(self) -> str:
        return str(self.answers.get("revision", "0"))


@cache
def _proxy_class(capability: Capability) -> Any:
    kind = CAPABILITY_HOOKS[capability][1]
    methods = {name: _method(name) for name, _ in inspect.getmembers(kind, inspect.iscoroutinefunction)}
    return type(f"Isolated{kind.__name__}", (_Proxy, kind), methods)


def _method(name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return await self.caller.call(self, name, arguments, named)

    call.__name__ = name
    return call
