"""A wallet's balances and positions on the devnet: read together, isolated, valued where a price is known."""

import asyncio
import time
from dataclasses import replace

import pytest
from quoteway.evm.balance_scan import TokenBalance, scan_balances
from quoteway.models import NATIVE, Block, Leg, Pool, PoolPosition, Token, Vault, VaultPosition
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedPools, ListedPrices, ListedTokens, ListedVaults
from quoteway.web.resources.portfolio import fair_shares

pytestmark = pytest.mark.xdist_group("devnet")

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

# Four bytes of calldata (decimals) give 6; more (balanceOf) gives the last two bytes of its own address.
STUB = "0x36600414601457" + "61ffff301660005260206000f3" + "5b600660005260206000f3"
REVERTS = "0x60006000fd"
BURNS = "0x5b600056"
SHORT = "0x60106000f3"
LONG = "0x6120006000f3"  # 8 kB of zeros where a word belongs
HUGE = "0x3660041460125760001960005260206000f35b604d60005260206000f3"  # 2^256-1 of a token with 77 decimals
UNITLESS = "0x36600414601157600560005260206000f35b60006000fd"  # decimals() reverts


def address(number):
    """A made-up address in the one spelling there is."""
    from quoteway.evm.address import checksum

    return checksum(f"0x{0xABCD << 144 | number:040x}")


class CountingRpc(HttpRpc):
    def __init__(self, context):
        super().__init__(context)
        self.seen = []
        self.dead = set()

    async def forward(self, network, method, params, *, timeout_s):
        from quoteway.errors import UpstreamError

        if network.slug in self.dead:
            raise UpstreamError("No node answers.")
        if method == "eth_call":
            self.seen.append(params)
        return await super().forward(network, method, params, timeout_s=timeout_s)


class Place:
    """A served gateway over both chains of the devnet, with what the tests turn in it."""

    def __init__(self, devnet):
        self.devnet = devnet
        self.manifest = devnet.chains["devnet"]
        self.rpc = None

    def token(self, symbol):
        row = self.manifest.token(symbol)
        return Token(31337, row.address, row.decimals, row.symbol, row.symbol)

    def put(self, code, *addresses):
        with self.devnet.rpc() as rpc:
            for at in range(0, len(addresses), 500):
                rpc.batch([("anvil_setCode", [a, code]) for a in addresses[at : at + 500]])
            rpc("evm_mine")

    async def serve(self, serve_app, *more, config=None, listed=("WETH", "USDC", "USDT"), usd=None):
        networks = [
            Network(
                slug, chain.chain_id, slug, head_poll_s=0.2, endpoints=(Endpoint(self.devnet.urls[slug]),)
            )
            for slug, chain in self.devnet.chains.items()
        ]
        networks[0] = replace(networks[0], wrapped_native=self.manifest.contracts["WETH9"])
        self.prices = ListedPrices({31337}, usd or {})

        def rpc(context):
            self.rpc = CountingRpc(context)
            return self.rpc

        tokens = [self.token(t) if isinstance(t, str) else t for t in listed]
        providers = [rpc, ListedTokens(tokens), self.prices, *more]
        api = await serve_app({"fake": FakePlugin(providers, networks=networks)}, config=config)
        for chain in api.gateway.runtime.chains.values():
            await chain.head(fresh=True)
        return api


@pytest.fixture
def place(fresh_devnet):
    return Place(fresh_devnet)


def rows(body):
    return {row["token"]["address"]: row for row in body["data"]}


