"""A swap joined with a transfer by the core: exact on both chains, in one batch or in order, and guarded."""

import asyncio
import random
import socket
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from eth_account import Account
from quoteway import NATIVE, BridgeRoute, Capability, InvalidRequest, Leg, Reason, Token, UpstreamError
from quoteway.config.model import Config, LimitsConfig, ProviderConfig, QuotesConfig
from quoteway.engine.joining import ROUTES_FRESH_S, ROUTES_RETRY_S
from quoteway.errors import ProviderUnavailable
from quoteway.evm import erc20
from quoteway.evm.address import checksum
from quoteway.guard.findings import UnsafeAnswer
from quoteway.testing.execution import execute
from quoteway.testing.fakes import FakePlugin, ListedRoutes
from quoteway.testing.serving import served

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import PLUGINS, RECIPIENT, SENDER, Desk, cross_at_random, read_lists, section  # noqa: E402
from quoteway_across.spoke_pool import DEPOSIT  # noqa: E402
from quoteway_devnet.accounts import ACCOUNTS  # noqa: E402
from quoteway_devnet.relayer import Relayer  # noqa: E402

pytestmark = pytest.mark.xdist_group("devnet")

THIEF = checksum("0x" + "7e" * 20)


@pytest.fixture
def relayer(fresh_devnet):
    with Relayer.running(fresh_devnet) as relayer:
        yield relayer


@pytest.fixture
async def make_desk(fresh_devnet, relayer, make_gateway):
    async def make(clock=time.time, without=(), more=None, **sections):
        plugins = {name: plugin for name, plugin in PLUGINS.items() if name not in without} | (more or {})
        gateway = await make_gateway(
            plugins,
            plugin_sections={"devnet": section(fresh_devnet, relayer.port)},
            clock=clock,
            **sections,
        )
        await read_lists(gateway)
        return Desk(fresh_devnet, gateway)

    return make


@pytest.fixture
async def desk(make_desk):
    return await make_desk()


# --- exact ------------------------------------------------------------------------------------------------


async def test_random_crossings_are_to_the_wei(desk):
    """``python tests/crossings.py`` runs hundreds."""
    report = await cross_at_random(desk, 12, seed=20_261_121)
    assert report.done == 12
    assert not report.wrong


async def test_each_part_states_its_minimum_and_the_next_takes_exactly_that(desk):
    request = desk.request("WETH", "USDC", 10**18)
    quoted = await desk.quote(request)
    swap, transfer = quoted.sealed.parts
    assert (quoted.sealed.provider, swap.provider, transfer.provider) == ("swap+bridge", "uniswap", "across")
    assert (swap.capability, transfer.capability) == (Capability.SWAP, Capability.BRIDGE)
    (between,), (passed_on,), (arrives,) = swap.outputs, transfer.inputs, transfer.outputs
    assert (between.account, passed_on.account) == (SENDER, SENDER)
    assert between.amount_min == between.amount * 9950 // 10_000 == passed_on.amount
    assert arrives.amount == arrives.amount_min
    first, surplus = quoted.quote.outputs
    assert first == arrives
    assert surplus == Leg(between.token, between.amount - between.amount_min, SENDER, 0)
    assert {notice.code for notice in quoted.quote.warnings} >= {"not_atomic", "surplus_kept"}
    assert [fee.kind for fee in quoted.quote.fees][-1] == "bridge"
    action = await desk.action(quoted)
    assert [part.steps for part in action.parts] == [3, 2]
    said = dict(zip(DEPOSIT.names, DEPOSIT.decode(action.steps[-1].data), strict=True))
    assert (said["inputAmount"], said["outputAmount"]) == (passed_on.amount, arrives.amount)
    assert (said["depositor"], said["recipient"]) == (SENDER, RECIPIENT)
    assert action.terms.bridge == "across"
    assert [notice.code for notice in action.warnings] == ["not_atomic", "surplus_kept"]
    assert await desk.action(quoted) == action, "the same token at the same block gives the same bytes"


