"""How an upstream that is out comes back: by a task in the background, never by a caller."""

import asyncio

import pytest
import quoteway_rpc
from fake_node import FakeNode, healthy, ok
from faults import hang
from health_of import BROKEN, CAPACITY, FAULT, clock, make, names, states, tell
from quoteway import Endpoint, UpstreamError
from quoteway.config.model import Config
from quoteway.config.network import NetworkConfig
from quoteway_rpc.upstream_state import IN_A_ROW

__all__ = ["clock", "make"]


def at(*nodes):
    return [Endpoint(f"http://127.0.0.1:{node.port}", name=f"n{i}") for i, node in enumerate(nodes)]


@pytest.fixture
def by_hand(monkeypatch):
    """The background task sends nothing: the test says when to probe."""
    monkeypatch.setattr("quoteway_rpc.probing.LEAST_WAIT_S", 3600.0)
    monkeypatch.setattr("quoteway_rpc.probing.MOST_WAIT_S", 3600.0)
    monkeypatch.setattr("quoteway_rpc.probing.Probing.hurry", lambda self: None)


async def test_a_probe_brings_an_upstream_back_and_no_caller_is_one(make, clock, by_hand):
    async with FakeNode(BROKEN) as bad, FakeNode() as good:
        health = make(*at(bad, good))
        tell(health, "n0", FAULT)
        await health.probe()
        assert bad.seen == [], "not before the pause is over"
        for pause_s in (1, 2, 4, 8, 10, 10):
            assert health.next_probe_s() == pause_s
            clock.now += pause_s
            assert names(health) == ["n1", "n0"], "a caller asks the others meanwhile"
            await health.probe()
            assert states(health)["n0"] == ("open", "http_500")
        assert bad.methods == ["eth_chainId", "eth_blockNumber"] * 6
        bad.behaviour = healthy
        clock.now += 10
        await health.probe()
        assert states(health)["n0"] == ("closed", None)
        assert names(health) == ["n0", "n1"]
        assert health.next_probe_s() is None
        assert good.seen == []
        await health.close()


async def test_the_next_probe_is_a_second_after_the_last_one_while_nobody_else_answers_in_time(
    make, clock, by_hand
):
    async with FakeNode(BROKEN) as bad, FakeNode() as good:
        health = make(*at(bad, good))
        health.hurry_probes()
        assert health.next_probe_s() is None, "nothing is out"
        tell(health, "n0", FAULT)
        for pause_s in (1, 2, 4, 8):
            clock.now += pause_s
            await health.probe()
        assert health.next_probe_s() == 10
        clock.now += 0.25
        health.hurry_probes()
        assert health.next_probe_s() == pytest.approx(0.75, abs=0.2)
        health.hurry_probes()
        assert health.next_probe_s() == pytest.approx(0.75, abs=0.2)
        clock.now += 0.75
        await health.probe()
        assert states(health)["n0"] == ("open", "http_500")
        assert health.next_probe_s() == 10
        clock.now += 5
        health.hurry_probes()
        assert health.next_probe_s() == 0
        tell(health, "n0", CAPACITY, retry_after_s=30)
        health.hurry_probes()
        assert health.next_probe_s() == 30, "its own word is heeded"
        await health.close()


async def test_a_probe_checks_the_chain_and_the_head_anew(make, clock, by_hand):
    async with FakeNode() as node, FakeNode() as other:
        health = make(*at(node, other))
        health.head_seen(health.upstreams["n1"], 100)
        tell(health, "n0", FAULT)
        clock.now += 1
        await health.probe()
        assert states(health)["n0"] == ("open", "behind"), "its head is 42"
        node.chain_id = 137
        clock.now += 2
        await health.probe()
        assert states(health)["n0"] == ("open", "wrong_chain_id")
        node.chain_id = 1

        async def newer(node, request, writer):
            ok(writer, request, hex(100))

        node.behaviour = newer
        clock.now += 4
        await health.probe()
        assert states(health)["n0"] == ("closed", None)
        await health.close()


