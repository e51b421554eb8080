"""The value of a wallet over time: balances that the chain had then, and prices of the index."""

import random

import pytest
from index_rows import facts, row
from quoteway import Token
from quoteway.engine import wallet_value
from quoteway.evm.abi import function
from quoteway.host.history import MOST_HOURS
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, Span
from quoteway_indexer.transfer_sources import SOURCE
from wallet_service import CHAIN, OTHER, STUB, WALLET, WalletService, stubs

SEND = function("transfer(address to, uint256 value)")
BALANCE_OF = function("balanceOf(address owner) returns (uint256)")
HOUR = 3_600
HISTORY = f"/v2/portfolio/history?wallet={WALLET}&network=devnet&interval=1h"


class Past:
    """Transfers of two tokens over ten hours, and the chain's own balances at the end of each hour."""

    def __init__(self, service):
        self.service = service
        self.tokens = [service.token(symbol) for symbol in ("USDC", "WETH")]
        self.start = 0
        self.blocks = {}

    def make(self, seed):
        choose = random.Random(seed)
        with self.service.devnet.rpc() as rpc:
            now = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
            self.start = now // HOUR * HOUR + HOUR
            for hour in range(10):
                self.at(rpc, self.start + hour * HOUR + choose.randrange(1, 1_800))
                for token in self.tokens:
                    for _ in range(choose.randrange(3)):
                        ends = choose.sample([WALLET, OTHER], 2)
                        amount = choose.randrange(1, 10**6)
                        self.service.send(token.address, SEND.encode([ends[0], amount]), sender=ends[1])
                self.at(rpc, self.start + (hour + 1) * HOUR)
                self.blocks[self.start + (hour + 1) * HOUR] = rpc("eth_blockNumber")
        self.service.fill()

    def at(self, rpc, moment):
        rpc("evm_setNextBlockTimestamp", hex(moment))
        rpc("evm_mine")

    def balance(self, token, block):
        with self.service.devnet.rpc() as rpc:
            call = {"to": token.address, "data": "0x" + BALANCE_OF.encode([WALLET]).hex()}
            return int(rpc("eth_call", call, block), 16)

    def price(self, *prices):
        """Writes prices of (token, hours after the start, dollars)."""
        rows = [
            row(
                "token_hour",
                token=bytes.fromhex(token.address[2:]),
                hour=self.start + after * HOUR,
                close_usd=usd,
            )
            for token, after, usd in prices
        ]
        self.service.store.commit(Commit(CHAIN, rollups={"token_hour": rows}))

    @property
    def path(self):
        return f"{HISTORY}&from={self.start + HOUR}&to={self.start + 10 * HOUR}"


@pytest.fixture
def past(fresh_devnet, store):
    return Past(WalletService(fresh_devnet, store))


def partial(body):
    return [(each["token"], each["reason"]) for each in body["partial"]]


NEVER_COUNTED = [("0x" + "0" * 40, "not_indexed"), (None, "positions_not_counted")]


async def test_every_balance_is_the_chains_and_every_value_the_sum_of_amounts_times_prices(past):
    past.make(7)
    usdc, weth = past.tokens
    # USDC is priced every hour; WETH up to the fourth one, then no more for longer than a day counts for.
    usd = {usdc: {n: 1 + n / 100 for n in range(10)}, weth: {n: 2_000.0 + n for n in range(4)}}
    past.price(*((token, n, value) for token, hours in usd.items() for n, value in hours.items()))
    async with past.service.serving():
        body = await past.service.get("getPortfolioHistory", past.path)
        held = {each["token"]["address"]: each["amounts"] for each in body["tokens"]}
        assert [point["timestamp"] for point in body["points"]] == list(past.blocks)
        for at, (moment, block) in enumerate(past.blocks.items()):
            value = 0.0
            for token in past.tokens:
                amount = past.balance(token, block)
                assert held[token.address][at] == str(amount)
                hour = (moment - past.start) // HOUR - 1
                value += amount / 10**token.decimals * usd[token][min(hour, max(usd[token]))]
            assert body["points"][at]["valueUsd"] == pytest.approx(value, rel=1e-12)
        assert partial(body) == NEVER_COUNTED


async def test_a_token_without_a_price_is_named_at_each_point_and_not_counted(past):
    past.make(8)
    usdc, weth = past.tokens
    past.price(*((usdc, n, 1.0) for n in range(10)))
    async with past.service.serving():
        body = await past.service.get("getPortfolioHistory", past.path)
        for at, block in enumerate(past.blocks.values()):
            point = body["points"][at]
            assert (
                point["unpriced"] == [weth.address] if past.balance(weth, block) else point["unpriced"] == []
            )
            assert point["valueUsd"] == pytest.approx(past.balance(usdc, block) / 1e6)


