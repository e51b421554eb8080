"""v4 position tokens of a wallet over nodes that limit eth_getLogs: none is left out without a word."""

import asyncio

import pytest
from liquidity import LiquidityHarness, pool_of
from quoteway import Incomplete, InvalidRequest, Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap import received_tokens
from quoteway_uniswap.pool_provider import UniswapPools

TRANSFER_FROM = function("transferFrom(address from, address to, uint256 id)")
OTHER = ACCOUNTS[7].address


class Limits:
    """Refuses logs of more than ``most`` blocks, or of blocks before ``oldest``, and counts the requests."""

    def __init__(self, chain):
        self.most, self.oldest, self.asked = 10**9, 0, 0
        self._request = chain.request
        chain.request = self.request

    async def request(self, method, params=(), **more):
        if method == "eth_getLogs":
            self.asked += 1
            first, last = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
            if last - first + 1 > self.most or first < self.oldest:
                raise UpstreamError("The range is too large.", reason=Reason.RPC_ERROR)
        return await self._request(method, params, **more)


@pytest.fixture
async def harness(fresh_devnet):
    async with LiquidityHarness(fresh_devnet) as harness:
        harness.limits = Limits(harness.chain)
        yield harness


async def add(harness):
    """Adds a position to a v4 pool and returns the pool."""
    pool = pool_of(harness.manifest, "v4", "ETH/USDC", 500)
    await harness.operate(harness.of(pool, "add", pool.token0, 10**17))
    await harness.fresh()
    return pool


async def mine(harness, blocks):
    harness.rpc("anvil_mine", hex(blocks))
    await harness.fresh()


def looking(harness):
    """A provider that has not looked for any wallet yet."""
    harness.context.state.pop("shared", None)
    return UniswapPools(harness.context)


async def of_v4(provider, wallet):
    found = await provider.positions(wallet, None)
    rows = [each for each in found if each.kind == "nft" and len(each.pool_id) > 60]
    return rows, found.reason if isinstance(found, Incomplete) else None


async def all_of(provider, wallet):
    """What is told once nothing is missing."""
    for _ in range(20):
        rows, reason = await of_v4(provider, wallet)
        if reason is None:
            return rows
        await ended(provider)
    raise AssertionError(f"still {reason}")


async def ended(provider):
    shared = provider._on_chain(31337).wallets._received
    await asyncio.gather(*shared._tasks)


@pytest.mark.parametrize(
    "most", [pytest.param(1_000, marks=pytest.mark.slow), 100, pytest.param(7, marks=pytest.mark.slow)]
)
async def test_all_are_found_wherever_some_range_is_allowed(harness, most, monkeypatch):
    await add(harness)
    await mine(harness, 900)
    await add(harness)
    await mine(harness, 300)
    harness.limits.most = most
    monkeypatch.setattr(received_tokens, "WAIT_S", 0.0)
    provider = looking(harness)
    rows, reason = await of_v4(provider, harness.sender)
    assert (rows, reason) == ([], "logs_unavailable"), "named while the search runs"
    assert len(await all_of(provider, harness.sender)) == 2
    asked = harness.limits.asked
    await mine(harness, 5)
    rows, reason = await of_v4(provider, harness.sender)
    assert (len(rows), reason, harness.limits.asked) == (2, None, asked), "new blocks need no search"


async def test_they_are_named_where_every_range_is_refused(harness):
    pool = await add(harness)
    harness.limits.most = 0
    provider = looking(harness)
    assert await of_v4(provider, harness.sender) == ([], "logs_unavailable")
    # What is meant by "the only position" is not known then.
    with pytest.raises(InvalidRequest, match="could be looked for"):
        await provider.quote(harness.of(pool, "remove", pool.token0, 10**15))
    harness.limits.most = 10**9
    assert len(await all_of(provider, harness.sender)) == 1


async def test_the_search_ends_where_all_are_found(harness):
    await mine(harness, 500)
    await add(harness)
    await mine(harness, 20)
    harness.limits.most = 50
    harness.limits.oldest = (await harness.chain.head()).number - 120
    assert len(await all_of(looking(harness), harness.sender)) == 1


async def test_a_wallet_without_any_costs_no_search(harness):
    await add(harness)
    provider = looking(harness)
    harness.limits.asked = 0
    await provider._on_chain(31337).wallets.nfts(await harness.chain.head(), OTHER)
    assert harness.limits.asked == 0


async def test_tokens_that_come_and_go_are_those_of_their_owner(harness):
    pool = await add(harness)
    provider = looking(harness)
    (row,) = await all_of(provider, harness.sender)
    manager = harness.manager(pool)
    for sender, receiver in ((harness.sender, OTHER), (OTHER, harness.sender)):
        data = TRANSFER_FROM.encode([sender, receiver, int(row.position_id)])
        call = {"from": sender, "to": manager, "data": "0x" + data.hex()}
        harness.rpc("eth_sendTransaction", call)
        harness.rpc("evm_mine")
        await harness.fresh()
        for wallet in (sender, receiver):
            rows = await all_of(provider, wallet)
            assert [each.position_id for each in rows] == ([row.position_id] if wallet == receiver else [])


async def test_no_more_searches_wait_than_are_allowed(harness, monkeypatch):
    await add(harness)
    monkeypatch.setattr(received_tokens, "_MOST_SEARCHES", 0)
    provider = looking(harness)
    assert await of_v4(provider, harness.sender) == ([], "logs_unavailable")
    monkeypatch.setattr(received_tokens, "_MOST_SEARCHES", 1)
    assert len(await all_of(provider, harness.sender)) == 1