async def test_without_slippage_nothing_is_left_over(desk):
    quoted = await desk.quote(desk.request(slippage_bps=0))
    assert len(quoted.quote.outputs) == 1
    _, _, _, wrong = await desk.cross(desk.request(slippage_bps=0))
    assert not wrong


async def test_the_coin_is_passed_on_without_an_approval(desk):
    quoted, action, _, wrong = await desk.cross(desk.request("USDC", "ETH", 10**9))
    assert not wrong
    assert quoted.sealed.parts[1].request.token_in.is_native
    assert action.steps[-1].value == quoted.sealed.parts[1].request.amount_in
    assert [step.kind for step in action.steps][-2:] == ["swap", "deposit"]


async def test_a_left_over_allowance_of_the_token_between_is_reset_where_it_must_be(desk):
    usdt, pool = desk.token("USDT"), desk.devnet.chains["devnet"].contracts["SpokePool"]
    await allow(desk, usdt, pool, 5)
    _, action, _, wrong = await desk.cross(desk.request("WETH", "USDT"))
    assert not wrong
    assert [step.kind for step in action.steps][-3:] == ["approval_reset", "approval", "deposit"]


async def test_warm_quotes_read_the_head_once_and_nothing_else(desk, monkeypatch):
    request = desk.request()
    await desk.quote(request)
    chains = desk.gateway.runtime.chains.values()
    await asyncio.gather(*(chain.head() for chain in chains))
    asked = []

    def recording(forward):
        async def forwarded(method, params, timeout_s):
            asked.append(method)
            return await forward(method, params, timeout_s)

        return forwarded

    for chain in chains:
        monkeypatch.setattr(chain, "_forward", recording(chain._forward))
    for _ in range(5):
        await desk.quote(request)
    # The head for each quote, the heads that are polled meanwhile, and nothing else.
    assert set(asked) <= {"eth_getBlockByNumber"}


async def test_what_the_wallet_lacks_is_told_and_what_comes_on_the_way_is_not_missed(desk):
    poor = "0x00000000000000000000000000000000000000A1"
    quoted = await desk.quote(desk.request("DAI", "USDC", 10**21, sender=poor))
    assert quoted.issues[0].code == "insufficient_balance"
    action = await desk.action(quoted)
    dai = desk.token("DAI").address
    assert action.simulation.status == "success"
    assert action.simulation.assumptions == (f"balance:{dai}",)
    assert [issue.token for issue in action.issues if issue.code == "insufficient_balance"] == [dai]


# --- one batch --------------------------------------------------------------------------------------------


def batch_code(calls):
    """EVM code that makes the calls in order, and reverts with the first that fails."""

    def push(value, width):
        return bytes([0x5F + width]) + value.to_bytes(width)

    def assemble(data_at):
        out, data = bytearray(), b""
        for call in calls:
            payload = bytes.fromhex(call["data"][2:])
            out += push(len(payload), 3) + push(data_at + len(data), 3) + push(0, 1) + CODECOPY
            out += push(0, 1) * 2 + push(len(payload), 3) + push(0, 1)
            out += push(int(call["value"], 16), 32) + push(int(call["to"], 16), 20) + GAS + CALL
            out += push(len(out) + 10, 3) + JUMPI + push(0, 1) * 2 + REVERT + JUMPDEST
            data += payload
        return bytes(out) + STOP, data

    code, data = assemble(0)
    return assemble(len(code))[0] + data


CODECOPY, GAS, CALL, JUMPI, REVERT, JUMPDEST, STOP = (
    bytes([code]) for code in (0x39, 0x5A, 0xF1, 0x57, 0xFD, 0x5B, 0x00)
)


