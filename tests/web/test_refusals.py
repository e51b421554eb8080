"""Bad input: every wrong member named with its reason, the order of refusals, and no capability needed to be
told so.
"""

import asyncio
import time

import pytest

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
SWAP = {"network": "ethereum", "fromToken": USDC, "toToken": WETH, "amount": "1000", "address": WALLET}
BRIDGE = {"fromChain": "ethereum", "toChain": "ethereum", "fromToken": USDC, "toToken": USDC}
POOL_ID = f"1:{WETH}"
POOL = {"action": "add", "address": WALLET, "amount": "5", "asset": USDC}
VAULT = {"action": "deposit", "address": WALLET, "amount": "5", "asset": USDC}
DEPLOY = {"asset": USDC, "network": "ethereum", "owner": WALLET, "strategy": "x"}

OFF = [
    ("GET", "/v2/tokens", None),
    ("GET", "/v2/tokens/eth", None),
    ("GET", "/v2/pools?network=ethereum&sort=-tvlUsd&limit=200", None),
    ("GET", "/v2/vaults", None),
    ("GET", "/v2/bridges/routes?fromChain=1&toChain=eip155:1", None),
    ("POST", "/v2/swaps/quote", SWAP),
    ("GET", f"/v2/swaps/price?network=1&fromToken={USDC}&toToken={WETH}&amount=1", None),
    ("GET", f"/v2/swaps/depth?network=1&fromToken={USDC}&toToken={WETH}&amount=1&rungs=8", None),
    ("POST", f"/v2/pools/{POOL_ID}/quote", POOL),
    ("POST", f"/v2/pools/1:0x{'ab' * 32}/quote", {**POOL, "action": "remove", "amount": "max"}),
    ("POST", f"/v2/pools/{POOL_ID}/action", {"action": "collect", "address": WALLET, "positionId": "7"}),
    ("GET", f"/v2/pools/{POOL_ID}/tvl", None),
    ("GET", f"/v2/pools/{POOL_ID}/volume?interval=1h", None),
    ("GET", f"/v2/pools/{POOL_ID}/fees?from=1700000000&to=1700600000", None),
    ("GET", f"/v2/pools/{POOL_ID}/apr", None),
    ("GET", f"/v2/pools/{POOL_ID}/positions?wallet={WALLET}", None),
    ("POST", f"/v2/vaults/{POOL_ID}/quote", VAULT),
    ("POST", f"/v2/vaults/{POOL_ID}/action", {**VAULT, "action": "redeem", "amount": "max"}),
    ("POST", f"/v2/vaults/{POOL_ID}/manage/action", {"action": "harvest", "address": WALLET}),
    ("POST", f"/v2/vaults/{POOL_ID}/rebalance/action", {"address": WALLET}),
    ("POST", "/v2/vaults/deploy/quote", DEPLOY),
    ("POST", "/v2/vaults/deploy/action", {**DEPLOY, "bot": "0x" + "0" * 40}),
    ("GET", f"/v2/vaults/{POOL_ID}/tvl", None),
    ("GET", f"/v2/vaults/{POOL_ID}/apy", None),
    ("GET", f"/v2/portfolio/positions?wallet={WALLET}", None),
    ("POST", "/v2/rpc/5", {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}),
]


