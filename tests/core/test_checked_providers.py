"""What the core reads of a provider without waiting: facts once, all else checked, in one place."""

import inspect
import itertools
import logging

import pytest
from quoteway import PoolProvider, SwapProvider, VaultProvider, providers
from quoteway.errors import Reason, UpstreamError
from quoteway.host.checked_provider import FIXED_MEMBERS, MOST_CONTRACTS, MOST_NETWORKS, plugins_own
from quoteway.host.registry import CAPABILITY_HOOKS
from quoteway.host.states import NotEnabled
from quoteway.models import NATIVE, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USD, COIN = Token(7, "0x" + "1" * 40, 6, "USD"), Token(7, NATIVE, 18, "ETH")
REQUEST = SwapRequest(7, 7, USD, COIN, 10**6, USER, USER, 50)


def raising(*arguments):
    raise RuntimeError("the canary is hunter2")


class EndlessTable(dict):
    def items(self):
        return zip(map(str, itertools.count()), itertools.repeat("contract"))


class Plain(FixedRateSwap):
    id, title, networks = "a-odd", "Odd", frozenset({7})

    def __init__(self, context):
        self._context, self._rate = context, (1, 1)


@pytest.fixture
def beside(make_gateway):
    """``await beside(**members)``: a gateway with an honest swap provider and one that has these members."""

    async def make(**members):
        base = [FixedRateSwap, MemoryRpc({7})]
        networks = [Network("seven", 7, "Seven")]
        odd = type("Odd", (Plain,), members)
        plugins = {
            "honest": FakePlugin(base, networks=networks, calls=[FAKE_CALLS]),
            "odd": FakePlugin([odd]),
        }
        return await make_gateway(plugins)

    return make


def entry(gateway):
    return next(each for each in gateway.registry.plugins if each.name == "odd")


async def attempts(gateway):
    answer = await gateway.quoting.quote(Capability.SWAP, REQUEST)
    return answer.sealed.provider, {each.provider: each.reason for each in answer.attempts}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("title", None),
        ("title", property(raising)),
        ("title", "x" * 100_000),
        ("title", "Safe\u202e"),
        ("docs", 5),
        ("docs", property(raising)),
        ("has_quota", "no"),
        ("has_quota", property(raising)),
        ("plan_version", 1.0),
        ("cross_chain", None),
        ("joins_providers", []),
        ("networks", 7),
        ("networks", ["seven"]),
        ("networks", property(raising)),
        ("networks", property(lambda self: itertools.count())),
        ("networks", frozenset(range(MOST_NETWORKS + 1))),
    ],
)
async def test_a_fact_of_another_type_or_size_refuses_its_plugin_and_is_named(beside, member, value):
    gateway = await beside(**{member: value})
    found = entry(gateway)
    assert found.reason is NotEnabled.INCOMPLETE
    assert f"Odd.{member} " in found.detail
    assert len(found.detail) < 500
    assert await attempts(gateway) == ("fixed-rate", {"fixed-rate": None})


@pytest.mark.parametrize("actions", [itertools.repeat("add"), "add", (1,), ["x" * 1_000], property(raising)])
async def test_actions_of_another_type_or_size_refuse_their_plugin(make_gateway, actions):
    class Pools(PoolProvider):
        id, title = "pools", "Pools"

        async def pools(self, chain_id):
            return []

        async def pool(self, pool_id):
            return None

    Pools.actions = actions
    gateway = await make_gateway({"odd": FakePlugin([Pools()])})
    assert entry(gateway).reason is NotEnabled.INCOMPLETE
    assert "Pools.actions " in entry(gateway).detail


@pytest.mark.parametrize(
    "strategies",
    [["hold"], {"7": ("hold",)}, {7: "hold"}, {7: (1,)}, {7: itertools.repeat("hold")}, property(raising)],
)
async def test_strategies_of_another_type_or_size_refuse_their_plugin(make_gateway, strategies):
    class Vaults(VaultProvider):
        id, title, deploy_strategies = "vaults", "Vaults", strategies

        async def vaults(self, chain_id):
            return []

        async def vault(self, vault_id):
            return None

    gateway = await make_gateway({"odd": FakePlugin([Vaults()])})
    assert entry(gateway).reason is NotEnabled.INCOMPLETE
    assert "Vaults.deploy_strategies " in entry(gateway).detail


