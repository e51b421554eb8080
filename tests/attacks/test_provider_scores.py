"""Attack: a caller who makes a rival's quotes fail, to sink its score. Only what is the provider's counts."""

import asyncio
import functools
from dataclasses import replace
from types import SimpleNamespace

import pytest
from quoteway.errors import Reason, UpstreamError
from quoteway.host.scores import ENOUGH, REVERT_S, WINDOW, WINDOW_S, Score, Scores
from quoteway.models import Capability, SwapRequest, Token
from quoteway.testing.fakes import RouterSwap

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from cheating import PromisesALittleMore, client_beside  # noqa: E402
from direct_client import USER  # noqa: E402

RESERVED = "0x0000000000000000000000000000000000000002"
"""Nobody has its key, and it has no code. Some routers read it as themselves."""


class CannotPayReserved(RouterSwap):
    async def build(self, sealed):
        if sealed.request.recipient == RESERVED:
            raise ValueError(RESERVED)
        return await super().build(sealed)


class PromisesTooMuch(RouterSwap):
    async def quote(self, request):
        quote = await super().quote(request)
        (leg,) = quote.outputs
        return replace(quote, outputs=(replace(leg, amount=10**30, amount_min=10**30),))


@pytest.fixture
def beside(fresh_devnet):
    return functools.partial(client_beside, fresh_devnet)


async def many(client, **more):
    """As many quotes as a score needs; the reasons of each provider's failures in the last one."""
    asked = (client.quote_swap(slippageBps=500, **more) for _ in range(ENOUGH))
    *_, last = await asyncio.gather(*asked)
    return reasons(last)


def reasons(quote):
    return {row["provider"]: row["reason"] for row in quote["attempts"] if row["outcome"] == "failed"}


def score(client, provider_id):
    registry = client.api.gateway.registry
    return registry.scores.of(registry.get(Capability.SWAP, provider_id))


async def test_a_provider_that_cheats_sinks_until_the_window_has_passed(beside):
    async with beside(PromisesALittleMore) as client:
        assert await many(client) == {"a0": "quote_mismatch"}
        for _ in range(ENOUGH):  # a busy node may have spoilt one
            if not score(client, "a0").is_poor:
                await client.quote_swap(slippageBps=500)
        counted = score(client, "a0")
        assert counted.is_poor
        assert counted.failed == counted.rehearsed
        assert score(client, "uniswap").failed == 0 < score(client, "uniswap").rehearsed
        rows = {row["id"]: row for row in (await client.api.get("/v2/providers")).body["data"]}
        assert rows["a0"]["score"] == {"rehearsed": counted.rehearsed, "failed": counted.failed}
        assert all((row["score"] is None) == ("swap" not in row["capabilities"]) for row in rows.values())
        # It costs nobody a simulation any more.
        quote = await client.quote_swap(slippageBps=500)
        assert (quote["provider"], reasons(quote)) == ("uniswap", {})
        assert score(client, "a0") == counted
        # Asked alone it is rehearsed as ever, and nothing shows that it was not the caller.
        body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
        body |= {"amount": "1000000", "address": USER, "provider": "a0", "slippageBps": 500}
        answer = await client.api.post("/v2/swaps/quote", body)
        answer.refused(502, "upstream_error", "quote_mismatch")
        assert score(client, "a0") == counted
        scores = client.api.gateway.registry.scores
        clock = scores._clock
        scores._clock = lambda: clock() + WINDOW_S + 1
        assert score(client, "a0") == Score(0, 0)
        assert reasons(await client.quote_swap(slippageBps=500)) == {"a0": "quote_mismatch"}


async def test_a_token_that_nobody_lists_changes_no_score(beside):
    """It may treat the transactions of two providers differently."""
    async with beside(PromisesALittleMore) as client:
        unlisted = [Token(31337, client.token(s), decimals, s) for s, decimals in (("USDC", 6), ("WETH", 18))]
        request = SwapRequest(31337, 31337, *unlisted, 10**9, USER, USER, 500)
        answer = await client.api.gateway.quoting.quote(Capability.SWAP, request)
        assert ("a0", "failed") in [(row.provider, row.outcome) for row in answer.attempts]
        assert answer.sealed.provider == "uniswap"
        assert score(client, "a0") == score(client, "uniswap") == Score(0, 0)


