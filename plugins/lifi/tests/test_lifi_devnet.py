"""LI.FI in front of real contracts: honest offers execute exactly, the core refuses false ones."""

import statistics
import time
from dataclasses import replace

import pytest
import quoteway_lifi
from devnet_lifi import THIEF, DevnetLifi
from fake_lifi import FakeLifi, cases
from lifi_cases import TIMEOUT_S
from quoteway import Capability, Endpoint, Network, RpcError, SwapRequest, UpstreamError
from quoteway.config.model import ProviderConfig
from quoteway.evm import erc20
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS

USER = ACCOUNTS[3].address
FRIEND = "0x3333333333333333333333333333333333333333"


class LifiHarness:
    """A gateway whose only provider is a fake LI.FI, and its devnet."""

    def __init__(self, devnet, gateway, fake):
        self.devnet, self.gateway, self.fake = devnet, gateway, fake
        self.gateway = gateway

    def token(self, symbol, slug="devnet"):
        return self.devnet.token(symbol, slug)

    def swap(self, sold="USDC", got="WETH", amount=10**9, recipient=USER):
        return SwapRequest(31337, 31337, self.token(sold), self.token(got), amount, USER, recipient, 50)

    def transfer(self, symbol="USDC", amount=10**9, recipient=FRIEND):
        ends = self.token(symbol), self.token(symbol, "devnet-l2")
        return SwapRequest(31337, 31338, *ends, amount, USER, recipient, 50)

    def rpc(self, method, *params):
        with self.devnet.rpc("devnet") as rpc:
            return rpc(method, *params)

    def send(self, to, data, value=0, gas=1_000_000):
        sent = {"from": USER, "to": to, "data": "0x" + data.hex(), "value": hex(value), "gas": hex(gas)}
        with self.devnet.rpc("devnet") as rpc:
            return rpc.send(sent)

    def execute(self, action):
        receipts = []
        for step in action.steps:
            receipts.append(self.send(step.to, step.data, step.value, step.gas_limit))
            assert receipts[-1]["status"] == "0x1", step.intent
        return receipts

    def balance(self, token, owner):
        if token.is_native:
            return int(self.rpc("eth_getBalance", owner, "latest"), 16)
        call = {"to": token.address, "data": "0x" + erc20.BALANCE_OF.encode([owner]).hex()}
        return int(self.rpc("eth_call", call, "latest"), 16)

    async def quoted(self, capability, request):
        answer = await self.gateway.quoting.quote(capability, request, acknowledged=["opaque_calldata"])
        return answer, self.gateway.quote_tokens.open(capability, answer.sealed.token)


class NoSimulation(HttpRpc):
    async def forward(self, network, method, params, *, timeout_s):
        if method == "eth_simulateV1":
            raise RpcError(-32601, "the method eth_simulateV1 does not exist/is not available")
        return await super().forward(network, method, params, timeout_s=timeout_s)


@pytest.fixture
async def start(fresh_devnet, make_gateway):
    """``await start(patch)`` starts a harness whose LI.FI applies ``patch`` to the action's answer.

    ``opaque``: nothing describes the router's calls, and the operator lets their simulation decide.
    """
    fakes = []

    async def make(patch=(), rpc=HttpRpc, opaque=False):
        fake = await FakeLifi(DevnetLifi(fresh_devnet, patch).answer).__aenter__()
        fakes.append(fake)
        networks, rows = [], []
        for slug, chain in fresh_devnet.chains.items():
            endpoint = Endpoint(fresh_devnet.urls[slug])
            facts = {"head_poll_s": 0.2, "wrapped_native": chain.contracts["WETH9"]}
            kinds = chain.kinds
            if opaque:
                del kinds[chain.contracts["UniswapV2Router02"]]
            facts["contracts"] = kinds
            networks.append(Network(slug, chain.chain_id, slug, endpoints=(endpoint,), **facts))
            for name in ("UniswapV2Router02", "SpokePool"):
                rows.append({"network": slug, "address": chain.contracts[name], "label": name})
        section = {"enabled": True, "base_url": fake.url, "deployments": rows, "timeout_s": TIMEOUT_S}
        plugins = {"toy": FakePlugin([rpc], networks=networks), "lifi": quoteway_lifi}
        providers = {"lifi": ProviderConfig(opaque="simulated")} if opaque else {}
        sections = {"plugin_sections": {"lifi": section}, "providers": providers}
        return LifiHarness(fresh_devnet, await make_gateway(plugins, **sections), fake)

    yield make
    for fake in fakes:
        await fake.__aexit__()


