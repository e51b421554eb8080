"""Transfers through the HTTP API: what a client sees, and every invalid request."""

import aiohttp
import pytest
from aiohttp import web
from quoteway.config.model import LimitsConfig
from quoteway.server.serve import make_runner
from quoteway.web.app import make_app
from transfers import KEEPER, RECIPIENT, SENDER

CODES = {422: "validation_error", 502: "upstream_error", 503: "provider_unavailable"}
NO_TOKEN = "0x000000000000000000000000000000000000dEaD"


class Client:
    def __init__(self, session, url):
        self._session, self._url = session, url

    async def get(self, path):
        async with self._session.get(self._url + path) as response:
            return response.status, await response.json()

    async def post(self, path, body=None):
        async with self._session.post(self._url + path, json=body) as response:
            return response.status, await response.json()


@pytest.fixture
async def client(fresh_devnet, relayer, make_harness):
    """The gateway on a socket; ``.harness`` is its harness."""
    harness = await make_harness(fresh_devnet, relayer.port, limits=LimitsConfig(enabled=False))
    config = harness.gateway.config
    runner = make_runner(make_app(harness.gateway, run_gateway=False), config)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession() as session:
        client = Client(session, f"http://127.0.0.1:{runner.addresses[0][1]}")
        client.harness = harness
        yield client
    await runner.cleanup()


def body(harness, **changes):
    members = {
        "fromChain": "devnet",
        "toChain": "devnet-l2",
        "fromToken": harness.token("USDC").address,
        "toToken": harness.token("USDC", "devnet-l2").address,
        "amount": "1000000000",
        "address": SENDER,
        "toAddress": RECIPIENT,
    }
    return {name: value for name, value in (members | changes).items() if value is not None}


async def test_a_transfer_from_its_route_to_its_arrival(client):
    harness = client.harness
    status, page = await client.get("/v2/bridges/routes?fromChain=devnet&toChain=devnet-l2&limit=200")
    assert status == 200
    assert all(0 < int(row["minAmount"]) < int(row["maxAmount"]) for row in page["data"])
    assert {row["estimatedSeconds"] for row in page["data"]} == {None}
    pair = {(row["fromToken"]["symbol"], row["toToken"]["symbol"]) for row in page["data"]}
    assert ("USDC", "USDC") in pair
    status, quote = await client.post("/v2/bridges/quote", body(harness))
    assert status == 200
    assert (quote["provider"], quote["kind"]) == ("across", "bridge")
    assert quote["estimatedSeconds"] == 2
    assert quote["fillDeadline"] > quote["block"]["timestamp"]
    assert quote["refund"]["address"] == SENDER
    assert quote["refund"]["token"] == quote["inputs"][0]["token"]["address"]
    assert quote["outputs"][0]["token"]["network"] == "devnet-l2"
    assert len(quote["quoteId"]) <= 4096
    status, action = await client.post(f"/v2/bridges/{quote['quoteId']}/action")
    assert status == 201
    assert action["tracking"] == {
        "bridge": "across",
        "originChainId": 31337,
        "destinationChainId": 31338,
        "expectedSeconds": 2,
        "refundAddress": SENDER,
    }
    assert [step["kind"] for step in action["steps"]] == ["approval", "transfer"]
    tx_id = action["steps"][-1]["txId"]
    status, answer = await client.get(f"/v2/transactions/{tx_id}?hash=0x{'ab' * 32}")
    assert (status, answer["status"], answer["fillHash"]) == (200, "unknown", None)
    for step, transaction in zip(action["steps"], action["transactions"], strict=True):
        sent = {**transaction, "from": SENDER, "gas": step["gasLimit"], "chainId": hex(31337)}
        sent = await harness.rpc("devnet", "eth_sendTransaction", sent)
    request = harness.request()
    await harness.until(request, sent, "filled")
    status, answer = await client.get(f"/v2/transactions/{tx_id}?hash={sent}")
    assert (status, answer["status"], answer["originChainId"]) == (200, "filled", 31337)
    assert answer["fillHash"].startswith("0x")
    assert await harness.balance(request.token_out, RECIPIENT) == int(quote["outputs"][0]["amount"])


