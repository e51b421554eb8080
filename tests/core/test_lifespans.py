"""Plugins that fail or hang while they start or stop cost only themselves."""

import asyncio
import sys

import pytest
from distributions import works
from quoteway.config.model import Config, PluginsConfig, ServerConfig
from quoteway.engine.gateway import Gateway
from quoteway.host.states import NotEnabled, State
from quoteway.models import Capability

LIFESPAN = """
    import asyncio, contextlib

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        {start}
        yield
        {stop}
"""
SWALLOW = """
        ends_at = asyncio.get_running_loop().time() + 1.5
        while asyncio.get_running_loop().time() < ends_at:
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                pass
"""


@pytest.mark.looptime
@pytest.mark.parametrize(
    "start",
    [
        "raise RuntimeError('canary')",
        "raise SystemExit(1)",
        "raise KeyboardInterrupt",
        "raise BaseException",
        "raise asyncio.CancelledError",
        "await asyncio.sleep(60)",
        SWALLOW,
    ],
)
async def test_a_start_that_fails_or_hangs_costs_only_its_plugin(installed, no_unretrieved, start):
    installed("bad", works("bad") + LIFESPAN.format(start=start, stop="pass"))
    installed("good", works("good") + LIFESPAN.format(start="await asyncio.sleep(0.05)", stop="pass"))
    config = Config(plugins=PluginsConfig(load=("bad", "good"), startup_timeout_s=0.5))
    gateway = Gateway(config)
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with gateway.running():
        assert loop.time() - started < 1.2
        plugins = {entry.name: entry for entry in gateway.registry.plugins}
        assert plugins["bad"].reason is NotEnabled.STARTUP_FAILED
        assert plugins["good"].state is State.ENABLED
        assert [p.id for p in gateway.registry.enabled(Capability.TOKENS)] == ["good"]
        assert gateway.ready
        await asyncio.sleep(0)
        stop_at = loop.time()
    assert loop.time() - stop_at < 3
    assert plugins["bad"].state is not State.ENABLED


BLOCKS = "import time; time.sleep(2.5)"
AT_IMPORT = "\n    " + BLOCKS
IN_HOOK = f"""
    @hookimpl
    def quoteway_price_sources():
        {BLOCKS}
        return []
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (LIFESPAN.format(start=BLOCKS, stop="pass"), "its lifespan blocked the server"),
        (AT_IMPORT, "its import took"),
        (IN_HOOK, "quoteway_price_sources took"),
    ],
    ids=["lifespan", "import", "hook"],
)
async def test_a_plugin_that_blocks_while_it_starts_uses_up_its_own_time(installed, fault, named):
    installed("bad", works("bad") + fault)
    installed("good", works("good") + LIFESPAN.format(start="await asyncio.sleep(0.05)", stop="pass"))
    config = Config(plugins=PluginsConfig(load=("bad", "good"), startup_timeout_s=2.0))
    async with Gateway(config).running() as gateway:
        plugins = {entry.name: entry for entry in gateway.registry.plugins}
        assert plugins["bad"].reason is NotEnabled.STARTUP_FAILED
        assert named in plugins["bad"].detail
        assert plugins["good"].state is State.ENABLED
        assert [p.id for p in gateway.registry.enabled(Capability.TOKENS)] == ["good"]


def test_an_import_that_raises_the_recursion_limit_raises_it_for_nobody(installed):
    before = sys.getrecursionlimit()
    installed("deep", works("deep") + "\n    import sys; sys.setrecursionlimit(100_000)")
    gateway = Gateway(Config(plugins=PluginsConfig(load=("deep",))))
    gateway.load()
    plugins = {entry.name: entry for entry in gateway.registry.plugins}
    assert plugins["deep"].state is State.CONFIGURED
    assert sys.getrecursionlimit() == before


@pytest.mark.looptime
@pytest.mark.parametrize("stop", ["raise RuntimeError('canary')", "await asyncio.sleep(60)", SWALLOW])
async def test_an_end_that_fails_or_hangs_holds_nobody(installed, stop):
    installed("bad", works("bad") + LIFESPAN.format(start="pass", stop=stop))
    installed(
        "good",
        works("good") + LIFESPAN.format(start="pass", stop="good_left = True; globals().update(left=1)"),
    )
    config = Config(plugins=PluginsConfig(load=("bad", "good")), server=ServerConfig(shutdown_timeout_s=0.3))
    gateway = Gateway(config)
    async with gateway.running():
        plugins = {entry.name: entry for entry in gateway.registry.plugins}
        assert plugins["bad"].state is State.ENABLED
        loop = asyncio.get_running_loop()
        stop_at = loop.time()
    assert loop.time() - stop_at < 1.0
    assert plugins["good"].plugin.left == 1
    assert plugins["bad"].reason is None  # it did start
