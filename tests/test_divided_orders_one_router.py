"""Two providers that share an order through one router: its coin, its fees, and one allowance for both."""

from dataclasses import replace

import pytest
from fee_apart_exchange import Exchange, gateway_of
from quoteway import NATIVE, Capability, IntegratorFee, RoutingLimits, SwapProvider
from quoteway.evm import permit2
from quoteway.evm.abi import encode_call
from quoteway.evm.address import checksum, keccak256
from quoteway.models import LIMITS
from quoteway.testing.execution import execute
from quoteway.testing.fakes import FakePlugin

SHARED = "swap+swap"
INTEGRATOR = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
BOTH = RoutingLimits(protocols=("only-v2", "only-v3"))


class OneVersion(SwapProvider):
    """Uniswap with the pools of one version of its protocol: another provider with the same contracts."""

    exact_out = enforces_fees = True
    honours = LIMITS

    def __init__(self, context, version):
        self.id = self.title = f"only-{version}"
        self.networks = frozenset({31337})
        self.protocols = (f"uniswap-{version}",)
        self.uniswap = None

    def contracts(self, chain_id):
        return self.uniswap.contracts(chain_id) if self.uniswap else {}

    def spenders(self, chain_id):
        return self.uniswap.spenders(chain_id) if self.uniswap else ()

    async def quote(self, request):
        return await self.uniswap.quote(self._limited(request))

    async def build(self, sealed):
        return await self.uniswap.build(replace(sealed, request=self._limited(sealed.request)))

    def _limited(self, request):
        return replace(request, routing=replace(request.routing, protocols=self.protocols))


class HiddenPools(OneVersion):
    """Shows other pools than those that it swaps in."""

    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        paths = tuple(
            replace(path, hops=tuple(replace(hop, pool=_other(hop.pool)) for hop in path.hops))
            for path in quote.route
        )
        return replace(quote, route=paths, route_legs=None, optimality=None)


def _other(pool):
    return checksum("0x" + keccak256(pool.encode())[:20].hex())


@pytest.fixture
def exchange(fresh_devnet):
    return Exchange(fresh_devnet)


@pytest.fixture
def make(exchange, make_gateway):
    async def make(*kinds):
        made = []

        def maker(kind, version):
            def make(context):
                made.append(kind(context, version))
                return made[-1]

            return make

        versions = FakePlugin([maker(*each) for each in kinds])
        gateway = await gateway_of(exchange, make_gateway, more={"versions": versions})
        for provider in made:
            provider.uniswap = gateway.registry.get(Capability.SWAP, "uniswap")
        return gateway

    return make


@pytest.fixture
async def gateway(make):
    return await make((OneVersion, "v2"), (OneVersion, "v3"))


async def ask(gateway, request):
    acknowledged = ["high_price_impact"]
    return await gateway.quoting.quote(Capability.SWAP, request, divides=True, acknowledged=acknowledged)


def shared_by(answer):
    assert answer.sealed.provider == SHARED, answer.attempts
    return [part.provider for part in answer.sealed.parts]


def request_of(exchange, sold, bought, amount, **more):
    return exchange.request(sold, bought, amount, routing=BOTH, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sold", "bought", "amount"),
    [("ETH", "USDC", 5 * 10**20), ("USDC", "ETH", 4 * 10**12), ("WETH", "USDC", 10**21)],
)
async def test_the_coin_and_its_wrapped_token_to_the_wei(gateway, exchange, sold, bought, amount):
    request = request_of(exchange, sold, bought, amount)
    answer = await ask(gateway, request)
    assert set(shared_by(answer)) == {"only-v2", "only-v3"}
    action = await gateway.building.action(answer.sealed)
    values = [step.value for step in action.steps if step.kind == "swap"]
    assert sum(values) == (amount if sold == "ETH" else 0)
    done = await execute(exchange.devnet, action)
    assert not done.reverted
    received = done.deltas[request.recipient, request.token_out.address]
    assert received == answer.quote.outputs[0].amount


async def test_signatures_are_for_keys_that_send_one_transaction(gateway, exchange):
    """The native coin needs none, so it may be divided; its parts then never ask for one."""
    request = request_of(exchange, "ETH", "USDC", 5 * 10**20, permit2_signature=True)
    answer = await ask(gateway, request)
    shared_by(answer)
    assert not any(part.request.permit2_signature for part in answer.sealed.parts)
    answer = await ask(gateway, replace(request, token_in=exchange.token("WETH")))
    assert answer.sealed.parts == ()


