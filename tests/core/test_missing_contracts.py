"""Contracts that providers need and a network does not have: found, explained, and found again."""

import asyncio
import json
import logging
from dataclasses import replace

import pytest
from quoteway.errors import Reason, RpcError, UpstreamError
from quoteway.evm.deployed_code import without_code
from quoteway.host import missing_contracts
from quoteway.models import NATIVE, Call, Capability, CodeSize, NativeBalance, SwapRequest, Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, WrapSwaps

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ABSENT = "0x1111111111111111111111111111111111111111"
CODE = "0x60006000fd"


class Needy(WrapSwaps):
    """Wraps the coin, and needs a contract that is not there."""

    def expected_contracts(self, chain_id):
        return {self.weth: "WETH9", ABSENT: "Quite absent"}


class Unread(Needy):
    """A provider whose method is broken."""

    def expected_contracts(self, chain_id):
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Checks may follow each other at once."""
    policy = replace(missing_contracts.POLICY, fresh_s=0.02, retry_s=0.02)
    monkeypatch.setattr(missing_contracts, "POLICY", policy)
    monkeypatch.setattr(missing_contracts, "FIRST_CHECK_AGAIN_S", 0.05)


@pytest.fixture
def weth(devnet):
    return devnet.chains["devnet"].contracts["WETH9"]


@pytest.fixture
def make(make_gateway, fresh_devnet, weth):
    async def gateway(kind=Needy):
        endpoints = (Endpoint(fresh_devnet.urls["devnet"]),)
        network = Network("devnet", 31337, "devnet", endpoints=endpoints, contracts={weth: "weth9"})
        makers = [HttpRpc, lambda context: kind(context, weth, [31337])]
        return await make_gateway({"needy": FakePlugin(makers, networks=[network])})

    return gateway


@pytest.fixture
def set_code(fresh_devnet):
    async def run(address, code):
        def send():
            with fresh_devnet.rpc("devnet") as rpc:
                rpc("anvil_setCode", address, code)

        await asyncio.to_thread(send)

    return run


def the_provider(gateway):
    (provider,) = gateway.registry.enabled(Capability.SWAP)
    return provider


def request(weth, sold=NATIVE):
    tokens = Token(31337, sold, 18, "A"), Token(31337, weth, 18, "WETH")
    return SwapRequest(31337, 31337, *tokens, 10**18, USER, USER, 50)


async def until_found(gateway, contracts):
    async with asyncio.timeout(20):
        while [each.contract for each in gateway.missing.of(the_provider(gateway), [31337])] != contracts:
            await asyncio.sleep(0.02)


async def test_code_sizes_come_in_one_batch_with_other_reads(make, weth):
    chain = (await make()).runtime.chains[31337]
    reads = [CodeSize(ABSENT), NativeBalance(USER), CodeSize(weth), Call(weth, bytes(4)), CodeSize(NATIVE)]
    sizes = await chain.call_many(reads)
    assert [int.from_bytes(sizes[at]) for at in (0, 2, 4)] == [0, len(await chain.code(weth)), 0]


async def test_a_missing_contract_is_found_at_the_start_and_again_when_it_appears(make, set_code):
    gateway = await make()
    await until_found(gateway, [ABSENT])
    (found,) = gateway.missing.of(the_provider(gateway), [31337])
    assert (found.provider, found.network, found.label) == ("fake-swaps", "devnet", "Quite absent")
    await set_code(ABSENT, CODE)
    await until_found(gateway, [])


async def test_a_network_is_checked_anew_without_requests(make, set_code):
    gateway = await make()
    await until_found(gateway, [ABSENT])
    await set_code(ABSENT, CODE)
    absent = gateway.missing._absent
    async with asyncio.timeout(20):
        while absent.known(31337).value:
            await asyncio.sleep(0.05)


async def test_what_all_have_is_read_by_one_request_and_never_again(make, set_code):
    await set_code(ABSENT, CODE)
    gateway = await make()
    chain, sent = gateway.runtime.chains[31337], []
    honest = chain.forward

    async def forward(method, params, timeout_s):
        sent.append((method, json.dumps(params)))
        return await honest(method, params, timeout_s)

    chain.forward = forward
    await until_found(gateway, [])
    async with asyncio.timeout(20):
        while gateway.missing._absent.known(31337).ended_at_s is None:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)  # several rounds
    assert len([call for call in sent if ABSENT[2:].lower() in call[1].lower()]) <= 1


async def test_a_quote_that_works_does_not_depend_on_it(make, weth):
    gateway = await make()
    await until_found(gateway, [ABSENT])
    answer = await gateway.quoting.quote(Capability.SWAP, request(weth))
    assert answer.quote.outputs[0].amount == 10**18


async def test_a_quote_that_fails_says_what_is_missing(make, weth, set_code):
    gateway = await make()
    with pytest.raises(UpstreamError) as refusal:
        await gateway.quoting.quote(Capability.SWAP, request(weth, sold=ABSENT))
    assert refusal.value.reason is Reason.CONTRACT_MISSING
    assert f"no code on devnet: Quite absent ({ABSENT})" in refusal.value.message
    await set_code(ABSENT, CODE)
    await asyncio.sleep(2 * missing_contracts.POLICY.fresh_s)
    with pytest.raises(UpstreamError) as refusal:
        await gateway.quoting.quote(Capability.SWAP, request(weth, sold=ABSENT))
    assert refusal.value.reason is Reason.NO_ROUTE


async def test_an_action_says_what_is_missing(make, weth, set_code):
    gateway = await make()
    answer = await gateway.quoting.quote(Capability.SWAP, request(weth))
    await set_code(weth, "0x")
    # As after a restart.
    gateway.quoting.rehearsing.code_hashes.clear()
    gateway.missing._deployed.clear()
    await asyncio.sleep(2 * missing_contracts.POLICY.fresh_s)
    sealed = gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    with pytest.raises(UpstreamError) as refusal:
        await gateway.building.action(sealed)
    assert refusal.value.reason is Reason.CONTRACT_MISSING
    assert f"WETH9 ({weth})" in refusal.value.message


async def test_a_node_that_fails_makes_nothing_missing(make, weth):
    gateway = await make()
    await until_found(gateway, [ABSENT])

    async def fail(method, params, timeout_s):
        raise RpcError(-32000, "no state")

    gateway.runtime.chains[31337].forward = fail
    await asyncio.sleep(2 * missing_contracts.POLICY.fresh_s)
    assert await gateway.missing.now([the_provider(gateway)], [31337]) == []


@pytest.mark.parametrize("lie", ["size", "code", "known"])
async def test_a_node_that_contradicts_itself_makes_nothing_missing(make, weth, lie):
    chain = (await make()).runtime.chains[31337]
    honest = chain.forward

    async def forward(method, params, timeout_s):
        answer = await honest(method, params, timeout_s)
        if method == "eth_getCode" and lie == "code":
            return CODE
        if method == "eth_call" and lie != "code":  # every size is zero
            words = len(answer[2:]) // 128
            return "0x" + (((1 << 255) + 32).to_bytes(32) + bytes(32)).hex() * words
        return "0x" if method == "eth_getCode" and lie == "known" else answer

    assert await without_code(chain, [weth, ABSENT]) == {ABSENT}
    chain.forward = forward
    known = weth if lie == "known" else None
    with pytest.raises(UpstreamError, match="contradict each other"):
        await without_code(chain, [ABSENT] if lie == "known" else [weth, ABSENT], known=known)


async def test_a_provider_that_cannot_say_what_it_needs_misses_nothing(make, weth, caplog):
    with caplog.at_level(logging.CRITICAL):
        gateway = await make(Unread)
        assert await gateway.missing.now([the_provider(gateway)], [31337]) == []
        answer = await gateway.quoting.quote(Capability.SWAP, request(weth))
    assert answer.quote.outputs[0].amount == 10**18


async def test_a_node_that_failed_at_the_start_is_asked_again(make):
    gateway = await make()
    chain, provider = gateway.runtime.chains[31337], the_provider(gateway)
    honest = chain.forward

    async def fail(method, params, timeout_s):
        raise UpstreamError("No node answers.")

    chain.forward = fail
    missing = missing_contracts.MissingContracts(gateway.runtime, gateway.registry)
    assert await missing.now([provider], [31337]) == []
    missing.watch()
    try:
        assert await missing.now([provider], [31337]) == []
        chain.forward = honest
        async with asyncio.timeout(20):
            while not await missing.now([provider], [31337]):
                await asyncio.sleep(0.02)
    finally:
        await missing.close()
