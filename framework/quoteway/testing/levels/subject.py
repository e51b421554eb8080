"""The provider that a check examines, in a gateway of its own on the devnet."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway import Capability, Token
from quoteway.secrets import Secret
from quoteway.testing.levels.requests import tokens_of

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

OpenGateway = Callable[[], AbstractAsyncContextManager["Gateway"]]
"""Starts a new gateway with the plugin on the devnet."""


@dataclass(slots=True)
class Subject:
    """A provider in a started gateway. ``cases`` are requests that it quotes; their sender has the inputs.

    ``restarted`` starts a second gateway with the plugin, as another worker or a later start of the server.
    ``secrets`` are the values of the plugin's settings that nobody may see. ``executions`` is how many random
    executions level 3 makes.
    """

    devnet: LocalChains
    gateway: Gateway
    plugin: str
    provider: Any
    capability: Capability
    cases: Sequence[Any]
    restarted: OpenGateway
    secrets: tuple[str, ...] = ()
    executions: int = 1_000
    random: random.Random = field(default_factory=lambda: random.Random(1))

    @property
    def chain_ids(self) -> list[int]:
        """Returns the networks of the provider that the gateway serves."""
        return sorted(self.provider.networks & set(self.gateway.runtime.chains))

    def slug(self, chain_id: int) -> str:
        """Returns the name of a devnet chain. The chain must be one of the devnet."""
        return next(slug for slug, chain in self.devnet.chains.items() if chain.chain_id == chain_id)

    def tokens(self, chain_id: int) -> list[Token]:
        """Returns the native coin and the tokens of a devnet chain."""
        return tokens_of(self.devnet, chain_id)


def secrets_of(gateway: Gateway, plugin: str) -> tuple[str, ...]:
    """Returns the secret values of a plugin's settings."""
    entry = next((each for each in gateway.registry.plugins if each.name == plugin), None)
    if entry is None or entry.context is None:
        return ()
    return tuple(_secrets_in(dict(entry.context.settings)))


def _secrets_in(value: object) -> Iterator[str]:
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _secrets_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets_in(each)


@contextlib.asynccontextmanager
async def restored(devnet: LocalChains) -> AsyncIterator[None]:
    """Restores the chains to their present state at the end."""
    import asyncio

    snapshot = await asyncio.to_thread(devnet.snapshot)
    try:
        yield
    finally:
        await asyncio.to_thread(devnet.revert, snapshot)
