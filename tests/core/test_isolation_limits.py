"""The process of an isolated plugin that uses too much of a processor is ended and started again."""

import asyncio
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from distributions import install, works
from quoteway.config.model import Config, PluginsConfig
from quoteway.host.isolation import process as processes
from quoteway.host.isolation.process import CPU_WINDOW_S, Process
from quoteway.models import Capability

PATIENCE_S = 60


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


async def test_the_processor_time_of_a_process_is_read():
    process = Process(512, 90, lambda *record: None)
    try:
        await until(lambda: process.cpu_s() > 0.05)  # it imports what it needs
    finally:
        process.kill()
    assert process.cpu_s() is None, "it has ended"


@pytest.mark.parametrize(("share", "is_over"), [(0.0, False), (0.49, False), (0.51, True), (2.0, True)])
def test_the_use_of_a_processor_is_averaged(monkeypatch, share, is_over):
    clock = SimpleNamespace(monotonic=Mock())
    monkeypatch.setattr(processes, "time", clock)
    process = Process.__new__(Process)
    process.cpu_percent, process._used = 50, processes.deque()
    said = []
    for second in range(100):
        clock.monotonic.return_value = float(second)
        process.cpu_s = Mock(return_value=10.0 + share * second)
        said.append(process.overuse())
    assert not any(said[: int(CPU_WINDOW_S)])
    assert any(said) == is_over
    assert not is_over or said[-1] == "it used more than 50 % of a processor for 30 s"


def test_a_busy_start_is_forgotten(monkeypatch):
    clock = SimpleNamespace(monotonic=Mock())
    monkeypatch.setattr(processes, "time", clock)
    process = Process.__new__(Process)
    process.cpu_percent, process._used = 50, processes.deque()
    for second in range(200):
        clock.monotonic.return_value = float(second)
        process.cpu_s = Mock(return_value=float(min(second, 14)))
        assert process.overuse() == ""


async def test_a_process_that_uses_too_much_is_started_again(tmp_path, monkeypatch, make_gateway):
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "busy", works("busy"))
    plugins = PluginsConfig(load=("busy",), isolate=("busy",), startup_timeout_s=60.0)
    gateway = await make_gateway(config=Config(plugins=plugins), discover=True)
    registry = gateway.registry
    (entry,) = [each for each in registry.plugins if each.name == "busy"]
    assert registry.get(Capability.TOKENS, "busy")
    overuse = "it used more than 90 % of a processor for 30 s"
    with monkeypatch.context() as patch:
        patch.setattr(Process, "overuse", lambda self: overuse)
        await until(lambda: overuse in (entry.detail or ""))
        assert entry.reason == "process_ended"
        assert not registry.get(Capability.TOKENS, "busy")
    await until(lambda: registry.get(Capability.TOKENS, "busy"))
