"""Quote, action, execution and attack on the devnet: what the engine gives does what it says."""

import asyncio
import time
from dataclasses import replace

import pytest
from quoteway.config.model import QuotesConfig
from quoteway.engine.approvals import approval_steps
from quoteway.engine.wallet import WalletReader
from quoteway.errors import InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.evm import erc20, permit2
from quoteway.guard.findings import UnsafeAnswer
from quoteway.models import NATIVE, Capability, Spend, SwapRequest, Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, RouterSwap, step_of

pytestmark = pytest.mark.xdist_group("devnet")

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
THIEF = "0x1111111111111111111111111111111111111111"
DEADLINE_S = 1200


class Ground:
    """A gateway over the devnet with one provider, and what tests ask of the chain beside it."""

    def __init__(self, devnet, gateway):
        self.devnet = devnet
        self.manifest = devnet.chains["devnet"]
        self.gateway = gateway
        self.chain = gateway.runtime.chains[31337]

    def token(self, symbol):
        row = self.manifest.token(symbol)
        return Token(31337, row.address, row.decimals, row.symbol)

    def request(self, sold="USDC", got="WETH", amount=10**9, **more):
        values = {"sender": USER, "recipient": USER, "slippage_bps": 50, **more}
        return SwapRequest(31337, 31337, self.token(sold), self.token(got), amount, **values)

    async def rpc(self, method, *params):
        def call():
            with self.devnet.rpc("devnet") as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def send(self, to, data, value=0, sender=USER):
        """Sends from one of anvil's unlocked accounts; the receipt."""
        transaction = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value)}

        def mined():
            with self.devnet.rpc("devnet") as rpc:
                identity = rpc("eth_sendTransaction", transaction)
                while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
                    time.sleep(0.005)
                return receipt

        receipt = await asyncio.to_thread(mined)
        assert receipt["status"] == "0x1", receipt
        return receipt

    async def read(self, token, function, *args):
        block = await self.chain.head(fresh=True)
        output = await self.chain.call(token.address, function.encode(list(args)), block=block)
        (value,) = function.decode_output(output)
        return value

    async def balance(self, token, account=USER):
        return await self.read(token, erc20.BALANCE_OF, account)

    async def allowance(self, token, spender):
        return await self.read(token, erc20.ALLOWANCE, USER, spender)

    async def approve(self, token, spender, amount):
        await self.send(token.address, erc20.APPROVE.encode([spender, amount]))

    async def action(self, request=None):
        answer = await self.gateway.quoting.quote(Capability.SWAP, request or self.request())
        return await self.gateway.building.action(
            self.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
        )


@pytest.fixture
def router(devnet):
    return devnet.chains["devnet"].contracts["UniswapV2Router02"]


@pytest.fixture
def ground(fresh_devnet, make_gateway, router):
    """``await ground(provider class)``: a started gateway over the devnet with that provider."""

    async def make(cls=RouterSwap, **sections):
        network = Network(
            "devnet", 31337, "Devnet", head_poll_s=0.2, endpoints=(Endpoint(fresh_devnet.urls["devnet"]),)
        )
        plugin = FakePlugin([HttpRpc, lambda context: cls(context, 31337, router)], networks=[network])
        return Ground(fresh_devnet, await make_gateway({"fake": plugin}, **sections))

    return make


# --- what is honest executes exactly ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sold", "got", "amount"),
    [("USDC", "WETH", 10**9), ("USDT", "USDC", 7 * 10**6), ("WETH", "PEPE", 10**15)],
)
async def test_an_action_pays_what_the_quote_said_to_the_wei(ground, router, sold, got, amount):
    here = await ground()
    request = here.request(sold, got, amount)
    answer = await here.gateway.quoting.quote(Capability.SWAP, request)
    (approval,) = answer.approvals
    assert (approval.token, approval.spender, approval.required) == (request.token_in.address, router, amount)
    assert (approval.current, approval.needed) == (0, True)
    assert [issue.code for issue in answer.issues] == ["insufficient_allowance"]
    action = await here.gateway.building.action(
        here.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    )
    assert [step.kind for step in action.steps] == ["approval", "call"]
    assert action.simulation.status == "success"
    deltas = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    quoted = answer.quote.outputs[0].amount
    assert deltas[USER, request.token_in.address] == -amount
    assert deltas[USER, request.token_out.address] == quoted
    before = await here.balance(request.token_out)
    for step in action.steps:
        receipt = await here.send(step.to, step.data, step.value)
        assert int(receipt["gasUsed"], 16) <= step.gas_limit
    assert await here.balance(request.token_out) - before == quoted
    assert await here.allowance(request.token_in, router) == 0


