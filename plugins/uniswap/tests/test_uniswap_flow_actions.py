"""Flows in a gateway: the core seals, reads and runs them, and refuses one that is not the quoted one."""

import asyncio
from dataclasses import replace

import pytest
from liquidity import pool_of
from quoteway import NATIVE, Capability, PoolRequest, SwapRequest, Token, UpstreamError
from quoteway.evm.abi import function
from quoteway.evm.erc20 import TRANSFER
from quoteway.testing.execution import execute
from quoteway_amm import Hop
from quoteway_amm.flow import Flow
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.candidates import pools_of_pair, sorted_pair
from quoteway_uniswap.flow import legs_of
from quoteway_uniswap.quoting import quote_of_route
from quoteway_uniswap.router import Order, encode_swap
from quoteway_uniswap.routing import Route
from quoteway_uniswap.state import PoolStates

AMOUNT = 9_000 * 10**6
SHARES = (("USDC", "WETH", "v3", 500, 4), ("USDC", "DAI", "v4", 100, 3), ("USDC", "WETH", "v2", 0, 0))
REST = (("DAI", "WETH", "v3", 3000, 3), ("DAI", "WETH", "v2", 0, 0))


class Splitting:
    """Stands in for a provider's quotes and builds: a flow of five legs, and what ``cheat`` makes of it."""

    def __init__(self, gateway, manifest):
        self.provider = gateway.registry.get(Capability.SWAP, "uniswap")
        self.tokens = {token.symbol: token.address for token in manifest.tokens}
        self.chain = gateway.runtime.chain(31337)
        self.deployment = next(d for d in self.provider._deployments[31337] if d.protocol == "uniswap")
        self.honest_build = self.provider.build
        self.cheat = None

    async def quote(self, request):
        block = await self.chain.head()
        states, held, hops = PoolStates(self.chain), {"USDC": request.amount_in}, []
        for legs in (SHARES, REST):
            whole = dict(held)
            for sold, bought, kind, fee, tenths in legs:
                pair = sorted_pair(self.tokens[sold], self.tokens[bought])
                refs = pools_of_pair(self.deployment, *pair)
                wanted = next(r.id for r in refs if r.kind == kind and (kind == "v2" or r.fee == fee))
                pool = next(p for p in await states.load(block, refs) if p.id == wanted)
                amount = whole[sold] * tenths // 10 or held[sold]
                forward = pool.token0 == self.tokens[sold]
                got, ticks = pool.exact_in(forward, amount)
                held[sold] -= amount
                held[bought] = held.get(bought, 0) + got
                ends = self.tokens[sold], self.tokens[bought]
                hops.append(Hop(pool, forward, *ends, amount, got, pool.swap_fee_pips(forward), ticks))
        self.hops = tuple(hops)
        ends = self.tokens["USDC"], self.tokens["WETH"]
        flow = Flow(*ends, self.hops, request.amount_in, held["WETH"], 0, 0)
        route = Route(self.deployment, flow, held["WETH"], 0, 0, None, None)
        return quote_of_route(route, block, request, {}, None)

    async def build(self, sealed):
        build = await self.honest_build(sealed)
        if self.cheat is None:
            return build
        (got,), (step,) = build.outputs, build.steps
        amount, legs = self.cheat(AMOUNT, legs_of(self.hops, self.deployment.wrapped_native))
        ends = self.tokens["USDC"], self.tokens["WETH"]
        order = Order(*ends, amount, got.amount_min, got.account, self.deployment.wrapped_native)
        made = encode_swap(self.deployment.router_version, order, legs, build.deadline)
        return replace(build, steps=(replace(step, data=made.data),))


@pytest.fixture
def splitting(gateway, fresh_devnet, monkeypatch):
    made = Splitting(gateway, fresh_devnet.chains["devnet"])
    monkeypatch.setattr(made.provider, "quote", made.quote)
    monkeypatch.setattr(made.provider, "build", made.build)
    return made


async def sealed_quote(gateway, fresh_devnet):
    manifest, user = fresh_devnet.chains["devnet"], ACCOUNTS[5].address
    ends = [Token(31337, manifest.token(s).address, manifest.token(s).decimals, s) for s in ("USDC", "WETH")]
    request = SwapRequest(31337, 31337, *ends, AMOUNT, user, user, 50)
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    return answer, gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)