@pytest.mark.parametrize("path", ["bridges", "swaps"])
async def test_the_refund_address_is_echoed_quoted_sealed_and_tracked(client, path):
    asked = body(client.harness, refundAddress=KEEPER.lower())
    status, quote = await client.post(f"/v2/{path}/quote", asked)
    assert status == 200
    assert (quote["request"]["refundAddress"], quote["refund"]["address"]) == (KEEPER, KEEPER)
    codes = {warning["code"] for warning in quote["warnings"]}
    assert codes == {"refund_address_controls_deposit", "unlisted_token"}
    status, action = await client.post(f"/v2/{path}/{quote['quoteId']}/action")
    assert status == 201
    assert action["tracking"]["refundAddress"] == KEEPER
    depositor = action["steps"][-1]["decoded"]["args"][0]
    assert (depositor["name"], depositor["value"]) == ("depositor", KEEPER)
    status, quote = await client.post(f"/v2/{path}/quote", body(client.harness))
    assert (quote["request"]["refundAddress"], quote["refund"]["address"]) == (SENDER, SENDER)


async def test_a_swap_between_networks_is_the_same_transfer(client):
    status, quote = await client.post("/v2/swaps/quote", body(client.harness))
    assert status == 200
    assert (quote["provider"], quote["kind"]) == ("across", "swap")
    assert int(quote["toAmountMin"]) == int(quote["toAmount"]) < 10**9
    status, action = await client.post(f"/v2/swaps/{quote['quoteId']}/action")
    assert status == 201
    assert action["tracking"]["bridge"] == "across"
    # A token of one kind of quote opens no other kind of action.
    status, answer = await client.post(f"/v2/bridges/{quote['quoteId']}/action")
    assert (status, answer["error"]["details"]["reason"]) == (404, "quote_invalid")


async def test_invalid_requests_are_refused(client):
    harness = client.harness
    near, far = harness.devnet.chains["devnet"], harness.devnet.chains["devnet-l2"]
    zero = "0x" + "0" * 40
    cases = [
        ({"toChain": "devnet"}, 422, "conflict"),
        ({"toChain": "31337"}, 422, "conflict"),
        ({"toChain": "atlantis"}, 502, "no_route"),
        ({"fromChain": None}, 422, "missing"),
        ({"toChain": None}, 422, "missing"),
        ({"network": "devnet"}, 422, "unknown_member"),
        ({"toToken": far.token("DAI").address}, 502, "no_route"),
        ({"fromToken": near.token("TAX").address}, 502, "no_route"),
        ({"fromToken": NO_TOKEN}, 502, "no_route"),
        ({"toToken": near.token("TAX").address}, 502, "no_route"),
        ({"amount": "1"}, 502, "amount_too_low"),
        ({"amount": str(10**30)}, 502, "amount_too_high"),
        ({"amount": str(2**256 - 1)}, 502, "amount_too_high"),
        ({"amount": "0"}, 422, "out_of_range"),
        ({"amount": "-5"}, 422, "invalid_format"),
        ({"amount": 5}, 422, "invalid_format"),
        ({"amount": "1e9"}, 422, "invalid_format"),
        ({"amount": str(2**256)}, 422, "out_of_range"),
        ({"toAddress": far.contracts["SpokePool"]}, 422, "conflict"),
        ({"toAddress": far.token("USDC").address}, 422, "conflict"),
        ({"toAddress": "0x12"}, 422, "invalid_format"),
        ({"refundAddress": near.contracts["SpokePool"]}, 422, "conflict"),
        ({"refundAddress": near.token("USDC").address}, 422, "conflict"),
        ({"refundAddress": zero}, 422, "out_of_range"),
        ({"refundAddress": "0x12"}, 422, "invalid_format"),
        ({"toAddress": SENDER[:-1] + "7"}, 422, None),
        (
            {"fromToken": "native", "toToken": "native", "toAddress": far.contracts["Multicall3"]},
            422,
            "conflict",
        ),
        ({"fromToken": "native", "toToken": far.contracts["WETH9"]}, 422, "conflict"),
        ({"provider": "nobody"}, 503, "capability_disabled"),
        ({"slippageBps": 5001}, 422, "out_of_range"),
        ({"slippageBps": True}, 422, "invalid_format"),
    ]
    for changes, status, reason in cases:
        found, answer = await client.post("/v2/bridges/quote", body(harness, **changes))
        assert found == status, (changes, answer)
        error = answer["error"]
        assert error["requestId"]
        assert error["code"] == CODES[status]
        if reason is not None:
            details = error["details"]
            assert reason in (details["reason"], *(f["reason"] for f in details.get("fields", ()))), (
                changes,
                answer,
            )
    found, answer = await client.post("/v2/bridges/quote", body(harness, toAddress=zero))
    assert found == 422, answer
    for path, status in (("/v2/bridges/nonsense/action", 404), ("/v2/transactions/nonsense?hash=0x12", 422)):
        found, answer = await (client.get if "?" in path else client.post)(path)
        assert found == status, answer
