"""Pool states follow the blocks' logs: equal to the lens, in few requests, against faulty nodes."""

import asyncio
import pickle
from math import isqrt

import pytest
from pool_traffic import SYNC, TRANSFER, TrafficHarness, compare, differences
from quoteway import NATIVE
from quoteway.evm.abi import function
from quoteway_amm import BandExceeded, Graph
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap import lens, pool_store
from quoteway_uniswap.candidates import candidate_pools, v2_pool
from quoteway_uniswap.lens import Empty
from wrong_logs import malformed, not_in_the_bloom, of_a_foreign_contract, of_block_before, refused, twice

CREATE = function("createPair(address tokenA, address tokenB)")
MINT, BURN = function("mint(address to)"), function("burn(address to)")
DONOR = ACCOUNTS[0].address


@pytest.fixture
async def harness(fresh_devnet):
    async with TrafficHarness(fresh_devnet) as harness:
        yield harness


@pytest.fixture
def node(harness):
    return Node(harness)


class Node:
    """Stands between the chain and its node. ``change`` maps a method to a function of its answer."""

    def __init__(self, harness):
        self.forward, self.change, self.asked = harness.chain.forward, {}, []
        harness.chain.forward = self

    async def __call__(self, method, params, timeout_s):
        self.asked.append(method)
        answer = await self.forward(method, params, timeout_s)
        return self.change.get(method, lambda answer: answer)(answer)


def pool(harness, pair, protocol, fee=None):
    return next(
        p for p in harness.manifest.pools if (p.pair, p.protocol) == (pair, protocol) and fee in (None, p.fee)
    )


def move(harness, pair="WETH/USDC", amount=1000):
    """Changes the reserves of a v2 pair."""
    v2 = pool(harness, pair, "uniswap-v2")
    harness.send(DONOR, v2.token0, TRANSFER.encode([v2.id, amount]))
    harness.send(DONOR, v2.id, SYNC.encode([]))


async def swap(harness, row):
    """Sells a hundredth of a token0 in a pool."""
    token0 = harness.network.wrapped_native if row.token0 == NATIVE else row.token0
    decimals = next(token.decimals for token in harness.manifest.tokens if token.address == token0)
    await harness.swap_in(row, row.token0, row.token1, 10 ** (decimals - 2))


async def settled(harness, states, refs):
    """Loads the head's pools and asserts that they are the lens' own. Returns the head."""
    block = await harness.chain.head(fresh=True)
    await states.load(block, refs)
    assert await differences(harness, dict((await states.store.at(block)).states), block) == []
    return block


async def test_states_that_follow_from_logs_are_those_of_the_lens(fresh_devnet):
    traffic = await compare(operations=9, per_block=4, seed=5, devnet=fresh_devnet)
    assert traffic.wrong == []
    assert traffic.counts["carried"] == traffic.blocks - 1 > 3
    assert all(traffic.changed[kind] for kind in ("v2", "v3", "v4"))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "band_ticks"), [(1, 7000), (2, 7000), (3, 0)])
async def test_busy_blocks_with_mints_burns_and_fees_and_at_the_edge_of_the_band(
    fresh_devnet, monkeypatch, seed, band_ticks
):
    monkeypatch.setattr(lens, "_BAND_TICKS", band_ticks)
    traffic = await compare(operations=120, per_block=6, seed=seed, devnet=fresh_devnet)
    assert traffic.wrong == []
    assert min(traffic.changed[kind] for kind in ("v2", "v3", "v4")) > 20


async def test_a_new_block_takes_two_requests_however_many_pairs(harness, node):
    pairs = [("WETH", "USDC"), ("LINK", "UNI"), ("ETH", "DAI"), ("USDC", "USDT"), ("WBTC", "EURC")]
    requests = [harness.request(sold, bought, 10 ** harness.tokens[sold].decimals) for sold, bought in pairs]
    for request in requests:
        await harness.quote(request)
    v3 = pool(harness, "WETH/USDC", "uniswap-v3", 500)
    await swap(harness, v3)
    move(harness)
    harness.rpc("evm_mine")
    await harness.chain.head(fresh=True)  # the swap's own provider has read blocks
    for request in requests:
        await harness.quote(request)
    await harness.state.created.finished()  # the searches for pools that the first quotes began
    move(harness)
    harness.rpc("evm_mine")
    node.asked.clear()
    await harness.chain.head(fresh=True)
    for request in requests:
        await harness.provider.quote(request)
    assert node.asked == ["eth_getBlockByNumber", "eth_getLogs"]
    for request in requests:
        await harness.provider.quote(request)
    assert len(node.asked) == 2