async def test_balances_are_the_chains_own_at_one_block(serve_app, place, contract):
    weth, usdc = place.token("WETH").address, place.token("USDC").address
    api = await place.serve(serve_app, usd={weth: 3500.0})
    answer = await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={weth},{usdc}")
    body = contract.check("getPortfolioBalances", answer)
    assert answer.headers["Cache-Control"] == "no-store"
    found = rows(body)
    assert list(found) == [NATIVE, weth, usdc]
    with place.devnet.rpc() as rpc:
        tag = hex(body["asOf"][0]["block"])
        assert found[NATIVE]["amount"] == str(int(rpc("eth_getBalance", WALLET, tag), 16))
        for token in (weth, usdc):
            data = "0x70a08231" + WALLET[2:].lower().zfill(64)
            assert found[token]["amount"] == str(int(rpc("eth_call", {"to": token, "data": data}, tag), 16))
    assert found[usdc]["token"]["symbol"] == "USDC"
    assert found[usdc]["amountFormatted"] == "100000000"
    # Wrapped and native coin have one price; the token without one has no value and adds none.
    assert found[NATIVE]["token"]["priceUsd"] == found[weth]["token"]["priceUsd"] == 3500.0
    assert found[NATIVE]["valueUsd"] == int(found[NATIVE]["amount"]) / 10**18 * 3500.0
    assert found[usdc]["valueUsd"] is found[usdc]["token"]["priceUsd"] is None
    assert body["totalUsd"] == found[NATIVE]["valueUsd"] + found[weth]["valueUsd"]
    assert body["partial"] == []


async def test_native_is_included_unless_declined_and_where_it_is_listed(serve_app, place):
    api = await place.serve(serve_app)
    usdc = place.token("USDC").address
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet"
    for query, expected in (
        (f"&tokens={usdc}", True),
        (f"&tokens={usdc}&includeNative=false", False),
        (f"&tokens={usdc},{NATIVE}&includeNative=false", True),
        (f"&tokens={usdc},native&includeNative=false", True),
        ("&includeNative=false", False),
    ):
        assert (NATIVE in rows((await api.get(path + query)).body)) is expected, query


async def test_without_tokens_those_of_the_catalog_that_are_held_are_shown(serve_app, place):
    api = await place.serve(serve_app)
    everywhere = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}")).body
    assert {row["chainId"] for row in everywhere["data"]} == {31337, 31338}
    assert {row["chainId"] for row in everywhere["asOf"]} == {31337, 31338}
    stranger = (await api.get(f"/v2/portfolio/balances?wallet={address(1)}&network=devnet")).body
    assert [(row["token"]["isNative"], row["amount"]) for row in stranger["data"]] == [(True, "0")]
    usdc = place.token("USDC").address
    path = f"/v2/portfolio/balances?wallet={address(1)}&network=devnet&includeNative=false&tokens={usdc}"
    assert (await api.get(path)).body["data"][0]["amount"] == "0"


async def test_bad_tokens_cost_their_own_line(serve_app, place, contract):
    bad = {address(n): code for n, code in enumerate((REVERTS, BURNS, SHORT, UNITLESS, "0x"), 0x100)}
    odd = {address(0x200): HUGE, address(0x201): LONG}
    for at, code in (bad | odd).items():
        if code != "0x":
            place.put(code, at)
    usdc = place.token("USDC").address
    api = await place.serve(serve_app)
    asked = [*bad, usdc, *odd]
    answer = await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={','.join(asked)}")
    body = contract.check("getPortfolioBalances", answer)
    assert {row["token"]: row["reason"] for row in body["partial"]} == dict(
        zip(bad, ("call_failed", "call_failed", "short_answer", "no_token", "no_token"), strict=True)
    )
    found = rows(body)
    assert found[usdc]["amount"] == "100000000000000"
    huge = found[address(0x200)]
    assert (huge["amount"], huge["token"]["decimals"]) == (str(2**256 - 1), 77)
    assert huge["amountFormatted"].startswith("1.15792")
    assert (found[address(0x201)]["amount"], found[address(0x201)]["token"]["decimals"]) == ("0", 0)


