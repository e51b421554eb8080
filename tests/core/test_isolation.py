"""Plugins in a process of their own: each test has a real child process."""

import asyncio
import contextlib
import logging
import os
import time

import pytest
import quoteway.guard.quotes
from distributions import install
from processes import runs
from quoteway.config.model import Config, PluginsConfig, ProviderConfig, QuotesConfig
from quoteway.deadlines import ends_at_s
from quoteway.errors import ConfigError, InvalidRequest, Reason, UpstreamError
from quoteway.evm.head import request_arrival
from quoteway.host.plugin_lock import lock_text
from quoteway.host.plugins import Plugins
from quoteway.host.runtime import Runtime
from quoteway.models import Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, ListedTokens, MemoryRpc

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USD = Token(4242, "0x1111111111111111111111111111111111111111", 6, "USD", "A dollar")
EUR = Token(4242, "0x2222222222222222222222222222222222222222", 18, "EUR", "A euro")
PATIENCE_S = 60

NAUGHTY = """
    import asyncio, logging, os, subprocess, sys, time
    from quoteway import InvalidRequest, Reason, UpstreamError, FieldError, hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    leak = []

    class Naughty(FixedRateSwap):
        async def quote(self, request):
            what = await self.does(request.slippage_bps)
            return what if what is not None else await super().quote(request)

        async def does(self, code):
            context = self._context
            if code == 1: os._exit(7)
            if code == 2:
                while True: leak.append(bytearray(1 << 20))
            if code == 3:
                while True: pass
            if code == 4: time.sleep(600)
            if code == 5:
                import quoteway.guard.quotes as guard
                guard.check_quote = None
                sys.modules["quoteway.guard"].broken = True
            if code == 6: raise ValueError("the canary is hunter2")
            if code == 7: return b"x" * 50_000_000
            if code == 8:
                while True:
                    try: await asyncio.sleep(600)
                    except asyncio.CancelledError: pass
            if code == 9: raise InvalidRequest(
                "no", fields=(FieldError("amount", Reason.AMOUNT_TOO_LOW, "is too low"),), limit=1 << 200)
            if code == 10: return object()
            if code == 11: context.log.warning("a warning of %s", context.plugin)
            if code == 12: return [os.getpid(), dict(os.environ), os.getppid()]
            if code == 13: return [await context.chain(4242).head(), await context.chain(4242).head()]
            if code == 14: return await context.token(4242, "0x1111111111111111111111111111111111111111")
            if code == 15: return []
            if code == 16: return context.now()
            if code == 17: return subprocess.Popen(["sleep", "600"]).pid
            if code == 18:
                for number in range(5_000):
                    logging.getLogger(f"quoteway.plugin.naughty.n{number}").warning("flood")

    @hookimpl
    def quoteway_swap_providers(context):
        return [Naughty(context, provider_id="naughty")]
"""


def request(code=0, amount=10**30):
    return SwapRequest(4242, 4242, EUR, USD, amount, WALLET, WALLET, code)


class Honest(FakePlugin):
    def __init__(self):
        rpc = MemoryRpc({4242}, tokens=[USD, EUR])
        super().__init__([rpc, ListedTokens([USD, EUR])], networks=[Network("testnet", 4242, "Testnet")])


@pytest.fixture
def start(tmp_path, monkeypatch, make_gateway):
    """Starts a gateway with an isolated plugin of this source beside honest ones."""
    monkeypatch.syspath_prepend(str(tmp_path))

    async def make(source=NAUGHTY, name="naughty", providers=None, target=None, **plugins):
        if source is not None:
            install(tmp_path, name, source, target=target)
        plugins.setdefault("isolate", (name,))
        plugins.setdefault("startup_timeout_s", 60.0)
        settings = PluginsConfig(load=(name, "honest"), **plugins)
        config = Config(
            plugins=settings, providers=providers or {}, quotes=QuotesConfig(competition_timeout_s=30.0)
        )
        return await make_gateway({"honest": Honest()}, config=config, discover=True)

    return make


def swaps(gateway):
    return gateway.registry.get(Capability.SWAP, "naughty")


def entry(gateway):
    return next(each for each in gateway.registry.plugins if each.name == "naughty")


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not (found := condition()):
            await asyncio.sleep(0.02)
    return found


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
    await until(lambda: not gateway.readiness())


async def test_the_service_stays_ready_while_the_process_of_another_provider_is_down(start):
    gateway = await start()
    provider = swaps(gateway)
    with pytest.raises((UpstreamError, TimeoutError)):
        async with asyncio.timeout(PATIENCE_S):
            await provider.quote(request(1))
    await until(lambda: entry(gateway).reason == "process_ended")
    assert gateway.readiness() == []


BESIDE = """
    from quoteway import hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    class Beside(FixedRateSwap):
        async def quote(self, request):
            async def made(): return self._context.time_left_s
            return [self._context.state["runs"], await made(), await self._cache.get("key", made)]

    @hookimpl
    def quoteway_swap_providers(context):
        context.state["runs"] = 0

        async def work():
            context.state["runs"] += 1

        context.every(0.001, work)
        provider = Beside(context, provider_id="naughty")
        provider._cache = context.cache(60)
        return [provider]
"""


async def test_work_caches_and_the_time_left_are_in_the_plugins_process(start):
    gateway = await start(BESIDE)
    ends_at_s.set(asyncio.get_running_loop().time() + 9)
    async with asyncio.timeout(PATIENCE_S):
        while (answer := await swaps(gateway).quote(request()))[0] < 3:
            await asyncio.sleep(0.01)
    _, left_s, cached = answer
    assert 0 < left_s <= 9
    assert cached is None, "what a cache makes is for all callers: it has no deadline of one"
