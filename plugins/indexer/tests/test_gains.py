"""What positions gained: against exact fractions, and over HTTP with rows of an index."""

import random
from fractions import Fraction

import pytest
from index_rows import facts, row
from quoteway import Block, Leg, PoolPosition, Price, Token, VaultPosition
from quoteway.engine.position_pnl import position_gain
from quoteway.evm.address import checksum
from quoteway.models import EventRule, EventSource, HourPrice, PositionFlow, TokenHours
from quoteway.pricing.past_prices import PastPrices
from quoteway.pricing.valuation import Valuation
from quoteway.testing.fakes import ListedPools
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, Span
from quoteway_indexer.transfer_sources import SOURCE, TRANSFER
from wallet_service import CHAIN, WALLET, WalletService

HOUR = 3_600
START = 1_700_000_000 // HOUR * HOUR
A, B, POOL, MANAGER = (checksum("0x" + digits * 20) for digits in ("a1", "b2", "c3", "d4"))
INCREASE = EventRule(
    "IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)",
    "position_flow",
    {"contract": "@", "token_id": "tokenId", "liquidity_delta": "liquidity"},
)
BLOCK = Block(900, "0x" + "11" * 32, START)
TOKENS = (Token(CHAIN, A, 6, "AAA", listed=True), Token(CHAIN, B, 18, "BBB", listed=True))


def flow(hour, delta, principal, paid=None, at=0):
    return PositionFlow(10 + hour, at, START + hour * HOUR + 60, "0x" + "22" * 32, delta, principal, paid)


def position(liquidity, amounts, owed=(0, 0), **more):
    values = {"kind": "nft", "pool_id": f"{CHAIN}:{POOL}", "manager": MANAGER, **more}
    return PoolPosition(
        "7",
        owner=WALLET,
        liquidity=liquidity,
        amounts=tuple(Leg(token, amount, WALLET) for token, amount in zip(TOKENS, amounts, strict=True)),
        uncollected_fees=tuple(
            Leg(token, amount, WALLET) for token, amount in zip(TOKENS, owed, strict=True)
        ),
        block=BLOCK,
        **values,
    )


def now_at(a, b):
    usd = {A: a, B: b}
    return Valuation({(CHAIN, name): Price(value, "test", BLOCK) for name, value in usd.items() if value})


def prices(*hours):
    """Past prices: (dollars of A, dollars of B) of each hour."""
    made = []
    for at, name in enumerate((A, B)):
        known = (HourPrice(START + n * HOUR, pair[at]) for n, pair in enumerate(hours) if pair[at])
        made.append(TokenHours(name, tuple(known)))
    return PastPrices(made)


class Exact:
    """The same in fractions, by lots: a withdrawal takes the same share of every deposit."""

    def __init__(self):
        self.lots = []
        self.realised, self.fees = Fraction(0), Fraction(0)
        self.owed = [0, 0]

    @staticmethod
    def worth(amounts, dollars):
        each = zip(amounts, dollars, TOKENS, strict=True)
        return sum((Fraction(a) * Fraction(usd) / 10**token.decimals for a, usd, token in each), Fraction(0))

    def deposit(self, liquidity, amounts, dollars):
        self.lots.append([Fraction(liquidity), [Fraction(a) for a in amounts], self.worth(amounts, dollars)])

    def withdraw(self, liquidity, amounts, dollars):
        share = Fraction(liquidity) / sum(lot[0] for lot in self.lots)
        cost = sum(lot[2] for lot in self.lots) * share
        rest = 1 - share
        self.lots = [[size * rest, [a * rest for a in put], paid * rest] for size, put, paid in self.lots]
        self.realised += self.worth(amounts, dollars) - cost
        self.owed = [was + a for was, a in zip(self.owed, amounts, strict=True)]

    def collect(self, amounts, dollars):
        """Pays at least what is owed."""
        self.fees += self.worth([a - o for a, o in zip(amounts, self.owed, strict=True)], dollars)
        self.owed = [0, 0]


