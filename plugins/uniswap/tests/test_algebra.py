"""Algebra Integral: its pools by the real contracts, and swaps through its SwapRouter."""

import random

import pytest
from fork_chain import FAR, MAKER, ZERO, AlgebraFork, ForkChain, serving, trade_all
from public_networks import NATIVE
from quoteway.evm.abi import function
from quoteway_amm import BandExceeded
from quoteway_uniswap.candidates import pools_of_pair
from quoteway_uniswap.forks import parse_fork
from quoteway_uniswap.state import PoolStates

pytestmark = pytest.mark.slow
ALGEBRA, ROUTER = "someswap", "algebra.router"
ONLY = {"protocols": [f"{ALGEBRA}-routes"]}
BEFORE_SWAP, AFTER_SWAP, DYNAMIC_FEE = 1, 2, 128


@pytest.fixture
def algebra(fresh_devnet):
    fork = AlgebraFork(ForkChain(fresh_devnet))
    for first, second, fee, positions in (
        ("WETH", "USDC", 450, ((3_000_000, 600), (2_000_000, 5_000), (500_000, 900_000))),
        ("USDC", "DAI", 100, ((5_000_000, 60),)),
        ("WETH", "LINK", 3_210, ((2_000_000, 20_000),)),
    ):
        fork.create(first, second, fee)
        for dollars, ticks in positions:
            fork.mint(first, second, dollars, ticks)
        fork.use(first, second)
    return fork


async def test_its_router_pays_what_was_quoted(fresh_devnet, algebra):
    async with serving(fresh_devnet, [algebra.row(ALGEBRA)], {algebra.router: ROUTER}) as place:
        await trade_all(fresh_devnet, place, ALGEBRA)
        rows = {row["id"]: row for row in (await place.api.get("/v2/providers?limit=200")).body["data"]}
        assert rows[ALGEBRA]["refusals"] == rows[ALGEBRA]["missingContracts"] == []


async def test_a_plugin_that_is_asked_before_swaps_takes_a_pool_out(fresh_devnet, algebra):
    chain, pool = algebra.chain, algebra.pool("WETH", "USDC")
    plugin = chain.deploy("AlgebraMockPlugin", "(address)", pool)
    chain.call(pool, "setPlugin(address)", plugin)
    async with serving(fresh_devnet, [algebra.row(ALGEBRA)], {algebra.router: ROUTER}) as place:
        body = {"network": "devnet", "address": MAKER, "fromToken": NATIVE, "toToken": place.token("USDC")}
        body |= {"amount": str(10**18)} | ONLY
        for config in (
            0,
            AFTER_SWAP,
            BEFORE_SWAP | AFTER_SWAP,
            AFTER_SWAP,
            DYNAMIC_FEE,
            DYNAMIC_FEE | BEFORE_SWAP,
        ):
            chain.call(pool, "setPluginConfig(uint8)", config)
            if config & BEFORE_SWAP:
                (await place.api.post("/v2/swaps/quote", body)).refused(502, "upstream_error")
            else:
                for sold, bought, whole in (("ETH", "USDC", 1), ("USDC", "ETH", 2_000)):
                    _, difference = await place.swap(sold, bought, whole, **ONLY)
                    assert difference == 0, config


@pytest.mark.parametrize(
    ("change", "members"),
    [
        ({"deployer": MAKER}, "algebra.deployer or router"),
        ({"factory": MAKER}, "algebra.factory or router"),
        ({"init_code_hash": "0x" + "11" * 32}, "algebra.init_code_hash"),
    ],
)
async def test_a_row_that_its_contracts_contradict_is_refused_by_name(fresh_devnet, change, members):
    fork = AlgebraFork(ForkChain(fresh_devnet))
    row = fork.row(ALGEBRA)
    row["algebra"] |= change
    async with serving(fresh_devnet, [row], {fork.router: ROUTER}) as place:
        rows = {each["id"]: each for each in (await place.api.get("/v2/providers?limit=200")).body["data"]}
        (refusal,) = rows[ALGEBRA]["refusals"]
        assert refusal["reason"].startswith(f"correct {members}: 0x")


SINGLE = "((address,address,address,address,uint256,uint256,uint256,uint160) params) returns (uint256)"
EXACT_IN, EXACT_OUT = (function(f"exact{side}Single{SINGLE}") for side in ("Input", "Output"))


