"""What LI.FI answers, from case files, over a real socket: quoted, or an error in the gateway's words."""

import json
import re

import pytest
import quoteway_lifi
from fake_lifi import HERE, FakeLifi, cases, logged, patched
from quoteway import Capability, Network, Secret, SwapRequest, Token, UpstreamError
from quoteway.testing.fakes import FakePlugin, MemoryRpc

KEY = "canary-7f3a9c"
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
WETH = Token(1, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, "WETH")
FAR = Token(10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6, "USDC")
ASKS = {
    "swap": (Capability.SWAP, SwapRequest(1, 1, USDC, WETH, 10**9, USER, USER, 50)),
    "transfer": (Capability.BRIDGE, SwapRequest(1, 10, USDC, FAR, 10**9, USER, USER, 50)),
}
ANSWERS = {name: json.loads((HERE / "answers" / f"{name}.json").read_text()) for name in ASKS}
TIMEOUT_S = 2.0


class Clock:
    def __init__(self):
        self.at = 1_800_000_000.0

    def __call__(self):
        return self.at


def filled(response):
    """A response of a case file, its answer read from the file it names."""
    response = dict(response)
    if "answer" in response:
        answer = ANSWERS[response.pop("answer").removesuffix(".json")]
        response["body"] = patched(answer, response.pop("patch", []))
    return response


def scripted(responses):
    """Answers by the case's list, the last one again and again."""
    filled_in = [filled(response) for response in responses]
    return lambda path, query, count: filled_in[min(count, len(filled_in)) - 1]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def start(make_gateway, clock):
    """``await start(fake)``: a gateway of two chains without contracts that asks ``fake``."""

    async def make(fake, **settings):
        networks = [Network("ethereum", 1, "Ethereum"), Network("optimism", 10, "Optimism")]
        section = {
            "enabled": True,
            "base_url": fake.url,
            "api_key": Secret(KEY),
            "timeout_s": TIMEOUT_S,
            "max_response_bytes": 65_536,
            **settings,
        }
        plugins = {"fake": FakePlugin([MemoryRpc({1, 10})], networks=networks), "lifi": quoteway_lifi}
        return await make_gateway(plugins, plugin_sections={"lifi": section}, clock=clock)

    return make


@pytest.fixture
def silent(caplog):
    """Collects what was told; afterwards neither the key nor the upstream's words may be in it."""
    told = []
    yield told
    text = "\n".join([*map(str, told), logged(caplog)])
    assert KEY not in text
    assert "CANARY" not in text
    assert "127.0.0.1" not in text, "the upstream's address shows"


@pytest.mark.parametrize(("name", "case"), [pytest.param(*case, id=case[0]) for case in cases("api")])
async def test_case(name, case, start, clock, silent):
    capability, request = ASKS[case["ask"]]
    outcome = case["outcome"]
    async with FakeLifi(scripted(case["responses"])) as fake:
        gateway = await start(fake)
        if "reason" in outcome:
            with pytest.raises(UpstreamError) as refusal:
                await gateway.spine.quote(capability, request)
            error = refusal.value
            silent += [error.message, error.extra, error.attempts]
            assert error.reason == outcome["reason"]
            assert error.attempts[0].reason == outcome["reason"]
        else:
            answer = await gateway.spine.quote(capability, request)
            (got,) = answer.quote.outputs
            assert (str(got.amount), str(got.amount_min)) == (outcome["amount_out"], outcome["amount_min"])
            assert answer.sealed.plan == outcome.get("plan", answer.sealed.plan)
            silent += [answer.quote, answer.sealed.token]
        assert len(fake.asked) == outcome["asked"]
        for path, query, headers in fake.asked:
            assert (path, query) == (case["request"]["path"], case["request"]["query"])
            assert headers["x-lifi-api-key"] == KEY
        if "held_s" in outcome:
            await held_for(gateway, fake, clock, request, outcome["held_s"])


async def held_for(gateway, fake, clock, request, seconds):
    """Nobody asks LI.FI again before the time it named; then the next one does."""
    provider = gateway.registry.get(Capability.SWAP, "lifi")
    asked = len(fake.asked)
    assert await provider.healthy() is False
    for at in (0, seconds - 1):
        clock.at = 1_800_000_000 + at
        with pytest.raises(UpstreamError):
            await provider.quote(request)
    assert len(fake.asked) == asked
    clock.at = 1_800_000_000 + seconds
    with pytest.raises(UpstreamError):
        await provider.quote(request)
    assert len(fake.asked) == asked + 1


