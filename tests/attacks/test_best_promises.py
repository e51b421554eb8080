"""Attack: a provider that wins by what it promises. The best quote is the one that pays most, less gas."""

import functools
import json
from dataclasses import replace

import pytest
from cheating import PromisesALittleMore, client_beside
from direct_client import USER, FarNode
from quoteway.engine.competition import Competition
from quoteway.testing.fakes import RouterSwap

NOBODY = "0x6666666666666666666666666666666666666666"
"""Holds nothing and allows nothing."""


class Beside(RouterSwap):
    """An honest provider beside Uniswap, asked before it. Swaps through the v2 router, and states no gas."""


class PromisesALot(Beside):
    async def quote(self, request):
        quote = await super().quote(request)
        (leg,) = quote.outputs
        return replace(quote, outputs=(replace(leg, amount=10**30, amount_min=10**30),))


class QuotesAnOldBlock(PromisesALittleMore):
    async def quote(self, request):
        chain = self._context.chain(request.chain_id)
        return replace(await super().quote(request), block=await chain.block((await chain.head()).number - 1))


class QuotesABlockOfItsOwn(PromisesALittleMore):
    async def quote(self, request):
        quote = await super().quote(request)
        return replace(quote, block=replace(quote.block, hash="0x" + "ab" * 32))


class RaisesInBuild(PromisesALot):
    async def quote(self, request):
        quote = await super().quote(request)
        return replace(quote, plan={**quote.plan, "canary": 1})

    async def build(self, sealed):
        raise KeyError("canary")


class PaysAThief(PromisesALot):
    async def build(self, sealed):
        legs = tuple(replace(leg, account=NOBODY, amount_min=1) for leg in sealed.outputs)
        return replace(await super().build(replace(sealed, outputs=legs)), outputs=sealed.outputs)


class Detour(Beside):
    """Pays less over a path of two pairs, costs more gas, and states none."""

    middle = None

    async def quote(self, request):
        path = [request.token_in.address, self.middle, request.token_out.address]
        chain = self._context.chain(request.chain_id)
        quote = await super().quote(request)
        call = self.AMOUNTS_OUT.encode([request.amount_in, path])
        ((*_, amount),) = self.AMOUNTS_OUT.decode_output(
            await chain.call(self.router, call, block=quote.block)
        )
        (leg,) = quote.outputs
        leg = replace(leg, amount=amount, amount_min=amount)
        return replace(quote, outputs=(leg,), plan={"path": path})


class HasQuota(Beside):
    has_quota = True


class CannotSimulate(FarNode):
    async def answer(self, body, session):
        if body["method"] == "eth_simulateV1":
            error = {"code": -32601, "message": "the method does not exist"}
            return json.dumps({"jsonrpc": "2.0", "id": body["id"], "error": error}).encode()
        return await super().answer(body, session)


@pytest.fixture
def beside(fresh_devnet):
    return functools.partial(client_beside, fresh_devnet)


def told(quote):
    return {row["provider"]: (row["outcome"], row["reason"]) for row in quote["attempts"]}


@pytest.mark.parametrize(
    ("liar", "reason"),
    [
        (PromisesALot, "reverted"),
        (PromisesALittleMore, "quote_mismatch"),
        (QuotesAnOldBlock, "unsafe_answer"),
        (QuotesABlockOfItsOwn, "unsafe_answer"),
        (RaisesInBuild, "provider_error"),
        (PaysAThief, "unsafe_answer"),
    ],
)
async def test_a_promise_that_is_not_kept_loses_and_is_named(beside, liar, reason):
    async with beside(liar) as client:
        quote = await client.quote_swap(slippageBps=500)
        assert quote["provider"] == "uniswap"
        assert told(quote)["a0"] == ("failed", reason)
        assert told(quote)["uniswap"] == ("quoted", None)
        assert quote["simulation"]["status"] == "success"
        await client.carry_out(quote, await client.act(quote))


async def test_liars_are_no_more_than_named_however_many(beside):
    async with beside(*[PromisesALot] * 6) as client:
        quote = await client.quote_swap()
        assert quote["provider"] == "uniswap"
        assert [row["outcome"] for row in quote["attempts"]].count("failed") == 6


async def test_a_liar_alone_is_refused_with_its_reason(beside):
    async with beside(PromisesALittleMore) as client:
        body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
        body |= {"amount": "1000000", "address": USER, "provider": "a0", "slippageBps": 500}
        answer = await client.api.post("/v2/swaps/quote", body)
        error = answer.refused(502, "upstream_error", "quote_mismatch")
        assert error["details"]["retryable"] is False
        (attempt,) = error["details"]["attempts"]
        assert (attempt["provider"], attempt["outcome"]) == ("a0", "failed")


