"""LI.FI in front of real contracts: honest offers execute exactly, every lie is refused by the core."""

import statistics
import time
from dataclasses import replace

import pytest
import quoteway_lifi
from devnet_lifi import THIEF, DevnetLifi
from fake_lifi import FakeLifi, cases
from quoteway import NATIVE, Capability, Endpoint, Network, RpcError, SwapRequest, Token, UpstreamError
from quoteway.evm import erc20
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS

pytestmark = pytest.mark.xdist_group("devnet")

USER = ACCOUNTS[3].address
FRIEND = "0x3333333333333333333333333333333333333333"


class Ground:
    """A gateway whose only provider asks a LI.FI of the devnet, and the chain beside it."""

    def __init__(self, devnet, gateway, fake):
        self.devnet, self.gateway, self.fake = devnet, gateway, fake
        self.spine = gateway.spine

    def token(self, symbol, slug="devnet"):
        chain = self.devnet.chains[slug]
        if symbol == "ETH":
            return Token(chain.chain_id, NATIVE, 18, "ETH")
        row = chain.token(symbol)
        return Token(chain.chain_id, row.address, row.decimals, symbol)

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
        identity = self.rpc("eth_sendTransaction", sent)
        while (receipt := self.rpc("eth_getTransactionReceipt", identity)) is None:
            time.sleep(0.002)
        return receipt

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
        answer = await self.spine.quote(capability, request)
        return answer, self.spine.open(capability, answer.sealed.token)


class NoSimulation(HttpRpc):
    async def forward(self, network, method, params, *, timeout_s):
        if method == "eth_simulateV1":
            raise RpcError(-32601, "the method eth_simulateV1 does not exist/is not available")
        return await super().forward(network, method, params, timeout_s=timeout_s)


@pytest.fixture
async def ground(fresh_devnet, make_gateway):
    """``await ground(patch)``: everything up, LI.FI answering the action's ask with the patch applied."""
    fakes = []

    async def make(patch=(), rpc=HttpRpc):
        fake = await FakeLifi(DevnetLifi(fresh_devnet, patch).answer).__aenter__()
        fakes.append(fake)
        networks, rows = [], []
        for slug, chain in fresh_devnet.chains.items():
            endpoint = Endpoint(fresh_devnet.urls[slug])
            facts = {"head_poll_s": 0.2, "wrapped_native": chain.contracts["WETH9"]}
            networks.append(Network(slug, chain.chain_id, slug, endpoints=(endpoint,), **facts))
            for name in ("UniswapV2Router02", "SpokePool"):
                rows.append({"network": slug, "address": chain.contracts[name], "label": name})
        sections = {"lifi": {"enabled": True, "base_url": fake.url, "deployments": rows}}
        plugins = {"fake": FakePlugin([rpc], networks=networks), "lifi": quoteway_lifi}
        return Ground(fresh_devnet, await make_gateway(plugins, plugin_sections=sections), fake)

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
async def test_an_honest_swap_executes_as_quoted_to_the_wei(ground, sold, got, amount, recipient):
    here = await ground()
    request = here.swap(sold, got, amount, recipient)
    answer, sealed = await here.quoted(Capability.SWAP, request)
    action = await here.spine.action(sealed)
    assert action.simulation.status == "success"
    *_, step = action.steps
    assert step.decoded.opaque
    assert step.decoded.signature == "0x" + step.data[:4].hex()
    assert (await here.spine.action(sealed)).steps == action.steps
    before = here.balance(request.token_out, recipient)
    here.execute(action)
    assert here.balance(request.token_out, recipient) - before == answer.quote.outputs[0].amount
    router = here.devnet.chains["devnet"].contracts["UniswapV2Router02"]
    if not request.token_in.is_native:
        call = erc20.ALLOWANCE.encode([USER, router])
        left = here.rpc("eth_call", {"to": request.token_in.address, "data": "0x" + call.hex()}, "latest")
        assert int(left, 16) == 0


async def test_a_part_of_a_joined_quote_which_has_no_token_is_built_the_same_again(ground):
    here = await ground()
    _, sealed = await here.quoted(Capability.SWAP, here.swap())
    provider, part = here.gateway.registry.get(Capability.SWAP, "lifi"), replace(sealed, token="")
    asked = len(here.fake.asked)
    first = await provider.build(part)
    assert await provider.build(part) == first
    assert len(here.fake.asked) == asked + 1, "LI.FI would have put another id into it"
    later = replace(part, created_at=part.created_at + 1)
    await provider.build(later)
    assert len(here.fake.asked) == asked + 2, "another quote is not given the same"