# --- honest -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sold", "got", "amount", "recipient"),
    [
        ("USDC", "WETH", 10**9, USER),
        ("USDT", "USDC", 7 * 10**6, USER),
        ("USDC", "WETH", 10**9, FRIEND),
        ("USDC", "ETH", 10**9, FRIEND),
        ("ETH", "USDC", 10**17, FRIEND),
    ],
)
@pytest.mark.parametrize("opaque", [False, True])
async def test_an_honest_swap_executes_as_quoted_to_the_wei(start, sold, got, amount, recipient, opaque):
    harness = await start(opaque=opaque)
    request = harness.swap(sold, got, amount, recipient)
    answer, sealed = await harness.quoted(Capability.SWAP, request)
    action = await harness.gateway.building.action(sealed)
    assert action.simulation.status == "success"
    *_, step = action.steps
    assert step.decoded.opaque == opaque
    assert (step.decoded.signature == "0x" + step.data[:4].hex()) == opaque
    assert ("opaque_calldata" in [warning.code for warning in action.warnings]) == opaque
    assert (await harness.gateway.building.action(sealed)).steps == action.steps
    before = harness.balance(request.token_out, recipient)
    harness.execute(action)
    assert harness.balance(request.token_out, recipient) - before == answer.quote.outputs[0].amount
    router = harness.devnet.chains["devnet"].contracts["UniswapV2Router02"]
    if not request.token_in.is_native:
        call = erc20.ALLOWANCE.encode([USER, router])
        left = harness.rpc("eth_call", {"to": request.token_in.address, "data": "0x" + call.hex()}, "latest")
        assert int(left, 16) == 0


async def test_a_part_of_a_joined_quote_is_built_deterministically(start):
    harness = await start()
    _, sealed = await harness.quoted(Capability.SWAP, harness.swap())
    provider = harness.gateway.registry.get(Capability.SWAP, "lifi")
    part = replace(sealed, token="")
    first = await provider.build(part)
    assert await provider.build(part) == first
    assert len(harness.fake.asked) == 1, "LI.FI would have put another id into it"
    other = replace(part, outputs=(replace(part.outputs[0], amount_min=1),))
    await provider.build(other)
    assert len(harness.fake.asked) == 2, "another quote is not given the same"


@pytest.mark.parametrize("capability", [Capability.BRIDGE, Capability.SWAP])
@pytest.mark.parametrize(("symbol", "amount"), [("USDC", 10**9), ("ETH", 10**17)])
async def test_an_honest_transfer_deposits_what_was_quoted(start, capability, symbol, amount):
    harness = await start()
    request = harness.transfer(symbol, amount)
    _, sealed = await harness.quoted(capability, request)
    action = await harness.gateway.building.action(sealed)
    assert action.simulation.status == "success"
    if capability is Capability.BRIDGE:
        assert action.terms.destination_chain_id == 31338
    pool = harness.devnet.chains["devnet"].contracts["SpokePool"]
    held = harness.token("WETH" if symbol == "ETH" else symbol)
    before = harness.balance(held, pool)
    harness.execute(action)
    assert harness.balance(held, pool) - before == amount


async def test_a_missing_balance_is_an_issue_and_the_calldata_is_still_checked(start):
    harness = await start()
    poor = SwapRequest(31337, 31337, harness.token("USDC"), harness.token("WETH"), 10**9, FRIEND, FRIEND, 50)
    _, sealed = await harness.quoted(Capability.SWAP, poor)
    action = await harness.gateway.building.action(sealed)
    assert f"balance:{poor.token_in.address}" in action.simulation.assumptions
    assert "insufficient_balance" in [issue.code for issue in action.issues]


