"""The catalog in a running gateway, against the devnet's contracts and odd tokens put beside them."""

import asyncio
import json
import logging
import secrets
import time

import aiohttp
import orjson
import pytest
import quoteway_tokenlist
from odd_tokens import contract, erc20, text, word
from quoteway import NATIVE, Network, RpcError, RpcUpstream, UpstreamError, hookimpl
from quoteway.config.model import Config
from quoteway.evm.address import checksum

manifest = pytest.importorskip("quoteway_devnet.manifest", reason="needs the quoteway-devnet distribution")
networks = pytest.importorskip("quoteway_devnet.networks")

DEVNET = manifest.chain_manifests()["devnet"]
USDC = DEVNET.token("USDC").address


class LoopbackRpc(RpcUpstream):
    """JSON-RPC to the devnet's nodes. ``down`` makes every call fail as an unreachable node does."""

    id = "loopback"
    title = "Loopback"

    def __init__(self, networks):
        self.networks = frozenset(network.chain_id for network in networks)
        self.down = False
        self._session = None

    async def forward(self, network, method, params, *, timeout_s):
        if self.down:
            raise UpstreamError("no node")
        self._session = self._session or aiohttp.ClientSession()
        payload = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        async with self._session.post(network.endpoints[0].url, json=payload) as response:
            answer = await response.json()
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return answer["result"]

    async def close(self):
        if self._session is not None:
            await self._session.close()


class Clock:
    """The time, moved by ``offset_s``."""

    offset_s = 0

    def __call__(self):
        return time.time() + self.offset_s


class Chains:
    """Networks and an upstream to them, as a plugin."""

    def __init__(self, described):
        self._networks = described
        self.rpc = LoopbackRpc(described)

    @hookimpl
    def quoteway_networks(self):
        return self._networks

    @hookimpl
    def quoteway_rpc_upstreams(self):
        return [self.rpc]


@pytest.fixture
async def start(devnet, make_gateway):
    """Starts a gateway with the given ``[plugin.tokenlist]`` section; gives its catalog."""
    upstreams = []

    async def start(**section):
        chains = Chains(networks.devnet_networks(devnet.ports))
        upstreams.append(chains.rpc)
        config = Config(plugin_sections={"tokenlist": section})
        plugins = {"chains": chains, "tokenlist": quoteway_tokenlist}
        clock = Clock()
        gateway = await make_gateway(plugins, config=config, clock=clock)
        (entry,) = [entry for entry in gateway.registry.providers if entry.provider.id == "tokenlist"]
        assert entry.enabled, entry.plugin
        catalog = entry.provider
        catalog.rpc, catalog.clock = chains.rpc, clock
        return catalog

    yield start
    for upstream in upstreams:
        await upstream.close()


@pytest.fixture
def place(devnet):
    """Puts code at a new address of the devnet."""

    def place(code, slug="devnet"):
        address = checksum("0x" + secrets.token_hex(20))
        with devnet.rpc(slug) as rpc:
            rpc("anvil_setCode", address, "0x" + code.hex())
            rpc("evm_mine")  # reads are pinned to a block, and the last one does not have the code
        return address

    return place


def write_list(path, *tokens):
    version = {"major": 1, "minor": 0, "patch": 0}
    body = {"name": "T", "timestamp": "2026-02-01T00:00:00Z", "version": version, "tokens": list(tokens)}
    path.write_bytes(orjson.dumps(body))
    return str(path)


def row(address, decimals, symbol="ODD", chain_id=31337):
    return {"chainId": chain_id, "address": address, "decimals": decimals, "symbol": symbol, "name": symbol}


def total_supply(devnet, address, slug="devnet"):
    with devnet.rpc(slug) as rpc:
        return int(rpc("eth_call", {"to": address, "data": "0x18160ddd"}, "latest"), 16)


async def eventually(condition):
    async with asyncio.timeout(120):
        while not (found := await condition()):
            await asyncio.sleep(0.02)
        return found


# --- what the devnet's own list gives --------------------------------------------------------------------