async def test_the_same_token_at_the_same_block_gives_the_same_bytes_and_ids(ground):
    here = await ground()
    answer = await here.gateway.quoting.quote(Capability.SWAP, here.request("USDT", "USDC", 10**6))
    sealed = here.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    one, two = await here.gateway.building.action(sealed), await here.gateway.building.action(sealed)
    assert one == two
    assert one.action_id == two.action_id
    ids = [step.tx_id for step in one.steps]
    assert ids == [step.tx_id for step in two.steps]
    commitment = here.gateway.quote_tokens.open_transaction(ids[0])
    assert (commitment.to, commitment.sender, commitment.index) == (one.steps[0].to, USER, 0)
    with pytest.raises(NotFound):
        here.gateway.quote_tokens.open_transaction(answer.sealed.token)


async def test_another_recipient_is_paid(ground):
    here = await ground()
    request = here.request(recipient=THIEF)
    action = await here.action(request)
    for step in action.steps:
        await here.send(step.to, step.data, step.value)
    assert await here.balance(request.token_out, THIEF) >= action.outputs[0].amount_min


async def test_a_wallet_that_lacks_the_tokens_is_told_and_the_run_says_what_it_assumed(ground):
    here = await ground()
    request = here.request(sender=THIEF, recipient=THIEF)
    action = await here.action(request)
    assert f"balance:{request.token_in.address}" in action.simulation.assumptions
    assert "insufficient_balance" in [issue.code for issue in action.issues]


async def test_a_price_that_moved_is_refused_and_the_minimum_stands(ground, router):
    here = await ground()
    request = here.request("USDC", "USDT", 10**9)
    answer = await here.gateway.quoting.quote(Capability.SWAP, request)
    usdc = here.token("USDC")
    await here.approve(usdc, router, 10**12)
    path = [usdc.address, request.token_out.address]
    await here.send(router, RouterSwap.SWAP.encode([10**11, 0, path, USER, 2**40]))
    await here.approve(usdc, router, 0)
    with pytest.raises(UpstreamError) as refusal:
        await here.gateway.building.action(answer.sealed)
    assert refusal.value.reason is Reason.PRICE_MOVED
    assert "revertReason" in refusal.value.extra


async def test_an_action_may_pin_a_quote_but_only_for_the_same_request(ground):
    here = await ground()
    request = here.request()
    pin = here.gateway.quote_tokens.open(
        Capability.SWAP, (await here.gateway.quoting.quote(Capability.SWAP, request)).sealed.token
    )
    named = replace(request, token_in=replace(request.token_in, name="USD Coin", price_usd=1.0))
    action = await here.gateway.building.direct(Capability.SWAP, named, pin=pin)
    assert action.quote_token == pin.token
    for other in (
        replace(request, amount_in=5),
        replace(request, sender=THIEF),
        replace(request, slippage_bps=51),
    ):
        with pytest.raises(InvalidRequest) as refusal:
            await here.gateway.building.direct(Capability.SWAP, other, pin=pin)
        assert refusal.value.reason is Reason.CONFLICT
    standalone = await here.gateway.building.direct(Capability.SWAP, request)
    assert standalone.quote_token


async def test_a_warm_quote_asks_the_node_for_nothing_of_the_wallet(ground):
    here = await ground()
    await here.gateway.quoting.quote(Capability.SWAP, here.request())
    asked = here.chain.requests
    for _ in range(3):
        await here.gateway.quoting.quote(Capability.SWAP, here.request())
    # Each reads the head, and the fake provider its price; nothing else is read but heads that are polled.
    assert here.chain.requests - asked <= 2 * 3 + 2


# --- attacks: valid transactions that do something else ---------------------------------------------------


