"""What a rollup charges for data: by OP-stack's own contract, and from a stub of Arbitrum's."""

import random
from dataclasses import replace

import pytest
from eth_account import Account
from op_stack import charge, fee_of
from quoteway.engine.gas_costs import with_estimated_l1_fees, with_l1_fee
from quoteway.engine.ranking import bids_of
from quoteway.errors import ConfigError, UpstreamError
from quoteway.evm.fastlz import compressed_length
from quoteway.evm.l1_fee import ArbitrumPrice, L1Prices, OpStackPrice
from quoteway.host.outcomes import Outcome
from quoteway.models import Block, Gas, Leg, Quote, Step
from quoteway.networks import Network, Networks
from sold_usdc import GOT, MINIMUM, SOLD, USDC, USER, WETH

BLOCK = Block(7, "0x" + "cd" * 32, 1_800_000_000)
SEED = random.Random(11)


def texts():
    """Bytes of many kinds: empty, short, random, of few values, repeated, words as in calldata, far apart."""
    yield from (b"", b"\x00", bytes(12), bytes(13), bytes(14), bytes(3000), b"\xff" * 600)
    for size in (5, 13, 14, 31, 32, 33, 64, 300, 2000):
        yield SEED.randbytes(size)
        yield bytes(SEED.choices((0, 0, 0, 1, 255), k=size))
    for words in (3, 20, 60):
        known = [bytes(12) + SEED.randbytes(20), bytes(31) + b"\x40", bytes(26) + SEED.randbytes(6)]
        yield b"".join(SEED.choices(known, k=words))
    far = SEED.randbytes(9000)
    yield far + far[:200] + far[5000:5600]


@pytest.fixture
def oracle(fresh_devnet):
    with fresh_devnet.rpc() as rpc:
        charge(rpc)
        yield rpc


def op_price(base_fee=20 * 10**9, blob_fee=10**9, scalars=(1368, 810_949)):
    return OpStackPrice(scalars[0] * 16 * base_fee + scalars[1] * blob_fee)


def test_fees_of_any_bytes_are_those_of_the_oracle(oracle):
    for data in texts():
        assert op_price().of_length(compressed_length(data)) == fee_of(oracle, data), data.hex()


def test_the_fee_of_a_transaction_is_near_that_of_what_a_wallet_signs(oracle):
    wallet = Account.from_key(b"\x11" * 32)
    for data, value in [(b"", 10**18), *((text, 0) for text in texts())]:
        step = Step(USER, data, value, 10)
        fields = {"to": USER, "data": data, "value": value, "chainId": 10, "type": 2}
        gas = {
            "nonce": 4711,
            "gas": 234_567,
            "maxFeePerGas": 1_234_567_891,
            "maxPriorityFeePerGas": 1_000_001,
        }
        signed = wallet.sign_transaction(fields | gas).raw_transaction
        # The oracle adds 68 bytes for the signature to an unsigned transaction.
        charged = op_price().of_length(compressed_length(unsigned_of(signed)))
        assert charged == fee_of(oracle, unsigned_of(signed))
        assert abs(op_price().of([step]) - charged) * 20 <= charged, data.hex()