async def test_an_answer_without_a_block_number_is_no_good_probe(make, clock, by_hand):
    for answer in (None, [], "0x", "abc", 7):

        async def odd(node, request, writer, answer=answer):
            ok(writer, request, answer)

        async with FakeNode(odd) as node:
            health = make(*at(node))
            tell(health, "n0", FAULT)
            clock.now += 1
            await health.probe()
            assert states(health)["n0"] == ("open", "not_a_block")
            await health.close()


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_probes_run_by_themselves_and_end_with_the_trouble(make, clock):
    async with FakeNode(BROKEN) as node:
        health = make(*at(node))
        assert health.probing is None, "nothing is sent at rest"
        tell(health, "n0", FAULT)
        task = health.probing
        clock.now += 1
        await until(lambda: node.methods.count("eth_blockNumber") == 1)
        node.behaviour = healthy

        def ends_in_time():
            clock.now += 0.1  # the failed probe may be noted only now, and the next one is due after that
            return task.done()

        await until(ends_in_time)
        assert states(health)["n0"] == ("closed", None)
        await health.close()


async def test_an_upstream_that_hangs_does_not_hold_up_the_probes_of_others(make, clock):
    async with FakeNode(hang) as hung, FakeNode(BROKEN) as node:
        health = make(*at(hung, node))
        health._probing.timeout_s = 60.0
        tell(health, "n0", FAULT)
        tell(health, "n1", FAULT)
        clock.now += 1
        await until(lambda: states(health)["n1"][0] == "open")
        node.behaviour = healthy
        clock.now += 2
        await until(lambda: states(health)["n1"][0] == "closed")
        assert states(health)["n0"][0] == "suspect", "its only probe is still under way"
        assert hung.methods.count("eth_blockNumber") == 1
        await health.close()


async def test_a_probe_that_hangs_does_not_hold_up_the_next_one_that_has_to_hurry(make, clock):
    async with FakeNode() as node, FakeNode() as other:
        health = make(*at(node, other))
        health._probing.timeout_s = 60.0
        node.silent = True
        tell(health, "n0", FAULT)
        clock.now += 1
        await until(lambda: node.methods == ["eth_chainId"])
        node.silent = False
        clock.now += 11
        health.hurry_probes()
        await asyncio.sleep(0.1)
        assert states(health)["n0"][0] == "suspect", "a fifth of the time of a probe has to pass"
        clock.now += 1
        await until(lambda: states(health)["n0"] == ("closed", None))
        assert node.methods == ["eth_chainId", "eth_chainId", "eth_blockNumber"]
        health.probe_failed(health.upstreams["n0"], "timeout", took_s=60.0)
        assert states(health)["n0"] == ("closed", None), "of the first probe nothing is heard any more"
        await health.close()


async def test_probes_end_when_nobody_calls_and_begin_with_the_next_call(make, clock, monkeypatch):
    monkeypatch.setattr("quoteway_rpc.probing.IDLE_S", 0.1)
    async with FakeNode(BROKEN) as node:
        health = make(*at(node))
        names(health)
        tell(health, "n0", FAULT, IN_A_ROW)
        task = health.probing
        await until(task.done)
        assert states(health)["n0"][0] == "open"
        assert node.seen == []
        names(health)
        assert health.probing is not task
        await health.close()
        assert health.probing.cancelled()
        names(health)
        assert health.probing.done(), "a closed one begins no task"


async def test_the_probes_end_with_the_server(make_gateway):
    def probes():
        return [task for task in asyncio.all_tasks() if task.get_name().startswith("rpc probes")]

    async with FakeNode(BROKEN) as node:
        config = Config(networks={"base": NetworkConfig(rpc=(Endpoint(f"http://127.0.0.1:{node.port}"),))})
        gateway = await make_gateway({"rpc": quoteway_rpc}, config=config)
        with pytest.raises(UpstreamError):
            await gateway.runtime.chain(8453).request("eth_gasPrice")
        assert len(probes()) == 1
        await gateway.stop()
        assert probes() == []