class NoKey(RouterSwap):
    """As a dataclass is that says nothing of it, and worse."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("not to be compared")


async def test_providers_need_be_no_keys_of_anything(ground):
    here = await ground(NoKey)
    action = await here.action()
    assert action.simulation.status == "success"
    assert here.gateway.quote_tokens.open_transaction(action.steps[0].tx_id)


class Evil(RouterSwap):
    def rebuild(self, sealed, build, args):
        raise NotImplementedError

    async def build(self, sealed):
        build = await super().build(sealed)
        (step,) = build.steps
        return self.rebuild(sealed, build, list(self.SWAP.decode(step.data)))

    def call(self, args, **more):
        return step_of(self.SWAP, args, to=self.router, chain_id=31337, **more)


class PaysTheThief(Evil):
    def rebuild(self, sealed, build, args):
        args[3] = THIEF
        return replace(build, steps=(self.call(args),))


class SellsMore(Evil):
    """Through an allowance the wallet gave before."""

    def rebuild(self, sealed, build, args):
        args[0] *= 2
        return replace(build, steps=(self.call(args),))


class SellsInTwoBites(Evil):
    def rebuild(self, sealed, build, args):
        extra = [5, 0, args[2], args[3], args[4]]
        return replace(build, steps=(self.call(args), self.call(extra)))


class SellsSomethingElseToo(Evil):
    dai = weth = None

    def rebuild(self, sealed, build, args):
        extra = [10**18, 0, [self.dai, self.weth], THIEF, args[4]]
        return replace(build, steps=(self.call(args), self.call(extra)))


class LeavesAnAllowance(Evil):
    def rebuild(self, sealed, build, args):
        args[0] -= 1
        return replace(build, steps=(self.call(args),))


class LowersTheMinimum(Evil):
    def rebuild(self, sealed, build, args):
        args[1] = 0
        return replace(build, steps=(self.call(args),))


class FlipsAByte(Evil):
    def rebuild(self, sealed, build, args):
        (step,) = build.steps
        return replace(build, steps=(replace(step, data=step.data[:-1] + bytes([step.data[-1] ^ 1])),))


class TakesACoin(Evil):
    def rebuild(self, sealed, build, args):
        return replace(build, steps=(self.call(args, value=1),))


class CallsNobody(Evil):
    def contracts(self, chain_id):
        return {THIEF: "There is no code here"}

    def rebuild(self, sealed, build, args):
        return replace(build, steps=tuple(replace(step, to=THIEF) for step in build.steps))


class PaysLessThanItSays(Evil):
    """The quote promises more than the pool pays; the calldata holds the promise where it binds nobody."""

    async def quote(self, request):
        quote = await super().quote(request)
        (leg,) = quote.outputs
        better = replace(leg, amount=leg.amount * 2, amount_min=leg.amount * 2)
        return replace(quote, outputs=(better,))

    def rebuild(self, sealed, build, args):
        args[1], args[4] = 0, sealed.outputs[0].amount_min
        return replace(build, steps=(self.call(args),))


@pytest.mark.parametrize(
    ("cls", "finding"),
    [
        (PaysTheThief, "pays no"),
        (SellsMore, "more than quoted"),
        (SellsInTwoBites, "more than quoted"),
        (SellsSomethingElseToo, "not sold"),
        (LeavesAnAllowance, "leaves an allowance"),
        (LowersTheMinimum, "minimum"),
        (FlipsAByte, "decoded form"),
        (TakesACoin, "native coin"),
        (CallsNobody, "no code"),
    ],
)
async def test_a_valid_transaction_that_robs_the_wallet_is_refused(ground, router, cls, finding):
    here = await ground(cls)
    request = here.request()
    if cls in (SellsMore, SellsInTwoBites):
        await here.approve(request.token_in, router, 10**12)
    if cls is SellsSomethingElseToo:
        cls.dai, cls.weth = here.token("DAI").address, here.token("WETH").address
        await here.approve(here.token("DAI"), router, 10**30)
    with pytest.raises(UnsafeAnswer) as refusal:
        await here.action(request)
    assert finding in refusal.value.finding
    assert refusal.value.reason is Reason.UNSAFE_ANSWER


async def test_a_promise_the_chain_does_not_keep_is_no_action(ground):
    here = await ground(PaysLessThanItSays)
    with pytest.raises(UpstreamError) as refusal:
        await here.action(here.request())
    assert refusal.value.reason is Reason.PRICE_MOVED


class RaisesInBuild(RouterSwap):
    async def build(self, sealed):
        raise KeyError("canary")


class HangsInBuild(RouterSwap):
    async def build(self, sealed):
        await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("cls", "reason"), [(RaisesInBuild, Reason.PROVIDER_ERROR), (HangsInBuild, Reason.PROVIDER_TIMEOUT)]
)
async def test_a_build_that_fails_or_hangs_is_an_upstream_error_in_time(ground, cls, reason):
    here = await ground(cls, quotes=QuotesConfig(competition_timeout_s=3.0))
    with pytest.raises(UpstreamError) as refusal:
        await here.action()
    assert refusal.value.reason is reason
    assert "canary" not in refusal.value.message


class CannotNameItsSpenders(RouterSwap):
    id = "broken"

    def spenders(self, chain_id):
        raise KeyError("canary")


async def test_a_provider_that_cannot_name_its_spenders_quotes_nothing(ground):
    """A client may approve on what a quote says, so a quote's spender is checked as an action's is."""
    here = await ground(CannotNameItsSpenders)
    with pytest.raises(UpstreamError) as refusal:
        await here.gateway.quoting.quote(Capability.SWAP, here.request())
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert "canary" not in refusal.value.message


# --- approvals --------------------------------------------------------------------------------------------


async def steps_for(here, symbol, amount, spender, *, lasting_s=DEADLINE_S, **spend):
    token = here.token(symbol)
    block = await here.chain.head(fresh=True)
    spends = [Spend(token.address, amount, spender, **spend)]
    grants = [(s.token, s.spender, s.permit2_spender) for s in spends]
    wallet = await WalletReader().read(here.chain, block, USER, [token.address], grants)
    deadline = block.timestamp + lasting_s
    return await approval_steps(here.chain, wallet, spends, {token.address: token}, deadline), deadline


@pytest.mark.parametrize("symbol", ["USDC", "USDT", "DAI", "WETH"])
async def test_approvals_are_exact_and_only_as_the_allowance_requires(ground, router, symbol):
    here = await ground()
    token = here.token(symbol)
    amount = 123_456
    (approve,), _ = await steps_for(here, symbol, amount, router)
    assert (approve.kind, approve.to, approve.value) == ("approval", token.address, 0)
    assert erc20.APPROVE.decode(approve.data) == (router, amount)
    assert approve.decoded.signature == "approve(address,uint256)"
    assert symbol in approve.intent
    again, _ = await steps_for(here, symbol, amount, router)
    assert again == [approve]
    await here.send(approve.to, approve.data)
    assert await here.allowance(token, router) == amount
    for enough in (amount, amount - 1):
        assert (await steps_for(here, symbol, enough, router))[0] == []
    # Granted, but too little: only the token that wants it is reset first, as the chain itself confirms.
    more, _ = await steps_for(here, symbol, amount + 1, router)
    assert [step.kind for step in more] == (
        ["approval_reset", "approval"] if symbol == "USDT" else ["approval"]
    )
    for step in more:
        await here.send(step.to, step.data)
    assert await here.allowance(token, router) == amount + 1


async def test_usdt_with_a_small_leftover_is_swapped_through_a_reset(ground, router):
    here = await ground()
    usdt = here.token("USDT")
    await here.approve(usdt, router, 1)
    action = await here.action(here.request("USDT", "USDC", 10**6))
    assert [step.kind for step in action.steps] == ["approval_reset", "approval", "call"]
    assert "allowance_reset_needed" in [issue.code for issue in action.issues]
    for step in action.steps:
        await here.send(step.to, step.data, step.value)
    assert await here.allowance(usdt, router) == 0


async def test_permit2_grants_are_exact_expire_with_the_deadline_and_are_not_repeated(ground):
    here = await ground()
    usdc, puller, amount = here.token("USDC"), here.manifest.contracts["UniversalRouter"], 5_000_000

    async def steps(amount=amount, **spend):
        return await steps_for(here, "USDC", amount, permit2.ADDRESS, permit2_spender=puller, **spend)

    (approve, grant), deadline = await steps()
    assert erc20.APPROVE.decode(approve.data) == (permit2.ADDRESS, amount)
    assert (grant.kind, grant.to) == ("permit2_approval", permit2.ADDRESS)
    assert permit2.APPROVE.decode(grant.data) == (usdc.address, puller, amount, deadline)
    (signed,), _ = await steps(permit2_signed=True)
    assert signed.to == usdc.address
    for step in (approve, grant):
        await here.send(step.to, step.data)
    assert (await steps(lasting_s=DEADLINE_S - 600))[0] == []
    # Granted to an earlier end than this one needs: granted anew, to the same amount.
    (later,), later_deadline = await steps(lasting_s=DEADLINE_S + 600)
    assert permit2.APPROVE.decode(later.data) == (usdc.address, puller, amount, later_deadline)
    await here.send(later.to, later.data)
    assert (await steps())[0] == []
    raised, _ = await steps(amount + 1)
    assert [step.kind for step in raised] == ["approval", "permit2_approval"]


async def test_two_spends_through_one_spender_are_one_approval_of_their_sum(ground, router):
    here = await ground()
    usdc = here.token("USDC")
    block = await here.chain.head()
    spends = [
        Spend(usdc.address, 5, permit2.ADDRESS, router),
        Spend(usdc.address, 7, permit2.ADDRESS, router),
    ]
    wallet = await WalletReader().read(here.chain, block, USER, [], [(usdc.address, permit2.ADDRESS, router)])
    approve, grant = await approval_steps(here.chain, wallet, spends, {usdc.address: usdc}, 2**31)
    assert erc20.APPROVE.decode(approve.data)[1] == 12
    assert permit2.APPROVE.decode(grant.data)[2] == 12


async def test_wallets_are_read_once_per_block_and_what_is_no_token_is_absent(ground, router):
    here = await ground()
    reader, block, usdc = WalletReader(), await here.chain.head(), here.token("USDC")
    tokens = [usdc.address, NATIVE, THIEF]
    first = await reader.read(here.chain, block, USER, tokens, [(usdc.address, router, None)])
    assert first.balances[usdc.address] == await here.balance(usdc)
    assert first.balances[NATIVE] == int(await here.rpc("eth_getBalance", USER, hex(block.number)), 16)
    assert THIEF not in first.balances
    asked = here.chain.requests
    assert await reader.read(here.chain, block, USER, tokens, [(usdc.address, router, None)]) == first
    assert here.chain.requests == asked


async def test_a_symbol_that_rewrites_its_sentence_is_not_shown(ground, router):
    here = await ground()
    usdc = replace(here.token("USDC"), symbol="USDC\u202e evil")
    block = await here.chain.head()
    wallet = await WalletReader().read(here.chain, block, USER, [], [(usdc.address, router, None)])
    spends = [Spend(usdc.address, 5, router)]
    (step,) = await approval_steps(here.chain, wallet, spends, {usdc.address: usdc}, 0)
    assert "\u202e" not in step.intent
    assert usdc.address in step.intent


class Greedy(RouterSwap):
    """Sells three times as much, and says so only in the maximum of its input."""

    async def quote(self, request):
        quote = await super().quote(request)
        (sold,) = quote.inputs
        spends = tuple(replace(spend, amount=3 * spend.amount) for spend in quote.spends)
        return replace(quote, inputs=(replace(sold, amount_max=3 * sold.amount),), spends=spends)

    async def build(self, sealed):
        (sold,) = sealed.inputs
        more = await super().build(replace(sealed, inputs=(replace(sold, amount=3 * sold.amount),)))
        return replace(more, inputs=sealed.inputs)


async def test_no_more_is_sold_than_asked_whatever_the_quote_says_of_its_maximum(ground):
    here = await ground(Greedy)
    with pytest.raises(UpstreamError) as refusal:
        await here.action()
    assert refusal.value.reason is Reason.UNSAFE_ANSWER
