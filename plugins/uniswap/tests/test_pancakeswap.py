"""PancakeSwap v3 through its SwapRouter: its deployer, its tiers, its protocol fee."""

import asyncio

import pytest
from fork_chain import MAKER, ForkChain, PancakeFork, serving, trade_all
from public_networks import NATIVE, Place, gateway_on, look_alike
from quoteway.evm.abi import encode_call
from quoteway_uniswap.candidates import pools_of_pair
from quoteway_uniswap.forks import parse_fork
from quoteway_uniswap.public_forks import FORK_ROWS
from quoteway_uniswap.state import PoolStates

pytestmark = pytest.mark.slow
PANCAKE, ROUTER = "pancakeswap-v3", "uniswap.v3-router"
ONLY = {"protocols": [f"{PANCAKE}-routes"]}


@pytest.fixture
def pancake(fresh_devnet):
    fork = PancakeFork(ForkChain(fresh_devnet))
    for first, second, fee, depths in (
        ("WETH", "USDC", 500, ((3_000_000, 600), (2_000_000, 5_000), (500_000, 40_000))),
        ("WETH", "USDC", 2500, ((1_000_000, 10_000),)),
        ("USDC", "DAI", 100, ((5_000_000, 50),)),
        ("WETH", "LINK", 10_000, ((2_000_000, 20_000),)),
    ):
        fork.create(first, second, fee)
        for dollars, ticks in depths:
            fork.mint(first, second, fee, dollars, ticks)
        fork.use(first, second, fee)
    return fork


def fees_of(quote):
    return [hop["feeBps"] for path in quote["route"]["paths"] for hop in path["hops"]]


async def test_its_router_pays_what_was_quoted(fresh_devnet, pancake):
    rows, traded = [pancake.row(PANCAKE, title="PancakeSwap v3")], set()
    async with serving(fresh_devnet, rows, {pancake.router: ROUTER}) as place:
        for quote in await trade_all(fresh_devnet, place, PANCAKE):
            traded |= set(fees_of(quote))
        assert traded == {1.0, 5.0, 25.0, 100.0}
        _, difference = await place.swap("WETH", "LINK", 1, amount="1000", **ONLY)
        assert difference == 0
        rows = {row["id"]: row for row in (await place.api.get("/v2/providers?limit=200")).body["data"]}
        assert rows[PANCAKE]["refusals"] == rows[PANCAKE]["missingContracts"] == []


async def test_another_protocol_fee_changes_no_amount(fresh_devnet, pancake):
    found = "getPool(address token0, address token1, uint24 fee) returns (address)"
    tokens = [token for token, _ in pancake.chain.sides("WETH", "USDC", 1)]
    (pool,) = pancake.chain.read(pancake.factory, found, *tokens, 500)
    async with serving(fresh_devnet, [pancake.row(PANCAKE)], {pancake.router: ROUTER}) as place:
        for fees in ((4000, 1000), (0, 2000), (0, 0)):
            _, difference = await place.swap("ETH", "USDC", 2, **ONLY)
            assert difference == 0
            pancake.chain.send(
                pancake.factory, encode_call("setFeeProtocol(address,uint32,uint32)", [pool, *fees])
            )
            _, difference = await place.swap("USDC", "ETH", 3_000, **ONLY)
            assert difference == 0


@pytest.mark.parametrize(
    ("change", "members"),
    [
        ({"fees": [[500, 60]]}, "v3.fees or v3.factory"),
        ({"deployer": MAKER}, "v3.deployer or router"),
        ({"factory": MAKER}, "v3.factory or router"),
    ],
)
async def test_a_row_that_its_contracts_contradict_is_refused_by_name(fresh_devnet, change, members):
    fork = PancakeFork(ForkChain(fresh_devnet))
    row = fork.row(PANCAKE)
    row["v3"] |= change
    async with serving(fresh_devnet, [row], {fork.router: ROUTER}) as place:
        async with asyncio.timeout(60):
            while not (refusals := (await provider_row(place.api))["refusals"]):
                await asyncio.sleep(0.05)
        (refusal,) = refusals
        assert refusal["reason"].startswith(f"correct {members}: 0x")
        body = {"network": "devnet", "address": MAKER, "fromToken": NATIVE, "toToken": place.token("USDC")}
        answer = await place.api.post("/v2/swaps/quote", body | {"amount": str(10**18)} | ONLY)
        answer.refused(502, "upstream_error")


async def provider_row(api):
    rows = (await api.get("/v2/providers?limit=200")).body["data"]
    return next(row for row in rows if row["id"] == PANCAKE)


async def test_the_built_in_row_of_ethereum_quotes_what_it_executes():
    """On a look-alike with the makers' contracts at their public addresses, with its endpoint configured."""
    (row,) = [row for row in FORK_ROWS[1] if row["protocol"] == PANCAKE]
    with look_alike(1) as chain:
        fork = PancakeFork(ForkChain(chain, "ethereum"), row)
        for first, second, fee, ticks in (("WETH", "USDC", 500, 2_000), ("USDC", "USDT", 100, 50)):
            fork.create(first, second, fee)
            fork.mint(first, second, fee, 10_000_000, ticks)
        async with gateway_on(chain.urls) as api:
            place = Place(chain, api, "ethereum")
            for sold, bought, whole in (
                ("ETH", "USDC", 20),
                ("USDC", "ETH", 30_000),
                ("WETH", "USDT", 4),
                ("USDT", "ETH", 9_000),
            ):
                quote, difference = await place.swap(sold, bought, whole, **ONLY)
                assert difference == 0, (sold, bought)
                assert quote["simulation"]["status"] == "success"


async def test_states_carried_by_its_logs_are_those_read_anew(fresh_devnet, pancake):
    """Its Swap has two members more, and its SetFeeProtocol has 32-bit fees."""
    found = "getPool(address token0, address token1, uint24 fee) returns (address)"
    tokens = [token for token, _ in pancake.chain.sides("WETH", "USDC", 1)]
    (pool,) = pancake.chain.read(pancake.factory, found, *tokens, 500)
    changes = (
        lambda: pancake.use("WETH", "USDC", 500),
        lambda: pancake.mint("WETH", "USDC", 500, 90_000, 300),
        lambda: pancake.chain.call(
            pancake.factory, "setFeeProtocol(address,uint32,uint32)", pool, 4000, 1000
        ),
        lambda: pancake.use("WETH", "USDC", 500),
    )
    async with serving(fresh_devnet, [], {}) as place:
        chain = place.api.gateway.runtime.chain(31337)
        row = parse_fork(pancake.row(PANCAKE), chain.network).deployment
        refs, carried, protocol_fees = pools_of_pair(row, *tokens), PoolStates(chain, (row,)), []
        for change in (lambda: None, *changes):
            change()
            with fresh_devnet.rpc("devnet") as rpc:
                number = int(rpc("eth_blockNumber"), 16)
            block = await chain.block(number)
            anew, same = await PoolStates(chain).load(block, refs), await carried.load(block, refs)
            assert same == anew
            (found,) = [each for each in anew if each.id == pool]
            protocol_fees.append((found.protocol_fee_zero_for_one, found.protocol_fee_one_for_zero))
        assert protocol_fees == [(3400, 3400)] * 3 + [(4000, 1000)] * 2
        assert (carried.store.counts["carried"], carried.store.counts["unknown"]) == (len(changes), 0)
