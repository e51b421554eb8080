"""What LI.FI answers, from case files, over a real socket: quoted, or an error in the gateway's words."""

import pytest
import quoteway_lifi
from fake_lifi import FakeLifi, cases, logged, patched
from lifi_cases import ANSWERS, ASKS, FAR, KEY, USDC, USER, WETH, scripted, timeout_s
from quoteway import Capability, Network, TransferTerms, UpstreamError
from quoteway.evm.abi import function
from quoteway.evm.calls.known_calls import DESCRIBED
from quoteway.testing.fakes import FakePlugin, MemoryRpc


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
        gateway = await start(fake, timeout_s=timeout_s(case))
        if "reason" in outcome:
            with pytest.raises(UpstreamError) as refusal:
                await gateway.quoting.quote(capability, request)
            error = refusal.value
            silent += [error.message, error.revert_reason, error.attempts]
            assert error.reason == outcome["reason"]
            assert error.attempts[0].reason == outcome["reason"]
        else:
            answer = await gateway.quoting.quote(capability, request)
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
        answer = await gateway.quoting.quote(*ASKS["swap"])
    quote = answer.quote
    (fee,) = quote.fees
    assert (fee.name, fee.token, fee.amount, fee.included) == ("Protocol fee", USDC, 2_500_000, True)
    assert (quote.gas.units, quote.gas.limit, quote.gas.cost_wei) == (430_000, 537_500, 645_000_000_000_000)
    # 2.2575 dollars of gas at 3,500 a coin.
    assert quote.net_output == quote.outputs[0].amount_min - 645_000_000_000_000
    assert [hop.protocol for hop in quote.route[0].hops] == ["feeCollection", "uniswap"]
    (approval,) = answer.approvals
    assert approval.spender == "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
    assert approval.required == 10**9
    assert quote.warnings == ()
    assert answer.sealed.expires_at - answer.sealed.created_at == 60


async def test_a_transfer_tells_how_long_it_takes(start):
    async with FakeLifi(scripted([{"answer": "transfer.json"}])) as fake:
        gateway = await start(fake)
        answer = await gateway.quoting.quote(*ASKS["transfer"])
    assert answer.quote.terms == TransferTerms(estimated_seconds=4)


async def test_a_swap_across_chains_is_offered_too(start):
    async with FakeLifi(scripted([{"answer": "transfer.json"}])) as fake:
        gateway = await start(fake)
        answer = await gateway.quoting.quote(Capability.SWAP, ASKS["transfer"][1])
    assert answer.sealed.provider == "lifi"


@pytest.mark.parametrize("ask", ["swap", "transfer"])
async def test_the_action_pins_the_tools_and_known_calldata_is_put_in_words(start, ask):
    async with FakeLifi(scripted([{"answer": f"{ask}.json"}])) as fake:
        gateway = await start(fake)
        capability, request = ASKS[ask]
        answer = await gateway.quoting.quote(capability, request)
        await start.mine(gateway)
        build = await gateway.registry.get(capability, "lifi").build(answer.sealed)
        _, query, _ = fake.asked[-1]
    pins = {"swap": ("none", "uniswap"), "transfer": ("across", "none")}
    assert (query["allowBridges"], query["allowExchanges"]) == pins[ask]
    (step,) = build.steps
    meaning = gateway.runtime.calls.read(step, USER).meaning
    (payment,), (charge,) = meaning.payments, meaning.charges
    (got,) = answer.quote.outputs
    assert (payment.token, payment.recipient, payment.minimum) == (got.token.address, USER, got.amount_min)
    fee = 2_500_000 if ask == "transfer" else 0  # taken before the bridge
    assert (charge.token, charge.maximum) == (USDC.address, 10**9 - fee)
    if ask == "transfer":
        assert payment.chain_id == 10
        assert build.terms.bridge == "across"


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
        answer = await gateway.quoting.quote(*ASKS["swap"])
        await start.mine(gateway)
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
        sealed = (await gateway.quoting.quote(*ASKS["swap"])).sealed
        first = await provider.build(sealed)
        assert len(fake.asked) == 1, "the quote came with its transaction"
        assert await provider.build(sealed) == first
        await start.mine(gateway)
        assert await provider.build(sealed) == await provider.build(sealed) != first
        assert len(fake.asked) == 2


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
        await gateway.quoting.quote(*ASKS["swap"])
    assert refusal.value.reason == "provider_error"


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
            assert (route.from_token.unit, route.to_token.unit, route.bridge) == (USDC.unit, FAR.unit, "lifi")
        assert [path for path, _, _ in fake.asked] == ["/v1/connections"]
        assert "x-lifi-api-key" not in fake.asked[0][2]
        assert [
            *await provider.routes(1, None),
            *await provider.routes(1, 1),
            *await provider.routes(1, 5),
        ] == []


def transfer_with_message(message):
    """The calldata of ``transfer.json``, with a message to the recipient."""
    calls = (function(call.declaration) for call in DESCRIBED["lifi.diamond"])
    declared = next(call for call in calls if call.signature.startswith("startBridge"))
    bridge, across = declared.decode(bytes.fromhex(ANSWERS["transfer"]["transactionRequest"]["data"][2:]))
    return "0x" + declared.encode([bridge, [*across[:-1], message]]).hex()


@pytest.mark.parametrize(
    "data",
    [
        "0x1794958f" + "00" * 64,  # swapAndStartBridgeTokensViaAcrossV4
        "0xdeadbeef" + "00" * 640,
        "0xa1f1ce43" + "00" * 640,
        transfer_with_message(b"call me"),
    ],
    ids=["swap_first", "unknown_function", "no_canonical_call", "message_to_the_recipient"],
)
async def test_an_undecoded_route_to_another_chain_is_not_offered(start, data):
    """Otherwise it could win the quote and then fail in the action."""
    answers = [{"answer": "transfer.json", "patch": [[["transactionRequest", "data"], data]]}]
    async with FakeLifi(scripted(answers)) as fake:
        gateway = await start(fake)
        for capability in (Capability.BRIDGE, Capability.SWAP):
            with pytest.raises(UpstreamError) as refusal:
                await gateway.quoting.quote(capability, ASKS["transfer"][1])
            assert refusal.value.reason == "no_route"
            (attempt,) = [one for one in refusal.value.attempts if one.provider == "lifi"]
            assert attempt.reason == "no_route"


UNKNOWN = [[["transactionRequest", "data"], "0xdeadbeef" + "00" * 640]]


async def test_an_unknown_swap_is_offered_where_the_operator_lets_its_simulation_decide(start):
    async with FakeLifi(scripted([{"answer": "swap.json", "patch": UNKNOWN}])) as fake:
        gateway = await start(fake)
        with pytest.raises(UpstreamError) as refusal:
            await gateway.quoting.quote(*ASKS["swap"])
        assert refusal.value.reason == "no_route"
        gateway = await start(fake, opaque="simulated")
        answer = await gateway.quoting.quote(*ASKS["swap"])
        build = await gateway.registry.get(Capability.SWAP, "lifi").build(answer.sealed)
    for warnings in (answer.quote.warnings, build.warnings):
        assert [notice.code for notice in warnings] == ["opaque_calldata"]


async def test_calldata_that_the_core_reads_has_no_warning(start):
    async with FakeLifi(scripted([{"answer": "transfer.json"}])) as fake:
        gateway = await start(fake)
        answer = await gateway.quoting.quote(*ASKS["transfer"])
        build = await gateway.registry.get(Capability.BRIDGE, "lifi").build(answer.sealed)
    assert answer.quote.warnings == build.warnings == ()
