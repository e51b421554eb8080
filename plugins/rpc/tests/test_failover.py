"""Every fault of an upstream: the next one answers, and no text contains the address."""

import asyncio
import logging
import traceback

import pytest
from fake_node import FakeNode, error, healthy, ok, raw
from faults import CANARY, FAULTS, hang, reset
from quoteway import ConfigError, Endpoint, Reason, RpcError, UpstreamError

NOT_THE_NODES_FAULT = ("-32601", "-32001", "lagging", "no historical state", "pruned", "unknown error")
# Nothing ends the wait for the only upstream but its timeout.
WAITED_OUT = ("hang", "header drip", "body drip")
# Neither is an upstream that failed: one lacks what was asked, one was slower once.
ASKED_AGAIN = ("-32001", "lagging", "no historical state", "pruned", "unknown error", *WAITED_OUT)
# The same call would meet these again.
ASKED_ONCE = (*NOT_THE_NODES_FAULT, *WAITED_OUT, "401", "404", "huge", "gzip bomb", "deep")


def assert_nothing_shown(failure, node, caplog):
    texts = [str(failure), repr(failure), caplog.text, *traceback.format_exception(failure)]
    texts += [str(getattr(failure, name, "")) for name in ("message", "rpc_message", "data")]
    for text in texts:
        assert CANARY not in text
        assert str(node.port) not in text
        assert "127.0.0.1" not in text


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_next_upstream_answers(dispatcher, fault, caplog):
    async with FakeNode(FAULTS[fault]) as bad, FakeNode(healthy) as good:
        bad.elsewhere = good.port
        rpc = dispatcher(bad, good)
        with caplog.at_level(logging.DEBUG):
            assert await rpc.ask() == "0x2a"
        assert len(bad.calls) == 1
        assert good.calls == [
            {"jsonrpc": "2.0", "id": good.calls[0]["id"], "method": "eth_gasPrice", "params": []}
        ]
        assert good.methods.count("eth_chainId") == 1
        assert await rpc.ask() == "0x2a"
        assert len(good.calls) == 2
        assert len(bad.calls) == (2 if fault in ASKED_AGAIN else 1), "a failed upstream is asked last"
        assert_nothing_shown(ValueError(), bad, caplog)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_single_faulty_upstream_gives_an_error_without_its_address(dispatcher, fault, caplog):
    async with FakeNode(FAULTS[fault]) as bad:
        bad.elsewhere = bad.port
        rpc = dispatcher(bad)
        with caplog.at_level(logging.DEBUG), pytest.raises(UpstreamError) as failure:
            await rpc.ask(timeout_s=0.2)
        assert isinstance(failure.value, RpcError) == (fault in NOT_THE_NODES_FAULT)
        timed_out = fault in (*WAITED_OUT, "request timed out")
        assert failure.value.reason is (Reason.PROVIDER_TIMEOUT if timed_out else Reason.RPC_ERROR)
        assert set(bad.paths) == {bad.paths[0]}, "a redirect is not followed"
        assert fault not in ASKED_ONCE or len(bad.calls) == 1
        assert_nothing_shown(failure.value, bad, caplog)
        assert CANARY not in repr(rpc.__dict__)


async def test_secrets_reach_the_upstream_only(dispatcher):
    async with FakeNode() as node:
        await dispatcher(node).ask()
        assert node.paths[-1] == f"/v3/{CANARY}?key={CANARY}"
        assert node.headers[-1]["x-api-key"] == CANARY
        assert node.headers[-1]["authorization"] == "Basic dXNlcjpjYW5hcnktNWYzYTlj"


async def test_a_refused_connection(dispatcher, caplog):
    async with FakeNode() as gone:
        pass
    async with FakeNode() as good:
        rpc = dispatcher(gone, good)
        assert await rpc.ask() == "0x2a"
    with pytest.raises(UpstreamError) as failure:
        await dispatcher(gone).ask(timeout_s=0.5)
    assert_nothing_shown(failure.value, gone, caplog)


async def test_a_host_that_does_not_exist(dispatcher, caplog):
    rpc = dispatcher(endpoints=[Endpoint(f"http://{CANARY}.invalid/{CANARY}")])
    with pytest.raises(UpstreamError) as failure:
        await rpc.ask(timeout_s=0.5)
    assert CANARY not in str(failure.value) + caplog.text