async def test_a_quote_from_carried_states_pays_to_the_wei(harness):
    request = harness.request("WETH", "USDC", 10**18)
    await harness.quote(request)
    for _ in range(3):
        done = await harness.swap(request)
        assert done.received == done.quoted
    assert harness.state.states.store.counts["carried"] == 2


async def test_several_blocks_are_carried_at_once_in_two_requests_each(harness, node):
    states, refs = harness.states(), harness.refs()
    await settled(harness, states, refs)
    for amount in range(1, 6):
        move(harness, amount=amount)
        harness.rpc("evm_mine")
    node.asked.clear()
    block = await harness.chain.head(fresh=True)
    known = (await states.store.at(block)).states
    assert len(node.asked) == 10
    assert set(known) == set(refs)
    assert await differences(harness, dict(known), block) == []


@pytest.mark.parametrize(
    "depth", [1, 2, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (3, 7, 15, 16, 20))]
)
async def test_a_reorganisation_leads_back_to_the_common_ancestor(harness, node, depth):
    states, refs = harness.states(), harness.refs()
    move(harness)
    harness.rpc("evm_mine")
    await settled(harness, states, refs)
    start = harness.rpc("evm_snapshot")
    for step in range(depth):
        move(harness, amount=10 + step)
        harness.rpc("evm_mine")
        abandoned = await harness.chain.head(fresh=True)
        await states.load(abandoned, refs)
    harness.rpc("evm_revert", start)
    for step in range(depth + 1):
        move(harness, "WETH/DAI", amount=100 + step)
        harness.rpc("evm_mine")
    node.asked.clear()
    block = await harness.chain.head(fresh=True)
    known = (await states.store.at(block)).states
    if depth < pool_store.MOST_BLOCKS:
        assert set(known) == set(refs)
        assert node.asked.count("eth_getLogs") == depth + 1
        assert await differences(harness, dict(known), block) == []
    else:
        assert not known
    await settled(harness, states, refs)


async def test_logs_that_a_node_leaves_out_are_told_by_the_bloom(harness, node):
    states, refs = harness.states(), harness.refs()
    await settled(harness, states, refs)
    v3 = pool(harness, "WETH/USDC", "uniswap-v3", 500)
    v4 = pool(harness, "ETH/USDC", "uniswap-v4", 500)
    node.change["eth_getLogs"] = lambda logs: []
    for each in (v3, v4):
        await swap(harness, each)
        await settled(harness, states, refs)
    assert states.store.counts["omitted"] >= 2


async def test_an_audit_finds_what_the_bloom_does_not_tell(harness, node, caplog):
    states, refs = harness.states(), harness.refs()
    await settled(harness, states, refs)
    node.change["eth_getLogs"] = lambda logs: []
    node.change["eth_getBlockByNumber"] = lambda block: {**block, "logsBloom": "0x" + "00" * 256}
    move(harness)
    harness.rpc("evm_mine")
    block = await harness.chain.head(fresh=True)
    await states.load(block, refs)
    known = await states.store.at(block)
    (wrong,) = await states.audit.run(known, most=len(refs))
    assert wrong.kind == "v2"
    assert wrong.id in caplog.text
    assert states.store.counts["wrong"] == 1
    assert not known.states
    await settled(harness, states, refs)
    # It follows no logs for a while.
    node.change.clear()
    harness.rpc("evm_mine")
    known = await states.store.at(await harness.chain.head(fresh=True))
    assert set(refs) - set(known.states) == {wrong}


async def test_audits_run_now_and_then_in_the_background(harness):
    states, refs = harness.states(), harness.refs()
    now_s = 0.0
    states.audit._clock = lambda: now_s
    states.audit._next_s = 15.0
    block = await settled(harness, states, refs)
    assert states.audit._task is None
    now_s = 16.0
    await states.load(block, refs)
    assert await states.audit._task is None
    assert states.store.counts["wrong"] == 0
    await states.close()