@pytest.mark.parametrize("seed", range(40))
def test_random_flows_give_what_exact_fractions_give(seed):
    choose = random.Random(seed)
    dollars = [(choose.uniform(0.9, 1.1), choose.uniform(1_000, 4_000)) for _ in range(24)]
    exact, flows, liquidity = Exact(), [], 0
    deposited, withdrawn, collected = [0, 0], [0, 0], [0, 0]
    for hour in range(24):
        kind = choose.choice(("deposit", "withdraw", "collect")) if liquidity else "deposit"
        amounts = [choose.randrange(1, 10**12), choose.randrange(1, 10**21)]
        if kind == "deposit":
            delta = choose.randrange(1, 10**18)
            exact.deposit(delta, amounts, dollars[hour])
            flows.append(flow(hour, delta, tuple(amounts)))
            deposited = [was + a for was, a in zip(deposited, amounts, strict=True)]
        elif kind == "withdraw":
            delta = -choose.randrange(1, liquidity + 1)
            exact.withdraw(-delta, amounts, dollars[hour])
            flows.append(flow(hour, delta, tuple(-a for a in amounts)))
            withdrawn = [was + a for was, a in zip(withdrawn, amounts, strict=True)]
        else:
            delta = 0
            fees = amounts
            paid = [o + f for o, f in zip(exact.owed, fees, strict=True)]
            exact.collect(paid, dollars[hour])
            flows.append(flow(hour, 0, (0, 0), tuple(paid)))
            collected = [was + f for was, f in zip(collected, fees, strict=True)]
        liquidity += delta
    owed_fees = [choose.randrange(10**9), choose.randrange(10**18)]
    held = [choose.randrange(10**13), choose.randrange(10**22)] if liquidity else [0, 0]
    shown = position(liquidity, held, [fee + owed for fee, owed in zip(owed_fees, exact.owed, strict=True)])
    usd = choose.uniform(0.9, 1.1), choose.uniform(1_000, 4_000)
    gain = position_gain(shown, flows, prices(*dollars), now_at(*usd))
    value, cost = exact.worth(held, usd), sum((lot[2] for lot in exact.lots), Fraction(0))
    left = [sum((lot[1][at] for lot in exact.lots), Fraction(0)) for at in range(2)]
    assert gain.reasons == ()
    assert gain.opened_at == flows[0].timestamp
    assert [gain.deposited, gain.withdrawn] == [tuple(deposited), tuple(withdrawn)]
    assert [gain.collected_fees, gain.uncollected_fees] == [tuple(collected), tuple(owed_fees)]
    assert gain.value_usd == pytest.approx(float(value), rel=1e-9)
    scale = max(float(value), 1e6)
    assert gain.cost_usd == pytest.approx(float(cost), rel=1e-9, abs=scale * 1e-9)
    assert gain.realised_usd == pytest.approx(float(exact.realised), rel=1e-9, abs=scale * 1e-9)
    assert gain.unrealised_usd == pytest.approx(float(value - cost), rel=1e-9, abs=scale * 1e-9)
    assert gain.fees_usd == pytest.approx(float(exact.fees + exact.worth(owed_fees, usd)), rel=1e-9)
    loss = value - exact.worth(left, usd)
    assert gain.impermanent_loss_usd == pytest.approx(float(loss), rel=1e-9, abs=scale * 1e-9)


def test_a_price_that_doubles_loses_against_holding_what_the_constant_product_says():
    """At twice the price a full range position is worth sqrt(2) of the start, and its deposits 1.5."""
    flows = [flow(0, 10**12, (1_000 * 10**6, 10**18))]
    root = 2**0.5
    shown = position(10**12, (int(1_000 * 10**6 * root), int(10**18 / root)), kind="nft")
    gain = position_gain(shown, flows, prices((1.0, 1_000.0)), now_at(1.0, 2_000.0))
    assert gain.cost_usd == pytest.approx(2_000)
    assert gain.unrealised_usd == pytest.approx(2_000 * (root - 1))
    assert gain.impermanent_loss_usd == pytest.approx(2_000 * root - 3_000)
    assert (gain.realised_usd, gain.fees_usd) == (0.0, 0.0)