async def test_a_hundred_gas_burners_are_read_around(place, serve_app):
    """What one call's gas does not suffice for is asked for in the next."""
    burners = [address(0x1000 + n) for n in range(100)]
    place.put(BURNS, *burners)
    api = await place.serve(serve_app)
    chain = api.gateway.runtime.chains[31337]
    usdc = place.token("USDC").address
    scan = await scan_balances(chain, WALLET, [*burners, usdc], await chain.head())
    assert scan.tokens[:100] == ("call_failed",) * 100
    assert scan.tokens[100] == TokenBalance(100_000_000 * 10**6, 6)


async def test_a_thousand_balances_in_two_calls_and_sixty_milliseconds(place, serve_app, make_config):
    stubs = [address(0x2000 + n) for n in range(1000)]
    place.put(STUB, *stubs)
    api = await place.serve(serve_app, config=make_config(max_line_bytes=65_536))
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={','.join(stubs)}"
    took, worked = [], []
    for _ in range(15):
        place.rpc.seen.clear()
        started, busy = time.perf_counter(), time.process_time()
        answer = await api.get(path)
        took.append(time.perf_counter() - started)
        worked.append(time.process_time() - busy)
        assert len(place.rpc.seen) <= 2
        assert {row["token"]["address"]: row["amount"] for row in answer.body["data"][1:]} == {
            stub: str(int(stub[-4:], 16)) for stub in stubs
        }
    assert all(row["token"]["decimals"] == 6 for row in answer.body["data"][1:])
    p50, cpu = (sorted(times)[7] * 1000 for times in (took, worked))
    print(f"1,000 balances: p50 {p50:.1f} ms, of which {cpu:.1f} ms are work of client and server")
    assert cpu < 60, "a busy machine makes the wall clock lie, not this one"


async def test_a_long_catalog_is_cut_and_says_so(place, serve_app):
    stubs = [address(0x2000 + n) for n in range(1100)]
    place.put(STUB, *stubs)
    listed = [Token(31337, stub, 6, f"S{n}") for n, stub in enumerate(stubs)]
    api = await place.serve(serve_app, listed=listed)
    body = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}")).body
    assert {"chainId": 31337, "token": None, "reason": "token_limit"} in body["partial"]
    one = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet")).body
    assert one["partial"] == [{"chainId": 31337, "token": None, "reason": "token_limit"}]
    assert len(one["data"]) == 1001
    assert one["data"][1]["token"]["symbol"] == "S0"


def test_networks_with_short_lists_leave_their_share_to_the_others():
    assert fair_shares({1: 5, 2: 2000, 3: 100}) == {1: 5, 2: 895, 3: 100}
    assert fair_shares({1: 2000, 2: 2000}) == {1: 500, 2: 500}
    assert fair_shares({1: 0}) == {1: 0}


async def test_unlisted_tokens_are_named_in_the_same_round_and_remembered(place, serve_app):
    api = await place.serve(serve_app, listed=("WETH",))
    usdc = place.token("USDC").address
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={usdc}"
    for calls in (2, 1):
        place.rpc.seen.clear()
        assert rows((await api.get(path)).body)[usdc]["token"]["symbol"] == "USDC"
        assert len(place.rpc.seen) == calls


async def test_the_contract_has_the_last_word_on_decimals(place, serve_app):
    wrong = replace(place.token("USDC"), decimals=18)
    api = await place.serve(serve_app, listed=(wrong,))
    body = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet")).body
    assert rows(body)[wrong.address]["amountFormatted"] == "100000000"


async def test_a_network_that_fails_is_named_and_the_others_are_served(place, serve_app, contract, refused):
    api = await place.serve(serve_app)
    await api.gateway.runtime.chains[31338].close()
    place.rpc.dead.add("devnet-l2")
    answer = await api.get(f"/v2/portfolio/balances?wallet={WALLET}")
    body = contract.check("getPortfolioBalances", answer)
    assert answer.status == 200
    assert [row["chainId"] for row in body["partial"]] == [31338]
    assert {row["chainId"] for row in body["data"]} == {31337}
    # Nothing read at all is no empty wallet.
    refused(await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet-l2"), 502, "upstream_error")


async def test_an_address_without_network_is_named_only_when_it_is_a_token_nowhere(place, serve_app):
    api = await place.serve(serve_app)
    only_here, nowhere = address(0x300), address(0x301)
    place.put(STUB, only_here)
    await api.gateway.runtime.chains[31337].head(fresh=True)
    body = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}&tokens={only_here},{nowhere}")).body
    assert only_here in rows(body)
    assert {row["token"] for row in body["partial"]} == {nowhere}