async def test_a_recipient_that_spoils_one_route_changes_no_score(beside, fresh_devnet):
    """A v2 pair that is paid by itself gets nothing."""
    (pair,) = [
        pool.id
        for pool in fresh_devnet.chains["devnet"].pools
        if (pool.protocol, pool.pair) == ("uniswap-v2", "WETH/USDC")
    ]
    async with beside(RouterSwap) as client:
        assert await many(client, toAddress=pair) == {"a0": "unsafe_answer"}
        assert score(client, "a0").failed == 0
        assert reasons(await client.quote_swap()) == {}


async def test_a_sender_with_a_meaning_to_a_router_changes_no_score(beside):
    async with beside(CannotPayReserved, RouterSwap) as client:
        # Its build raises: after three in a row its breaker leaves it out.
        assert (await many(client, address=RESERVED))["a0"] in ("provider_error", "provider_paused")
        assert score(client, "a1").rehearsed > 0
        assert score(client, "a0") == Score(0, 0)


def test_a_revert_counts_for_a_moment_and_for_requests_alike():
    now = [1_000.0]
    scores = Scores(lambda: now[0])
    usdc, weth = (Token(1, f"0x{digit * 40}", 18, digit) for digit in "12")
    request = SwapRequest(1, 1, usdc, weth, 1_000, USER, USER, 50)
    provider, other = SimpleNamespace(id="a"), SimpleNamespace(id="b")
    error = UpstreamError("it reverted", reason=Reason.REVERTED)
    scores.count_revert(provider, request, error)
    assert scores.revert(provider, replace(request, amount_in=1_023)) is error
    assert scores.revert(provider, replace(request, amount_in=1_024)) is None
    assert scores.revert(provider, replace(request, token_in=weth, token_out=usdc)) is None
    assert scores.revert(other, request) is None
    now[0] += REVERT_S + 1
    assert scores.revert(provider, request) is None


async def test_a_revert_of_a_token_that_nobody_lists_does_not_count(beside):
    async with beside(PromisesTooMuch) as client:
        unlisted = [Token(31337, client.token(s), decimals, s) for s, decimals in (("USDC", 6), ("WETH", 18))]
        request = SwapRequest(31337, 31337, *unlisted, 10**9, USER, USER, 500)
        scores, provider = client.api.gateway.registry.scores, SimpleNamespace(id="a0")
        answer = await client.api.gateway.quoting.quote(Capability.SWAP, request)
        assert [row.reason for row in answer.attempts if row.provider == "a0"] == ["reverted"]
        assert scores.revert(provider, request) is None
        listed = [replace(token, listed=True) for token in unlisted]
        request = replace(request, token_in=listed[0], token_out=listed[1])
        await client.api.gateway.quoting.quote(Capability.SWAP, request)
        assert scores.revert(provider, request).reason == "reverted"


def test_old_rehearsals_do_not_count():
    class Swaps:
        id = "swaps"

    now = 1_000.0
    scores = Scores(lambda: now)
    assert scores.of(Swaps) == Score(0, 0)
    for _ in range(ENOUGH - 1):
        scores.count(Swaps, failed=True)
    assert not scores.of(Swaps).is_poor, "too few to say anything"
    scores.count(Swaps, failed=True)
    assert scores.of(Swaps).is_poor
    for _ in range(ENOUGH):
        scores.count(Swaps, failed=False)
    assert scores.of(Swaps) == Score(2 * ENOUGH, ENOUGH)
    assert not scores.of(Swaps).is_poor, "no more than half"
    now += WINDOW_S
    assert scores.of(Swaps) == Score(0, 0)
    for _ in range(WINDOW + 1):
        scores.count(Swaps, failed=True)
    assert scores.of(Swaps) == Score(WINDOW, WINDOW)
