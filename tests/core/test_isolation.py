"""Plugins in a process of their own: each test has a real child process."""

import asyncio
import contextlib
import logging
import os
import time

import pytest
import quoteway.guard.quotes
from distributions import install
from isolated_gateway import (
    NAUGHTY,
    PATIENCE_S,
    USD,
    entry,
    request,
    starter,
    swaps,
    until,
)
from processes import runs
from quoteway.config.model import Config, ProviderConfig
from quoteway.errors import ConfigError, InvalidRequest, Reason, UpstreamError
from quoteway.evm.arrivals import request_arrival
from quoteway.host.network_states import Condition, Level, Why
from quoteway.host.plugin_lock import lock_text
from quoteway.host.plugins import Plugins
from quoteway.host.runtime import Runtime
from quoteway.models import Capability
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import FAKE_CALLS
from quoteway.web.http.health import readiness


@pytest.fixture
def start(tmp_path, monkeypatch, make_gateway):
    return starter(tmp_path, monkeypatch, make_gateway)


async def test_an_isolated_provider_answers_as_one_in_the_server(start):
    gateway = await start()
    provider = swaps(gateway)
    assert isinstance(provider, SwapProvider)
    assert (provider.title, provider.networks) == ("Fixed rate 1/1", frozenset({4242}))
    assert list(provider.contracts(4242).values()) == ["Fake exchange"]
    assert provider.expected_contracts(4242) == provider.contracts(4242)
    assert provider.serves(4242, 4242)
    assert not provider.serves(4242, 1)
    quote = await provider.quote(request())
    assert quote.outputs[0].amount == 10**30  # beyond 64 bits
    assert quote.outputs[0].token == USD
    assert type(quote.inputs) is tuple
    assert quote.block == await gateway.runtime.chain(4242).head()
    pid, environ, parent = await provider.quote(request(12))
    assert pid != os.getpid()
    assert parent == os.getpid()
    assert set(environ) <= {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "LC_CTYPE"} | {
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
    await gateway.stop()
    assert not runs(pid)


async def test_what_the_context_gives_comes_from_the_server(start):
    gateway = await start()
    with request_arrival():
        first = await gateway.runtime.chain(4242).head()
        assert await swaps(gateway).quote(request(13)) == [first, first]
    assert (await swaps(gateway).quote(request(14))).decimals == 6
    assert abs(await swaps(gateway).quote(request(16)) - time.time()) < PATIENCE_S


async def test_an_error_keeps_its_members_and_a_secret_stays_in_the_log(start, caplog):
    gateway = await start()
    with pytest.raises(InvalidRequest) as refused:
        await swaps(gateway).quote(request(9))
    assert refused.value.limit == 1 << 200
    assert refused.value.fields[0].reason is Reason.AMOUNT_TOO_LOW
    (outcome,) = await gateway.registry.calls.ask_all(
        [swaps(gateway)], lambda p: p.quote(request(6)), verb="quote"
    )
    assert (outcome.kind, outcome.error) == ("failed", None)
    assert "hunter2" in caplog.text
    assert "hunter2" not in outcome.failure().message


async def test_a_log_record_has_the_plugins_name(start, caplog):
    caplog.set_level(logging.INFO)
    gateway = await start()
    await swaps(gateway).quote(request(11))
    await until(lambda: ("quoteway.plugin.naughty", "a warning of naughty") in log_of(caplog))


def log_of(caplog):
    return [(record.name, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        pytest.param(1, "status 7", id="os._exit"),
        pytest.param(2, "memory", id="leak", marks=pytest.mark.slow),
        pytest.param(3, "did not answer", id="busy loop", marks=pytest.mark.slow),
        pytest.param(4, "did not answer", id="sleep", marks=pytest.mark.slow),
    ],
)
async def test_a_process_that_ends_or_hangs_is_started_again(start, code, says):
    gateway = await start(isolated_memory_mb=300, isolated_silence_s=3.0 if code > 2 else 30.0)
    provider = swaps(gateway)
    pid = (await provider.quote(request(12)))[0]
    with pytest.raises((UpstreamError, TimeoutError)):
        async with asyncio.timeout(PATIENCE_S):
            await provider.quote(request(code))
    await until(lambda: entry(gateway).reason == "process_ended")
    assert says in entry(gateway).detail
    assert swaps(gateway) is None
    await until(lambda: swaps(gateway))
    assert not runs(pid)
    assert (await provider.quote(request())).outputs[0].amount == 10**30


@pytest.mark.slow
async def test_a_process_is_not_started_again_with_files_that_differ_from_the_lock(start, tmp_path):
    module = tmp_path / f"{install(tmp_path, 'naughty', NAUGHTY)}.py"
    found = Plugins(Runtime(Config()))
    found.discover()
    lock = tmp_path / "plugins.lock"
    lock.write_text(lock_text(each for each in found if each.name == "naughty"))
    gateway = await start(None, lock=str(lock))
    provider = swaps(gateway)
    module.write_text(module.read_text() + "\n# changed\n")
    with pytest.raises(UpstreamError):
        await provider.quote(request(1))
    await until(lambda: "lock_mismatch" in (entry(gateway).detail or ""))
    assert f"file {module.name} differs" in entry(gateway).detail
    assert swaps(gateway) is None
    module.write_text(module.read_text().removesuffix("\n# changed\n"))
    await until(lambda: swaps(gateway))
    assert (await provider.quote(request())).outputs[0].amount == 10**30


@pytest.mark.slow
async def test_facts_that_differ_after_a_restart_keep_the_plugin_down(start, tmp_path):
    """A quote of the old plan version must not be built by the new code."""
    gateway = await start()
    (module,) = tmp_path.glob("fake_*naughty.py")
    module.write_text(module.read_text().replace("leak = []", "leak = []; FixedRateSwap.plan_version = 2"))
    with pytest.raises(UpstreamError):
        await swaps(gateway).quote(request(1))
    await until(lambda: "restart the server" in (entry(gateway).detail or ""))
    assert swaps(gateway) is None


@pytest.mark.slow
async def test_what_a_process_started_ends_with_it(start):
    gateway = await start()
    provider = swaps(gateway)
    first = await provider.quote(request(17))
    with pytest.raises(UpstreamError):
        await provider.quote(request(1))
    await until(lambda: not runs(first))
    await until(lambda: swaps(gateway))
    second = await provider.quote(request(17))
    await gateway.stop()
    await until(lambda: not runs(second))


@pytest.mark.slow
async def test_a_flood_of_log_records_is_cut_short(start, caplog):
    gateway = await start()
    assert (await swaps(gateway).quote(request(18))).outputs
    await until(lambda: "logs more than 200 records in a second" in caplog.text)
    assert 0 < caplog.text.count(": flood") < 5_000
    named = "quoteway.plugin.naughty.n"
    assert not [name for name in logging.root.manager.loggerDict if name.startswith(named)]


FLOOD = """
    import os, sys, time
    from quoteway.host.isolation.link import frame

    end, record = int(sys.argv[1]), frame(("log", "x", 10, "x"))
    os.set_blocking(end, True)
    os.write(end, (1_000).to_bytes(4) if {drips} else record)
    while True:
        {send}
"""


@pytest.mark.slow
@pytest.mark.parametrize("drips", [False, True])
async def test_a_process_that_floods_or_drips_at_the_start_is_ended_in_time(start, drips):
    send = "os.write(end, bytes(1)); time.sleep(0.05)" if drips else "os.write(end, record)"
    gateway = await start(FLOOD.format(send=send, drips=drips), startup_timeout_s=3.0)
    assert gateway.ready
    assert entry(gateway).reason == "import_failed"
    assert "did not answer load within 3 s" in entry(gateway).detail


@pytest.mark.slow
async def test_a_blocked_process_blocks_nobody_else(start):
    gateway = await start()
    asleep = asyncio.create_task(swaps(gateway).quote(request(4)))
    (outcome,) = await gateway.registry.calls.ask_all(
        [swaps(gateway)], lambda p: p.quote(request()), verb="quote", timeout_s=0.2
    )
    assert outcome.kind == "timeout"
    assert (await gateway.tokens.find(4242, USD.address)).decimals == 6
    pid = entry(gateway).plugin._process.popen.pid
    await gateway.stop()
    assert not runs(pid)
    with contextlib.suppress(UpstreamError):
        await asleep


async def test_a_changed_module_is_changed_in_the_process_only(start):
    gateway = await start()
    assert (await swaps(gateway).quote(request(5))).outputs
    assert quoteway.guard.quotes.__dict__.get("check_quote", 1) is not None
    assert not hasattr(quoteway.guard, "broken")


@pytest.mark.parametrize("code", [7, 10], ids=["50 MB", "no model"])
async def test_an_answer_that_may_not_cross_costs_its_call_only(start, code):
    gateway = await start()
    provider = swaps(gateway)
    with pytest.raises(Exception, match="cannot be sent"):
        await provider.quote(request(code))
    assert (await provider.quote(request())).outputs[0].amount == 10**30
    assert entry(gateway).reason is None


@pytest.mark.slow
async def test_calls_that_swallow_cancellation_end_with_their_process(start):
    gateway = await start()
    provider = swaps(gateway)
    pid = (await provider.quote(request(12)))[0]
    calls = [asyncio.create_task(provider.quote(request(8))) for _ in range(70)]
    await provider.quote(request())
    for call in calls:
        call.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(each) for each in ended} <= {asyncio.CancelledError, UpstreamError}
    await until(lambda: entry(gateway).reason and not runs(pid))
    await until(lambda: swaps(gateway))
    assert (await provider.quote(request())).outputs[0].amount == 10**30