async def test_a_moved_price_is_refused(start):
    harness = await start()
    request = harness.swap("USDC", "USDT", 10**9)
    _, sealed = await harness.quoted(Capability.SWAP, request)
    other, other_sealed = await harness.quoted(Capability.SWAP, harness.swap("USDC", "USDT", 10**11))
    assert other.quote.outputs
    harness.execute(await harness.gateway.building.action(other_sealed))
    with pytest.raises(UpstreamError) as refusal:
        await harness.gateway.building.action(sealed)
    assert refusal.value.reason == "price_moved"


async def test_a_pair_without_a_route_is_no_route(start):
    harness = await start()
    with pytest.raises(UpstreamError) as refusal:
        await harness.gateway.quoting.quote(Capability.SWAP, harness.swap("LINK", "PEPE", 1))
    assert refusal.value.reason == "no_route"


# --- lies ---------------------------------------------------------------------------------------------------


LIES = [
    pytest.param(case, opaque, id=f"{name}-{'opaque' if opaque else 'read'}")
    for name, case in cases("lies")
    for opaque in (False, True)
    if not opaque or "opaque" in case["outcome"]
]


@pytest.mark.parametrize(("case", "opaque"), LIES)
async def test_a_lie_is_refused_by_the_core(start, case, opaque):
    """A block after its quote, LI.FI gives another transaction."""
    harness = await start(case["patch"], opaque=opaque)
    transfer = case["ask"] == "transfer"
    capability = Capability.BRIDGE if transfer else Capability.SWAP
    request = harness.transfer() if transfer else harness.swap()
    if case.get("allowance") == "unlimited":  # so that the lie would succeed on the chain
        contracts = harness.devnet.chains["devnet"].contracts
        spender = contracts["SpokePool" if transfer else "UniswapV2Router02"]
        harness.send(request.token_in.address, erc20.APPROVE.encode([spender, 2**255]))
    _, sealed = await harness.quoted(capability, request)
    harness.rpc("anvil_mine", "0x1")
    with pytest.raises(UpstreamError) as refusal:
        await harness.gateway.building.action(sealed)
    reason, finding = case["outcome"]["opaque" if opaque else "read"]
    assert refusal.value.reason == reason
    assert finding in refusal.value.message
    assert harness.fake.asked[-1][1]["allowBridges"] == ("across" if transfer else "none")


async def test_without_a_simulation_only_an_opaque_swap_is_refused(start):
    harness = await start(rpc=NoSimulation, opaque=True)
    with pytest.raises(UpstreamError) as refusal:
        await harness.quoted(Capability.SWAP, harness.swap())
    assert refusal.value.reason == "unsafe_answer"
    assert "its calldata is opaque and its run was skipped" in refusal.value.message
    # The arguments of a transfer are compared with the quote, as for any other bridge.
    _, sealed = await harness.quoted(Capability.BRIDGE, harness.transfer())
    action = await harness.gateway.building.action(sealed)
    assert (action.simulation.status, action.steps[-1].decoded.opaque) == ("skipped", False)


def test_the_thief_is_not_the_user():
    assert len({THIEF, USER, FRIEND}) == 3


# --- speed --------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_the_gateways_own_time(start, record_property):
    """In processor time, which a busy machine does not change. The fake LI.FI runs in the same process."""
    harness = await start()
    took = {"quote": [], "upstream": [], "action": []}
    honest = harness.fake.answer

    async def timed(path, query, count):
        began = time.process_time()
        answer = await honest(path, query, count)
        took["upstream"].append(time.process_time() - began)
        return answer

    harness.fake.answer = timed
    for amount in range(10**9, 10**9 + 30):
        began = time.process_time()
        _, sealed = await harness.quoted(Capability.SWAP, harness.swap(amount=amount))
        took["quote"].append(time.process_time() - began)
        began = time.process_time()
        await harness.gateway.building.action(sealed)
        took["action"].append(time.process_time() - began)
    p50 = {name: statistics.median(times) * 1000 for name, times in took.items()}
    print({name: f"{ms:.1f} ms" for name, ms in p50.items()})
    record_property("p50_ms", p50)
    assert p50["quote"] - p50["upstream"] < 25
    assert p50["action"] - p50["upstream"] < 60