async def test_the_calls_of_a_wallet_that_batches_are_one_transaction(api, served_desk):
    """EIP-7702: the sender's account runs all calls of ``walletSendCalls`` at once, and the transfer is
    followed by that one transaction's hash."""
    desk = served_desk
    status, quote = await told(api.post("/v2/swaps/quote", body(desk)))
    assert status == 200, quote
    status, action = await told(api.post(f"/v2/swaps/{quote['quoteId']}/action"))
    assert status == 201, action
    calls = action["walletSendCalls"]
    assert calls["atomicRequired"] is True
    arrives, surplus = quote["outputs"]
    far, near = desk.token("USDC", "devnet-l2"), desk.token("USDC")
    had, held = await desk.balance(far, RECIPIENT), await desk.balance(near, SENDER)
    receipt = await asyncio.to_thread(send_as_one, desk, calls["calls"])
    assert receipt["status"] == "0x1"
    url = f"/v2/transactions/{action['steps'][-1]['txId']}?hash={receipt['transactionHash']}"
    async with asyncio.timeout(120):
        while True:
            status, tracked = await told(api.get(url))
            if tracked["status"] == "filled":
                break
            await asyncio.sleep(0.05)
    assert (status, tracked["status"]) == (200, "filled")
    assert await desk.balance(far, RECIPIENT) - had == int(arrives["amount"])
    assert await desk.balance(near, SENDER) - held == int(surplus["amount"])


def send_as_one(desk, calls):
    account = next(account for account in ACCOUNTS if account.address == SENDER)
    batcher = "0x7702770277027702770277027702770277027702"
    with desk.devnet.rpc("devnet") as rpc:
        rpc("anvil_setCode", batcher, "0x" + batch_code(calls).hex())
        nonce = int(rpc("eth_getTransactionCount", SENDER, "latest"), 16)
        signer = Account.from_key(account.private_key)
        # The sender's own nonce is counted up before the authorization is looked at.
        allowed = signer.sign_authorization({"chainId": 31337, "address": batcher, "nonce": nonce + 1})
        transaction = {
            "type": 4,
            "chainId": 31337,
            "nonce": nonce,
            "to": SENDER,
            "value": 0,
            "data": "0x",
            "gas": 2_000_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
            "authorizationList": [allowed],
        }
        raw = signer.sign_transaction(transaction).raw_transaction
        identity = rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
        while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
            time.sleep(0.005)
    return receipt


# --- over HTTP --------------------------------------------------------------------------------------------


@pytest.fixture
async def api(fresh_devnet, relayer):
    """The gateway on a socket."""
    limits = LimitsConfig(enabled=False)
    config = Config(limits=limits, plugin_sections={"devnet": section(fresh_devnet, relayer.port)})
    async with served(PLUGINS, config) as api:
        await read_lists(api.gateway)
        yield api


@pytest.fixture
def served_desk(fresh_devnet, api):
    return Desk(fresh_devnet, api.gateway)


async def told(answer):
    answer = await answer
    return answer.status, answer.body


def body(desk, sold="WETH", got="USDC", **changes):
    members = {
        "fromChain": "devnet",
        "toChain": "devnet-l2",
        "fromToken": desk.token(sold).address,
        "toToken": desk.token(got, "devnet-l2").address,
        "amount": str(10**18),
        "address": SENDER,
        "toAddress": RECIPIENT,
    }
    return {name: value for name, value in (members | changes).items() if value is not None}


