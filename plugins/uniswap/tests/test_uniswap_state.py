"""The lens gives the pools' own state, in few round trips and within size and gas limits."""

import asyncio
from dataclasses import replace

import pytest
from execution import SwapHarness
from quoteway.errors import UpstreamError
from quoteway.evm.abi import function
from quoteway_amm import BandExceeded, ConcentratedPool, V2Pool
from quoteway_uniswap import lens
from quoteway_uniswap.candidates import candidate_pools, pools_of_pair, sorted_pair
from quoteway_uniswap.state import PoolStates

LIQUIDITY = function("liquidity() returns (uint128)")
TICKS = function(
    "ticks(int24 tick) returns (uint128, int128, uint256, uint256, int56, uint160, uint32, bool)"
)
V4_TICKS = function("getTickLiquidity(bytes32 poolId, int24 tick) returns (uint128, int128)")
V4_SLOT0 = function("getSlot0(bytes32 poolId) returns (uint160, int24, uint24, uint24)")
RESERVES = function("getReserves() returns (uint112, uint112, uint32)")


@pytest.fixture
async def harness(fresh_devnet):
    async with SwapHarness(fresh_devnet) as harness:
        yield harness


def refs_of(harness, a, b):
    deployment = harness.provider._deployments[harness.network.chain_id][0]
    ends = [harness.network.wrapped_native if s == "ETH" else harness.tokens[s].address for s in (a, b)]
    return pools_of_pair(deployment, *sorted_pair(*ends))


async def test_every_pool_of_the_chain_is_a_candidate_and_read(harness):
    deployment = harness.provider._deployments[harness.network.chain_id][0]
    block = await harness.chain.head(fresh=True)
    states = PoolStates(harness.chain)
    found = {}
    for symbol in harness.tokens:
        refs = candidate_pools(deployment, harness.tokens[symbol].address, harness.tokens["USDC"].address)
        found |= {pool.id.lower(): pool for pool in await states.load(block, refs)}
    expected = [pool for pool in harness.manifest.pools if int(pool.hooks, 16) == 0]
    assert {pool.id.lower() for pool in expected} == set(found)
    for row in expected:
        pool = found[row.id.lower()]
        assert (pool.token0, pool.token1, pool.kind) == (row.token0, row.token1, row.protocol[-2:])
        if isinstance(pool, V2Pool):
            answer = RESERVES.decode_output(await harness.chain.call(row.id, RESERVES.encode([])))
            assert (pool.reserve0, pool.reserve1) == answer[:2]
            continue
        assert pool.ticks
        for tick, liquidity_net in pool.ticks:
            if pool.kind == "v3":
                answer = TICKS.decode_output(await harness.chain.call(row.id, TICKS.encode([tick])))
            else:
                call = V4_TICKS.encode([bytes.fromhex(row.id[2:]), tick])
                view = harness.manifest.contracts["StateView"]
                answer = V4_TICKS.decode_output(await harness.chain.call(view, call))
            assert answer[1] == liquidity_net
        if pool.kind == "v3":
            (liquidity,) = LIQUIDITY.decode_output(await harness.chain.call(row.id, LIQUIDITY.encode([])))
            assert pool.liquidity == liquidity
        else:
            call = V4_SLOT0.encode([bytes.fromhex(row.id[2:])])
            slot0 = V4_SLOT0.decode_output(
                await harness.chain.call(harness.manifest.contracts["StateView"], call)
            )
            assert (pool.sqrt_price_x96, pool.tick, pool.fee_pips) == (slot0[0], slot0[1], slot0[3])


class Rounds:
    """Counts round trips: a request that starts while none is running begins a new one."""

    def __init__(self, harness):
        self.rounds = self.running = 0
        self.forward = harness.chain.forward
        harness.chain.forward = self

    async def __call__(self, method, params, timeout_s):
        if not self.running:
            self.rounds += 1
        self.running += 1
        try:
            return await self.forward(method, params, timeout_s)
        finally:
            self.running -= 1


async def test_a_cold_quote_takes_at_most_two_round_trips_and_a_warm_one_none(harness):
    request = harness.request("MKR", "EURC", 4 * 10**18)
    await harness.discover(request)
    await harness.discover(harness.request("ETH", "USDC", 10**18))
    rounds = Rounds(harness)
    await harness.provider.quote(request)
    assert rounds.rounds <= 2  # head, lens with the taxes of both tokens
    before = harness.chain.requests
    for amount in (10**15, 10**18, 5 * 10**18):
        await harness.provider.quote(replace(request, amount_in=amount))
    await harness.provider.quote(harness.request("ETH", "USDC", 10**18))
    assert harness.chain.requests == before


async def test_leaving_the_known_ticks_takes_one_more_round_trip(harness, monkeypatch):
    request = harness.request("WETH", "USDC", 20_000 * 10**18)
    await harness.discover(request)
    whole = await harness.quote(request)
    harness.forget_pools()
    monkeypatch.setattr(lens, "_BAND_TICKS", 0)
    rounds = Rounds(harness)
    quote = await harness.provider.quote(request)
    assert rounds.rounds == 2
    assert quote.outputs == whole.outputs
    build = await harness.build(request, quote)
    done = harness.execute(request, quote, build)
    assert done.received == done.quoted