class Answers:
    """What the real pool pays or takes, asked of the router as its account."""

    def __init__(self, fork):
        self.fork, self.tokens = fork, [token for token, _ in fork.chain.sides("WETH", "USDC", 1)]
        for token in self.tokens:
            fork.chain.approve(token, fork.router)

    def of(self, asked):
        """Returns the answers to (exact in, zero for one, amount); None where the router reverts."""
        calls = []
        for exact_in, zero_for_one, amount in asked:
            sold, bought = self.tokens if zero_for_one else self.tokens[::-1]
            limits = (amount, 0) if exact_in else (amount, 2**127)
            params = sold, bought, ZERO, MAKER, FAR, *limits, 0
            data = (EXACT_IN if exact_in else EXACT_OUT).encode([params])
            calls.append({"from": MAKER, "to": self.fork.router, "data": "0x" + data.hex()})
        answers = []
        with self.fork.chain.devnet.rpc("devnet") as rpc:
            for call in calls:
                try:
                    answers.append(int(rpc("eth_call", call, "latest"), 16))
                except RuntimeError:
                    answers.append(None)
        return answers


def amounts(pool, chance):
    """Yields amounts of all sizes, and those that end at a tick, one less and one more."""
    for zero_for_one in (True, False):
        for _ in range(6):
            yield (
                True,
                zero_for_one,
                int(10 ** chance.uniform(0, 23 if zero_for_one == (pool.mid_price(True) < (1, 1)) else 14)),
            )
            yield False, zero_for_one, int(10 ** chance.uniform(0, 14))
        ladder = pool.ladder(zero_for_one)
        pool.exact_in(zero_for_one, 1)
        for spent, given in [*zip(ladder._ins, ladder._outs, strict=True)][:4]:
            for by in (-1, 0, 1):
                yield True, zero_for_one, spent + by
                yield False, zero_for_one, given + by


def change_at_random(fork, chance):
    """Trades, adds a position, or changes the fee or the tick spacing."""
    chain, pool = fork.chain, fork.pool("WETH", "USDC")
    match chance.randrange(5):
        case 0 | 1:
            sides = chain.sides("WETH", "USDC", 10 ** chance.uniform(1, 6))
            (sold, amount), (bought, _) = sides if chance.random() < 0.5 else sides[::-1]
            call = "exactInputSingle((address,address,address,address,uint256,uint256,uint256,uint160))"
            chain.call(fork.router, call, (sold, bought, ZERO, MAKER, FAR, amount, 0, 0))
        case 2 | 3:
            ticks = chance.choice((60, 600, 4_000, 30_000, 880_000))
            fork.mint("WETH", "USDC", 10 ** chance.uniform(3, 6), ticks, chance.randint(-2, 2) * 600)
        case 4:
            chain.call(pool, "setFee(uint16)", chance.randint(0, 30_000))


@pytest.mark.parametrize("seed", range(2))
async def test_amounts_are_those_of_the_real_pool(fresh_devnet, seed):
    """In random states, read anew and carried by logs."""
    chance = random.Random(seed)
    fork = AlgebraFork(ForkChain(fresh_devnet))
    fork.create("WETH", "USDC", chance.randint(1, 5_000))
    fork.mint("WETH", "USDC", 1_000_000, 3_000)
    answers, compared = Answers(fork), 0
    async with serving(fresh_devnet, [], {}) as place:
        chain = place.api.gateway.runtime.chain(31337)
        row = parse_fork(fork.row(ALGEBRA), chain.network).deployment
        refs = pools_of_pair(row, *answers.tokens)
        carried = PoolStates(chain, (row,))
        for _ in range(12):
            change_at_random(fork, chance)
            with fresh_devnet.rpc("devnet") as rpc:
                number = int(rpc("eth_blockNumber"), 16)
            block = await chain.block(number)
            (pool,) = await PoolStates(chain).load(block, refs)
            (same,) = await carried.load(block, refs)
            assert same == pool
            asked = [each for each in amounts(pool, chance) if each[2] > 0]
            for (exact_in, zero_for_one, amount), answer in zip(asked, answers.of(asked), strict=True):
                try:
                    found = (pool.exact_in if exact_in else pool.exact_out)(zero_for_one, amount)
                except BandExceeded:
                    continue
                if found is not None and answer is not None:
                    assert found[0] == answer, (exact_in, zero_for_one, amount, pool)
                    compared += 1
        assert carried.store.counts["carried"] > 5
    assert compared > 200
