"""Event sources: collected from plugins, checked, and handed to whoever indexes."""

from dataclasses import replace

from quoteway import EventRule, EventSource, hookimpl
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.host.states import NotEnabled
from quoteway.networks import Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc

RULE = EventRule(
    "Transfer(address indexed from, address indexed to, uint256 amount)",
    "transfer",
    {"token": "@", "sender": "from", "recipient": "to", "amount": "amount"},
)
SOURCE = EventSource("transfers", 31337, 1, (RULE,))


class Declaring(FakePlugin):
    """A plugin that declares sources, and keeps its context."""

    def __init__(self, *sources):
        super().__init__(event_sources=sources)
        self.context = None

    @hookimpl
    def quoteway_event_sources(self, context):
        self.context = context
        return super().quoteway_event_sources(context)


def loaded(**plugins):
    network = Network("devnet", 31337, "Devnet")
    served = FakePlugin([MemoryRpc({31337})], networks=[network])
    gateway = Gateway(Config(), plugins={"served": served, **plugins}, discover=False)
    gateway.load()
    return gateway, {entry.name: entry for entry in gateway.registry.plugins}


def test_sources_of_all_plugins_reach_every_context():
    one, two = Declaring(SOURCE), Declaring(replace(SOURCE, id="others"))
    loaded(one=one, two=two)
    assert [source.id for source in one.context.event_sources] == ["transfers", "others"]
    assert two.context.event_sources == one.context.event_sources


def test_sources_of_networks_that_are_not_served_are_left_out():
    plugin = Declaring(replace(SOURCE, chain_id=1))
    _, entries = loaded(one=plugin)
    assert entries["one"].reason is None
    assert plugin.context.event_sources == ()


def test_a_second_source_of_the_same_name_costs_its_plugin():
    one, two = Declaring(SOURCE), Declaring(SOURCE)
    _, entries = loaded(one=one, two=two)
    assert entries["one"].reason is None
    assert entries["two"].reason is NotEnabled.INCOMPLETE
    assert "'transfers'" in entries["two"].detail
    assert one.context.event_sources == (SOURCE,)


def test_a_malformed_source_costs_its_plugin():
    _, entries = loaded(one=Declaring(replace(SOURCE, version="1")))
    assert entries["one"].reason is NotEnabled.INCOMPLETE
    assert "version" in entries["one"].detail