async def test_the_graph_of_a_block_is_made_once_until_more_ticks_are_read(harness, monkeypatch):
    monkeypatch.setattr(lens, "_BAND_TICKS", 0)
    states, weth = PoolStates(harness.chain), harness.network.wrapped_native
    block, refs = await harness.chain.head(fresh=True), refs_of(harness, "WETH", "USDC")
    (ref,) = [ref for ref in refs if ref.kind == "v3" and ref.fee == 500]
    graph = await states.graph(block, refs, weth)
    assert await states.graph(block, refs, weth) is graph
    (pool,) = [pool for pool in graph.pools if pool.id == ref.id]
    await states.widen(block, refs, [BandExceeded(pool, True, 0, 0, 0, 0)])
    wider = await states.graph(block, refs, weth)
    (known,) = [pool for pool in wider.pools if pool.id == ref.id]
    assert known.word_lo < pool.word_lo
    harness.rpc("evm_mine")
    assert await states.graph(await harness.chain.head(fresh=True), refs, weth) is not wider


async def test_concurrent_quotes_share_their_reads(harness):
    request = harness.request("LINK", "UNI", 10**18)
    await harness.discover(request)
    before = harness.chain.requests
    await harness.provider.quote(request)
    alone = harness.chain.requests - before
    harness.forget_pools()
    harness.rpc("evm_mine")
    await harness.chain.head(fresh=True)
    before = harness.chain.requests
    await asyncio.gather(*(harness.provider.quote(request) for _ in range(20)))
    assert harness.chain.requests - before <= alone


async def test_an_answer_stays_below_the_maximum_size_of_a_contract(harness):
    # The ticks of 120 pools are twice what fits: fewer words are read, but every pool is.
    block = await harness.chain.head(fresh=True)
    (ref,) = [ref for ref in refs_of(harness, "WETH", "USDC") if ref.kind == "v3" and ref.fee == 500]
    questions = [lens.first_look(ref)] * 120
    answer = await harness.chain.deployless(lens.creation_code(questions), block=block)
    assert len(answer) <= 24_576
    pools = lens.read_answer(answer, questions)
    (whole,) = lens.read_answer(
        await harness.chain.deployless(lens.creation_code(questions[:1]), block=block), questions[:1]
    )
    known = [pool for pool in pools if pool.ticks]
    assert 0 < len(known) < 120 or any(len(pool.ticks) < len(whole.ticks) for pool in pools)
    for pool in pools:
        assert (pool.sqrt_price_x96, pool.liquidity) == (whole.sqrt_price_x96, whole.liquidity)
        inside = tuple(t for t in whole.ticks if pool.word_lo <= t[0] // 10 // 256 <= pool.word_hi)
        assert pool.ticks == inside


async def test_less_gas_reads_fewer_words_without_an_error(harness):
    block = await harness.chain.head(fresh=True)
    questions = [lens.first_look(ref) for ref in refs_of(harness, "WETH", "USDC")]
    words = []
    for gas in (600_000, 1_000_000, 1_500_000, 6_000_000, None):
        answer = await harness.chain.deployless(lens.creation_code(questions), block=block, gas=gas)
        pools = [pool for pool in lens.read_answer(answer, questions) if pool is not None]
        assert len(pools) == 7
        words.append(sum(p.word_hi - p.word_lo + 1 for p in pools if isinstance(p, ConcentratedPool)))
    assert 0 == words[0] < words[1] < words[2] < words[3] == words[4]


async def test_all_ticks_can_be_read_from_a_given_word(harness):
    block = await harness.chain.head(fresh=True)
    for ref in refs_of(harness, "USDC", "USDT"):
        if ref.kind == "v2":
            continue
        for question in (lens.rest_below(ref, 5), lens.rest_above(ref, -5)):
            answer = await harness.chain.deployless(lens.creation_code([question]), block=block)
            (pool,) = lens.read_answer(answer, [question])
            if pool is None:
                continue
            edge = 887272 // ref.tick_spacing
            if question.above == 0:
                assert (pool.word_hi, pool.word_lo) == (5, (-edge - 1) >> 8)
            else:
                assert (pool.word_lo, pool.word_hi) == (-5, (edge + 1) >> 8)


@pytest.mark.parametrize("answer", [b"", b"\x02", b"\x01", b"\x01\x00\x00", b"\x01\x03" + bytes(20)])
async def test_a_malformed_answer_raises_an_upstream_error(harness, answer):
    ref = refs_of(harness, "WETH", "USDC")[0]

    class MalformedChain:
        network = harness.network

        async def deployless(self, code, *, block):
            return answer

    with pytest.raises(UpstreamError):
        await PoolStates(MalformedChain()).load(await harness.chain.head(), [ref])