async def test_the_devnets_tokens_are_listed_by_slug(start):
    catalog = await start()
    listed = {profile.id: profile for profile in await catalog.tokens(None)}
    assert [contract.chain_id for contract in listed["usdc"].contracts] == [31337, 31338]
    assert [contract.address for contract in listed["eth"].contracts] == [NATIVE, NATIVE]
    assert {c.address for p in await catalog.tokens(31337) for c in p.contracts} == {
        NATIVE,
        *(token.address for token in DEVNET.tokens),
    }
    assert await catalog.tokens(1) == ()  # not a network of this deployment
    assert catalog.networks == {31337, 31338}


async def test_listed_decimals_agree_with_every_contract_of_the_devnet(start, caplog):
    catalog = await start()
    for profile in await catalog.tokens(None):
        for listed in profile.contracts:
            assert await catalog.token(listed.chain_id, listed.address) == listed
    assert "decimals" not in caplog.text


async def test_profile_of_one_contract_has_the_chains_total_supply(start, devnet):
    catalog = await start()
    profile = await catalog.profile(f"31337:{USDC}")
    supply = total_supply(devnet, USDC)
    assert supply > 10**6
    assert profile.total_supply == f"{supply // 10**6}" + (f".{supply % 10**6:06}".rstrip("0").rstrip("."))
    assert (profile.id, profile.symbol, profile.listed) == ("usdc", "USDC", True)
    assert [contract.chain_id for contract in profile.contracts] == [31337]
    unknown = (profile.price_usd, profile.market_cap_usd, profile.holders, profile.circulating_supply)
    assert unknown == (None, None, None, None)


async def test_profile_by_slug_spans_networks_and_adds_no_supplies(start):
    catalog = await start()
    profile = await catalog.profile("usdc")
    assert len(profile.contracts) == 2
    assert profile.total_supply is None


@pytest.mark.parametrize("alias", [NATIVE, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "native"])
async def test_native_coin(start, alias):
    catalog = await start()
    profile = await catalog.profile(f"31337:{alias}")
    assert (profile.id, profile.symbol, profile.contracts[0].address) == ("eth", "ETH", NATIVE)
    assert (await catalog.token(31337, alias)).is_native


@pytest.mark.parametrize(
    "token_id",
    [
        "",
        ":",
        "nothing",
        "1:" + USDC,
        "31337:",
        "31337:0x12",
        f"31337:{USDC[:-1]}G",
        f"x:{USDC}",
        "31337:" + USDC.replace("0x08", "0x09"),  # nothing is deployed there
        "9" * 5000,
        f"31337:{USDC}" + " " * 100,
        "\u202e",
    ],
)
async def test_unknown_ids_are_none(start, token_id):
    catalog = await start()
    assert await catalog.profile(token_id) is None


async def test_ids_are_read_in_every_spelling_of_the_network(start):
    catalog = await start()
    expected = await catalog.profile(f"31337:{USDC}")
    for spelling in (f"devnet:{USDC}", f"eip155:31337:{USDC}", f"31337:{USDC.lower()}"):
        assert (await catalog.profile(spelling)).contracts == expected.contracts


async def test_an_address_with_a_wrong_checksum_is_no_token(start):
    catalog = await start()
    wrong = USDC.swapcase().replace("0X", "0x")
    assert await catalog.profile(f"31337:{wrong}") is None
    assert await catalog.token(31337, wrong) is None


# --- tokens that no list names ----------------------------------------------------------------------------


async def test_an_unlisted_token_is_read_from_the_chain(start, place):
    catalog = await start()
    address = place(erc20(text("ODD"), text("Odd Token"), 7, supply=123_4500000))
    profile = await catalog.profile(f"31337:{address}")
    assert (profile.id, profile.symbol, profile.name) == (f"31337:{address}", "ODD", "Odd Token")
    assert (profile.contracts[0].decimals, profile.total_supply) == (7, "123.45")
    assert (profile.tags, profile.listed) == (("unlisted",), False)
    assert address not in {c.address for p in await catalog.tokens(31337) for c in p.contracts}
    assert (await catalog.token(31337, address)).decimals == 7


