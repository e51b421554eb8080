"""The provider that a check examines, in a gateway of its own on the devnet."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway import NATIVE, Capability, GatewayError, SwapRequest, Token, VaultRequest
from quoteway.secrets import Secret

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

HOLDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The devnet's first account, which has every token of its chains."""
UNKNOWN_TOKEN = "0x1111111111111111111111111111111111111111"

_MOST_CASES = 4
"""The most cases of one provider on one network."""
_MOST_TRIED = 160
_ENOUGH = 100_000
"""The least output of a case, in base units."""

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

    def tokens(self, chain_id: int) -> list[Token]:
        """Returns the native coin and the tokens of a devnet chain."""
        return tokens_of(self.devnet, chain_id)


def tokens_of(devnet: LocalChains, chain_id: int) -> list[Token]:
    """Returns the native coin and the tokens of a devnet chain; empty for another chain."""
    for chain in devnet.chains.values():
        if chain.chain_id == chain_id:
            rows = [Token(chain_id, row.address, row.decimals, row.symbol) for row in chain.tokens]
            return [Token(chain_id, NATIVE, 18, "ETH"), *rows]
    return []


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


async def cases_of(devnet: LocalChains, gateway: Gateway, provider: Any) -> list[Any]:
    """Returns requests that a provider quotes, some for each devnet chain, always the same ones.

    Swaps: pairs of the chain's tokens. Vaults: a deposit into listed vaults. Other capabilities: none.
    """
    if provider.capability is Capability.VAULT:
        return await _vault_cases(gateway, provider)
    if provider.capability is not Capability.SWAP:
        return []
    found: list[Any] = []
    order = random.Random(7)
    for chain_id in sorted(provider.networks & set(gateway.runtime.chains)):
        tokens = tokens_of(devnet, chain_id)
        pairs = [(sold, bought) for sold in tokens for bought in tokens if sold is not bought]
        order.shuffle(pairs)
        here = 0
        for sold, bought in pairs[:_MOST_TRIED]:
            request = await _swap_case(provider, sold, bought)
            if request is None:
                continue
            found.append(request)
            here += 1
            if here == _MOST_CASES:
                break
    return found


async def _swap_case(provider: Any, sold: Token, bought: Token) -> SwapRequest | None:
    """Returns a swap that pays enough to see a fault of one part in 100,000; None without such a swap."""
    for coins in (1, 100, 10**6):
        ends, amount = (sold.chain_id, sold.chain_id, sold, bought), 10**sold.decimals * coins // 10
        request = SwapRequest(*ends, amount, HOLDER, HOLDER, 50)
        try:
            quote = await provider.quote(request)
        except GatewayError:
            return None
        if quote is None:
            return None
        if quote.outputs[0].amount >= _ENOUGH:
            return request
    return None


async def _vault_cases(gateway: Gateway, provider: Any) -> list[Any]:
    found, per_chain = [], dict[int, int]()
    for vault in await provider.vaults(None):
        if "deposit" not in vault.actions or per_chain.get(vault.chain_id, 0) == _MOST_CASES:
            continue
        amount = 10**vault.asset.decimals
        request = VaultRequest(
            vault.id, vault.chain_id, "deposit", vault.asset.address, amount, HOLDER, HOLDER, 50
        )
        if vault.chain_id in gateway.runtime.chains and await _quotes(provider, request):
            found.append(request)
            per_chain[vault.chain_id] = per_chain.get(vault.chain_id, 0) + 1
    return found


async def _quotes(provider: Any, request: Any) -> bool:
    try:
        return await provider.quote(request) is not None
    except GatewayError:
        return False


@contextlib.asynccontextmanager
async def restored(devnet: LocalChains) -> AsyncIterator[None]:
    """Restores the chains to their present state at the end."""
    import asyncio

    snapshot = await asyncio.to_thread(devnet.snapshot)
    try:
        yield
    finally:
        await asyncio.to_thread(devnet.revert, snapshot)