async def test_a_provider_that_has_its_plugins_name_isolates_the_plugin(start):
    gateway = await start(isolate=(), providers={"naughty": ProviderConfig(isolation="process")})
    assert (await swaps(gateway).quote(request(12)))[0] != os.getpid()


async def test_an_isolated_plugin_that_is_not_installed_is_an_error(start):
    gateway = await start(isolate=("naughty", "nobody"))
    assert not gateway.ready
    with pytest.raises(ConfigError, match=r"plugins\.isolate: no plugin is named 'nobody'"):
        gateway.load()


async def test_a_plugin_that_cannot_be_imported_is_refused_with_its_reason(start):
    gateway = await start("import a_module_that_nobody_has")
    assert entry(gateway).reason == "import_failed"
    assert "a_module_that_nobody_has" in entry(gateway).detail


async def test_the_process_of_a_refused_plugin_ends_with_the_gateway(start):
    describing = """
    from quoteway import hookimpl
    from quoteway.testing.fakes import FAKE_CALLS

    @hookimpl
    def quoteway_call_descriptions():
        return [FAKE_CALLS]
    """
    gateway = await start(describing)
    assert entry(gateway).reason == "unpinned_descriptions"
    assert gateway.described["naughty"] == (FAKE_CALLS,)
    pid = entry(gateway).plugin._process.popen.pid
    await gateway.stop()
    assert not runs(pid)