async def test_what_is_read_once_cannot_change(beside):
    """A provider that takes another one's id later would have its faults counted as the other one's."""
    gateway = await beside()
    provider = gateway.registry.get(Capability.SWAP, "a-odd")
    own = plugins_own(provider)
    own.id, own.title, own.has_quota, own.plan_version = "fixed-rate", "Fixed rate", True, 2
    assert (provider.id, provider.title, provider.has_quota) == ("a-odd", "Odd", False)
    assert gateway.registry.maker(Capability.SWAP, "a-odd") == ("odd", 1)
    assert sorted(each.id for each in gateway.registry.enabled(Capability.SWAP)) == ["a-odd", "fixed-rate"]
    assert (await attempts(gateway))[1] == {"a-odd": None, "fixed-rate": None}


def counted(gateway, member):
    (provider,) = (p for p in gateway.registry.enabled(Capability.SWAP) if p.id == "a-odd")
    methods = {each.method: each.outcomes for each in gateway.registry.calls.methods(provider)}
    return methods.get(member, {}).get("provider_error", 0)


@pytest.mark.parametrize(
    "answer",
    [
        raising,
        lambda self, chain_id: None,
        lambda self, chain_id: "0x" + "1" * 40,
        lambda self, chain_id: itertools.repeat("0x" + "1" * 40),
        lambda self, chain_id: [b"raw"],
        lambda self, chain_id: exit(3),
    ],
    ids=["raises", "none", "text", "endless", "bytes", "exits"],
)
async def test_spenders_that_cannot_be_read_cost_their_provider_its_quotes(beside, answer, caplog):
    gateway = await beside(spenders=answer)
    with caplog.at_level(logging.ERROR, "quoteway.host"):
        for _ in range(2):
            winner, reasons = await attempts(gateway)
            assert winner == "fixed-rate"
            assert reasons == {"a-odd": Reason.PROVIDER_ERROR, "fixed-rate": None}
    assert counted(gateway, "spenders") > 1
    told = [each for each in caplog.messages if "'a-odd': spenders" in each]
    assert len(told) == 1, "once, not for every quote"


@pytest.mark.parametrize(
    "answer",
    [
        raising,
        lambda self, chain_id: ["0x"],
        lambda self, chain_id: {1: 2},
        lambda self, chain_id: EndlessTable(),
    ],
    ids=["raises", "list", "numbers", "endless"],
)
async def test_contracts_that_cannot_be_read_are_no_contracts(beside, answer):
    gateway = await beside(contracts=answer)
    assert (await attempts(gateway))[0] == "fixed-rate"
    provider = gateway.registry.get(Capability.SWAP, "a-odd")
    with pytest.raises(UpstreamError) as refusal:
        provider.contracts(7)
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert "canary" not in refusal.value.message
    assert counted(gateway, "contracts") > 0


async def test_contracts_and_spenders_may_become_known_later(beside):
    known = {7: {"0x" + "2" * 40: "Late"}}
    gateway = await beside(
        contracts=lambda self, chain_id: known[chain_id],
        spenders=lambda self, chain_id: list(known[chain_id]),
    )
    provider = gateway.registry.get(Capability.SWAP, "a-odd")
    assert provider.spenders(7) == ("0x" + "2" * 40,)
    known[7]["0x" + "3" * 40] = "Later"
    assert list(provider.contracts(7)) == ["0x" + "2" * 40, "0x" + "3" * 40]
    known[7] |= {str(number): "" for number in range(MOST_CONTRACTS)}
    with pytest.raises(UpstreamError):
        provider.spenders(7)


async def test_networks_and_serves_that_raise_or_change_cost_their_provider_its_requests(beside):
    reads = []

    def networks(self):
        reads.append(1)
        return frozenset({7}) if len(reads) == 1 else raising()

    for members in ({"networks": property(networks)}, {"serves": raising}):
        gateway = await beside(**members)
        (provider,) = (p for p in gateway.registry.enabled(Capability.SWAP) if p.id == "a-odd")
        assert await attempts(gateway) == ("fixed-rate", {"fixed-rate": None})
        assert provider.networks == (frozenset() if "networks" in members else {7})
        assert counted(gateway, "serves") > 0


def test_every_member_of_the_provider_classes_is_read_in_one_way():
    """A new member must be declared as a fact, or be checked as the others are."""
    kinds = [kind for _, kind in CAPABILITY_HOOKS.values()]
    declared = {name for kind in kinds for each in kind.__mro__ for name in inspect.get_annotations(each)}
    assert declared == {*FIXED_MEMBERS, "id", "capability", "networks"}
    plain = {
        name
        for kind in kinds
        for name, found in inspect.getmembers(kind, inspect.isfunction)
        if not inspect.iscoroutinefunction(found) and not name.startswith("_")
    }
    assert plain == {"contracts", "expected_contracts", "heads", "kept", "spenders", "serves", "revision"}
    assert issubclass(SwapProvider, providers.TransactionProvider)