@pytest.mark.parametrize(
    "answer",
    [
        of_block_before,
        refused,
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (of_a_foreign_contract, twice, not_in_the_bloom, malformed)
        ),
    ],
)
async def test_logs_that_contradict_the_block_are_not_used(harness, node, answer):
    states, refs = harness.states(), harness.refs()
    await settled(harness, states, refs)
    node.change["eth_getLogs"] = answer
    move(harness)
    harness.rpc("evm_mine")
    block = await harness.chain.head(fresh=True)
    assert not (await states.store.at(block)).states
    await settled(harness, states, refs)


async def test_a_node_without_the_block_after_the_head_costs_nothing_but_a_new_read(harness, node):
    states, refs = harness.states(), harness.refs()
    await settled(harness, states, refs)
    move(harness)
    harness.rpc("evm_mine")
    harness.rpc("evm_mine")
    node.change["eth_getBlockByNumber"] = lambda block: {**block, "parentHash": "0x" + "22" * 32}
    node.change["eth_getBlockByHash"] = lambda block: None
    block = await harness.chain.head(fresh=True)
    assert not (await states.store.at(block)).states
    await settled(harness, states, refs)


async def test_a_node_that_gives_no_logs_is_asked_again_ever_more_seldom(harness, monkeypatch):
    monkeypatch.setattr(pool_store, "CARRY_S", 0.02)
    now = 0.0
    states, refs, forward = harness.states(), harness.refs(), harness.chain.forward
    states.store._clock = lambda: now
    asked: list[float] = []

    async def hanging(method, params, timeout_s):
        if method == "eth_getLogs":
            asked.append(now)
            await asyncio.Event().wait()
        return await forward(method, params, timeout_s)

    async def blocks(at_s):
        nonlocal now
        for each_s in at_s:
            now = each_s
            move(harness)
            harness.rpc("evm_mine")
            await settled(harness, states, refs)

    await settled(harness, states, refs)
    harness.chain.forward = hanging
    await blocks([1, 2, 3, 4, 12.9, 13, 14, 32.9, 33, 34, 72, 73, 74, 153, 154, 313, 314, 612, 613, 912, 913])
    assert asked == [1, 2, 3, 13, 33, 73, 153, 313, 613, 913]
    harness.chain.forward = forward
    await blocks([1213])
    assert states.store.counts["carried"] == 1
    harness.chain.forward = hanging
    asked.clear()
    await blocks([1214, 1215, 1216, 1225, 1226])
    assert asked == [1214, 1215, 1216, 1226]  # what was good again begins with the shortest pause


async def test_pools_that_are_read_anew_and_have_not_changed_stay_the_same(harness, node):
    states, refs, weth = harness.states(), tuple(harness.refs()), harness.network.wrapped_native
    before = await states.graph(await harness.chain.head(fresh=True), refs, weth)
    node.change["eth_getLogs"] = lambda logs: None
    row = pool(harness, "WETH/USDC", "uniswap-v3", 500)
    await swap(harness, row)
    after = await states.graph(await harness.chain.head(fresh=True), refs, weth)
    assert states.store.counts["carried"] == 0
    changed = [old.id for old, now in zip(before.pools, after.pools, strict=True) if old is not now]
    assert changed == [row.id]
    kept = [(a, b) for a in before._edges for b in before.neighbours(a) if {a, b} != {row.token0, row.token1}]
    assert kept
    assert all(after.edges(a, b) is before.edges(a, b) for a, b in kept)
    assert after._edges == Graph(after.pools, weth)._edges
    await settled(harness, states, refs)


async def test_a_pool_created_and_drained_within_a_block(harness, node):
    states, v2 = harness.states(), harness.deployment.v2
    token0, token1 = sorted((harness.manifest.token(t).address for t in ("LINK", "UNI")), key=str.lower)
    ref = v2_pool(v2, token0, token1)
    assert await states.load(await harness.chain.head(fresh=True), [ref]) == []
    node.asked.clear()
    assert await states.load(await harness.mined(), [ref]) == []
    assert node.asked == ["eth_getBlockByNumber", "eth_getLogs"]  # it is not looked for again
    amount = 10**6

    def fill():
        for token in (token0, token1):
            harness.send(DONOR, token, TRANSFER.encode([ref.id, amount]))
        harness.send(DONOR, ref.id, MINT.encode([DONOR]))

    harness.send(DONOR, v2.factory, CREATE.encode([token0, token1]), gas=4_000_000)
    fill()
    harness.send(DONOR, ref.id, TRANSFER.encode([ref.id, isqrt(amount * amount) - 1000]))
    harness.send(DONOR, ref.id, BURN.encode([DONOR]))
    block = await harness.mined()
    (drained,) = await states.load(block, [ref])
    assert (drained.reserve0, drained.reserve1) == (1000, 1000)
    fill()
    (filled,) = await states.load(await harness.mined(), [ref])
    assert (filled.reserve0, filled.reserve1) == (1000 + amount, 1000 + amount)