@pytest.mark.parametrize(
    ("method", "path", "body"), OFF, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_valid_input_to_a_capability_that_is_off_is_503(api, refused, method, path, body):
    kwargs = {"json": body} if body is not None else {}
    refused(await api.request(method, path, **kwargs), 503, "provider_unavailable", "capability_disabled")


async def test_bridge_of_one_network_is_off_or_refused_before(api, refused):
    answer = await api.post("/v2/bridges/quote", {**BRIDGE, "amount": "1", "address": WALLET})
    refused(answer, 422, "validation_error", "conflict")


OBJECTS = [row for row in OFF if row[0] == "POST" and "/rpc/" not in row[1]]


@pytest.mark.parametrize(("method", "path", "body"), OBJECTS)
async def test_invalid_members_are_told_before_the_capability(api, refused, method, path, body):
    details = refused(
        await api.post(path, {**body, "adress": WALLET}), 422, "validation_error", "unknown_member"
    )
    assert [field["path"] for field in details["fields"]] == ["adress"]
    refused(await api.request("POST", path, data=b"{"), 415, "invalid_request")
    headers = {"Content-Type": "application/json"}
    refused(await api.request("POST", path, data=b"{", headers=headers), 400, "invalid_request")
    refused(await api.request("POST", path, headers=headers), 400, "invalid_request", "missing")


async def test_every_refused_member_is_named_at_once(api, refused):
    body = {
        "amount": "1e18",
        "slippageBps": "50",
        "fromToken": "0x12",
        "toToken": WETH,
        "adress": WALLET,
        "network": "etherum",
    }
    details = refused(await api.post("/v2/swaps/quote", body), 422, "validation_error")
    found = {field["path"]: field["reason"] for field in details["fields"]}
    assert found == {
        "amount": "invalid_format",
        "slippageBps": "invalid_format",
        "fromToken": "invalid_format",
        "address": "missing",
        "adress": "unknown_member",
        "network": "unsupported_network",
    }
    (unknown,) = (field for field in details["fields"] if field["path"] == "adress")
    assert "Did you mean 'address'?" in unknown["message"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"amount": "0"}, "amount must be greater than zero."),
        ({"slippageBps": 6000}, "slippageBps must be between 0 and 5000."),
        ({"address": ""}, "address is required."),
        ({"address": 7}, "address must be a string."),
        ({"amount": None}, "amount must not be null."),
        ({"recipient": 1, "amount": "0"}, "amount must be greater than zero. Also refused: recipient."),
    ],
)
async def test_a_refusal_is_one_sentence_that_names_the_member(api, refused, change, sentence):
    answer = await api.post("/v2/swaps/quote", {**SWAP, **change})
    details = refused(answer, 422, "validation_error")
    assert answer.body["error"]["message"] == sentence
    assert details["fields"][0]["message"] == sentence.partition(" Also")[0]


async def test_empty_means_not_given_for_known_members_only(api, refused):
    empty = {"toAddress": "", "provider": "", "fromChain": "", "toChain": ""}
    refused(await api.post("/v2/swaps/quote", {**SWAP, **empty}), 503, "provider_unavailable")
    details = refused(
        await api.post("/v2/swaps/quote", {**SWAP, "adress": "", "address": ""}), 422, "validation_error"
    )
    found = {field["path"]: field["reason"] for field in details["fields"]}
    assert found == {"adress": "unknown_member", "address": "missing"}


async def test_the_largest_amount_is_taken(api, refused):
    answer = await api.post("/v2/swaps/quote", {**SWAP, "amount": str(2**256 - 1)})
    refused(answer, 503, "provider_unavailable")


@pytest.mark.parametrize("address", [WALLET, WALLET.lower(), "0x" + WALLET[2:].upper()])
async def test_addresses_in_any_consistent_case_are_taken(api, refused, address):
    refused(await api.post("/v2/swaps/quote", {**SWAP, "address": address}), 503, "provider_unavailable")


