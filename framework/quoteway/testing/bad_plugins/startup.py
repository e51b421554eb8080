"""Plugins whose hooks or lifespans have one fault."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from marshmallow import Schema

from quoteway import Context, SecretField, SwapProvider, hookimpl
from quoteway.testing.fakes import FakePlugin

from .row import BadPlugin
from .swaps import LONG_S, SHORT_S, BadSwap


class AsyncHook:
    @hookimpl
    async def quoteway_swap_providers(self, context: Context) -> list[Any]:
        return []


class UnknownHook:
    @hookimpl
    def quoteway_nonsense(self, context: Context) -> list[Any]:
        return []


class WrongArgument:
    @hookimpl
    def quoteway_swap_providers(self, contxt: Context) -> list[Any]:
        return []


class NeedsASecret(Schema):
    key = SecretField(required=True)


class LacksASecret:
    @hookimpl
    def quoteway_settings(self) -> type[Schema]:
        return NeedsASecret


class WrongTypes(BadSwap):
    networks: Any = "31337"

    def __init__(self, context: Context, name: str) -> None:
        super().__init__(context, name)
        self.networks = "31337"


class Hookless:
    """No function is a hook."""


class BadHook:
    """``answer`` makes what its hook for swap providers returns."""

    def __init__(self, answer: Callable[[Context], Any]) -> None:
        self._answer = answer

    @hookimpl
    def quoteway_swap_providers(self, context: Context) -> Any:
        return self._answer(context)


class BadObserver:
    """Does ``action`` for each call of a provider."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action

    @hookimpl
    def quoteway_observe(self, event: Mapping[str, Any]) -> None:
        self._action()


class SynchronousQuote(SwapProvider):
    id, title, networks = "synchronous-quote", "Synchronous", frozenset({31337})

    def quote(self, request: Any) -> None:  # type: ignore[override]
        return None

    async def build(self, sealed: Any) -> Any:
        return None


class Unfinished(SwapProvider):
    """Lacks ``quote`` and ``build``."""

    id, title = "unfinished", "Unfinished"


def fail() -> Any:
    raise RuntimeError("the canary is hunter2")


def leave() -> Any:
    raise SystemExit("the canary is hunter2")


def interrupt() -> Any:
    raise KeyboardInterrupt("the canary is hunter2")


def hook(answer: Callable[[Context], Any]) -> Callable[[str], object]:
    return lambda name: BadHook(answer)


def twice(name: str) -> object:
    return BadHook(lambda context: [BadSwap(context, name), BadSwap(context, name)])


def lifespan(manager: Callable[[Context], Any]) -> Callable[[str], object]:
    return lambda name: FakePlugin([lambda context: BadSwap(context, name)], lifespan=manager)


@contextlib.asynccontextmanager
async def raises(context: Context) -> AsyncIterator[None]:
    raise RuntimeError("the canary is hunter2")
    yield


@contextlib.asynccontextmanager
async def interrupts(context: Context) -> AsyncIterator[None]:
    raise KeyboardInterrupt("the canary is hunter2")
    yield


@contextlib.asynccontextmanager
async def hangs(context: Context) -> AsyncIterator[None]:
    await asyncio.Event().wait()
    yield


@contextlib.asynccontextmanager
async def ignores_cancellation(context: Context) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + LONG_S
    while loop.time() < ends_at:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.1)
    yield


@contextlib.asynccontextmanager
async def blocks(context: Context) -> AsyncIterator[None]:
    time.sleep(SHORT_S)  # noqa: ASYNC251 - that is the fault
    yield


def sleeping_hook(context: Context) -> list[Any]:
    time.sleep(SHORT_S)
    return [BadSwap(context, "hook-sleeps")]


class DocsRaise(BadSwap):
    @property
    def docs(self) -> str:  # type: ignore[override]
        raise RuntimeError("the canary is hunter2")


class QuotaIsText(BadSwap):
    has_quota = "no"  # type: ignore[assignment]


def endless_hook(context: Context) -> Iterator[Any]:
    while True:
        yield BadSwap(context, "endless-hook")


def _refused(name: str, fault: str, plugin: Callable[[str], object]) -> BadPlugin:
    return BadPlugin(name, fault, "start-up", "providers", plugin)


STARTUP: tuple[BadPlugin, ...] = (
    _refused("async-hook", "a hook is async", lambda name: AsyncHook()),
    _refused("unknown-hook", "implements a hook that does not exist", lambda name: UnknownHook()),
    _refused("no-hook", "implements no hook", lambda name: Hookless()),
    _refused("wrong-argument", "a hook takes an argument that does not exist", lambda name: WrongArgument()),
    _refused("lacks-a-secret", "a setting that it needs is not configured", lambda name: LacksASecret()),
    _refused("twice-one-id", "two of its providers have one id", twice),
    _refused("wrong-types", "the networks are a string", hook(lambda context: [WrongTypes(context, "x")])),
    _refused("hook-fails", "a hook raises", hook(lambda context: fail())),
    _refused("hook-interrupts", "a hook raises KeyboardInterrupt", hook(lambda context: interrupt())),
    _refused("lifespan-interrupts", "the lifespan raises KeyboardInterrupt", lifespan(interrupts)),
    _refused("hook-exits", "a hook calls sys.exit", hook(lambda context: leave())),
    _refused("hook-answers-text", "a hook returns a string", hook(lambda context: "a provider")),
    _refused("endless-hook", "a hook yields for ever", hook(endless_hook)),
    _refused("docs-raise", "the property docs raises", hook(lambda context: [DocsRaise(context, "x")])),
    _refused("quota-is-text", "has_quota is a text", hook(lambda context: [QuotaIsText(context, "x")])),
    _refused("hook-answers-none", "a hook returns None in a list", hook(lambda context: [None])),
    _refused(
        "synchronous-quote", "quote is no coroutine function", hook(lambda context: [SynchronousQuote()])
    ),
    _refused("unfinished", "lacks abstract methods", hook(lambda context: [Unfinished()])),  # type: ignore[abstract]
    _refused("bad-id", "the id is no id", hook(lambda context: [BadSwap(context, "Not An Id")])),
    _refused("lifespan-fails", "the lifespan raises", lifespan(raises)),
    _refused("lifespan-hangs", "the lifespan is never entered", lifespan(hangs)),
    _refused(
        "lifespan-ignores-cancellation",
        "the lifespan swallows its cancellation",
        lifespan(ignores_cancellation),
    ),
    BadPlugin("observer-fails", "an observer raises", "itself", "log", lambda name: BadObserver(fail)),
    BadPlugin(
        "observer-exits", "an observer calls sys.exit", "itself", "log", lambda name: BadObserver(leave)
    ),
    BadPlugin(
        "squats-an-id",
        "claims the id of another provider",
        *("start-up", "providers"),
        hook(lambda context: [BadSwap(context, "uniswap")]),
    ),
    BadPlugin(
        "observer-sleeps",
        "an observer calls time.sleep",
        *("itself", "nowhere"),
        lambda name: BadObserver(lambda: time.sleep(SHORT_S)),
    ),
    BadPlugin(
        "hook-sleeps", "a hook calls time.sleep", "blocks the loop", "log", hook(sleeping_hook), "process"
    ),
    BadPlugin(
        "lifespan-sleeps",
        "the lifespan calls time.sleep",
        "blocks the loop",
        "log",
        lifespan(blocks),
        "process",
    ),
)