async def test_a_quote_tells_fees_gas_route_and_the_approval(start):
    async with FakeLifi(scripted([{"answer": "swap.json"}])) as fake:
        gateway = await start(fake)
        answer = await gateway.spine.quote(*ASKS["swap"])
    quote = answer.quote
    (fee,) = quote.fees
    assert (fee.name, fee.token, fee.amount, fee.included) == ("LIFI Fixed Fee", USDC, 2_500_000, True)
    assert (quote.gas.units, quote.gas.limit, quote.gas.cost_wei) == (430_000, 537_500, 645_000_000_000_000)
    # 2.2575 dollars of gas at 3,500 a coin.
    assert quote.net_output == quote.outputs[0].amount_min - 645_000_000_000_000
    assert [hop.protocol for hop in quote.route[0].hops] == ["feeCollection", "uniswap"]
    (approval,) = answer.approvals
    assert approval.spender == "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
    assert approval.required == 10**9
    assert [notice.code for notice in quote.warnings] == ["opaque_calldata"]
    assert answer.sealed.expires_at - answer.sealed.created_at == 60


async def test_a_transfer_tells_how_long_it_takes(start):
    async with FakeLifi(scripted([{"answer": "transfer.json"}])) as fake:
        gateway = await start(fake)
        answer = await gateway.spine.quote(*ASKS["transfer"])
    assert answer.quote.details == {"estimatedSeconds": 4, "fillDeadline": None, "refund": None}


async def test_a_swap_across_chains_is_offered_too(start):
    async with FakeLifi(scripted([{"answer": "transfer.json"}])) as fake:
        gateway = await start(fake)
        answer = await gateway.spine.quote(Capability.SWAP, ASKS["transfer"][1])
    assert answer.sealed.provider == "lifi"


@pytest.mark.parametrize("ask", ["swap", "transfer"])
async def test_the_action_pins_the_tools_and_known_calldata_is_put_in_words(start, ask):
    async with FakeLifi(scripted([{"answer": f"{ask}.json"}])) as fake:
        gateway = await start(fake)
        capability, request = ASKS[ask]
        answer = await gateway.spine.quote(capability, request)
        build = await gateway.registry.get(capability, "lifi").build(answer.sealed)
        _, query, _ = fake.asked[-1]
    pins = {"swap": ("none", "uniswap"), "transfer": ("across", "none")}
    assert (query["allowBridges"], query["allowExchanges"]) == pins[ask]
    (step,) = build.steps
    assert step.decoded.opaque
    (reading,) = step.decoded.inner
    values = {argument.name: argument.value for argument in reading.args}
    if ask == "swap":
        assert values["receiver"] == USER
        assert values["minAmountOut"] == answer.quote.outputs[0].amount_min
    else:
        assert values["bridgeData"][7] == 10
        assert build.details["tracking"]["bridge"] == "across"


async def test_slack_is_tightened_when_the_price_still_suffices(start):
    """LI.FI's amount fell below the quoted one, not below the quoted minimum: the second ask names the
    slippage that keeps that minimum."""
    quoted = ANSWERS["swap"]["estimate"]
    lower = int(quoted["toAmountMin"]) + 10**14
    answers = [
        {"answer": "swap.json"},
        {
            "answer": "swap.json",
            "patch": [[["estimate", "toAmount"], str(lower)], [["estimate", "toAmountMin"], "9"]],
        },
        {"answer": "swap.json", "patch": [[["estimate", "toAmount"], str(lower)]]},
    ]
    async with FakeLifi(scripted(answers)) as fake:
        gateway = await start(fake)
        answer = await gateway.spine.quote(*ASKS["swap"])
        build = await gateway.registry.get(Capability.SWAP, "lifi").build(answer.sealed)
        slippages = [query["slippage"] for _, query, _ in fake.asked]
    assert build.outputs[0].amount_min == answer.quote.outputs[0].amount_min
    assert slippages[:2] == ["0.005", "0.005"]
    left = lower * (10**6 - int(slippages[2][2:])) // 10**6
    assert answer.quote.outputs[0].amount_min <= left < lower


async def test_the_same_token_gives_the_same_bytes_though_lifi_never_does(start):
    count = iter(range(100))

    def answer(path, query, _):
        data = ANSWERS["swap"]["transactionRequest"]["data"]
        fresh = data[:10] + f"{next(count):064x}" + data[74:]
        return {"body": patched(ANSWERS["swap"], [[["transactionRequest", "data"], fresh]])}

    async with FakeLifi(answer) as fake:
        gateway = await start(fake)
        provider = gateway.registry.get(Capability.SWAP, "lifi")
        sealed = (await gateway.spine.quote(*ASKS["swap"])).sealed
        assert await provider.build(sealed) == await provider.build(sealed)
        other = (await gateway.spine.quote(*ASKS["swap"])).sealed
        if other.token != sealed.token:
            assert await provider.build(other) != await provider.build(sealed)