def test_what_is_not_known_is_none_with_its_reason():
    put = flow(0, 10, (10**6, 10**18))
    priced, now = prices((1.0, 1_000.0)), now_at(1.0, 2_000.0)
    shown = position(10, (10**6, 10**18))

    def of(shown=shown, flows=(put,), then=priced, now=now):
        return position_gain(shown, flows, then, now)

    assert of(flows=None).reasons == ("not_indexed",)
    assert of(flows=None).value_usd == pytest.approx(2_001)
    assert of(shown=position(11, (1, 1))).reasons == ("flows_incomplete",)
    assert of(flows=[flow(0, -5, (-1, -1)), flow(1, 15, (1, 1))]).reasons == ("flows_incomplete",)
    assert of(flows=[flow(0, 10, None)]).reasons == ("amount_unknown",)
    unpriced = of(then=prices((1.0, None)))
    assert (unpriced.cost_usd, unpriced.unrealised_usd, unpriced.reasons) == (None, None, ("price_unknown",))
    assert unpriced.value_usd == pytest.approx(2_001)
    assert unpriced.deposited == (10**6, 10**18)
    late = of(now=now_at(1.0, None))
    assert (late.value_usd, late.cost_usd, late.impermanent_loss_usd) == (None, pytest.approx(1_001), None)
    assert late.reasons == ("price_unknown",)
    fourth = position(10, (10**6, 10**18), (3, 4), pool_id=f"{CHAIN}:0x" + "ab" * 32)
    once, twice = of(fourth), of(fourth, [flow(0, 4, (1, 1)), flow(1, 6, (1, 1))], prices(*[(1.0, 1.0)] * 2))
    assert (once.uncollected_fees, once.collected_fees, once.reasons) == ((3, 4), (0, 0), ())
    assert (twice.fees_usd, twice.collected_fees, twice.reasons) == (None, None, ("fees_not_logged",))
    pair = of(position(10, (10**6, 10**18), kind="fungible"))
    assert (pair.fees_usd, pair.reasons) == (None, ("fees_in_principal",))
    vault = VaultPosition(f"{CHAIN}:{POOL}", WALLET, 10, (Leg(TOKENS[0], 3 * 10**6, WALLET),), BLOCK)
    one = of(vault, [flow(0, 10, (2 * 10**6,))])
    assert (one.cost_usd, one.unrealised_usd, one.impermanent_loss_usd) == (2.0, pytest.approx(1.0), None)
    assert one.reasons == ("fees_in_principal", "one_token")


# --- over HTTP --------------------------------------------------------------------------------------------


@pytest.fixture
def service(fresh_devnet, store):
    transfers = EventSource(SOURCE, CHAIN, 1, (TRANSFER,))
    managers = EventSource("v3-positions", CHAIN, 1, (INCREASE,), (MANAGER,))
    return WalletService(fresh_devnet, store, [transfers, managers])


def holding(service, *positions):
    class Pools(ListedPools):
        async def positions(self, wallet, pool_id):
            return [each for each in positions if wallet == WALLET]

    made = Pools([])
    made.networks = frozenset({CHAIN})
    return made