async def test_a_pair_that_was_created_empty_is_followed(harness):
    states, v2 = harness.states(), harness.deployment.v2
    ends = sorted((harness.manifest.token(symbol).address for symbol in ("LINK", "UNI")), key=str.lower)
    ref = v2_pool(v2, *ends)
    harness.send(DONOR, v2.factory, CREATE.encode(ends), gas=4_000_000)
    block = await harness.mined()
    assert await states.load(block, [ref]) == []
    assert (await states.store.at(block)).states[ref] is Empty.EMPTY
    harness.send(DONOR, ref.id, SYNC.encode([]))
    assert ref not in (await states.store.at(await harness.mined())).states


async def test_ticks_that_were_read_stay_known(harness, monkeypatch, node):
    monkeypatch.setattr(lens, "_BAND_TICKS", 0)
    states, weth = harness.states(), harness.network.wrapped_native
    tokens = [harness.manifest.token(symbol).address for symbol in ("WETH", "USDC")]
    refs = candidate_pools(harness.deployment, *tokens)
    graph = await states.graph(await harness.chain.head(fresh=True), refs, weth)
    row = pool(harness, "WETH/USDC", "uniswap-v3", 500)
    (near,) = [each for each in graph.pools if each.id == row.id]
    (ref,) = [each for each in refs if each.id == row.id]
    for side in (True, False):
        await states.widen(await harness.chain.head(), refs, [BandExceeded(near, side, 0, 0, 0, 0)])
        (near,) = await states.load(await harness.chain.head(), [ref])
    await swap(harness, row)
    block = await harness.chain.head(fresh=True)
    (carried,) = await states.load(block, [ref])
    assert (carried.word_lo, carried.word_hi) == (near.word_lo, near.word_hi)
    assert carried.sqrt_price_x96 != near.sqrt_price_x96
    del (await states.store.at(block)).states[ref]
    (again,) = await states.load(block, [ref])
    assert again == carried


async def test_the_graph_shares_the_edges_of_pools_that_did_not_change(harness):
    states, weth = harness.states(), harness.network.wrapped_native
    refs = tuple(ref for ref in harness.refs())
    before = await states.graph(await harness.chain.head(fresh=True), refs, weth)
    row = pool(harness, "WETH/USDC", "uniswap-v3", 500)
    await swap(harness, row)
    after = await states.graph(await harness.chain.head(fresh=True), refs, weth)
    new = Graph(after.pools, weth)
    assert after._edges == new._edges
    assert [list(others) for others in after._edges.values()] == [list(o) for o in new._edges.values()]
    changed = [old.id for old, now in zip(before.pools, after.pools, strict=True) if old is not now]
    assert changed == [row.id]
    kept = [(a, b) for a in before._edges for b in before.neighbours(a) if {a, b} != {row.token0, row.token1}]
    assert kept
    assert all(after.edges(a, b) is before.edges(a, b) for a, b in kept)
    assert pickle.loads(pickle.dumps(after.pools)) == after.pools


async def test_the_pools_asked_for_last_are_kept(harness, monkeypatch):
    monkeypatch.setattr(pool_store, "MOST_ADDRESSES", 8)
    states, refs = harness.states(), harness.refs()
    block = await harness.chain.head(fresh=True)
    await states.load(block, refs)
    recent = [ref for ref in refs if ref.kind == "v2"][:3]
    harness.rpc("evm_mine")
    block = await harness.chain.head(fresh=True)
    states.store.asked(block, recent)
    known = (await states.store.at(block)).states
    assert set(recent) <= set(known)
    assert len({ref.target for ref in known if known[ref] is not None}) <= 8
    await settled(harness, states, refs)