async def test_leaving_gas_out_wins_nothing(beside, fresh_devnet):
    """Gas is a tenth of the swap, so that a quote with gas is far below a worse one without."""
    Detour.middle = fresh_devnet.chains["devnet"].token("USDT").address
    with fresh_devnet.rpc() as rpc:
        usual = rpc("eth_getBlockByNumber", "pending", False)["baseFeePerGas"]
        rpc("anvil_setNextBlockBaseFeePerGas", hex(1_000 * 10**9))
        rpc("evm_mine")
    async with beside(Detour) as client:
        quote = await client.quote_swap(amount=5_000 * 10**6)
        with fresh_devnet.rpc() as rpc:  # the next base fee is no part of a snapshot
            rpc("anvil_setNextBlockBaseFeePerGas", usual)
        outputs = {row["provider"]: int(row["amountOut"] or 0) for row in quote["attempts"]}
        assert 0 < outputs["a0"] < outputs["uniswap"]
        assert quote["provider"] == "uniswap"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rival", "amount", "runs"),
    [(Beside, 10**9, 2), (HasQuota, 10**9, 1), (Beside, 5 * 10**12, 1)],
    ids=["close", "with a quota", "far behind"],
)
async def test_a_close_rival_is_simulated_too(beside, rival, amount, runs):
    async with beside(rival) as client:
        await client.quote_swap(amount=amount)
        before = client.node.asked["eth_simulateV1"]
        quote = await client.quote_swap(amount=amount + 1)
        assert [told(quote)[name][0] for name in ("a0", "uniswap")] == ["quoted", "quoted"]
        assert client.node.asked["eth_simulateV1"] - before == runs


@pytest.mark.slow
async def test_nothing_that_the_caller_lacks_counts(beside):
    async with beside() as client:
        for more in ({}, {"approvalMode": "permit2-signature"}):
            quote = await client.quote_swap(address=NOBODY, **more)
            assert quote["simulation"]["status"] == "success"
            assert "insufficient_balance" in [issue["code"] for issue in quote["issues"]]


async def test_one_that_failed_last_is_simulated_beside_the_next_one(beside, monkeypatch):
    """So that a provider that always promises too much costs no second round of simulations."""
    running, seen = set(), []
    rehearse = Competition.rehearse

    async def watched(self, capability, request, bid, deadline, **more):
        running.add(bid.provider.id)
        seen.append(set(running))
        try:
            return await rehearse(self, capability, request, bid, deadline, **more)
        finally:
            running.discard(bid.provider.id)

    monkeypatch.setattr(Competition, "rehearse", watched)
    async with beside(PaysAThief) as client:
        await client.quote_swap(slippageBps=500)
        assert seen == [{"a0"}, {"uniswap"}]
        seen.clear()
        quote = await client.quote_swap(slippageBps=500)
        assert seen == [{"a0"}, {"a0", "uniswap"}]
        assert quote["provider"] == "uniswap"


async def test_a_provider_that_reverts_is_simulated_once_in_a_while(beside, monkeypatch):
    tried, rehearse = [], Competition.rehearse

    async def noted(self, capability, request, bid, deadline, **more):
        tried.append(bid.provider.id)
        return await rehearse(self, capability, request, bid, deadline, **more)

    monkeypatch.setattr(Competition, "rehearse", noted)
    async with beside(PromisesALot) as client:

        async def asked(amount):
            tried.clear()
            quote = await client.quote_swap(slippageBps=500, amount=amount)
            assert quote["provider"] == "uniswap"
            assert told(quote)["a0"] == ("failed", "reverted"), "it is told also where it is not tried"
            return tried

        assert await asked(10**9) == ["a0", "uniswap"]
        assert await asked(10**9) == ["uniswap"]
        assert await asked(10**9 + 1) == ["uniswap"]
        assert "a0" in await asked(10**10), "another amount may have another route"


@pytest.mark.slow
async def test_where_no_node_simulates_the_best_minimum_wins_with_a_warning(beside):
    async with beside(PromisesALittleMore, node=CannotSimulate) as client:
        quote = await client.quote_swap(slippageBps=500)
        assert quote["simulation"] is None
        assert "not_simulated" in [warning["code"] for warning in quote["warnings"]]
        minimums = [await client.quote_swap(provider=name, slippageBps=500) for name in ("uniswap", "a0")]
        best = max(minimums, key=lambda each: int(each["toAmountMin"]))
        assert quote["toAmountMin"] == best["toAmountMin"]