def unsigned_of(signed):
    """The transaction without y parity, r and s: its last 67 bytes, and the length before them corrected."""
    body = signed[1:]
    size = body[0] - 0xF7 if body[0] > 0xF7 else 0
    content = body[1 + size :]
    tail = 1 + sum(1 + word for word in signature_lengths(content))
    kept = content[:-tail]
    length = len(kept)
    if length < 56:
        return b"\x02" + bytes([0xC0 + length]) + kept
    digits = length.to_bytes((length.bit_length() + 7) // 8)
    return b"\x02" + bytes([0xF7 + len(digits)]) + digits + kept


def signature_lengths(content):
    """Those of r and s at the end of the list: 32 each, or shorter ones with leading zeros."""
    for r in range(32, 28, -1):
        for s in range(32, 28, -1):
            if content[-s - 1] == 0x80 + s and content[-s - r - 2] == 0x80 + r:
                return r, s
    raise AssertionError("no signature")


class Answering:
    """A chain that answers reads with words; ``calls`` counts the batches."""

    def __init__(self, kind, *outputs):
        self.network = replace(Network("rollup", 10, "Rollup"), l1_fee=kind)
        self.outputs, self.calls = outputs, 0

    async def head(self):
        return BLOCK

    async def call_many(self, reads, *, block):
        self.calls += 1
        if isinstance(self.outputs[0], Exception):
            raise self.outputs[0]
        return [b"".join(word.to_bytes(32) for word in words) for words in self.outputs]


async def test_prices_are_read_once_a_block():
    chain = Answering("op-stack", (1,), (20 * 10**9,), (1368,), (10**9,), (810_949,))
    prices = L1Prices()
    for _ in range(3):
        assert await prices.at(chain, BLOCK) == await prices.at_head(chain) == op_price()
    assert chain.calls == 1
    await prices.at(chain, replace(BLOCK, hash="0x" + "ce" * 32))
    assert chain.calls == 2


async def test_arbitrum_tells_its_prices_in_one_answer():
    """Source of the order: nitro-contracts, ArbGasInfo.getPricesInWei."""
    chain = Answering("arbitrum", (140_000, 1000, 3, 4, 5, 6))
    price = await L1Prices().at(chain, BLOCK)
    assert price == ArbitrumPrice(140_000, 1000)
    data = bytes(4000)
    assert price.of([Step(USER, data, 0, 42161)]) == 140_000 + 1000 * compressed_length(data)
    assert price.of_legs(1) < price.of_legs(2) < price.of_legs(5)


@pytest.mark.parametrize(
    "chain",
    [
        Answering(None, ()),
        Answering("op-stack", (0,), (1,), (1,), (1,), (1,)),
        Answering("op-stack", (), (1,), (1,), (1,), (1,)),
        Answering("op-stack", (1,), (2**256 - 1,), (1,), (1,), (1,)),
        Answering("arbitrum", ()),
        Answering("arbitrum", UpstreamError("No node answered.")),
    ],
    ids=["no rollup", "before Fjord", "no contract", "absurd", "no precompile", "no node"],
)
async def test_a_fee_that_is_not_known_is_none(chain):
    assert await L1Prices().at(chain, BLOCK) is None
    assert await L1Prices().at_head(chain) is None


def test_a_network_with_another_fee_is_refused():
    with pytest.raises(ConfigError, match="op-stack, arbitrum"):
        Networks([replace(Network("rollup", 10, "Rollup"), l1_fee="zk")])


# --- in quotes ----------------------------------------------------------------------------------------------

GAS_WEI, RATE = 10**9, 3
"""A price of gas, and units of the output for a wei."""


def quote(units=200_000, l1_fee=None, **more):
    cost = units * GAS_WEI
    return Quote(
        inputs=(Leg(USDC, SOLD, USER),),
        outputs=(Leg(WETH, GOT * 10, USER, amount_min=MINIMUM * 10),),
        block=BLOCK,
        plan={},
        gas=Gas(units, 2 * units, l1_fee_wei=l1_fee, cost_wei=cost, price_wei=GAS_WEI),
        net_output=MINIMUM * 10 - cost * RATE,
        **more,
    )


def test_the_fee_is_in_the_cost_of_gas_and_in_the_net_output():
    fee = 77 * 10**12
    given = with_l1_fee(quote(), fee)
    assert (given.gas.l1_fee_wei, given.gas.cost_wei) == (fee, 200_000 * GAS_WEI + fee)
    assert given.net_output == quote().net_output - fee * RATE
    assert with_l1_fee(given, fee) == given
    assert with_l1_fee(given, 0).net_output == quote().net_output
    assert with_l1_fee(replace(quote(), gas=None), fee) == replace(quote(), gas=None)
    priceless = replace(quote(), gas=replace(quote().gas, cost_wei=None))
    told = with_l1_fee(priceless, fee)
    assert (told.gas.l1_fee_wei, told.gas.cost_wei, told.net_output) == (fee, None, priceless.net_output)


def test_of_two_equal_quotes_the_one_with_less_data_is_the_better_bid():
    outcomes = [Outcome(None, "quoted", value=quote()), Outcome(None, "quoted", value=quote())]
    price = op_price()
    short, long = with_estimated_l1_fees(outcomes, price)
    bids = bids_of([short, replace(long, value=with_l1_fee(long.value, 2 * price.of_legs(1)))])
    assert bids[0].promised - bids[1].promised == price.of_legs(1) * RATE
    assert bids[0].paid(GOT, 200_000) - bids[1].paid(GOT, 200_000) == price.of_legs(1) * RATE
    assert [bid.gas_cost - bid.l1_cost for bid in bids] == [200_000 * GAS_WEI * RATE] * 2
    exact = bids[0].with_l1_fee(3 * price.of_legs(1))
    assert exact.l1_cost == 3 * bids[0].l1_cost
    assert exact.promised == bids[0].promised - 2 * bids[0].l1_cost
    assert with_estimated_l1_fees(outcomes, None) == outcomes