async def test_quote_readback_and_action_tell_the_parts(api, served_desk):
    desk = served_desk
    status, quote = await told(api.post("/v2/swaps/quote", body(desk)))
    assert (status, quote["provider"], quote["kind"]) == (200, "swap+bridge", "swap")
    swap, transfer = quote["parts"]
    assert (swap["kind"], swap["provider"]) == ("swap", "uniswap")
    assert (transfer["kind"], transfer["provider"]) == ("bridge", "across")
    assert swap["outputs"][0]["amountMin"] == transfer["inputs"][0]["amount"]
    assert transfer["outputs"][0]["amountMin"] == quote["toAmountMin"] == quote["toAmount"]
    assert quote["estimatedSeconds"] > 0
    assert quote["refund"]["token"] == desk.token("USDC").address
    assert len(quote["approvals"]) == 2
    status, shown = await told(api.get(f"/v2/swaps/quote/{quote['quoteId']}"))
    assert status == 200
    assert [part["provider"] for part in shown["parts"]] == ["uniswap", "across"]
    for part, other in zip(shown["parts"], quote["parts"], strict=True):
        for side in ("inputs", "outputs"):
            (one,), (two,) = part[side], other[side]
            assert (one["amount"], one["amountMin"]) == (two["amount"], two["amountMin"])
    status, action = await told(api.post(f"/v2/swaps/{quote['quoteId']}/action"))
    assert (status, action["provider"]) == (201, "swap+bridge")
    assert [part["steps"] for part in action["parts"]] == [[0, 1, 2], [3, 4]]
    labels = [step["target"]["label"] for step in action["steps"]]
    assert labels == ["WETH", "Permit2", labels[2], "USDC", "Across SpokePool"]
    assert all(step["target"]["known"] for step in action["steps"])
    assert action["tracking"]["destinationChainId"] == 31338
    report = await send_each(api, desk, action)
    assert report[2]["realized"]["vsQuoteBps"] == 0, "the swap's own outcome is compared"


async def send_each(api, desk, action):
    """Sends every transaction; ``submit-hash`` of each."""
    reports = []
    for transaction, step in zip(action["transactions"], action["steps"], strict=True):
        sent = await desk.send(transaction | {"gas": step["gasLimit"]})
        status, report = await told(api.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": sent}))
        assert (status, report["match"]) == (200, "match")
        reports.append(report)
    return reports


async def test_who_sends_one_call_at_a_time_is_offered_no_parts(api, served_desk):
    desk = served_desk
    status, answer = await told(api.post("/v2/swaps/quote", body(desk, atomicBatch=False)))
    assert (status, answer["error"]["details"]["reason"]) == (502, "no_route")
    assert [attempt["provider"] for attempt in answer["error"]["details"]["attempts"]] == ["across"]
    status, answer = await told(api.post("/v2/swaps/quote", body(desk, atomicBatch="no")))
    assert (status, answer["error"]["details"]["fields"][0]["path"]) == (422, "atomicBatch")
    status, quote = await told(api.post("/v2/swaps/quote", body(desk, provider="swap+bridge")))
    assert (status, [attempt["provider"] for attempt in quote["attempts"]]) == (200, ["swap+bridge"])
    straight = body(desk, "USDC", "USDC", amount="1000000000", atomicBatch=False)
    status, quote = await told(api.post("/v2/swaps/quote", straight))
    assert (status, quote["provider"], quote["parts"]) == (200, "across", None)
    status, action = await told(api.post(f"/v2/swaps/{quote['quoteId']}/action"))
    assert (status, action["parts"]) == (201, None)


async def test_an_operator_may_leave_it_out(make_desk):
    desk = await make_desk(providers={"swap+bridge": ProviderConfig(enabled=False)})
    with pytest.raises(UpstreamError) as refusal:
        await desk.quote(desk.request())
    assert [attempt.provider for attempt in refusal.value.attempts] == ["across"]


# --- refusals ---------------------------------------------------------------------------------------------


async def test_a_pair_that_crosses_by_itself_takes_no_detour(desk):
    quoted = await desk.quote(desk.request("USDC", "USDC", 10**9))
    assert (quoted.sealed.provider, quoted.sealed.parts) == ("across", ())
    outcomes = {attempt.provider: attempt.outcome for attempt in quoted.attempts}
    assert outcomes == {"across": "quoted", "swap+bridge": "no_route"}


async def test_without_either_half_there_is_none(make_desk):
    no_swaps = await make_desk(without=("uniswap",))
    with pytest.raises(UpstreamError) as refusal:
        await no_swaps.quote(no_swaps.request())
    assert refusal.value.reason is Reason.NO_ROUTE
    no_bridge = await make_desk(without=("across",))
    with pytest.raises(ProviderUnavailable):
        await no_bridge.quote(no_bridge.request())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"amount": 1}, Reason.AMOUNT_TOO_LOW),  # the swap's
        ({"amount": 10**12}, Reason.AMOUNT_TOO_LOW),  # the transfer's
        ({"token_out": Token(31338, "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5", 18)}, Reason.NO_ROUTE),
        ({"token_in": Token(31337, "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5", 18)}, Reason.NO_ROUTE),
    ],
)
async def test_what_cannot_be_done_is_said_with_its_reason(desk, changes, reason):
    with pytest.raises(UpstreamError) as refusal:
        await desk.quote(desk.request(**changes))
    assert refusal.value.reason is reason


