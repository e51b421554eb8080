"""pytest fixtures for plugin authors, found by pytest through the ``pytest11`` entry point.

``devnet``        the two local chains of ``quoteway-devnet`` on free ports, one pair per test process
``fresh_devnet``  the same, restored after the test
``make_gateway``  an async factory of started in-process gateways, stopped after the test
                  (pytest-asyncio with ``asyncio_mode = "auto"``)
``slow_node``     an async factory of proxies that answer for a node after a delay

Each file ``bundles/*.json`` in a folder of tests, which ``quoteway capture`` wrote, is a test: its request
gets the recorded answer again. It needs no chain and no network.

Imports are inside the fixtures, because pytest loads this module at every start.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

    MakeGateway = Callable[..., Awaitable[Gateway]]
    SlowNode = Callable[[str, float], Awaitable[str]]


# Rewrite the suites' assertions, so that failures show values as in test modules.
pytest.register_assert_rewrite("quoteway.testing.conformance")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects the bundles of recorded requests."""
    if file_path.suffix != ".json" or file_path.parent.name != "bundles":
        return None
    bundles: pytest.Collector = BundleFile.from_parent(parent, path=file_path)
    return bundles


class BundleFile(pytest.File):
    """A bundle as a file with one test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yields the test."""
        yield BundleItem.from_parent(self, name="replay")


class BundleItem(pytest.Item):
    """Runs the request of a bundle and fails when the answer is not the recorded one."""

    def runtest(self) -> None:
        """Replays the bundle with the installed plugins."""
        import asyncio

        from quoteway.engine.bundles import BundleError, read_bundle
        from quoteway.server.replay import replay

        try:
            found = asyncio.run(replay(read_bundle(self.path)))
        except BundleError as error:
            pytest.fail(str(error), pytrace=False)
        if found.differences:
            missing = [f"not recorded: {read}" for read in found.missing]
            pytest.fail("\n".join([*found.differences, *missing, *found.notes]), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Returns where the test is."""
        return self.path, None, f"bundle {self.path.name}"


@pytest.fixture(scope="session")
def devnet() -> Iterator[LocalChains]:
    """The running devnet. Tests that change its state use ``fresh_devnet``."""
    chains = pytest.importorskip("quoteway_devnet.chains", reason="needs the quoteway-devnet distribution")
    with chains.Devnet.running() as running:
        yield running


@pytest.fixture
def fresh_devnet(devnet: LocalChains) -> Iterator[LocalChains]:
    """The devnet, restored after the test to its state at the start."""
    with devnet.restored():
        yield devnet


@pytest.fixture
async def make_gateway() -> AsyncIterator[MakeGateway]:
    """``await make_gateway({"name": plugin}, **sections)`` returns a started gateway.

    ``plugins`` are modules or objects with hooks, by name. ``sections`` are members of
    ``quoteway.config.model.Config`` (``quotes=QuotesConfig(...)``), or ``config`` is a complete one.
    ``discover=True`` adds the installed plugins. Unless ``config`` or ``quotes`` is given, the competition
    timeout is 30 s, so that tests pass on a busy machine.
    """
    async with contextlib.AsyncExitStack() as stack:

        async def make(
            plugins: Any = None,
            *,
            config: Any = None,
            discover: bool = False,
            clock: Any = None,
            **sections: Any,
        ) -> Gateway:
            from quoteway.config.model import Config, QuotesConfig
            from quoteway.engine.gateway import Gateway
            from quoteway.testing.fakes import pinned

            sections.setdefault("quotes", QuotesConfig(competition_timeout_s=30.0))
            options = {"clock": clock} if clock is not None else {}
            config = pinned(config or Config(**sections), plugins or {})
            gateway = Gateway(config, plugins=plugins, discover=discover, **options)
            return await stack.enter_async_context(gateway.running())

        yield make


@pytest.fixture
async def slow_node() -> AsyncIterator[SlowNode]:
    """``await slow_node(url, delay_s)`` returns the URL of a local proxy that forwards requests to the node
    at ``url`` after ``delay_s`` seconds."""
    from quoteway.testing.slow_node import slow_node as run

    async with contextlib.AsyncExitStack() as stack:

        async def start(url: str, delay_s: float) -> str:
            return await stack.enter_async_context(run(url, delay_s))

        yield start