async def test_a_node_of_another_chain_gets_no_other_request(dispatcher):
    async with FakeNode(chain_id=137) as wrong, FakeNode() as good:
        assert await dispatcher(wrong, good).ask() == "0x2a"
        assert wrong.methods == ["eth_chainId"]
        with pytest.raises(UpstreamError):
            await dispatcher(wrong).ask()


async def test_the_first_requests_ask_for_the_chain_id_once(dispatcher):
    async with FakeNode() as node:
        rpc = dispatcher(node)
        assert (
            await asyncio.gather(*(rpc.ask("eth_gasPrice", [number]) for number in range(20)))
            == ["0x2a"] * 20
        )
        assert node.methods.count("eth_chainId") == 1


async def test_a_node_of_another_chain_gets_none_of_many_first_requests(dispatcher):
    async with FakeNode(chain_id=137) as wrong, FakeNode() as good:
        rpc = dispatcher(wrong, good)
        assert (
            await asyncio.gather(*(rpc.ask("eth_gasPrice", [number]) for number in range(20)))
            == ["0x2a"] * 20
        )
        assert set(wrong.methods) == {"eth_chainId"}


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
async def test_a_revert_is_passed_on_and_never_retried(dispatcher, status):
    revert = error(3, "execution reverted", "0x08c379a0", status)
    async with FakeNode(revert) as node, FakeNode() as other:
        rpc = dispatcher(node, other)
        for _ in range(3):
            with pytest.raises(RpcError) as failure:
                await rpc.ask("eth_call")
            assert (failure.value.rpc_code, failure.value.rpc_message) == (3, "execution reverted")
            assert failure.value.data == "0x08c379a0"
        assert (len(node.calls), len(other.calls)) == (3, 0)


async def test_null_is_an_answer(dispatcher):
    async def null(node, request, writer):
        ok(writer, request, None)

    async with FakeNode(null) as node:
        assert await dispatcher(node).ask("eth_getTransactionReceipt", ["0x" + "11" * 32]) is None


async def test_the_deadline_holds_over_all_upstreams(dispatcher):
    async with FakeNode(hang) as one, FakeNode(hang) as two, FakeNode(hang) as three:
        rpc = dispatcher(one, two, three)
        with pytest.raises(UpstreamError) as failure:
            await rpc.ask(timeout_s=0.5)
        assert failure.value.reason is Reason.PROVIDER_TIMEOUT
        assert max(len(node.calls) for node in (one, two, three)) == 1


async def test_the_last_upstream_has_all_the_time_that_is_left(dispatcher):
    async def slow(node, request, writer):
        await asyncio.sleep(0.5)
        ok(writer, request, "0x2a")

    async with FakeNode(hang) as first, FakeNode(slow) as second:
        for nodes in [(second,), (first, second)]:
            rpc = dispatcher(*nodes, attempt_timeout_s=0.1)
            assert await rpc.ask(timeout_s=10.0) == "0x2a"


async def test_a_failing_upstream_is_logged_once(dispatcher, caplog):
    async with FakeNode(raw("oops", "500 Internal Server Error")) as node:
        rpc = dispatcher(node)
        for _ in range(5):
            with pytest.raises(UpstreamError):
                await rpc.ask(timeout_s=0.2)
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
            "upstream 1 of ethereum failed: http_500"
        ]
        assert not await rpc.healthy()


@pytest.mark.slow
async def test_one_reachable_upstream_of_three_is_enough(dispatcher):
    async with FakeNode(reset) as one, FakeNode(raw("<html>")) as two, FakeNode() as three:
        rpc = dispatcher(one, two, three, cooldown_s=0)
        for _ in range(100):
            assert await rpc.ask() == "0x2a"


@pytest.mark.parametrize("url", ["", "ftp://node", "node.example", "http://", f"http://[{CANARY}"])
def test_an_invalid_url_is_refused_without_being_quoted(dispatcher, url):
    with pytest.raises(ConfigError) as refusal:
        dispatcher(endpoints=[Endpoint(url, name="main")])
    assert "main" in str(refusal.value)
    assert CANARY not in "".join(traceback.format_exception(refusal.value))