async def test_a_recipient_that_cannot_be_paid_is_the_callers_to_mend(desk):
    for recipient in (NATIVE, desk.devnet.chains["devnet-l2"].contracts["SpokePool"]):
        with pytest.raises(InvalidRequest) as refusal:
            await desk.quote(desk.request(recipient=recipient))
        assert refusal.value.fields[0].path == "toAddress"


async def test_a_relayer_without_liquidity_is_named(desk, relayer):
    relayer.behave(liquid=False)
    with pytest.raises(UpstreamError) as refusal:
        await desk.quote(desk.request())
    assert refusal.value.reason is Reason.AMOUNT_TOO_HIGH


async def test_without_the_fee_service_a_quote_fails_in_time(fresh_devnet, make_gateway):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    gateway = await make_gateway(PLUGINS, plugin_sections={"devnet": section(fresh_devnet, port)})
    desk = Desk(fresh_devnet, gateway)
    with pytest.raises(UpstreamError) as refusal:
        await desk.quote(desk.request())
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert {attempt.outcome for attempt in refusal.value.attempts} == {"failed"}


async def test_a_price_that_moves_between_quote_and_action_is_called_that(desk):
    request = desk.request("WETH", "USDC", 10**18, slippage_bps=0)
    quoted = await desk.quote(request)
    against = replace(request, to_chain_id=31337, token_out=desk.token("USDC"), recipient=SENDER)
    moved = await desk.gateway.quoting.quote(Capability.SWAP, against)
    executed = await execute(desk.devnet, await desk.action(moved))
    assert not executed.reverted
    with pytest.raises(UpstreamError) as refusal:
        await desk.action(quoted)
    assert refusal.value.reason is Reason.PRICE_MOVED


async def test_a_sealed_part_cannot_be_exchanged_on_its_own_or_changed(desk):
    """The parts are inside the one signed token: there is nothing else to hand in."""
    quoted = await desk.quote(desk.request())
    assert all(part.token == "" for part in quoted.sealed.parts)
    opened = desk.gateway.quote_tokens.open(Capability.SWAP, quoted.sealed.token)
    assert [same_but_names(part) for part in opened.parts] == [
        same_but_names(part) for part in quoted.sealed.parts
    ]


def same_but_names(part):
    return (
        part.capability,
        part.provider,
        part.plan,
        part.block.hash,
        part.inputs[0].amount,
        part.outputs[0].amount_min,
    )


# --- each part answers for itself -------------------------------------------------------------------------