@pytest.mark.parametrize(
    "token", ["native", "0x" + "0" * 40, "0x" + "e" * 40, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"]
)
async def test_the_native_coin_has_aliases(api, refused, token):
    refused(await api.post("/v2/swaps/quote", {**SWAP, "fromToken": token}), 503, "provider_unavailable")


CONFLICTS = [
    ({"toToken": USDC.lower()}, {"toToken": "conflict"}),
    ({"fromToken": "native", "toToken": "0x" + "0" * 40}, {"toToken": "conflict"}),
    ({"network": ""}, {"network": "missing"}),
    ({"approvalMode": "none"}, {"approvalMode": "invalid_format"}),
    ({"toAddress": "0x" + "0" * 40}, {"toAddress": "out_of_range"}),
    ({"refundAddress": "0x" + "0" * 40}, {"refundAddress": "out_of_range"}),
    ({"refundAddress": WALLET}, {"refundAddress": "conflict"}),
    ({"refundAddress": WALLET, "network": "", "fromChain": "ethereum"}, {"refundAddress": "conflict"}),
    ({"network": 1}, {"network": "invalid_format"}),
    ({"network": "eip155:999"}, {"network": "unsupported_network"}),
    ({"provider": "x" * 65}, {"provider": "out_of_range"}),
    ({"provider": "a\u202eb"}, {"provider": "invalid_format"}),
]


@pytest.mark.parametrize(("change", "expected"), CONFLICTS, ids=lambda value: str(value)[:40])
async def test_swap_members(api, refused, change, expected):
    details = refused(await api.post("/v2/swaps/quote", {**SWAP, **change}), 422, "validation_error")
    assert {field["path"]: field["reason"] for field in details["fields"]} == expected


async def test_network_and_chains_must_agree(fakes, refused):
    body = {**SWAP, "network": "devnet", "fromToken": "native", "toToken": fakes.weth}
    details = refused(
        await fakes.post("/v2/swaps/quote", {**body, "toChain": "devnet-l2"}), 422, "validation_error"
    )
    assert [field["path"] for field in details["fields"]] == ["toChain"]
    apart = {**body, "network": "", "fromChain": "devnet", "toChain": "devnet-l2"}
    # The fakes have a bridge: a swap and a transfer might do, for a wallet that sends several calls as one.
    refused(await fakes.post("/v2/swaps/quote", apart), 502, "upstream_error", "no_route")
    one_call = {**apart, "atomicBatch": False}
    refused(await fakes.post("/v2/swaps/quote", one_call), 503, "provider_unavailable", "capability_disabled")
    unknown = {**body, "toToken": WALLET}
    details = refused(
        await fakes.post("/v2/swaps/quote", unknown), 422, "validation_error", "unsupported_token"
    )
    assert [field["path"] for field in details["fields"]] == ["toToken"]
    refused(await fakes.post("/v2/swaps/quote", {**body, "provider": "nobody"}), 503, "provider_unavailable")


@pytest.mark.parametrize(
    ("path", "change", "member"),
    [
        (f"/v2/pools/{POOL_ID}/quote", {"action": "swap"}, "action"),
        (f"/v2/pools/{POOL_ID}/quote", {"amount": "max"}, "amount"),
        (f"/v2/pools/{POOL_ID}/quote", {"amount": ""}, "amount"),
        (f"/v2/pools/{POOL_ID}/quote", {"tickLower": 10, "tickUpper": 10}, "tickUpper"),
        (f"/v2/pools/{POOL_ID}/quote", {"tickLower": -887273}, "tickLower"),
        (f"/v2/vaults/{POOL_ID}/quote", {"action": "add"}, "action"),
        (f"/v2/vaults/{POOL_ID}/quote", {"action": "deposit", "amount": "max"}, "amount"),
        (f"/v2/vaults/{POOL_ID}/manage/action", {"action": "burn"}, "action"),
        (f"/v2/vaults/{POOL_ID}/manage/action", {"action": "setCap", "amount": ""}, "amount"),
        (f"/v2/vaults/{POOL_ID}/manage/action", {"action": "setBot"}, "bot"),
        (f"/v2/vaults/{POOL_ID}/manage/action", {"action": "addStrategy"}, "strategy"),
    ],
)
async def test_pool_and_vault_members(api, refused, path, change, member):
    details = refused(await api.post(path, {**POOL, **change}), 422, "validation_error")
    assert [field["path"] for field in details["fields"]] == [member]
    if change.get("action") == "swap":
        assert details["reason"] == "unsupported_action"
        assert "add, remove, collect" in details["fields"][0]["message"]


@pytest.mark.parametrize(
    ("path", "member"),
    [
        ("/v2/pools?limit=0", "limit"),
        ("/v2/pools?limit=201", "limit"),
        ("/v2/pools?limit=5.0", "limit"),
        ("/v2/pools?limit=５", "limit"),
        ("/v2/pools?sort=tvl", "sort"),
        ("/v2/pools?cursor=!!", "cursor"),
        ("/v2/pools?minTvlUsd=1e9", "minTvlUsd"),
        ("/v2/pools?networks=1", "networks"),
        ("/v2/pools?network=1&network=1", "network"),
        (f"/v2/tokens?query={'x' * 101}", "query"),
        (f"/v2/pools/{POOL_ID}/tvl?interval=2h", "interval"),
        (f"/v2/pools/{POOL_ID}/tvl?from=5&to=5", "to"),
        (f"/v2/pools/{POOL_ID}/positions", "wallet"),
        ("/v2/portfolio/balances?wallet=0x1", "wallet"),
        (f"/v2/portfolio/balances?wallet={WALLET}&includeNative=1", "includeNative"),
        (f"/v2/portfolio/balances?wallet={WALLET}&tokens=0xa,b", "tokens"),
    ],
)
async def test_query_members(api, refused, path, member):
    details = refused(await api.get(path), 422, "validation_error")
    assert [field["path"] for field in details["fields"]] == [member]


async def test_an_expired_quote_is_shown_but_not_exchanged(serve_app, fake_plugin, refused, contract):
    now = [time.time()]
    fakes = await serve_app({"fakes": fake_plugin}, clock=lambda: now[0])
    body = {
        "network": "devnet",
        "fromToken": "native",
        "toToken": fake_plugin.weth,
        "amount": "1",
        "address": WALLET,
    }
    token = (await fakes.post("/v2/swaps/quote", body)).body["quoteId"]
    now[0] += 181
    shown = contract.check("getSwapQuote", await fakes.get(f"/v2/swaps/quote/{token}"))
    assert (shown["status"], shown["expiresIn"]) == ("expired", 0)
    refused(await fakes.post(f"/v2/swaps/{token}/action"), 404, "not_found", "quote_expired")


async def test_members_of_an_rpc_call(api, refused):
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
    path = "/v2/rpc/1"
    for change in ({"jsonrpc": "1.0"}, {"id": 1.5}, {"id": True}, {"id": {}}, {"method": 5}):
        refused(await api.post(path, {**call, **change}), 400, "invalid_request", "invalid_format")
    for params in ({}, "latest", [0] * 17, [0]):
        answer = await api.post(path, {**call, "params": params})
        assert (answer.status, answer.body["id"], answer.body["error"]["code"]) == (200, 1, -32602)
    refused(await api.post("/v2/rpc/mainnet", call), 422, "validation_error")
    refused(await api.post("/v2/rpc/0x1", call), 422, "validation_error")
    refused(await api.post(path, call), 502, "upstream_error")


async def test_rpc_answers(fakes, contract):
    call = {"jsonrpc": "2.0", "id": 987, "method": "eth_chainId", "params": []}
    assert (await fakes.post("/v2/rpc/31337", call)).body == {"jsonrpc": "2.0", "id": 987, "result": "0x7a69"}
    answer = await fakes.post(
        "/v2/rpc/31337", {**call, "id": "a", "method": "eth_getBalance", "params": [WALLET, "latest"]}
    )
    assert answer.body["id"] == "a"
    assert int(answer.body["result"], 16) > 0
    reverting = {"to": fakes.weth, "data": "0x2e1a7d4d" + "ff" * 32}
    answer = await fakes.post(
        "/v2/rpc/31337", {**call, "method": "eth_call", "params": [reverting, "latest"]}
    )
    body = contract.check("callRpc", answer)
    assert answer.status == 200
    assert body["error"]["code"]
    many = await asyncio.gather(
        *(fakes.post("/v2/rpc/31337", {**call, "id": number}) for number in range(20))
    )
    assert [answer.body["id"] for answer in many] == list(range(20))