async def test_the_hold_after_a_429_is_one_for_swaps_and_transfers(start):
    async with FakeLifi(lambda *_: {"status": 429, "headers": {"Retry-After": "60"}}) as fake:
        gateway = await start(fake)
        for capability, request in (ASKS["swap"], ASKS["transfer"]):
            with pytest.raises(UpstreamError, match="rate limit"):
                await gateway.registry.get(capability, "lifi").quote(request)
        assert len(fake.asked) == 1


async def test_a_dead_upstream_answers_within_the_deadline(make_gateway, start):
    async with FakeLifi(lambda *_: {"fault": "reset"}) as fake:
        gateway = await start(fake)
    with pytest.raises(UpstreamError) as refusal:
        await gateway.spine.quote(*ASKS["swap"])
    assert refusal.value.reason == "provider_error"


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"status": "PENDING", "substatus": "WAIT_SOURCE_CONFIRMATIONS"}, "origin_pending"),
        ({"status": "PENDING", "substatus": "WAIT_DESTINATION_TRANSACTION"}, "fill_pending"),
        ({"status": "PENDING", "substatus": "REFUND_IN_PROGRESS"}, "refund_pending"),
        ({"status": "PENDING", "substatus": "BRIDGE_NOT_AVAILABLE"}, "unknown"),
        ({"status": "PENDING"}, "unknown"),
        ({"status": "DONE", "substatus": "COMPLETED"}, "filled"),
        ({"status": "DONE", "substatus": "PARTIAL"}, "action_required"),
        ({"status": "DONE", "substatus": "REFUNDED"}, "refunded"),
        ({"status": "DONE", "substatus": ["?"]}, "unknown"),
        ({"status": "FAILED", "substatus": "OUT_OF_GAS"}, "action_required"),
        ({"status": "OF_TOMORROW"}, "unknown"),
        ({"status": "PENDING", "sending": {"txHash": "0x" + "cd" * 32}}, None),
        ({"status": "DONE", "substatus": "COMPLETED", "receiving": {"chainId": 1}}, None),
        ({"status": "NOT_FOUND"}, None),
        ({"status": "INVALID"}, None),
        ({}, None),
    ],
)
async def test_where_a_transfer_is(start, body, state):
    async with FakeLifi(lambda *_: {"body": body}) as fake:
        gateway = await start(fake)
        found = await gateway.registry.get(Capability.BRIDGE, "lifi").track(1, "0x" + "ab" * 32)
        (path, query, _), *_ = fake.asked
    assert (path, query) == ("/v1/status", {"txHash": "0x" + "ab" * 32, "fromChain": "1"})
    assert (found and found["status"]) == state


async def test_what_is_known_beside_a_transfers_state(start):
    receiving = {"chainId": 10, "txHash": "0x" + "cd" * 32}
    body = {"status": "DONE", "substatus": "COMPLETED", "sending": {"txHash": "0x" + "AB" * 32}}
    async with FakeLifi(lambda *_: {"body": {**body, "receiving": receiving}}) as fake:
        gateway = await start(fake)
        found = await gateway.registry.get(Capability.BRIDGE, "lifi").track(1, "0x" + "ab" * 32)
    assert found == {
        "status": "filled",
        "originChainId": 1,
        "destinationChainId": 10,
        "fillHash": "0x" + "cd" * 32,
        "refundHash": None,
        "reason": None,
    }


async def test_routes_are_of_listed_tokens_under_one_coin_key(make_gateway, clock):
    from quoteway.testing.fakes import ListedTokens

    usdc, far = ANSWERS["transfer"]["action"]["fromToken"], ANSWERS["transfer"]["action"]["toToken"]
    odd = {**usdc, "address": "0x" + "12" * 20, "coinKey": "ODD"}
    connections = [
        {
            "fromChainId": 1,
            "toChainId": 10,
            "fromTokens": [usdc, odd, 7, {}],
            "toTokens": [far, {**far, "address": 1}],
        }
    ]
    async with FakeLifi(lambda *_: {"body": {"connections": connections}}) as fake:
        networks = [Network("ethereum", 1, "Ethereum"), Network("optimism", 10, "Optimism")]
        plugin = FakePlugin([MemoryRpc({1, 10}), ListedTokens([USDC, WETH, FAR])], networks=networks)
        section = {"enabled": True, "base_url": fake.url}
        gateway = await make_gateway(
            {"fake": plugin, "lifi": quoteway_lifi}, plugin_sections={"lifi": section}
        )
        provider = gateway.registry.get(Capability.BRIDGE, "lifi")
        for _ in range(2):
            (route,) = await provider.routes(1, 10)
            assert (route.from_token, route.to_token, route.bridge) == (USDC, FAR, "lifi")
        assert [path for path, _, _ in fake.asked] == ["/v1/connections"]
        assert "x-lifi-api-key" not in fake.asked[0][2]
        assert [
            *await provider.routes(1, None),
            *await provider.routes(1, 1),
            *await provider.routes(1, 5),
        ] == []