async def test_a_swap_that_pays_nothing_is_not_covered_by_what_the_wallet_holds(desk, monkeypatch):
    """The sender holds the token between the parts already: a swap that pays somebody else shows all the
    same, since its own part of the run is looked at."""
    assert await desk.balance(desk.token("USDC"), SENDER) > 10**10
    quoted = await desk.quote(desk.request("WETH", "USDC", 10**18))
    uniswap = desk.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = uniswap.build

    async def lying(sealed):
        crooked = replace(
            sealed,
            request=replace(sealed.request, recipient=THIEF),
            outputs=tuple(replace(leg, account=THIEF) for leg in sealed.outputs),
        )
        return replace(await honest(crooked), outputs=sealed.outputs)

    monkeypatch.setattr(uniswap, "build", lying)
    with pytest.raises(UnsafeAnswer, match="provider uniswap") as refusal:
        await desk.action(quoted)
    assert "pays no" in refusal.value.finding


async def test_a_transfer_takes_what_was_passed_on_and_no_unit_more(desk, monkeypatch):
    quoted = await desk.quote(desk.request("WETH", "USDC", 10**18))
    across = desk.gateway.registry.get(Capability.BRIDGE, "across")
    honest = across.build

    async def greedy(sealed):
        more = replace(
            sealed,
            request=replace(sealed.request, amount_in=sealed.request.amount_in + 1),
            inputs=tuple(replace(leg, amount=leg.amount + 1) for leg in sealed.inputs),
        )
        build = await honest(more)
        return replace(build, inputs=sealed.inputs, spends=(await honest(sealed)).spends)

    monkeypatch.setattr(across, "build", greedy)
    pool = desk.devnet.chains["devnet"].contracts["SpokePool"]
    with pytest.raises(UpstreamError) as refusal:
        await desk.action(quoted)
    assert refusal.value.reason is Reason.PRICE_MOVED, "the exact allowance does not cover it"
    await allow(desk, desk.token("USDC"), pool, 10**12)
    with pytest.raises(UnsafeAnswer, match="provider across") as refusal:
        await desk.action(quoted)
    assert "more than quoted" in refusal.value.finding


async def test_a_transfer_cannot_help_itself_to_what_is_sold(desk, monkeypatch):
    """Of the swap's token nothing may move in the transfer's part of the run, whatever was granted for it."""
    quoted = await desk.quote(desk.request("WETH", "USDC", 10**18))
    across = desk.gateway.registry.get(Capability.BRIDGE, "across")
    honest = across.build
    weth, pool = desk.token("WETH"), desk.devnet.chains["devnet"].contracts["SpokePool"]

    async def thieving(sealed):
        build = await honest(sealed)
        deposit = build.steps[0]
        args = list(DEPOSIT.decode(deposit.data))
        args[2], args[3], args[4] = weth.address, weth.address, 10**15
        extra = replace(deposit, data=DEPOSIT.encode(args), decoded=DEPOSIT.describe(args))
        return replace(build, steps=(deposit, extra))

    monkeypatch.setattr(across, "build", thieving)
    await allow(desk, weth, pool, 10**18)
    with pytest.raises(UnsafeAnswer, match="provider across") as refusal:
        await desk.action(quoted)
    assert weth.address in refusal.value.finding


async def allow(desk, token, spender, amount):
    await desk.send({"to": token.address, "data": "0x" + erc20.APPROVE.encode([spender, amount]).hex()})


async def test_a_slow_provider_of_swaps_leaves_time_for_the_transfer(make_desk):
    desk = await make_desk(quotes=QuotesConfig(competition_timeout_s=4.0))
    slow = desk.gateway.registry.get(Capability.SWAP, "across")  # asked for the swap too, and has none

    async def asleep(request):
        await asyncio.sleep(60)

    slow.quote = asleep
    quoted = await desk.quote(desk.request())
    assert quoted.sealed.provider == "swap+bridge"
    assert {attempt.outcome for attempt in quoted.attempts} == {"timeout", "quoted"}


async def test_a_list_that_could_not_be_read_is_read_before_the_next_refusal(desk, monkeypatch):
    """A failure of minutes ago says nothing of now."""

    async def down(*ends):
        raise UpstreamError("down", reason=Reason.PROVIDER_TIMEOUT)

    with monkeypatch.context() as patch:
        patch.setattr(desk.bridge, "routes", down)
        with pytest.raises(UpstreamError):
            await desk.quote(desk.request())
    age_routes(desk, ROUTES_RETRY_S)
    assert (await desk.quote(desk.request())).sealed.provider == "swap+bridge"


