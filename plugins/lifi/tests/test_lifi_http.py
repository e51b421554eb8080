"""LI.FI behind the HTTP API: what a client sees, and that no answer or log contains the key."""

import json
import logging

import aiohttp
import pytest
import quoteway_lifi
from aiohttp import web
from devnet_lifi import DevnetLifi
from fake_lifi import FakeLifi, cases, logged
from lifi_cases import TIMEOUT_S, filled, timeout_s
from quoteway import Capability, Endpoint, Network, Secret
from quoteway.config.loading import redacted
from quoteway.config.model import LimitsConfig, ProviderConfig
from quoteway.evm.abi import opaque_call, reencode
from quoteway.models import Argument, DecodedCall
from quoteway.server.serve import make_runner
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway.web.app import make_app
from quoteway_devnet.accounts import ACCOUNTS

KEY = "canary-0d41b7"
USER = ACCOUNTS[4].address
FRIEND = "0x3333333333333333333333333333333333333333"


class Client:
    """Keeps every answer with its headers."""

    def __init__(self, session, url):
        self._session, self._url, self.seen = session, url, []

    async def ask(self, method, path, body=None):
        async with self._session.request(method, self._url + path, json=body) as response:
            text = await response.text()
            self.seen += [text, str(response.headers)]
            return response.status, json.loads(text) if "json" in response.content_type else text


@pytest.fixture
async def client(fresh_devnet, make_gateway, caplog, request):
    """The gateway on a socket. Fails when an answer or log contains the key or LI.FI's address.

    With the parameter True nothing describes the router's calls, and their simulation decides.
    """
    opaque = getattr(request, "param", False)
    caplog.set_level(logging.DEBUG)
    honest = DevnetLifi(fresh_devnet).answer
    async with FakeLifi(honest) as fake:
        networks, rows = [], []
        for slug, chain in fresh_devnet.chains.items():
            facts = {"head_poll_s": 0.2, "wrapped_native": chain.contracts["WETH9"]}
            kinds = chain.kinds
            if opaque:
                del kinds[chain.contracts["UniswapV2Router02"]]
            facts["contracts"] = kinds
            endpoint = Endpoint(fresh_devnet.urls[slug])
            networks.append(Network(slug, chain.chain_id, slug, endpoints=(endpoint,), **facts))
            for name in ("UniswapV2Router02", "SpokePool"):
                rows.append({"network": slug, "address": chain.contracts[name], "label": name})
        section = {"enabled": True, "base_url": fake.url, "deployments": rows, "timeout_s": TIMEOUT_S}
        section |= {"api_key": Secret(KEY), "max_response_bytes": 65_536}
        plugins = {"fake": FakePlugin([HttpRpc], networks=networks), "lifi": quoteway_lifi}
        limits = LimitsConfig(enabled=False)
        providers = {"lifi": ProviderConfig(opaque="simulated")} if opaque else {}
        sections = {"plugin_sections": {"lifi": section}, "limits": limits, "providers": providers}
        gateway = await make_gateway(plugins, **sections)
        runner = make_runner(make_app(gateway, run_gateway=False), gateway.config)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with aiohttp.ClientSession() as session:
            client = Client(session, f"http://127.0.0.1:{runner.addresses[0][1]}")
            client.fake, client.honest, client.gateway = fake, honest, gateway
            client.chains = fresh_devnet.chains
            yield client
        await runner.cleanup()
        lifi = fake.url.removeprefix("http://").removesuffix("/v1")
    said = "\n".join([*client.seen, logged(caplog), json.dumps(redacted(gateway.config), default=str)])
    assert all(headers["x-lifi-api-key"] == KEY for _, _, headers in fake.asked)
    assert KEY not in said
    assert lifi not in "\n".join([*client.seen, logged(caplog)])
    assert "CANARY" not in "\n".join([*client.seen, logged(caplog)]), "the upstream's words are passed on"


def swap(client, **changes):
    tokens = {symbol: client.chains["devnet"].token(symbol).address for symbol in ("USDC", "WETH")}
    members = {"network": "devnet", "fromToken": tokens["USDC"], "toToken": tokens["WETH"]}
    return {**members, "amount": "1000000000", "address": USER, "toAddress": FRIEND, **changes}


def transfer(client, **changes):
    ends = [client.chains[slug].token("USDC").address for slug in ("devnet", "devnet-l2")]
    members = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": ends[0], "toToken": ends[1]}
    return {**members, "amount": "1000000000", "address": USER, "toAddress": FRIEND, **changes}


async def test_a_swap_as_a_client_sees_it(client):
    status, quote = await client.ask("POST", "/v2/swaps/quote", swap(client))
    assert (status, quote["provider"]) == (200, "lifi")
    assert {warning["code"] for warning in quote["warnings"]} == {"unlisted_token", "estimated_output"}
    status, action = await client.ask("POST", f"/v2/swaps/{quote['quoteId']}/action", {})
    assert status == 201, action
    step = action["steps"][-1]
    assert "opaque" not in step["decoded"]
    values = {argument["name"]: argument["value"] for argument in step["decoded"]["args"]}
    assert (values["to"], values["amountOutMin"]) == (FRIEND, quote["outputs"][0]["amountMin"])
    assert step["clearSigning"]["intent"].startswith("Swap exactly 1,000 ")


