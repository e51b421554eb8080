"""The calls of a provider's methods that level 2 makes, and what stands in for its nodes and its HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from quoteway import Capability, Quote, SealedQuote
from quoteway.guard.acknowledgements import CODES
from quoteway.models import APPROVAL_KINDS
from quoteway.testing.conformance.listing import made_up_id
from quoteway.testing.conformance.provider import HOLDER, forwarding
from quoteway.testing.conformance.relays import refused_transaction
from quoteway.testing.execution import Executed, execute
from quoteway.testing.levels.check import require
from quoteway.testing.levels.subject import Subject

Call = tuple[str, Callable[[], Awaitable[Any]]]
"""The name of a method, and what calls it with arguments of the devnet."""

_PAIR = ("WETH", "USDC")
_NO_TRANSACTION = "0x" + "de" * 32


async def sealed_quote(subject: Subject, request: Any) -> SealedQuote:
    """Returns the content of the token of a quote that the gateway accepted."""
    gateway = subject.gateway
    answer = await gateway.quoting.quote(subject.capability, request, provider=subject.provider.id)
    return gateway.quote_tokens.open(subject.capability, answer.sealed.token)


async def executed_quote(subject: Subject, request: Any) -> tuple[Quote, Executed, int]:
    """Returns the provider's quote, its execution, and the gas of its own transactions.

    Raises ``GatewayError`` where the gateway refuses quote or build, and ``Failed`` for a reverted execution.
    """
    gateway = subject.gateway
    answer = await gateway.quoting.quote(subject.capability, request, provider=subject.provider.id)
    sealed = gateway.quote_tokens.open(subject.capability, answer.sealed.token)
    action = await gateway.building.action(sealed, acknowledged=CODES)
    executed = await execute(subject.devnet, action)
    require(not executed.reverted, f"executed, its build of {request.amount} units reverts")
    steps = zip(action.steps, executed.receipts, strict=True)
    units = sum(int(r["gasUsed"], 16) for step, r in steps if step.kind not in APPROVAL_KINDS)
    return answer.quote, executed, units


async def reads_of(subject: Subject) -> AsyncIterator[Call]:
    """Yields a call of every method but ``build``, which needs a quote."""
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
        yield "pool", lambda: provider.pool(_resource(subject))
        yield "series", lambda: provider.series(_resource(subject), "tvl", *_last_day())
        yield "positions", lambda: provider.positions(HOLDER, None)
        yield "liquidity", lambda: provider.liquidity(_resource(subject))
    elif subject.capability is Capability.VAULT:
        yield "vaults", lambda: provider.vaults(None)
        yield "vault", lambda: provider.vault(_resource(subject))
        yield "series", lambda: provider.series(_resource(subject), "tvl", *_last_day())
        yield "positions", lambda: provider.positions(HOLDER)
    elif subject.capability is Capability.BRIDGE:
        yield "routes", lambda: provider.routes(None, None)
        yield "track", lambda: provider.track(chain_ids[0], _NO_TRANSACTION)
    elif subject.capability is Capability.RPC:
        network = subject.gateway.runtime.chains[chain_ids[0]].network
        yield "forward", lambda: provider.forward(network, "eth_chainId", [], timeout_s=10.0)
        yield "upstreams", provider.upstreams
    elif subject.capability is Capability.RELAY:
        refused = await refused_transaction(subject.devnet, subject.slug(chain_ids[0]))
        yield "submit", lambda: provider.submit(chain_ids[0], refused)
    elif subject.capability is Capability.METRICS:
        named = {token.symbol: token.address for token in subject.tokens(chain_ids[0])}
        yield "series", lambda: provider.series(_resource(subject), "tvl", *_last_day())
        yield "price_history", lambda: provider.price_history(chain_ids[0], named["WETH"], *_last_day())
        yield "index_status", provider.index_status
        yield "wallet_tokens", lambda: provider.wallet_tokens(chain_ids[0], HOLDER)
        yield "wallet_transfers", lambda: provider.wallet_transfers(chain_ids[0], HOLDER)
    elif subject.capability in (Capability.PRICES, Capability.LIQUIDITY):
        for call in _at_a_block(subject, chain_ids[0]):
            yield call


def _resource(subject: Subject) -> str:
    """Returns the id of the pool or vault of the first case; without a case, of a pool of the devnet."""
    for case in subject.cases[:1]:
        return str(case.vault_id if subject.capability is Capability.VAULT else case.pool_id)
    chain_id = subject.chain_ids[0]
    for chain in subject.devnet.chains.values():
        if chain.chain_id == chain_id and chain.pools:
            return f"{chain_id}:{chain.pools[0].id}"
    return made_up_id(chain_id)


def _last_day() -> tuple[int, int, str]:
    end = int(time.time())
    return end - 86_400, end, "1h"


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
