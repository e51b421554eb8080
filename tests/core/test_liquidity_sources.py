"""What plugins contribute to routing: asked once, checked, and each at its own risk."""

import asyncio
from dataclasses import dataclass

import pytest
from distributions import install
from quoteway import (
    Capability,
    Executor,
    FlowOrder,
    LiquiditySource,
    Network,
    ProviderUnavailable,
    Reason,
    Step,
    UpstreamError,
)
from quoteway.config.model import Config, PluginsConfig
from quoteway.host.runtime import NoLiquidity
from quoteway.testing.fakes import FakePlugin, MemoryRpc

A, B, C = ("0x" + digit * 40 for digit in "123")


@dataclass(frozen=True)
class Pool:
    id: str = "0xp"
    kind: str = "odd"
    token0: str = A
    token1: str = B
    has_liquidity: bool = True

    def exact_in(self, zero_for_one, amount): ...
    def exact_out(self, zero_for_one, amount): ...
    def mid_price(self, zero_for_one): ...
    def swap_fee_pips(self, zero_for_one): ...
    def curve(self, zero_for_one): ...


class Source(LiquiditySource):
    families = ("odd",)
    networks = frozenset({7})

    def __init__(self, given=(Pool(),), name="source"):
        self.id, self.title = name, name
        self.given = given
        self.asked = 0

    async def pools(self, chain_id, token_in, token_out, block):
        self.asked += 1
        return self.given() if callable(self.given) else self.given


class Router(Executor):
    id, title = "router", "Router"
    leg_gas = {"odd": 50_000}
    sources = ("source", "two", "other", "both", "broken", "hanging")
    networks = frozenset({7})
    refused = None
    answer = Step(C, b"", 0, 7)

    async def encode(self, order):
        return self.answer

    async def refusal(self, chain_id, block):
        return self.refused


@pytest.fixture
def make(make_gateway):
    async def started(*providers, router=None):
        router = router or Router()
        chain = FakePlugin([MemoryRpc({7})], networks=[Network("seven", 7, "Seven")])
        plugins = {"chain": chain, "router": FakePlugin([router])}
        for at, provider in enumerate(providers):
            plugins[f"plugin{at}"] = FakePlugin([provider])
        return await make_gateway(plugins)

    return started


async def found(gateway, token_in=A, token_out=B):
    (executor,) = gateway.runtime.liquidity.executors()
    block = await gateway.runtime.chains[7].head()
    return await gateway.runtime.liquidity.pools(executor, 7, token_in, token_out, block)


async def test_pools_of_all_sources_are_given_once_for_a_block(make):
    one, two = Source(), Source((Pool("0xq"), Pool("0xp")), "two")
    gateway = await make(one, two)
    answers = await asyncio.gather(found(gateway), found(gateway, B, A))
    assert {tuple(pool.id for pool in answer.pools) for answer in answers} == {("0xp", "0xq")}
    assert (one.asked, two.asked) == (1, 1)
    assert (await found(gateway, A, C)).missing == ()
    assert (one.asked, two.asked) == (2, 2)


async def test_an_executor_gets_the_pools_of_its_families_alone(make):
    other = Source((Pool("0xq", "even"),), "other")
    other.families = ("even",)
    both = Source((Pool("0xr", "even"), Pool("0xs")), "both")
    both.families = ("even", "odd")
    gateway = await make(other, both)
    assert [pool.id for pool in (await found(gateway)).pools] == ["0xs"]
    assert other.asked == 0


async def test_an_executor_gets_no_pools_of_sources_that_it_does_not_name(make):
    stranger = Source((Pool("0xq"),), "stranger")
    gateway = await make(Source(), stranger)
    assert [pool.id for pool in (await found(gateway)).pools] == ["0xp"]
    assert stranger.asked == 0


@pytest.mark.parametrize(
    "given",
    [
        None,
        7,
        [None],
        [Pool(id=7)],
        [Pool(id="x" * 67)],
        [Pool(id="a\nb")],
        [Pool(kind="even")],
        [Pool(token0=A, token1=A)],
        [Pool(token0="0xab")],
        [Pool(token1="0x" + "aB" * 20)],
        [Pool(has_liquidity=1)],
        [Pool(), Pool()],
        [Pool(str(at)) for at in range(1_001)],
        [object()],
        lambda: (_ for _ in ()).throw(SystemExit),
        lambda: 1 / 0,
    ],
)
async def test_what_are_no_pools_cost_their_source_alone(make, given, caplog):
    gateway = await make(Source(), Source(given, "broken"))
    answer = await found(gateway)
    assert [pool.id for pool in answer.pools] == ["0xp"]
    assert answer.missing == ("broken",)
    (entry,) = [p for p in gateway.registry.providers if p.provider.id == "broken"]
    (calls,) = gateway.registry.calls.methods(entry.provider)
    assert calls.last_error == "provider_error"