async def test_an_old_list_of_routes_serves_while_it_is_read_anew(desk, monkeypatch):
    await desk.quote(desk.request())
    honest, go_on = desk.bridge.routes, asyncio.Event()
    asked = ended = 0

    async def slow(*ends):
        nonlocal asked, ended
        asked += 1
        await go_on.wait()
        try:
            return await honest(*ends)
        finally:
            ended += 1

    monkeypatch.setattr(desk.bridge, "routes", slow)
    age_routes(desk, ROUTES_FRESH_S)
    for _ in range(3):
        assert (await desk.quote(desk.request())).sealed.provider == "swap+bridge"
    assert asked == 1, "nobody waited, and all share one read"
    go_on.set()
    async with asyncio.timeout(60):
        while ended == 0:
            await asyncio.sleep(0.01)
    await desk.quote(desk.request())
    assert asked == 1, "the new list is fresh"


def age_routes(desk, seconds):
    """Lets the lists of routes be so much older."""
    refresher = desk.gateway._joiner._lists._refresher
    now = refresher._clock
    refresher._clock = lambda: now() + seconds


@pytest.mark.parametrize(("sold", "part"), [("WETH", Capability.BRIDGE), ("USDC", Capability.SWAP)])
async def test_no_word_of_a_provider_replaces_what_was_checked(api, served_desk, monkeypatch, sold, part):
    """The members of ``terms`` stand beside those of an answer: a provider cannot hand its own transactions
    to the client past the guard."""
    desk = served_desk
    provider = desk.gateway.registry.get(part, "across")
    honest_quote, honest_build = provider.quote, provider.build

    stolen = ({"to": THIEF, "data": "0x", "value": "0x1", "chainId": 31337},)

    def lying(answer):
        return replace(answer, terms=SimpleNamespace(transactions=stolen, outputs=(), to_amount_min="1"))

    async def quote(request):
        answer = await honest_quote(request)
        return answer and lying(answer)

    async def build(sealed):
        return lying(await honest_build(sealed))

    order = body(desk, sold, amount=str(10 ** desk.token(sold).decimals * 10))
    status, quoted = await told(api.post("/v2/swaps/quote", order))
    assert (status, bool(quoted["parts"])) == (200, part is Capability.BRIDGE)
    assert quoted["toAmountMin"] == quoted["outputs"][0]["amountMin"]
    monkeypatch.setattr(provider, "build", build)
    status, answer = await told(api.post(f"/v2/swaps/{quoted['quoteId']}/action"))
    assert (status, answer["error"]["details"]["reason"]) == (502, "unsafe_answer")
    monkeypatch.setattr(provider, "quote", quote)
    status, answer = await told(api.post("/v2/swaps/quote", order))
    assert status == 502
    assert "unsafe_answer" in [attempt["reason"] for attempt in answer["error"]["details"]["attempts"]]
    monkeypatch.setattr(provider, "build", honest_build)
    status, action = await told(api.post(f"/v2/swaps/{quoted['quoteId']}/action"))
    assert (status, len(action["transactions"])) == (201, len(action["steps"]))
    assert THIEF not in str(action["transactions"]) + str(action["walletSendCalls"])
    assert action["outputs"]
    assert action["tracking"]["bridge"] == "across", "its own members are there"