@pytest.mark.parametrize(
    ("query", "member"),
    [
        ("", "wallet"),
        ("wallet=0x12", "wallet"),
        (f"wallet={NATIVE}", "wallet"),
        (f"wallet={WALLET[:-1]}7", "wallet"),
        (f"wallet={WALLET}&network=nowhere", "network"),
        (f"wallet={WALLET}&tokens=0x12", "tokens"),
        (f"wallet={WALLET}&tokens={WALLET},", "tokens"),
        (f"wallet={WALLET}&includeNative=1", "includeNative"),
        (f"wallet={WALLET}&token={WALLET}", "token"),
        (f"wallet={WALLET}&wallet={WALLET}", "wallet"),
    ],
)
async def test_bad_balance_requests_name_the_member(api, refused, query, member):
    details = refused(await api.get(f"/v2/portfolio/balances?{query}"), 422, "validation_error")
    assert [field["path"] for field in details["fields"]] == [member]


async def test_too_many_tokens_are_refused(serve_app, place, make_config, refused):
    api = await place.serve(serve_app, config=make_config(max_line_bytes=65_536))
    path = f"/v2/portfolio/balances?wallet={WALLET}&tokens="
    many = ",".join(address(n) for n in range(1, 1002))
    details = refused(await api.get(f"{path}{many}&network=devnet"), 422, "validation_error")
    assert details["fields"][0]["reason"] == "out_of_range"
    half = ",".join(address(n) for n in range(1, 502))
    refused(await api.get(path + half), 422, "validation_error", "out_of_range")
    short = await place.serve(serve_app)
    refused(await short.get(f"{path}{many}&network=devnet"), 400, "invalid_request")


# --- positions --------------------------------------------------------------------------------------------


def position(token, resource, number=1, amount=10**6):
    block = Block(1, "0x" + "11" * 32, 1_700_000_000)
    return PoolPosition(
        f"{resource}/{number}",
        resource,
        WALLET,
        "fungible",
        amount,
        (Leg(token, amount, WALLET),),
        (Leg(token, 5, WALLET),),
        block,
    )


@pytest.fixture
def sources(place):
    usdc = place.token("USDC")
    pool_id, vault_id = f"31337:{address(1)}", f"31337:{address(2)}"
    pool = Pool(pool_id, "devnet", 31337, "fake", "v2", address(1), (usdc, usdc), (), "fake", 0)
    vault = Vault(vault_id, "devnet", 31337, address(2), "V", "fake", "hold", usdc, usdc, (), "fake", 0)

    class Pools(ListedPools):
        async def positions(self, wallet, pool_id):
            assert pool_id is None
            return [position(usdc, pool.id, number) for number in range(2)] if wallet == WALLET else []

    class Vaults(ListedVaults):
        async def positions(self, wallet):
            legs = (Leg(usdc, 10**6, WALLET),)
            return [VaultPosition(vault.id, WALLET, 10**6, legs, position(usdc, vault.id).block)]

    return Pools([pool]), lambda context: Vaults(context, [vault])