async def test_an_action_of_a_flow_pays_exactly_what_its_quote_says(gateway, fresh_devnet, splitting):
    answer, sealed = await sealed_quote(gateway, fresh_devnet)
    assert sealed.plan_version == 3
    action = await gateway.building.action(sealed)
    assert action.simulation.status == "success"
    executed = await execute(fresh_devnet, action)
    received = executed.deltas[ACCOUNTS[5].address, splitting.tokens["WETH"]]
    assert received == answer.quote.outputs[0].amount > 0


def without_its_first_leg(amount, legs):
    return amount - legs[0].amount_in, legs[1:]


def with_twice_the_dai_for_one_pool(amount, legs):
    changed = replace(legs[3], amount_in=2 * legs[3].amount_in)
    return amount, (*legs[:3], changed, legs[4])


def with_another_pool(amount, legs):
    return amount, (replace(legs[0], fee=3000, tick_spacing=60), *legs[1:])


@pytest.mark.parametrize("cheat", [without_its_first_leg, with_twice_the_dai_for_one_pool, with_another_pool])
async def test_another_flow_than_the_quoted_one_is_refused(gateway, fresh_devnet, splitting, cheat):
    _, sealed = await sealed_quote(gateway, fresh_devnet)
    splitting.cheat = cheat
    with pytest.raises(UpstreamError) as refusal:
        await gateway.building.action(sealed)
    assert refusal.value.reason in ("reverted", "quote_mismatch", "unsafe_answer")


def leave(devnet, contract, **amounts):
    """Leaves base units of tokens with a contract, by symbol; ``ETH`` by a ``call`` that takes it."""
    call, sender = bytes.fromhex(amounts.pop("call", "")), ACCOUNTS[9].address
    with devnet.rpc() as rpc:
        for symbol, amount in amounts.items():
            to, data, value = contract, call, amount
            if symbol != "ETH":
                to, value = devnet.chains["devnet"].token(symbol).address, 0
                data = TRANSFER.encode([contract, amount])
            sent = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value)}
            identity = rpc("eth_sendTransaction", sent)
            while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
                pass
            assert receipt["status"] == "0x1", symbol


@pytest.mark.parametrize("symbol", ["USDC", "DAI", "WETH"])
@pytest.mark.parametrize("holder", ["router", "WETH/USDC", "WETH/DAI"])
async def test_what_others_left_on_its_way_refuses_no_flow(gateway, fresh_devnet, splitting, holder, symbol):
    """The router spends what it holds of DAI and WETH, and a v2 pair takes as sold what it has above its
    reserves: that makes the flow pay more.
    """
    pairs = {
        pool.pair: pool.id for pool in fresh_devnet.chains["devnet"].pools if pool.protocol.endswith("v2")
    }
    left_with = pairs.get(holder, splitting.deployment.router)
    await asyncio.to_thread(leave, fresh_devnet, left_with, **{symbol: 10**6})
    answer, sealed = await sealed_quote(gateway, fresh_devnet)
    executed = await execute(fresh_devnet, await gateway.building.action(sealed))
    received = executed.deltas[ACCOUNTS[5].address, splitting.tokens["WETH"]]
    assert received >= answer.quote.outputs[0].amount > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["v3", "v4"])
async def test_what_others_left_in_a_position_manager_refuses_no_action(gateway, fresh_devnet, kind):
    manifest, user = fresh_devnet.chains["devnet"], ACCOUNTS[5].address
    manager = manifest.contracts["NonfungiblePositionManager" if kind == "v3" else "PositionManager"]
    pool = pool_of(manifest, kind, "ETH/USDC" if kind == "v4" else "WETH/USDC", 3000)
    call = function("multicall(bytes[] data)").encode([[]]).hex()
    add = PoolRequest(
        f"31337:{pool.id}", 31337, "add", NATIVE, 10**18, user, user, 50, use_native=kind == "v3"
    )
    for request in (add, replace(add, action="remove", amount=None)):
        await asyncio.to_thread(leave, fresh_devnet, manager, ETH=7, WETH=7, USDC=7, call=call)
        answer = await gateway.quoting.quote(Capability.POOL, request)
        action = await gateway.building.action(
            gateway.quote_tokens.open(Capability.POOL, answer.sealed.token)
        )
        executed = await execute(fresh_devnet, action)
        assert not executed.reverted
        for sign, legs in ((-1, answer.quote.inputs), (1, answer.quote.outputs)):
            for leg in legs:
                if leg.token.address in (NATIVE, manifest.token("USDC").address):
                    moved = executed.deltas[leg.account, leg.token.address]
                    assert 0 <= moved - sign * leg.amount <= 14