async def test_a_bridge_does_not_choose_what_the_money_is_turned_into(desk, monkeypatch):
    """The caller names what is sold and what is bought: a token between them that no catalog of the
    deployment lists could be anybody's, its only pool too, and its refund worth nothing."""
    bridge = desk.gateway.registry.get(Capability.BRIDGE, "across")
    list_tokens = desk.gateway.runtime.tokens.listed
    odd, far = desk.token("PEPE"), desk.token("USDC", "devnet-l2")
    honest_routes, honest_quote = bridge.routes, bridge.quote

    async def routes(*ends):
        return [BridgeRoute(31337, 31338, odd, far, "across", True), *await honest_routes(*ends)]

    async def quote(request):
        if request.token_in.address != odd.address:
            return await honest_quote(request)
        terms = await honest_quote(replace(request, token_in=desk.token("USDC"), amount_in=10**9))
        return replace(
            terms,
            inputs=(Leg(odd, request.amount_in, SENDER),),
            outputs=(Leg(far, 10**12, RECIPIENT, 10**12),),
            plan={**terms.plan, "in": odd.address},
            spends=(replace(terms.spends[0], token=odd.address, amount=request.amount_in),),
        )

    async def listed(chain_id):
        known = await list_tokens(chain_id)
        return {address: token for address, token in known.items() if address != odd.address}

    monkeypatch.setattr(bridge, "routes", routes)
    monkeypatch.setattr(bridge, "quote", quote)
    tempted = await desk.quote(desk.request())
    assert tempted.sealed.parts[1].request.token_in.symbol == "PEPE", "it wins wherever it is listed"
    monkeypatch.setattr(desk.gateway.tokens, "listed", listed)
    quoted = await desk.quote(desk.request())
    assert quoted.sealed.parts[1].request.token_in.symbol == "USDC"


ODD_LISTS = [None, [None], 5, ["x"], "abc", RuntimeError("no"), "elsewhere"]


@pytest.mark.parametrize("listed", ODD_LISTS, ids=repr)
async def test_a_bridge_whose_routes_are_none_does_not_stop_the_others(make_desk, listed):
    odd = ListedRoutes.__new__(ListedRoutes)
    odd.id, odd.networks = "odd", frozenset({31337, 31338})

    async def routes(*ends):
        if isinstance(listed, Exception):
            raise listed
        if listed == "elsewhere":
            ends = desk.token("DAI", "devnet-l2"), desk.token("USDC")
            return [BridgeRoute(31338, 31337, *ends, "odd", True)]
        return listed

    async def none(request):
        return None

    odd.routes, odd.quote = routes, none
    desk = await make_desk(more={"odd": FakePlugin([odd])})
    for _ in range(2):
        quoted = await desk.quote(desk.request())
        assert [part.provider for part in quoted.sealed.parts] == ["uniswap", "across"]


async def test_plans_too_long_for_one_token_do_not_win(desk, monkeypatch):
    """Another provider's quote for the same request must still be had, so it is no failure of the sealing."""
    for capability, provider_id in ((Capability.SWAP, "uniswap"), (Capability.BRIDGE, "across")):
        provider = desk.gateway.registry.get(capability, provider_id)

        async def lengthy(request, honest=provider.quote):
            quote = await honest(request)
            return quote and replace(
                quote, plan={**quote.plan, "more": random.Random(7).randbytes(750).hex()}
            )

        monkeypatch.setattr(provider, "quote", lengthy)
    with pytest.raises(UpstreamError) as refusal:
        await desk.quote(desk.request())
    assert {a.provider: a.outcome for a in refusal.value.attempts}["swap+bridge"] == "failed"


async def test_a_part_cannot_slip_a_signature_between_the_calls_of_a_batch(desk, monkeypatch):
    """With one there is no batch, and the whole run, the other part's too, takes every signature for good."""
    quoted = await desk.quote(desk.request())
    uniswap = desk.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = uniswap.build

    async def signed(sealed):
        return await honest(replace(sealed, request=replace(sealed.request, permit2_signature=True)))

    monkeypatch.setattr(uniswap, "build", signed)
    with pytest.raises(UnsafeAnswer, match="provider uniswap") as refusal:
        await desk.action(quoted)
    assert "asks for a signature" in refusal.value.finding