async def test_positions_of_all_sources_are_merged_valued_and_paged(serve_app, place, sources, contract):
    usdc = place.token("USDC").address
    api = await place.serve(serve_app, *sources, usd={usdc: 0.5})
    answer = await api.get(f"/v2/portfolio/positions?wallet={WALLET}")
    body = contract.check("getPortfolioPositions", answer)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (body["total"], body["partial"]) == (3, [])
    kinds = [(row["provider"], row["poolId"] is None, row["vaultId"] is None) for row in body["data"]]
    assert kinds == [("listed-pools", False, True)] * 2 + [("listed-vaults", True, False)]
    assert body["data"][0]["valueUsd"] == 1_000_005 / 10**6 * 0.5 == pytest.approx(0.5000025)
    one = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}&limit=2")).body
    two = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}&limit=2&cursor={one['nextCursor']}")).body
    assert [*one["data"], *two["data"]] == body["data"]
    elsewhere = await api.get(f"/v2/portfolio/positions?wallet={WALLET}&network=devnet-l2")
    assert elsewhere.body["data"] == []


async def test_sources_that_fail_or_lie_are_named_and_cost_nobody_else(
    serve_app, place, sources, contract, make_config
):
    def broken(name, does):
        class Broken(ListedPools):
            async def positions(self, wallet, pool_id):
                return await does()

        listed = Broken([], provider_id=name)
        listed.networks = frozenset({31337})
        return listed

    async def raises():
        raise RuntimeError("secret path /etc/passwd")

    async def lies():
        return ["not a position"]

    bad = [broken(does.__name__, does) for does in (raises, lies)]
    config = make_config()
    quotes = replace(config.quotes, competition_timeout_s=2.0)
    api = await place.serve(serve_app, *sources, *bad, config=replace(config, quotes=quotes))
    body = contract.check("getPortfolioPositions", await api.get(f"/v2/portfolio/positions?wallet={WALLET}"))
    assert body["total"] == 3
    assert {row["provider"]: row["reason"] for row in body["partial"]} == {
        "raises": "provider_error",
        "lies": "unsafe_answer",
    }


async def test_a_position_of_the_other_kind_is_refused(serve_app, place, sources):
    """A vault cannot show its shares as a position in a pool of another provider, nor a pool the reverse."""
    usdc = place.token("USDC")
    shares = VaultPosition(f"31337:{address(1)}", WALLET, 1, (), position(usdc, "x").block)

    class Pools(ListedPools):
        async def positions(self, wallet, pool_id):
            return [shares]

    class Vaults(ListedVaults):
        async def positions(self, wallet):
            return [position(usdc, f"31337:{address(1)}")]

    def vaults(context):
        made = Vaults(context, [], provider_id="odd-vaults")
        made.networks = frozenset({31337})
        return made

    pools = Pools([], provider_id="odd-pools")
    pools.networks = frozenset({31337})
    api = await place.serve(serve_app, *sources, pools, vaults)
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert body["total"] == 3
    assert {(row["provider"], row["reason"]) for row in body["partial"]} == {
        ("odd-pools", "unsafe_answer"),
        ("odd-vaults", "unsafe_answer"),
    }


async def test_a_position_that_two_sources_know_is_counted_once(serve_app, place, sources):
    pools, vaults = sources
    twin = type(pools)(list(pools._pools.values()), provider_id="twin")
    api = await place.serve(serve_app, pools, vaults, twin)
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert body["total"] == 3


async def test_a_source_that_hangs_is_left_behind(serve_app, place, sources, make_config):
    class Hanging(ListedPools):
        async def positions(self, wallet, pool_id):
            await asyncio.Event().wait()

    hanging = Hanging([], provider_id="hangs")
    hanging.networks = frozenset({31337})
    config = make_config()
    quotes = replace(config.quotes, competition_timeout_s=2.0)
    api = await place.serve(serve_app, *sources, hanging, config=replace(config, quotes=quotes))
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert body["partial"] == [{"provider": "hangs", "reason": "provider_timeout"}]
    assert body["total"] == 3


async def test_positions_without_any_source_are_503(serve_app, place, refused):
    api = await place.serve(serve_app)
    path = f"/v2/portfolio/positions?wallet={WALLET}"
    refused(await api.get(path), 503, "provider_unavailable", "capability_disabled")
    refused(await api.get("/v2/portfolio/positions"), 422, "validation_error", "missing")
