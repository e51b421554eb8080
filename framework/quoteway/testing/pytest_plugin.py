"""pytest fixtures for plugin authors, found by pytest through the ``pytest11`` entry point.

``devnet``        the two local chains of ``quoteway-devnet`` on free ports, one pair per test process
``fresh_devnet``  the same, put back after the test to the state it had before
``make_gateway``  an async factory of started in-process gateways, stopped after the test
                  (pytest-asyncio with ``asyncio_mode = "auto"``)
``slow_node``     an async factory of proxies that answer for a node after a delay

Nothing is imported before a fixture is asked for: pytest loads this module at every start.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

    MakeGateway = Callable[..., Awaitable[Gateway]]
    SlowNode = Callable[[str, float], Awaitable[str]]


# The suites' assertions show their values, as those of test modules do.
pytest.register_assert_rewrite("quoteway.testing.conformance")


@pytest.fixture(scope="session")
def devnet() -> Iterator[LocalChains]:
    """The running devnet. Tests that change its state use ``fresh_devnet``."""
    chains = pytest.importorskip("quoteway_devnet.chains", reason="needs the quoteway-devnet distribution")
    with chains.Devnet.running() as running:
        yield running


@pytest.fixture
def fresh_devnet(devnet: LocalChains) -> Iterator[LocalChains]:
    """The devnet in its state at the test's start, to which it is put back afterwards."""
    snapshot = devnet.snapshot()
    yield devnet
    devnet.revert(snapshot)


@pytest.fixture
async def make_gateway() -> AsyncIterator[MakeGateway]:
    """``await make_gateway({"name": plugin}, **sections)`` gives a started gateway.

    ``plugins`` are modules or objects with hooks, by name. ``sections`` are members of
    ``quoteway.config.model.Config`` (``quotes=QuotesConfig(...)``), or ``config`` a whole one;
    ``discover=True`` adds the installed plugins. Unless ``config`` or ``quotes`` says otherwise, a
    competition lasts up to 30 s: a test does not fail because the machine is busy.
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

            sections.setdefault("quotes", QuotesConfig(competition_timeout_s=30.0))
            options = {"clock": clock} if clock is not None else {}
            gateway = Gateway(config or Config(**sections), plugins=plugins, discover=discover, **options)
            return await stack.enter_async_context(gateway.running())

        yield make


@pytest.fixture
async def slow_node() -> AsyncIterator[SlowNode]:
    """``await slow_node(url, delay_s)`` gives the URL of a proxy on 127.0.0.1 that passes requests on to the
    node at ``url`` after ``delay_s`` seconds."""
    from quoteway.testing.slow_node import slow_node as run

    async with contextlib.AsyncExitStack() as stack:

        async def start(url: str, delay_s: float) -> str:
            return await stack.enter_async_context(run(url, delay_s))

        yield start