# --- settings -----------------------------------------------------------------------------------------------


async def test_nothing_is_offered_before_it_is_switched_on(make_gateway):
    fake = FakePlugin([MemoryRpc({1})], networks=[Network("ethereum", 1, "Ethereum")])
    for section in ({}, {"enabled": False}, {"api_key": Secret(KEY)}):
        sections = {"lifi": section} if section else {}
        gateway = await make_gateway({"fake": fake, "lifi": quoteway_lifi}, plugin_sections=sections)
        assert [p.provider.id for p in gateway.registry.providers if p.plugin.name == "lifi"] == []


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"enabled": "yes"}, "config_invalid"),
        ({"enabled": True, "api_key": "plain-canary"}, "config_invalid"),
        ({"enabled": True, "api_key": Secret("canary\r\nX-Evil: 1")}, "config_invalid"),
        ({"enabled": True, "base_url": "ftp://li.quest"}, "config_invalid"),
        ({"enabled": True, "base_url": "https://canary:canary@li.quest/v1"}, "config_invalid"),
        ({"enabled": True, "timeout_s": 0}, "config_invalid"),
        ({"enabled": True, "integrator": "a b"}, "config_invalid"),
        ({"enabled": True, "deployments": [{"network": "nowhere", "address": USER}]}, "config_invalid"),
        ({"enabled": True, "deployments": [{"network": "ethereum", "address": "0x12"}]}, "config_invalid"),
        ({"enabled": True, "deployments": [{"network": "ethereum", "adress": USER}]}, "config_invalid"),
    ],
)
async def test_settings_that_cannot_be_are_refused_without_showing_secrets(make_gateway, section, reason):
    fake = FakePlugin([MemoryRpc({1})], networks=[Network("ethereum", 1, "Ethereum")])
    gateway = await make_gateway({"fake": fake, "lifi": quoteway_lifi}, plugin_sections={"lifi": section})
    entry = next(entry for entry in gateway.registry.plugins if entry.name == "lifi")
    assert entry.reason == reason
    assert "canary" not in (entry.detail or "")


async def test_the_built_in_rows_are_the_diamonds(start):
    async with FakeLifi(scripted([{"answer": "swap.json"}])) as fake:
        gateway = await start(fake)
    provider = gateway.registry.get(Capability.SWAP, "lifi")
    assert provider.networks == {1, 10}
    assert provider.contracts(1) == {"0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "LI.FI Diamond"}
    assert provider.spenders(1) == ("0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",)
    assert (provider.contracts(5), provider.spenders(5)) == ({}, ())


def test_known_functions_have_the_selectors_of_the_diamond():
    """As its facets have them on the chain (and as others' decoders of LI.FI list them)."""
    from quoteway.evm.abi import function
    from quoteway_lifi.calls import DECLARATIONS

    found = {declared.split("(")[0]: function(declared).selector.hex() for declared in DECLARATIONS}
    assert found["swapTokensSingleV3ERC20ToERC20"] == "4666fc80"
    assert found["swapTokensSingleV3ERC20ToNative"] == "733214a3"
    assert found["swapTokensSingleV3NativeToERC20"] == "af7060fd"
    assert found["swapTokensMultipleV3ERC20ToERC20"] == "5fd9ae2e"
    assert found["swapTokensMultipleV3ERC20ToNative"] == "2c57e884"
    assert found["swapTokensMultipleV3NativeToERC20"] == "736eac0b"
    assert found["swapTokensGeneric"] == "4630a0d8"
    assert found["startBridgeTokensViaAcrossV4"] == "a1f1ce43"
    assert found["swapAndStartBridgeTokensViaAcrossV4"] == "1794958f"


def test_the_places_of_an_across_transfer_are_those_of_its_members():
    from quoteway_lifi.calls import ARRIVALS, DECLARATIONS

    (declared,) = (text for text in DECLARATIONS if text.startswith("startBridgeTokensViaAcrossV4"))
    structs = re.findall(r"\(([^()]+)\)", declared)
    members = [[member.split()[1] for member in struct.split(", ")] for struct in structs]
    places = ARRIVALS["startBridgeTokensViaAcrossV4"]
    found = {
        name: members[path[0]][path[1]]
        for name in ("chain_id", "recipient", "token", "amount_min", "refund")
        if (path := getattr(places, name))
    }
    assert found == {
        "chain_id": "destinationChainId",
        "recipient": "receiverAddress",
        "token": "receivingAssetId",
        "amount_min": "outputAmount",
        "refund": "refundAddress",
    }