async def test_symbol_and_name_as_bytes32(start, place):
    catalog = await start()
    address = place(erc20(b"MKR".ljust(32, b"\0"), b"Maker".ljust(32, b"\0"), 18))
    token = await catalog.token(31337, address)
    assert (token.symbol, token.name, token.decimals) == ("MKR", "Maker", 18)


@pytest.mark.parametrize(
    "name",
    ["N" * 10_000, "USD\u0421", "\u202eCDSU", "a\x00b", "two\nlines", "\U0001d414SDC"],
    ids=lambda name: ascii(name[:9]),
)
async def test_text_that_cannot_be_shown_is_left_out_and_costs_nothing_else(start, place, name):
    catalog = await start()
    address = place(erc20(text("OK"), text(name), 6, supply=5))
    token = await catalog.token(31337, address)
    assert (token.symbol, token.name, token.decimals) == ("OK", None, 6)
    profile = await catalog.profile(f"31337:{address}")
    assert (profile.name, profile.total_supply) == ("", "0.000005")
    token = await catalog.token(31337, place(erc20(text(name), text("OK"), 6)))
    assert (token.symbol, token.name, token.decimals) == (None, "OK", 6)


@pytest.mark.parametrize(
    "answers",
    [
        {"symbol()": text("NFT"), "name()": text("Picture"), "totalSupply()": word(5)},
        {"decimals()": word(256), "totalSupply()": word(5)},
        {"decimals()": b"\x12", "totalSupply()": word(5)},
        {},
    ],
)
async def test_a_contract_without_usable_decimals_is_no_token(start, place, answers):
    catalog = await start()
    address = place(contract(answers))
    assert await catalog.token(31337, address) is None
    assert await catalog.profile(f"31337:{address}") is None


async def test_the_largest_supply_and_the_most_decimals_stay_exact(start, place):
    catalog = await start()
    address = place(erc20(text("MAX"), text("Max"), 255, supply=2**256 - 1))
    supply = (await catalog.profile(f"31337:{address}")).total_supply
    assert supply == "0." + str(2**256 - 1).zfill(255).rstrip("0")


async def test_absence_is_remembered_for_a_short_while_only(start, devnet):
    catalog = await start()
    address = checksum("0x" + secrets.token_hex(20))
    assert await catalog.token(31337, address) is None
    with devnet.rpc() as rpc:
        rpc("anvil_setCode", address, "0x" + erc20(text("NEW"), text("New"), 9).hex())
        rpc("evm_mine")
    catalog.rpc.down = True  # it does not even ask
    assert await catalog.token(31337, address) is None
    catalog.rpc.down = False
    catalog.clock.offset_s = 31
    assert (await catalog.token(31337, address)).decimals == 9


# --- lists against the chain ------------------------------------------------------------------------------


async def test_the_chains_decimals_win_over_a_lists(start, place, tmp_path, caplog):
    address = place(erc20(text("ODD"), text("Odd"), 6, supply=1_500_000))
    catalog = await start(lists=[write_list(tmp_path / "private-name.json", row(address, 18))])
    assert (await catalog.profile("odd")).contracts[0].decimals == 6  # already asking for the profile checks
    token = await catalog.token(31337, address)
    assert (token.decimals, token.symbol) == (6, "ODD")
    assert caplog.text.count("18 decimals, its contract says 6") == 1
    assert (await catalog.profile("odd")).total_supply == "1.5"


async def test_a_correction_shows_in_the_list_and_in_its_revision(start, place, tmp_path, caplog):
    address = place(erc20(text("ODD"), text("Odd"), 6))
    catalog = await start(lists=[write_list(tmp_path / "l.json", row(address, 18))])
    before = catalog.revision()
    tokens = await asyncio.gather(*(catalog.token(31337, address) for _ in range(20)))
    assert {token.decimals for token in tokens} == {6}
    assert caplog.text.count("its contract says 6") == 1
    (profile,) = [profile for profile in await catalog.tokens(31337) if profile.id == "odd"]
    assert profile.contracts[0].decimals == 6
    assert catalog.revision() != before