@pytest.mark.slow
async def test_a_fee_is_taken_by_both_parts(gateway, exchange):
    fee = IntegratorFee(30, INTEGRATOR)
    request = request_of(exchange, "WETH", "USDC", 10**21, fee=fee)
    answer = await ask(gateway, request)
    shared_by(answer)
    quote, usdc = answer.quote, exchange.token("USDC").address
    assert quote.fee_amount == sum(part.fee_amount for part in answer.sealed.parts) > 0
    (shown,) = (each for each in quote.fees if each.kind == "integrator")
    assert (shown.amount, shown.bps, shown.recipient) == (quote.fee_amount, 30, INTEGRATOR)
    done = await execute(exchange.devnet, await gateway.building.action(answer.sealed), [(INTEGRATOR, usdc)])
    assert done.deltas[INTEGRATOR, usdc] == quote.fee_amount
    assert done.deltas[request.recipient, usdc] == quote.outputs[0].amount


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 60, 100, 150])
async def test_one_allowance_is_used_by_both_parts(gateway, exchange, share):
    """What the wallet has granted before covers the first part, and perhaps not what is left for the second:
    ``share`` is in percent of the larger part."""
    request = request_of(exchange, "WETH", "USDC", 10**21)
    weth = request.token_in.address
    answer = await ask(gateway, request)
    shared_by(answer)
    granted = max(part.inputs[0].amount for part in answer.sealed.parts) * share // 100
    (puller,) = {spend.permit2_spender for spend in answer.quote.spends}
    with exchange.devnet.rpc("devnet") as rpc:
        rpc("anvil_impersonateAccount", request.sender)
        grants = [
            (weth, encode_call("approve(address,uint256)", [permit2.ADDRESS, granted])),
            (permit2.ADDRESS, permit2.APPROVE.encode([weth, puller, granted, (1 << 48) - 1])),
        ]
        for to, data in grants:
            sent = {"from": request.sender, "to": to, "data": "0x" + data.hex(), "gas": hex(200_000)}
            identity = rpc("eth_sendTransaction", sent)
            while rpc("eth_getTransactionReceipt", identity) is None:
                pass
    answer = await exchange.executed(gateway, request, SHARED, divides=True)
    (needed,) = answer.approvals
    assert (needed.required, needed.current) == (request.amount_in, granted)
    left = permit2.ALLOWANCE.encode([request.sender, weth, puller])
    with exchange.devnet.rpc("devnet") as rpc:
        output = rpc("eth_call", {"to": permit2.ADDRESS, "data": "0x" + left.hex()}, "latest")
    spare = max(granted - min(part.inputs[0].amount for part in answer.sealed.parts), 0)
    assert int(output[2:66], 16) <= spare


async def test_a_sale_of_the_coin_does_not_count_it_twice(gateway, exchange):
    poor = "0x00000000000000000000000000000000C0FFEE01"
    request = replace(request_of(exchange, "ETH", "USDC", 5 * 10**20), sender=poor, recipient=poor)
    answer = await ask(gateway, request)
    shared_by(answer)
    (lacking,) = [issue for issue in answer.issues if issue.code == "insufficient_balance"]
    assert (lacking.token, lacking.required) == (NATIVE, 5 * 10**20)
    assert answer.simulation.assumptions == ("native_balance",)


async def test_pools_that_a_provider_hides_are_not_counted_twice(make, exchange):
    """Each part is judged by what its own transactions did, so the second one pays less than it promised."""
    gateway = await make((HiddenPools, "v3"))
    request = exchange.request("WETH", "USDC", 10**21)
    answer = await ask(gateway, request)
    assert answer.sealed.parts == ()
    tried = {each.provider: (each.outcome, each.reason) for each in answer.attempts}
    assert tried["uniswap"] == tried["only-v3"] == ("quoted", None)
    kind, reason = tried[SHARED]
    assert (kind, reason in ("quote_mismatch", "reverted")) == ("failed", True)
    assert (await gateway.building.action(answer.sealed)).simulation.status == "success"