async def test_a_source_that_never_answers_is_not_waited_for_long(make):
    class Hanging(Source):
        async def pools(self, *_):
            await asyncio.Event().wait()

    gateway = await make(Source(), Hanging(name="hanging"))
    gateway.runtime.liquidity._timeout_s = 0.05
    answer = await found(gateway)
    assert ([pool.id for pool in answer.pools], answer.missing) == (["0xp"], ("hanging",))


async def test_an_executor_that_refuses_a_chain_or_cannot_say_is_not_used(make, caplog):
    router = Router()
    router.refused = "its contract charges another fee"
    source = Source()
    gateway = await make(source, router=router)
    assert (await found(gateway)).pools == ()
    assert source.asked == 0
    assert "executor 'router' is not used on chain 7: its contract charges another fee" in caplog.text

    class Broken(Router):
        async def refusal(self, *_):
            raise UpstreamError("No node answers.", reason=Reason.RPC_ERROR)

    gateway = await make(source, router=Broken())
    with pytest.raises(UpstreamError) as refusal:
        await found(gateway)
    assert refusal.value.reason == Reason.RPC_ERROR


async def test_an_executor_is_usable_while_it_and_a_source_are_enabled(make):
    gateway = await make(Source())
    (executor,) = gateway.runtime.liquidity.executors()
    assert gateway.runtime.liquidity.usable(executor, 7)
    assert not gateway.runtime.liquidity.usable(executor, 8)
    (plugin,) = [each for each in gateway.registry.plugins if each.name == "plugin0"]
    plugin.refuse("startup_failed", "it is gone")
    gateway.registry.changed()
    assert not gateway.runtime.liquidity.usable(executor, 7)
    assert (await found(gateway)).pools == ()


@pytest.mark.parametrize("answer", [None, "0x", Step(C, b"", 0, 7)])
async def test_what_an_executor_encodes_is_a_step_or_an_error(make, answer):
    router = Router()
    router.answer = answer
    gateway = await make(router=router)
    (executor,) = gateway.runtime.liquidity.executors()
    block = await gateway.runtime.chains[7].head()
    order = FlowOrder(7, (), A, B, 1, 1, C, C, 2**32, block)
    if isinstance(answer, Step):
        assert await gateway.runtime.liquidity.encode(executor, order) == answer
    else:
        with pytest.raises(UpstreamError):
            await gateway.runtime.liquidity.encode(executor, order)


@pytest.mark.parametrize(
    "leg_gas", [{"odd": 0}, {"odd": 1.5}, {"": 1}, {7: 1}, ["odd"], {str(at): 1 for at in range(65)}]
)
async def test_gas_that_is_none_makes_the_plugin_incomplete(make, leg_gas):
    router = Router()
    router.leg_gas = leg_gas
    gateway = await make(router=router)
    (plugin,) = [each for each in gateway.registry.plugins if each.name == "router"]
    assert plugin.reason == "incomplete"
    assert "Router.leg_gas is" in plugin.detail


async def test_the_contributions_are_providers_with_an_entry_of_their_own(make):
    gateway = await make(Source())
    listed = {entry.provider.id: entry.provider.capability for entry in gateway.registry.providers}
    assert listed["source"] is Capability.LIQUIDITY
    assert listed["router"] is Capability.EXECUTION


async def test_where_nothing_is_contributed():
    nothing = NoLiquidity()
    assert nothing.executors() == ()
    assert not nothing.usable(Router(), 7)
    assert (await nothing.pools(Router(), 7, A, B, None)).pools == ()
    with pytest.raises(ProviderUnavailable):
        await nothing.encode(Router(), None)


async def test_an_isolated_plugin_is_not_asked_and_the_log_says_so(
    make_gateway, tmp_path, monkeypatch, caplog
):
    monkeypatch.syspath_prepend(str(tmp_path))
    source = """
        from quoteway import hookimpl
        from quoteway.testing.fakes import FixedRateSwap

        @hookimpl
        def quoteway_swap_providers(context):
            assert context.liquidity.executors() == ()
            return [FixedRateSwap(context, provider_id="apart")]

        @hookimpl
        def quoteway_executors(context):
            raise AssertionError("not asked")

        @hookimpl
        def quoteway_liquidity_sources(context):
            raise AssertionError("not asked")
    """
    install(tmp_path, "apart", source)
    chain = FakePlugin([MemoryRpc({7})], networks=[Network("seven", 7, "Seven")])
    settings = PluginsConfig(load=("apart", "chain"), isolate=("apart",), startup_timeout_s=60.0)
    gateway = await make_gateway({"chain": chain}, config=Config(plugins=settings), discover=True)
    assert gateway.registry.get(Capability.SWAP, "apart") is not None
    assert gateway.runtime.liquidity.executors() == []
    assert "quoteway_executors, quoteway_liquidity_sources are not called" in caplog.text