async def test_of_the_limits_on_a_route_it_keeps_its_own_name_only(client):
    status, quote = await client.ask("POST", "/v2/swaps/quote", swap(client, protocols=["lifi"]))
    assert (status, quote["provider"], quote["request"]["protocols"]) == (200, "lifi", ["lifi"])
    asked = len(client.fake.asked)
    for limits in ({"maxHops": 4}, {"protocols": ["lifi"], "maxLegs": 64}, {"excludeProtocols": ["lifi"]}):
        status, refusal = await client.ask("POST", "/v2/swaps/quote", swap(client, **limits))
        details = refusal["error"]["details"]
        assert (status, details["reason"]) == (503, "unsupported_limit")
        assert [a["outcome"] for a in details["attempts"] if a["provider"] == "lifi"] == ["not_asked"]
    assert len(client.fake.asked) == asked


@pytest.mark.parametrize("client", [True], indirect=True, ids=["opaque"])
async def test_an_opaque_swap_and_its_calldata_as_a_client_sees_them(client):
    status, quote = await client.ask("POST", "/v2/swaps/quote", swap(client))
    assert (status, quote["provider"]) == (200, "lifi")
    codes = {warning["code"] for warning in quote["warnings"]}
    assert codes == {"opaque_calldata", "unlisted_token", "estimated_output"}
    assert [each["code"] for each in quote["acknowledgementNeeded"]] == ["opaque_calldata"]
    status, refusal = await client.ask("POST", f"/v2/swaps/{quote['quoteId']}/action", {})
    assert (status, refusal["error"]["details"]["reason"]) == (422, "acknowledgement_required")
    accepted = {"acknowledge": ["opaque_calldata"]}
    status, action = await client.ask("POST", f"/v2/swaps/{quote['quoteId']}/action", accepted)
    assert status == 201, action
    decoded, made = action["steps"][-1]["decoded"], action["transactions"][-1]
    assert decoded["opaque"] is True
    assert decoded["args"][0]["type"] == "bytes"
    # A client can put the calldata together again and compare.
    (argument,) = (Argument(a["name"], a["type"], a["value"]) for a in decoded["args"])
    call = DecodedCall(decoded["signature"], (argument,), opaque=True)
    assert "0x" + reencode(call).hex() == made["data"]
    assert reencode(opaque_call(bytes.fromhex(made["data"][2:]))).hex() == made["data"][2:]
    target = action["steps"][-1]["target"]
    assert (target["known"], target["label"]) == (False, None)
    assert "opaque" not in action["steps"][0]["decoded"]  # the approval


async def test_a_transfer_as_a_client_sees_it(client):
    status, quote = await client.ask("POST", "/v2/bridges/quote", transfer(client))
    assert (status, quote["provider"], quote["estimatedSeconds"]) == (200, "lifi", 30)
    status, action = await client.ask("POST", f"/v2/bridges/{quote['quoteId']}/action", {})
    assert status == 201, action
    tracking = action["tracking"]
    assert (tracking["bridge"], tracking["destinationChainId"]) == ("across", 31338)
    status, page = await client.ask("GET", "/v2/providers")
    assert status == 200
    rows = [row for row in page["data"] if row["id"] == "lifi"]
    assert rows
    assert all(row["enabled"] for row in rows)


async def test_swaps_across_chains_have_one_more_provider(client):
    status, quote = await client.ask("POST", "/v2/swaps/quote", transfer(client))
    assert (status, quote["provider"]) == (200, "lifi")


async def test_no_route_is_502_with_a_request_id(client):
    client.fake.answer = lambda *_: {"status": 404, "body": {"message": "CANARY", "code": 1002}}
    for path, body in (("/v2/swaps/quote", swap(client)), ("/v2/bridges/quote", transfer(client))):
        status, answer = await client.ask("POST", path, body)
        error = answer["error"]
        assert (status, error["code"], error["details"]["reason"]) == (502, "upstream_error", "no_route")
        assert error["requestId"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), [pytest.param(*case, id=case[0]) for case in cases("api")])
async def test_the_key_shows_in_no_answer_log_or_metric(name, case, client, monkeypatch):
    """Runs every case file as a quote and as an action; the fixture searches the texts afterwards."""
    responses = [filled(response) for response in case["responses"]]
    accepted = swap(client, acknowledge=["opaque_calldata"])
    status, quote = await client.ask("POST", "/v2/swaps/quote", accepted)
    assert status == 200
    client.fake.answer = lambda path, query, count: responses[-1]
    api = client.gateway.registry.get(Capability.SWAP, "lifi")._quoter.api
    monkeypatch.setattr(api, "_timeout_s", timeout_s(case))
    status, refused = await client.ask("POST", "/v2/swaps/quote", swap(client))
    assert status == 502, "these answers are about other tokens"
    assert refused["error"]["code"] == "upstream_error"
    status, refused = await client.ask("POST", f"/v2/swaps/{quote['quoteId']}/action", {})
    assert status == 502
    for path in ("/v2/providers", "/metrics", "/readyz"):
        await client.ask("GET", path)