async def test_a_balance_that_no_transfers_explain_is_named_and_not_counted(past):
    past.make(9)
    usdc, weth = past.tokens
    past.price(*((token, n, 1.0) for token in past.tokens for n in range(10)))
    ends = {"sender": bytes.fromhex(OTHER[2:]), "recipient": bytes.fromhex(WALLET[2:])}
    block = int(list(past.blocks.values())[-1], 16)
    forged = {"block": block, "log_index": 9, "token": bytes.fromhex(weth.address[2:]), "amount": 10**30}
    forged |= {"timestamp": past.start + 10 * HOUR - 1, **ends}
    past.service.store.commit(Commit(CHAIN, facts={"transfer": facts("transfer", forged)}))
    async with past.service.serving():
        body = await past.service.get("getPortfolioHistory", past.path)
    assert partial(body) == [*NEVER_COUNTED, (weth.address, "balance_unexplained")]
    assert [each["token"]["address"] for each in body["tokens"]] == [usdc.address]


async def test_too_many_transfers_begin_the_coverage_later(past, monkeypatch):
    past.make(10)
    past.price(*((token, n, 1.0) for token in past.tokens for n in range(10)))
    monkeypatch.setattr(wallet_value, "PAGE", 2)
    monkeypatch.setattr(wallet_value, "MOST_TRANSFERS", 4)
    async with past.service.serving():
        body = await past.service.get("getPortfolioHistory", past.path)
    assert (None, "transfer_limit") in partial(body)
    covered = [point["timestamp"] >= body["coverage"]["from"] for point in body["points"]]
    assert [point["valueUsd"] is not None for point in body["points"]] == covered
    assert covered[-1]
    assert not covered[0]
    for at, (block, is_covered) in enumerate(zip(past.blocks.values(), covered, strict=True)):
        for each in body["tokens"]:
            (token,) = (one for one in past.tokens if one.address == each["token"]["address"])
            assert each["amounts"][at] == (str(past.balance(token, block)) if is_covered else None)


@pytest.mark.slow
async def test_a_year_of_a_wallet_with_more_prices_than_one_answer_of_the_index_may_have(past):
    addresses, days = stubs(60), 365
    hours = range(days * 24)
    assert len(addresses) * len(hours) > MOST_HOURS
    past.service.put(STUB, *addresses)
    with past.service.devnet.rpc() as rpc:
        first = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        past.start = first // (24 * HOUR) * 24 * HOUR + 24 * HOUR
        past.at(rpc, past.start)
        received = int(rpc("eth_blockNumber"), 16)
        past.at(rpc, past.start + days * 24 * HOUR)
    tokens = [Token(CHAIN, each, 6, f"T{n}", f"T{n}") for n, each in enumerate(addresses)]
    held = {token: int(token.address[-4:], 16) for token in tokens}  # what a stub says it holds
    ends = {"sender": bytes.fromhex(OTHER[2:]), "recipient": bytes.fromhex(WALLET[2:])}
    at = {"block": received, "timestamp": past.start, **ends}
    rows = [
        {**at, "log_index": n, "token": bytes.fromhex(token.address[2:]), "amount": amount}
        for n, (token, amount) in enumerate(held.items())
    ]
    span = Span(SOURCE, version_of(past.service.sources[0]), 0, received + 1)
    past.service.store.commit(Commit(CHAIN, facts={"transfer": facts("transfer", *rows)}, read=(span,)))
    for number, token in enumerate(tokens):
        past.price(*((token, hour, number + 1 + hour / 1_000) for hour in hours))
    path = f"{HISTORY[:-2]}1d&from={past.start + 24 * HOUR}&to={past.start + days * 24 * HOUR}"
    async with past.service.serving(listed=tokens):
        body = await past.service.get("getPortfolioHistory", path)
    assert partial(body) == NEVER_COUNTED
    assert len(body["tokens"]) == len(tokens)
    assert len(body["points"]) == days
    for day, point in enumerate(body["points"], 1):
        last = day * 24 - 1
        value = sum(
            amount / 10**6 * (number + 1 + last / 1_000) for number, amount in enumerate(held.values())
        )
        assert point["valueUsd"] == pytest.approx(value, rel=1e-9)


async def test_without_an_index_it_is_503_and_wrong_spans_are_422(past):
    async with past.service.serving():
        assert (await past.service.api.get(HISTORY + "&from=1&to=7200")).status == 503
        past.service.fill()
        refused = await past.service.api.get(HISTORY + "&from=9&to=8")
        refused.refused(422, "validation_error", member="to")
        refused = await past.service.api.get(HISTORY + "&from=0&to=999999999")
        refused.refused(422, "validation_error", member="interval")
