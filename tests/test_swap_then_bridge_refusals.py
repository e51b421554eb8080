"""A swap joined with a transfer that cannot be had: each refusal has its reason."""

import asyncio
import socket
from dataclasses import replace

import pytest
from quoteway import NATIVE, Capability, InvalidRequest, Reason, Token, UpstreamError
from quoteway.config.model import ProviderConfig, QuotesConfig
from quoteway.engine.joining import ROUTES_POLICY
from quoteway.errors import ProviderUnavailable
from quoteway.testing.execution import execute

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import PLUGINS, SENDER, Harness, plugin_sections  # noqa: E402


async def test_an_operator_may_leave_it_out(make_harness):
    harness = await make_harness(providers={"swap+bridge": ProviderConfig(enabled=False)})
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request())
    assert [attempt.provider for attempt in refusal.value.attempts] == ["across"]


async def test_a_pair_that_crosses_by_itself_takes_no_detour(harness):
    quoted = await harness.quote(harness.request("USDC", "USDC", 10**9))
    assert (quoted.sealed.provider, quoted.sealed.parts) == ("across", ())
    outcomes = {attempt.provider: attempt.outcome for attempt in quoted.attempts}
    assert outcomes == {"across": "quoted", "swap+bridge": "no_route"}


async def test_without_either_half_there_is_none(make_harness):
    no_swaps = await make_harness(without=("uniswap",))
    with pytest.raises(UpstreamError) as refusal:
        await no_swaps.quote(no_swaps.request())
    assert refusal.value.reason is Reason.NO_ROUTE
    no_bridge = await make_harness(without=("across",))
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
async def test_what_cannot_be_done_is_said_with_its_reason(harness, changes, reason):
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request(**changes))
    assert refusal.value.reason is reason


async def test_a_recipient_that_cannot_be_paid_is_the_callers_to_mend(harness):
    for recipient in (NATIVE, harness.devnet.chains["devnet-l2"].contracts["SpokePool"]):
        with pytest.raises(InvalidRequest) as refusal:
            await harness.quote(harness.request(recipient=recipient))
        assert refusal.value.fields[0].path == "toAddress"


async def test_a_relayer_without_liquidity_is_named(harness, relayer):
    relayer.behave(liquid=False)
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request())
    assert refusal.value.reason is Reason.AMOUNT_TOO_HIGH


async def test_without_the_fee_service_a_quote_fails_in_time(fresh_devnet, make_gateway):
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    gateway = await make_gateway(PLUGINS, plugin_sections=plugin_sections(fresh_devnet, port))
    harness = Harness(fresh_devnet, gateway)
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request())
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert {attempt.outcome for attempt in refusal.value.attempts} == {"failed"}


async def test_a_price_that_moves_between_quote_and_action_is_called_that(harness):
    request = harness.request("WETH", "USDC", 10**18, slippage_bps=0)
    quoted = await harness.quote(request)
    against = replace(request, to_chain_id=31337, token_out=harness.token("USDC"), recipient=SENDER)
    moved = await harness.gateway.quoting.quote(Capability.SWAP, against)
    executed = await execute(harness.devnet, await harness.action(moved))
    assert not executed.reverted
    with pytest.raises(UpstreamError) as refusal:
        await harness.action(quoted)
    assert refusal.value.reason is Reason.PRICE_MOVED


async def test_a_sealed_part_cannot_be_exchanged_on_its_own_or_changed(harness):
    """The parts are inside the one signed token: there is nothing else to hand in."""
    quoted = await harness.quote(harness.request())
    assert all(part.token == "" for part in quoted.sealed.parts)
    opened = harness.gateway.quote_tokens.open(Capability.SWAP, quoted.sealed.token)
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


@pytest.mark.slow
async def test_a_slow_provider_of_swaps_leaves_time_for_the_transfer(make_harness):
    harness = await make_harness(quotes=QuotesConfig(competition_timeout_s=10.0))
    slow = harness.gateway.registry.get(Capability.SWAP, "across")  # asked for the swap too, and has none

    async def asleep(request):
        await asyncio.sleep(60)

    slow.quote = asleep
    quoted = await harness.quote(harness.request())
    assert quoted.sealed.provider == "swap+bridge"
    assert {attempt.outcome for attempt in quoted.attempts} == {"timeout", "quoted"}


async def test_a_list_that_could_not_be_read_is_read_before_the_next_refusal(harness, monkeypatch):
    """A failure of minutes ago says nothing of now."""

    async def down(*ends):
        raise UpstreamError("down", reason=Reason.PROVIDER_TIMEOUT)

    with monkeypatch.context() as patch:
        patch.setattr(harness.bridge, "routes", down)
        with pytest.raises(UpstreamError):
            await harness.quote(harness.request())
    age_routes(harness, ROUTES_POLICY.retry_s)
    assert (await harness.quote(harness.request())).sealed.provider == "swap+bridge"


async def test_an_old_list_of_routes_serves_while_it_is_read_anew(harness, monkeypatch):
    await harness.quote(harness.request())
    honest, go_on = harness.bridge.routes, asyncio.Event()
    asked = ended = 0

    async def slow(*ends):
        nonlocal asked, ended
        asked += 1
        await go_on.wait()
        try:
            return await honest(*ends)
        finally:
            ended += 1

    monkeypatch.setattr(harness.bridge, "routes", slow)
    age_routes(harness, ROUTES_POLICY.fresh_s)
    for _ in range(3):
        assert (await harness.quote(harness.request())).sealed.provider == "swap+bridge"
    assert asked == 1, "nobody waited, and all share one read"
    go_on.set()
    async with asyncio.timeout(60):
        while ended == 0:
            await asyncio.sleep(0.01)
    await harness.quote(harness.request())
    assert asked == 1, "the new list is fresh"


def age_routes(harness, seconds):
    """Lets the lists of routes be so much older."""
    refresher = harness.gateway._joiner._lists._refresher
    now = refresher._clock
    refresher._clock = lambda: now() + seconds