NODE = """
    import os
    from quoteway.testing.fakes import FakePlugin, MemoryRpc
    from quoteway import Network

    node = MemoryRpc({777}, {"net_version": lambda params: os._exit(7)}, provider_id="node")
    plugin = FakePlugin([node], networks=[Network("remote", 777, "Remote")])
"""


@pytest.mark.slow
async def test_a_network_is_not_ready_while_the_process_of_its_only_upstream_is_down(start):
    gateway = await start(NODE, "node", target="fake_fake_node_node:plugin")
    assert gateway.readiness() == []
    with pytest.raises((UpstreamError, TimeoutError)):
        async with asyncio.timeout(PATIENCE_S):
            await gateway.runtime.chain(777).request("net_version")
    assert await until(gateway.readiness) == ["no RPC upstream of remote is enabled (node: process_ended)"]
    remote = (await readiness(gateway, with_states=True)).states[0]
    assert remote.network.slug == "remote"
    assert remote.condition == Condition(Level.DEAD, (Why.PROCESS_ENDED,))
    await until(lambda: not gateway.readiness())


async def test_the_service_stays_ready_while_the_process_of_another_provider_is_down(start):
    gateway = await start()
    provider = swaps(gateway)
    with pytest.raises((UpstreamError, TimeoutError)):
        async with asyncio.timeout(PATIENCE_S):
            await provider.quote(request(1))
    await until(lambda: entry(gateway).reason == "process_ended")
    assert gateway.readiness() == []
    (testnet,) = (await readiness(gateway, with_states=True)).states
    assert testnet.capabilities[Capability.SWAP] == Condition(Level.DEAD, (Why.PROCESS_ENDED,))
    assert testnet.condition.level is Level.DEGRADED
