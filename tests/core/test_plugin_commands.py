"""Commands of plugins: run with the plugin's context while the RPC upstreams run, and nothing else."""

import os
import signal
from contextlib import asynccontextmanager

import pytest
from quoteway import CommandRunner, ConfigError
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.networks import Network
from quoteway.server import plugin_commands
from quoteway.server.plugin_commands import PluginCommandRunner
from quoteway.testing.fakes import FakePlugin, MemoryRpc


class Lived:
    """Counts entered lifespans, by plugin."""

    def __init__(self):
        self.entered = []
        self.left = []

    @asynccontextmanager
    async def lifespan(self, context):
        self.entered.append(context.plugin)
        yield
        self.left.append(context.plugin)


@pytest.fixture
def lived(monkeypatch):
    """Commands run in a gateway of two plugins: one has the RPC upstream, the other the command."""
    lived = Lived()
    network = Network("devnet", 31337, "Devnet")

    def gateway(config):
        served = FakePlugin([MemoryRpc({31337})], networks=[network], lifespan=lived.lifespan)
        plugins = {"served": served, "worker": FakePlugin(lifespan=lived.lifespan)}
        return Gateway(Config(), plugins=plugins, discover=False)

    monkeypatch.setattr("quoteway.engine.gateway.Gateway", gateway)
    return lived


def test_work_reads_chains_while_only_the_upstreams_run(lived):
    seen = []

    async def work(context):
        seen.append((context.plugin, (await context.chain(31337).head()).number, list(lived.entered)))

    runner: CommandRunner = PluginCommandRunner()
    runner.run("worker", work)
    assert seen == [("worker", 1, ["served"])]
    assert lived.left == ["served"]


def test_errors_of_the_work_are_the_commands_and_everything_is_closed(lived):
    async def work(context):
        raise ConfigError("nothing to do")

    with pytest.raises(ConfigError, match="nothing to do"):
        PluginCommandRunner().run("worker", work)
    assert lived.left == ["served"]


def test_a_signal_cancels_the_work_and_it_ends_in_order(lived):
    ended = []

    async def work(context):
        import asyncio

        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(context.plugin)

    PluginCommandRunner().run("worker", work)
    assert ended == ["worker"]
    assert lived.left == ["served"]


def test_a_plugin_that_cannot_be_used_is_named(lived):
    async def work(context):
        raise AssertionError("not run")

    with pytest.raises(ConfigError, match="plugin 'missing' cannot be used: it is not installed"):
        PluginCommandRunner().run("missing", work)


def test_the_module_imports_no_engine_before_a_command_runs():
    assert "Gateway" not in vars(plugin_commands)