@pytest.mark.parametrize("capability", [Capability.BRIDGE, Capability.SWAP])
@pytest.mark.parametrize(("symbol", "amount"), [("USDC", 10**9), ("ETH", 10**17)])
async def test_an_honest_transfer_deposits_what_was_quoted(ground, capability, symbol, amount):
    here = await ground()
    request = here.transfer(symbol, amount)
    _, sealed = await here.quoted(capability, request)
    action = await here.spine.action(sealed)
    assert action.simulation.status == "success"
    if capability is Capability.BRIDGE:
        assert action.details["tracking"]["destinationChainId"] == 31338
    pool = here.devnet.chains["devnet"].contracts["SpokePool"]
    held = here.token("WETH" if symbol == "ETH" else symbol)
    before = here.balance(held, pool)
    here.execute(action)
    assert here.balance(held, pool) - before == amount


async def test_a_wallet_that_lacks_the_tokens_is_told_and_still_judged(ground):
    here = await ground()
    poor = SwapRequest(31337, 31337, here.token("USDC"), here.token("WETH"), 10**9, FRIEND, FRIEND, 50)
    _, sealed = await here.quoted(Capability.SWAP, poor)
    action = await here.spine.action(sealed)
    assert f"balance:{poor.token_in.address}" in action.simulation.assumptions
    assert "insufficient_balance" in [issue.code for issue in action.issues]


async def test_a_price_that_moved_is_refused_and_the_minimum_stands(ground):
    here = await ground()
    request = here.swap("USDC", "USDT", 10**9)
    _, sealed = await here.quoted(Capability.SWAP, request)
    other, other_sealed = await here.quoted(Capability.SWAP, here.swap("USDC", "USDT", 10**11))
    assert other.quote.outputs
    here.execute(await here.spine.action(other_sealed))
    with pytest.raises(UpstreamError) as refusal:
        await here.spine.action(sealed)
    assert refusal.value.reason == "price_moved"


async def test_a_pair_without_a_route_is_no_route(ground):
    here = await ground()
    with pytest.raises(UpstreamError) as refusal:
        await here.spine.quote(Capability.SWAP, here.swap("LINK", "PEPE", 1))
    assert refusal.value.reason == "no_route"


# --- lies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "case"), [pytest.param(*case, id=case[0]) for case in cases("lies")])
async def test_a_lie_of_the_action_is_refused_by_the_core(ground, name, case):
    here = await ground(case["patch"])
    transfer = case["ask"] == "transfer"
    capability = Capability.BRIDGE if transfer else Capability.SWAP
    request = here.transfer() if transfer else here.swap()
    if case.get("allowance") == "unlimited":  # so that the lie would succeed on the chain
        contracts = here.devnet.chains["devnet"].contracts
        spender = contracts["SpokePool" if transfer else "UniswapV2Router02"]
        here.send(request.token_in.address, erc20.APPROVE.encode([spender, 2**255]))
    _, sealed = await here.quoted(capability, request)
    with pytest.raises(UpstreamError) as refusal:
        await here.spine.action(sealed)
    assert refusal.value.reason == case["outcome"]["reason"]
    assert case["outcome"]["finding"] in refusal.value.message
    assert here.fake.asked[-1][1]["allowBridges"] == ("across" if transfer else "none")


async def test_where_no_run_can_be_made_no_opaque_swap_is_handed_out(ground):
    here = await ground(rpc=NoSimulation)
    _, sealed = await here.quoted(Capability.SWAP, here.swap())
    with pytest.raises(UpstreamError) as refusal:
        await here.spine.action(sealed)
    assert refusal.value.reason == "unsafe_answer"
    assert "its calldata is opaque and its run was skipped" in refusal.value.message
    # A transfer is checked argument by argument, as that of any other bridge.
    _, sealed = await here.quoted(Capability.BRIDGE, here.transfer())
    action = await here.spine.action(sealed)
    assert (action.simulation.status, action.steps[-1].decoded.opaque) == ("skipped", False)


def test_the_thief_is_not_the_user():
    assert len({THIEF, USER, FRIEND}) == 3


# --- speed --------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_what_the_gateway_adds_to_lifis_own_time(ground, record_property):
    here = await ground()
    # The processor's time, all of it in this process: a busy machine makes the wall clock lie, not this one.
    took = {"quote": [], "upstream": [], "action": []}
    honest = here.fake.answer

    async def timed(path, query, count):
        began = time.process_time()
        answer = await honest(path, query, count)
        took["upstream"].append(time.process_time() - began)
        return answer

    here.fake.answer = timed
    for amount in range(10**9, 10**9 + 30):
        began = time.process_time()
        _, sealed = await here.quoted(Capability.SWAP, here.swap(amount=amount))
        took["quote"].append(time.process_time() - began)
        began = time.process_time()
        await here.spine.action(sealed)
        took["action"].append(time.process_time() - began)
    p50 = {name: statistics.median(times) * 1000 for name, times in took.items()}
    print({name: f"{ms:.1f} ms" for name, ms in p50.items()})
    record_property("p50_ms", p50)
    assert p50["quote"] - p50["upstream"] < 25
    assert p50["action"] - p50["upstream"] < 60