async def test_a_listed_address_without_a_token_is_no_token(start, tmp_path, caplog):
    address = checksum("0x" + secrets.token_hex(20))
    catalog = await start(lists=[write_list(tmp_path / "l.json", row(address, 18))])
    for _ in range(3):
        assert await catalog.token(31337, address) is None
    assert caplog.text.count("where no token is") == 1


async def test_a_known_token_costs_no_request(start, place):
    catalog = await start()
    unlisted = place(erc20(text("ODD"), text("Odd"), 6))
    for address in (USDC, unlisted):
        await catalog.token(31337, address)
    catalog.rpc.down = True
    for address in (USDC, unlisted):
        assert (await catalog.token(31337, address)).decimals == 6
    assert len(await catalog.tokens(None)) > 12


async def test_without_a_node_catalog_answers_stay_and_money_answers_fail(start):
    catalog = await start()
    catalog.rpc.down = True
    profile = await catalog.profile(f"31337:{USDC}")
    assert (profile.symbol, profile.total_supply) == ("USDC", None)
    with pytest.raises(UpstreamError):
        await catalog.token(31337, USDC)
    with pytest.raises(UpstreamError):
        await catalog.profile("31337:0x" + "12" * 20)


# --- following lists --------------------------------------------------------------------------------------


async def test_a_file_that_comes_later_is_found_and_followed(start, tmp_path, caplog):
    path = tmp_path / "later.json"
    catalog = await start(lists=[str(path)], refresh_s=1)

    async def listed(slug):
        return slug in {profile.id for profile in await catalog.tokens(31337)}

    assert not await listed("late")
    write_list(path, row(checksum("0x" + "11" * 20), 6, "LATE"))
    await eventually(lambda: listed("late"))

    async def noticed():
        return "refused" in caplog.text

    caplog.clear()
    path.write_text("{ half written")
    await eventually(noticed)
    assert await listed("late")
    write_list(path, row(checksum("0x" + "11" * 20), 6, "LATER"))
    await eventually(lambda: listed("later"))


async def test_a_list_cannot_take_the_id_or_the_facts_of_a_built_in_token(make_gateway, tmp_path):
    usdc, other = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", checksum("0x" + "11" * 20)
    path = write_list(tmp_path / "l.json", row(other, 18, "USDC", 1), row(usdc, 18, "EVIL", 1))
    chains = Chains([Network("ethereum", 1, "Ethereum", token_lists=(path,))])
    chains.rpc.down = True
    gateway = await make_gateway({"chains": chains, "tokenlist": quoteway_tokenlist})
    (entry,) = [entry for entry in gateway.registry.providers if entry.provider.id == "tokenlist"]
    listed = {profile.id: profile.contracts[0] for profile in await entry.provider.tokens(1)}
    assert (listed["usdc"].address, listed["usdc"].decimals, listed["usdc"].symbol) == (usdc, 6, "USDC")
    assert listed["usdc-111111"].address == other
    assert "evil" not in listed


async def test_no_answer_names_the_list_it_comes_from(start, tmp_path):
    path = write_list(tmp_path / "private-name.json", row(checksum("0x" + "11" * 20), 6, "A"))
    catalog = await start(lists=[path])
    shown = repr(await catalog.tokens(None)) + repr(await catalog.profile("a"))
    assert "private-name" not in shown
    assert str(tmp_path) not in shown


async def test_a_private_url_is_refused_unless_allowed(start, caplog):
    caplog.set_level(logging.INFO)
    hits = []

    async def serve(reader, writer):
        hits.append(await reader.readuntil(b"\r\n\r\n"))
        body = json.dumps(
            {
                "name": "T",
                "timestamp": "2026-01-01T00:00:00Z",
                "version": {"major": 1, "minor": 0, "patch": 0},
                "tokens": [row("0x" + "11" * 20, 6, "WEB")],
            }
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/list?key=hidden"

        async def refused():
            return "private network" in caplog.text

        catalog = await start(lists=[url])
        await eventually(refused)
        assert hits == []
        allowed = await start(lists=[url], allow_private=True)

        async def listed():
            return "web" in {profile.id for profile in await allowed.tokens(31337)}

        await eventually(listed)
        assert "web" not in {profile.id for profile in await catalog.tokens(31337)}
    assert "hidden" not in caplog.text