async def test_gains_are_of_the_rows_and_prices_of_the_index(service):
    usdc, weth = service.token("USDC"), service.token("WETH")
    legs = tuple(Leg(token, amount, WALLET) for token, amount in ((usdc, 1_500 * 10**6), (weth, 10**18)))
    fees = tuple(Leg(token, amount, WALLET) for token, amount in ((usdc, 3 * 10**6), (weth, 0)))
    shown = PoolPosition("7", f"{CHAIN}:{POOL}", WALLET, "nft", 60, legs, fees, BLOCK, manager=MANAGER)
    at = {"contract": bytes.fromhex(MANAGER[2:]), "token_id": 7}
    flows = [
        {"block": 5, "liquidity_delta": 100, "principal0": 2_000 * 10**6, "principal1": 10**18},
        {"block": 6, "liquidity_delta": -40, "principal0": -1_000 * 10**6, "principal1": -(10**17)},
        {"block": 7, "liquidity_delta": 0, "principal0": 0, "principal1": 0}
        | {"paid0": 1_010 * 10**6, "paid1": 10**17},
    ]
    flows = [each | at | {"timestamp": START + n * HOUR} for n, each in enumerate(flows)]
    hours = [
        row("token_hour", token=bytes.fromhex(token.address[2:]), hour=START + n * HOUR, close_usd=usd)
        for token, dollars in ((usdc, (1.0, 1.0, 1.0)), (weth, (2_000.0, 2_500.0, 3_000.0)))
        for n, usd in enumerate(dollars)
    ]
    version = version_of(service.sources[1])
    made = {"position_flow": facts("position_flow", *flows)}
    span = Span("v3-positions", version, 0, 9)
    service.store.commit(Commit(CHAIN, facts=made, rollups={"token_hour": hours}, read=[span]))
    usd = {usdc.address: 1.0, weth.address: 3_000.0}
    path = f"/v2/portfolio/pnl?wallet={WALLET}"
    async with service.serving(holding(service, shown), usd=usd):
        body = await service.get("getPortfolioPnl", path)
        (gain,) = body["data"]
        assert (gain["positionId"], gain["provider"], gain["reasons"]) == ("7", "listed-pools", [])
        assert gain["openedAt"] == START
        # 4,000 went in; 40 % of it is 1,600, for which 1,000 + 0.1 x 2,500 came out.
        assert gain["costUsd"] == pytest.approx(2_400)
        assert gain["realisedUsd"] == pytest.approx(1_250 - 1_600)
        assert gain["valueUsd"] == pytest.approx(4_500)
        assert gain["unrealisedUsd"] == pytest.approx(2_100)
        # 1,010 and 0.1 were paid, 1,000 and 0.1 of it are principal; 3 are uncollected.
        assert gain["feesUsd"] == pytest.approx(13)
        assert [each["amount"] for each in gain["collectedFees"]] == [str(10 * 10**6), "0"]
        # 60 % of the deposits, 1,200 and 0.6, would be worth 3,000 now.
        assert gain["impermanentLossUsd"] == pytest.approx(1_500)
        assert body["partial"] == []
        assert (await service.get("getPortfolioPnl", path + "&network=devnet"))["data"] == [gain]
        service.store.close()
        broken = await service.get("getPortfolioPnl", path)
        assert broken["data"][0]["reasons"] == ["not_indexed"]
        assert [(each["provider"], each["reason"]) for each in broken["partial"]] == [
            ("listed-pools", "index_unavailable")
        ]


async def test_an_index_that_does_not_reach_the_start_gives_no_gain(service):
    usdc, weth = service.token("USDC"), service.token("WETH")
    legs = tuple(Leg(token, 10**6, WALLET) for token in (usdc, weth))
    shown = PoolPosition("7", f"{CHAIN}:{POOL}", WALLET, "nft", 0, legs, (), BLOCK, manager=MANAGER)
    service.store.commit(Commit(CHAIN, read=[Span("v3-positions", version_of(service.sources[1]), 5, 9)]))
    async with service.serving(holding(service, shown)):
        body = await service.get("getPortfolioPnl", f"/v2/portfolio/pnl?wallet={WALLET}")
    assert body["data"][0]["reasons"] == ["not_indexed"]


async def test_without_an_index_it_is_503(service):
    service.index._sources = lambda: ()
    async with service.serving(holding(service)):
        answer = await service.api.get(f"/v2/portfolio/pnl?wallet={WALLET}")
    assert answer.status == 503, answer.body
