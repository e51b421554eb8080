"""The calls of a provider's methods that level 2 makes, and what stands in for its nodes and its HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from quoteway import Capability, SealedQuote
from quoteway.testing.conformance.provider import forwarding
from quoteway.testing.levels.subject import HOLDER, Subject

Call = tuple[str, Callable[[], Awaitable[Any]]]
"""The name of a method, and what calls it with arguments of the devnet."""

_PAIR = ("WETH", "USDC")


async def sealed_quote(subject: Subject, request: Any) -> SealedQuote:
    """Returns the content of the token of a quote that the gateway accepted."""
    gateway = subject.gateway
    answer = await gateway.quoting.quote(subject.capability, request, provider=subject.provider.id)
    return gateway.quote_tokens.open(subject.capability, answer.sealed.token)


def reads_of(subject: Subject) -> Iterator[Call]:
    """Yields a call of every method but ``build`` and ``series``, which need what others return."""
    provider = subject.provider
    yield "healthy", provider.healthy
    for case in subject.cases[:2]:
        yield "quote", lambda case=case: provider.quote(case)  # type: ignore[misc]
    chain_ids = subject.chain_ids
    if subject.capability is Capability.TOKENS:
        yield "tokens", lambda: provider.tokens(None)
        yield "profile", lambda: provider.profile("no-such-token-anywhere")
        yield "token", lambda: provider.token(chain_ids[0], HOLDER)
    elif subject.capability is Capability.POOL:
        yield "pools", lambda: provider.pools(None)
        yield "positions", lambda: provider.positions(HOLDER, None)
    elif subject.capability is Capability.VAULT:
        yield "vaults", lambda: provider.vaults(None)
        yield "positions", lambda: provider.positions(HOLDER)
    elif subject.capability is Capability.BRIDGE:
        yield "routes", lambda: provider.routes(None, None)
    elif subject.capability is Capability.RPC:
        network = subject.gateway.runtime.chains[chain_ids[0]].network
        yield "forward", lambda: provider.forward(network, "eth_chainId", [], timeout_s=10.0)
        yield "upstreams", provider.upstreams
    elif subject.capability in (Capability.PRICES, Capability.LIQUIDITY):
        yield from _at_a_block(subject, chain_ids[0])


def _at_a_block(subject: Subject, chain_id: int) -> Iterator[Call]:
    provider, chain = subject.provider, subject.gateway.runtime.chains[chain_id]
    named = {token.symbol: token.address for token in subject.tokens(chain_id)}
    pair = [named[symbol] for symbol in _PAIR]
    if subject.capability is Capability.PRICES:

        async def prices() -> Any:
            return await provider.prices(chain_id, pair, await chain.head())

        yield "prices", prices
        return

    async def pools() -> Any:
        return await provider.pools(chain_id, *pair, await chain.head())

    yield "pools", pools


@contextlib.contextmanager
def upstreams(subject: Subject, answer: Callable[[], Awaitable[Any]]) -> Iterator[None]:
    """Has ``answer`` instead of every JSON-RPC call of the chains and every HTTP request of plugins."""
    session: Any = subject.gateway.runtime.session
    honest = session._request

    async def forward(method: str, params: Any, timeout_s: float) -> Any:
        return await answer()

    async def request(*_: Any, **__: Any) -> Any:
        return await answer()

    with forwarding(subject.gateway, forward):
        session._request = request
        try:
            yield
        finally:
            session._request = honest


async def hang() -> Any:
    """Never answers."""
    await asyncio.Event().wait()
