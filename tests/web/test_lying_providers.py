"""Providers whose answers are not what their classes say: each costs itself, never the list."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
from quoteway import (
    NATIVE,
    Block,
    Leg,
    PoolPosition,
    Price,
    PriceSource,
    Series,
    Token,
    TransferRefund,
    TransferState,
    hookimpl,
)
from quoteway.errors import InvalidRequest, NotFound, RateLimited, UpstreamError
from quoteway.host.checked_provider import plugins_own
from quoteway.pricing.valuation import Valuation

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
NOT_TEXT = object()
ODD_ROWS = [
    {"updated_at": 10**20},
    {"tvl_usd": "100"},
    {"tvl_usd": float("nan")},
    {"tvl_usd": 10**30},
    {"id": ["31337:0x1"]},
    {"protocol": "fake\u202e"},
    {"source": NOT_TEXT},
    {"actions": None},
]


class Beside:
    """A plugin with the fakes of one kind again, under other ids and changed."""

    def __init__(self, weth, fakes, **made):
        self.weth = weth
        self.fakes = fakes
        self.made = made

    def make(self, kind, context):
        more = self.made.get(kind)
        if more is None:
            return []
        liar = type("Liar", (self.fakes[kind],), {"id": f"a-liar-{kind}", **more})
        return [liar(31337, self.weth) if kind == "tokens" else liar(context, self.weth, [31337, 31338])]

    @hookimpl
    def quoteway_swap_providers(self, context):
        return self.make("swap", context)

    @hookimpl
    def quoteway_bridge_providers(self, context):
        return self.make("bridge", context)

    @hookimpl
    def quoteway_pool_providers(self, context):
        return self.make("pool", context)

    @hookimpl
    def quoteway_vault_providers(self, context):
        return self.make("vault", context)

    @hookimpl
    def quoteway_token_catalogs(self, context):
        return self.make("tokens", context)

    @hookimpl
    def quoteway_price_sources(self, context):
        return self.made.get("prices", [])


@pytest.fixture
def serve_beside(serve_app, fake_plugin, fake_classes):
    async def serve(**made):
        return await serve_app({"fakes": fake_plugin, "liar": Beside(fake_plugin.weth, fake_classes, **made)})

    return serve


def lists(method, changes):
    """The honest rows and one that is odd."""

    async def rows(self, *args):
        honest = await getattr(super(type(self), self), method)(*args)
        return [*honest, replace(honest[0], **changes)]

    return {method: rows}


def named(answer):
    return {row["provider"]: row["reason"] for row in answer.body["partial"]}


@pytest.mark.parametrize("changes", ODD_ROWS, ids=range(len(ODD_ROWS)))
async def test_an_odd_pool_or_vault_costs_its_source_its_rows(serve_beside, changes):
    api = await serve_beside(pool=lists("pools", changes), vault=lists("vaults", changes))
    pools = await api.get("/v2/pools?sort=-tvlUsd&query=0x")
    assert (pools.status, len(pools.body["data"]), named(pools)) == (200, 7, {"a-liar-pool": "unsafe_answer"})
    vaults = await api.get("/v2/vaults?sort=tvlUsd")
    assert (vaults.status, len(vaults.body["data"])) == (200, 1)
    assert named(vaults) == {"a-liar-vault": "unsafe_answer"}


@pytest.mark.parametrize("changes", [{"symbol": None}, {"rank": "1"}, {"tags": 5}, {"contracts": (None,)}])
async def test_an_odd_token_costs_its_catalog_its_rows(serve_beside, changes):
    api = await serve_beside(tokens=lists("tokens", changes))
    answer = await api.get("/v2/tokens?sort=symbol&query=eth")
    assert (answer.status, len(answer.body["data"])) == (200, 2)
    assert named(answer) == {"a-liar-tokens": "unsafe_answer"}
    balances = await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet")
    assert balances.status == 200


@pytest.mark.parametrize("decimals", ["18", -1, 10**9, True])
async def test_odd_decimals_of_a_catalog_leave_the_token_to_the_next(serve_beside, decimals):
    async def token(self, chain_id, address):
        return Token(chain_id, address, decimals, "WETH")

    async def profile(self, token_id):
        return replace(self.listed[0], contracts=(Token(31337, NATIVE, decimals),))

    api = await serve_beside(tokens={"token": token, "profile": profile})
    assert (
        await api.gateway.tokens.find(31337, api.gateway.runtime.networks.find("devnet").wrapped_native)
    ).decimals == 18
    shown = await api.get("/v2/tokens/weth")
    assert (shown.status, shown.body["symbol"]) == (200, "WETH")


async def test_an_odd_route_costs_its_bridge_its_routes(serve_beside):
    api = await serve_beside(bridge=lists("routes", {"from_token": None}))
    answer = await api.get("/v2/bridges/routes")
    assert (answer.status, named(answer)) == (200, {"a-liar-bridge": "unsafe_answer"})


@pytest.mark.parametrize("points", [((0, "1"),), ((None, 1.0),), ((0, 1.0, 2.0),), 5])
async def test_an_odd_series_is_its_provider_s_failure(serve_beside, fake_plugin, points, refused):
    async def series(self, pool_id, metric, start, end, interval):
        return Series(pool_id, metric, "usd", interval, start, end, points, "chain", "state", 1_700_000_000)

    fake_plugin.kinds = ()
    api = await serve_beside(pool={"series": series})
    answer = await api.get(f"/v2/pools/31337:{fake_plugin.weth}/tvl?from=1700000000&to=1700086400")
    refused(answer, 502, "upstream_error", "unsafe_answer")


async def test_an_odd_position_costs_its_source_its_positions(serve_beside):
    async def positions(self, wallet, pool_id):
        block = Block(1, "0x" + "11" * 32, 1)
        odd = (Leg(Token(31337, NATIVE, 18, price_usd="2"), 1, wallet),)
        return [PoolPosition("1", f"31337:{self.weth}", wallet, "nft", 1, odd, (), block)]

    api = await serve_beside(pool={"positions": positions})
    answer = await api.get(f"/v2/portfolio/positions?wallet={WALLET}")
    assert (answer.status, named(answer)) == (200, {"a-liar-pool": "unsafe_answer"})


@pytest.mark.parametrize("odd", [10**400, 10**300, True, float("inf")], ids=range(4))
async def test_a_price_that_is_none_costs_nobody_else_s(serve_beside, fake_plugin, odd):
    class Source(PriceSource):
        title, networks = "Prices", frozenset({31337})

        def __init__(self, provider_id, usd):
            self.id, self.usd = provider_id, usd

        async def prices(self, chain_id, addresses, block):
            return {address: Price(self.usd, self.id, block) for address in addresses}

    api = await serve_beside(prices=[Source("a-liar", odd), Source("honest", 2.5)])
    await api.gateway.runtime.chains[31337].head()
    found = await api.gateway.prices.get(31337, [fake_plugin.weth], wait_s=2.0)
    assert found[fake_plugin.weth].usd == 2.5


def raising(self):
    raise RuntimeError("canary")


@property
def moody(self):
    """As it should be until the provider breaks."""
    if getattr(self, "broken", False):
        raise RuntimeError("canary")
    return frozenset({31337})


@pytest.mark.parametrize("networks", [[31337], (31337,), moody], ids=["list", "tuple", "raises"])
async def test_networks_that_are_no_set_or_raise_cost_nobody_else(serve_beside, networks):
    changed = {"__init__": lambda self, context, *rest: None, "networks": networks}

    async def none(self, *args):
        return []

    api = await serve_beside(
        pool=changed | {"pools": none}, vault=changed | {"vaults": none, "positions": none}, swap=changed
    )
    for entry in api.gateway.registry.providers:
        plugins_own(entry.provider).broken = True
    for path in ("/v2/pools?network=devnet", "/v2/vaults", "/v2/networks", "/v2/providers"):
        assert (await api.get(path)).status == 200, path
    assert (await api.get(f"/v2/portfolio/positions?wallet={WALLET}&network=devnet")).status == 200
    body = {"fromToken": "native", "toToken": api.gateway.runtime.networks.by_chain_id(31337).wrapped_native}
    body |= {"amount": "5", "address": WALLET, "network": "devnet"}
    quote = await api.post("/v2/swaps/quote", body)
    assert (quote.status, quote.body["provider"]) == (200, "fake-swaps")


async def test_odd_members_cost_nobody_the_list_of_providers(serve_beside, contract):
    async def healthy(self):
        return object()

    odd = {"spenders": lambda self, chain_id: [b"raw"], "healthy": healthy}
    api = await serve_beside(pool=odd)
    page = contract.check("listProviders", await api.get("/v2/providers"))
    (row,) = (row for row in page["data"] if row["id"] == "a-liar-pool")
    assert (row["healthy"], row["spenders"]) == (None, [])


async def test_a_plugin_with_a_title_of_another_type_is_listed_with_the_reason(serve_beside, contract):
    api = await serve_beside(pool={"title": "Safe\u202e"})
    page = contract.check("listProviders", await api.get("/v2/providers"))
    (row,) = (row for row in page["data"] if row["id"] == "liar")
    assert row["reason"] == "incomplete"
    assert (await api.get("/v2/pools?network=devnet")).status == 200


async def test_a_health_check_that_never_lets_go_costs_nobody_the_list_of_providers(serve_beside):
    released = asyncio.Event()

    async def healthy(self):
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()

    api = await serve_beside(pool={"healthy": healthy})
    async with asyncio.timeout(30):
        page = await api.get("/v2/providers")
    released.set()
    rows = {row["id"]: row for row in page.body["data"]}
    assert rows["a-liar-pool"]["healthy"] is None


ODD_TRACKING = [
    TransferState("arrived"),
    {"status": "filled"},
    {},
    "filled",
    TransferState("filled", fill_hash=object()),
    TransferState("filled", fill_deadline=10**30),
    TransferState("filled", refund=TransferRefund(1, NATIVE, NATIVE, None)),
    TransferState("filled", refund={"amount": "1"}),
]


@pytest.mark.parametrize("odd", ODD_TRACKING, ids=range(len(ODD_TRACKING)))
async def test_odd_news_of_a_transfer_leave_it_to_the_bridge_that_knows(serve_beside, contract, odd):
    async def track(self, chain_id, transaction_hash):
        return odd

    api = await serve_beside(bridge={"track": track})
    weth = api.gateway.runtime.networks.by_chain_id(31337).wrapped_native
    body = {
        "fromChain": "devnet",
        "toChain": "devnet-l2",
        "fromToken": "native",
        "toToken": weth,
        "amount": "5",
    }
    body |= {"amount": "5", "address": WALLET, "provider": "fake-bridge"}
    quote = await api.post("/v2/bridges/quote", body)
    action = await api.post(f"/v2/bridges/{quote.body['quoteId']}/action")
    tx_id = action.body["steps"][0]["txId"]
    told = await api.get(f"/v2/transactions/{tx_id}?hash=0x{'aa' * 32}")
    assert contract.check("trackTransaction", told)["status"] == "origin_pending"


async def test_a_vault_counts_no_token_in_another_unit_than_the_token_does(serve_beside, refused):
    """The sentences that people read before they sign have the amount in whole tokens."""

    async def quote(self, request):
        honest = await self.wrap(request, request.amount, recipient=request.recipient)
        (got,) = honest.outputs
        return replace(honest, outputs=(replace(got, token=replace(got.token, decimals=0)),))

    other = "0x" + "12" * 20

    async def vaults(self, chain_id):
        (honest,) = await super(type(self), self).vaults(chain_id)
        return [replace(honest, id=f"31337:{other}", address=other)]

    async def vault(self, vault_id):
        return (await self.vaults(None))[0] if vault_id == f"31337:{other}" else None

    api = await serve_beside(vault={"quote": quote, "vaults": vaults, "vault": vault})
    body = {"action": "deposit", "address": WALLET, "amount": "5", "asset": "native"}
    refused(await api.post(f"/v2/vaults/31337:{other}/quote", body), 502, "upstream_error", "unsafe_answer")


async def test_values_that_no_float_can_add_up_are_not_known():
    block = Block(1, "0x" + "11" * 32, 1)
    token = Token(31337, NATIVE, 0)
    legs = (Leg(token, 10, WALLET), Leg(token, 10, WALLET))
    position = PoolPosition("1", "31337:x", WALLET, "nft", 1, legs, (), block)
    priced = Valuation({(31337, NATIVE): Price(1.7e307, "a-liar", block)}).position(position)
    assert priced.amounts[0].amount_usd == 1.7e308
    assert priced.value_usd is None


PLACE = "31337:0x" + "1" * 40


class Loud(NotFound):
    @property
    def message(self):
        raise RuntimeError("canary")

    @message.setter
    def message(self, text):
        pass


ODD = [
    lambda: NotFound({"canary": 1}),
    lambda: NotFound(None),
    lambda: NotFound("canary" * 1_000_000),
    lambda: NotFound("gone", reason="no such reason"),
    lambda: NotFound("gone", reason=object()),
    lambda: NotFound("gone", retryable="maybe"),
    lambda: NotFound("gone", headers={"Set-Cookie": "canary\r\nX: y"}),
    lambda: NotFound("gone", headers=5),
    lambda: NotFound("gone", fields=(5,)),
    lambda: NotFound("gone", attempts=("canary",)),
    lambda: NotFound("gone", limit="canary"),
    lambda: NotFound("gone", required_role="canary"),
    lambda: NotFound("gone", acknowledgement_needed=[1]),
    lambda: NotFound("gone", differences=[object()]),
    lambda: NotFound("gone", not_ready=[object()]),
    lambda: InvalidRequest("no", fields=[("amount",)]),
    lambda: RateLimited(b"canary", headers={"Retry-After": object()}),
    lambda: UpstreamError(float("nan")),
    lambda: Loud("x"),
]


@pytest.mark.parametrize("make", ODD, ids=range(len(ODD)))
async def test_an_odd_error_is_no_error_of_the_service(serve_beside, make):
    async def pool(self, pool_id):
        raise make()

    api = await serve_beside(pool={"pool": pool})
    answer = await api.get(f"/v2/pools/{PLACE}/positions?wallet={WALLET}")
    assert (answer.status, answer.body["error"]["code"]) == (502, "upstream_error"), answer.body
    assert answer.body["error"]["details"]["reason"] == "provider_error"
    assert b"canary" not in answer.raw
    assert "Set-Cookie" not in answer.headers
