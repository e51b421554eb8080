"""Swap providers with one fault. Apart from it, each quotes and builds as the honest router does."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from quoteway import Address, Build, Context, Fee, Gas, Quote, SealedQuote, SwapRequest
from quoteway.evm.permit2 import ADDRESS as PERMIT2
from quoteway.testing.fakes import RouterSwap

from .row import BadPlugin, provider

SHORT_S = 0.3
"""How long a fault blocks the loop: enough to be seen, and short enough to test many."""
SLOW_S = 1.0
"""How long a slow quote takes: within a competition, and longer than anybody should wait."""
LONG_S = 5.0
"""How long what is left running runs, and a lifespan ignores its cancellation."""
IGNORES_S = 15.0
"""How long a quote ignores its cancellation: longer than a competition."""
HUGE_TEXT: Any = "x" * 1_000_000

Fault = Callable[["BadSwap"], Awaitable[Any]]


class BadSwap(RouterSwap):
    """Swaps through the v2 router of the first network that has one.

    ``before`` runs at the start of a quote, ``change`` makes another answer of the right quote and ``built``
    another one of the right build. ``percent`` is what it promises of the router's amount: with more than
    100 it would win, so its build is asked for. A quote of less than that of the others is not simulated,
    which would cost time however honest it is.
    """

    def __init__(
        self,
        context: Context,
        name: str,
        *,
        before: Fault | None = None,
        change: Callable[[Quote], Any] = lambda quote: quote,
        built: Callable[[Build], Any] | None = None,
        percent: int = 98,
    ) -> None:
        routers = {
            network.chain_id: address
            for network in context.networks
            for address, kind in network.contracts.items()
            if kind == "uniswap.v2-router"
        }
        chain_id, router = next(iter(routers.items()))
        super().__init__(context, chain_id, router, provider_id=name)
        self.context = context
        self.kept: list[object] = []
        self._before, self._change, self._built, self._percent = before, change, built, percent

    async def quote(self, request: SwapRequest) -> Quote | None:
        if self._before is not None:
            await self._before(self)
        quote = await super().quote(request)
        if quote is None:
            return None
        changed: Quote | None = self._change(_promising(quote, self._percent))
        return changed

    async def build(self, sealed: SealedQuote) -> Build:
        build = await super().build(sealed)
        if self._built is None:
            return build
        changed: Build = self._built(build)
        return await changed if isinstance(changed, Awaitable) else changed


def _promising(quote: Quote, percent: int) -> Quote:
    (leg,) = quote.outputs
    amount_min = None if leg.amount_min is None else leg.amount_min * percent // 100
    return replace(quote, outputs=(replace(leg, amount=leg.amount * percent // 100, amount_min=amount_min),))


def _output(quote: Quote, **members: Any) -> Quote:
    (leg,) = quote.outputs
    return replace(quote, outputs=(replace(leg, **members),))


# --- what it does instead of answering ----------------------------------------------------------------------


async def hang(provider: BadSwap) -> None:
    await asyncio.Event().wait()


async def dawdle(provider: BadSwap) -> None:
    await asyncio.sleep(SLOW_S)


async def ignore_cancellation(provider: BadSwap) -> None:
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + IGNORES_S
    while loop.time() < ends_at:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.1)


def raising(error: type[BaseException]) -> Fault:
    async def fault(provider: BadSwap) -> None:
        raise error("the canary is hunter2")

    return fault


async def recurse(provider: BadSwap) -> None:
    await recurse(provider)


def in_quote(action: Callable[[BadSwap], object]) -> Fault:
    """Returns a fault of synchronous code."""

    async def fault(provider: BadSwap) -> None:
        action(provider)

    return fault


def keep_files(provider: BadSwap) -> None:
    provider.kept += [open(os.devnull) for _ in range(100)]  # noqa: SIM115 - that is the fault


def keep_threads(provider: BadSwap) -> None:
    for _ in range(20):
        threading.Thread(target=time.sleep, args=(LONG_S,), daemon=True).start()


def keep_tasks(provider: BadSwap) -> None:
    provider.kept += [asyncio.create_task(asyncio.sleep(LONG_S)) for _ in range(1_000)]


# --- what its other methods do ------------------------------------------------------------------------------


class RaisesEverywhere(BadSwap):
    """Raises in every method that the core uses."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("contracts", "spenders", "serves", "healthy", "quote", "build"):
            if sys._getframe(1).f_globals.get("__name__") == "quoteway.host.registry":
                return super().__getattribute__(name)  # the check at start-up
            raise RuntimeError("the canary is hunter2")
        return super().__getattribute__(name)


class HangsInHealthy(BadSwap):
    async def healthy(self) -> bool | None:
        await asyncio.Event().wait()
        return None


class ServesRaises(BadSwap):
    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        raise RuntimeError("the canary is hunter2")


class TakesAnId(BadSwap):
    """Takes the id of the honest provider with its first quote, then fails: whose faults are these?"""

    async def quote(self, request: SwapRequest) -> Quote | None:
        self.id, self.title = "honest", "Honest"
        raise RuntimeError("the canary is hunter2")


class ContractsAreNone(BadSwap):
    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return None  # type: ignore[return-value]


class OwnNetworks(BadSwap):
    started = False

    @property
    def networks(self) -> frozenset[int]:
        return self._of()

    @networks.setter
    def networks(self, value: frozenset[int]) -> None:
        self._served = value

    @abc.abstractmethod
    def _of(self) -> frozenset[int]:
        """Returns the networks, or fails."""


class NetworksRaise(OwnNetworks):
    """``networks`` can be read at start-up and raises afterwards."""

    reads = 0

    def _of(self) -> frozenset[int]:
        self.reads += 1
        if self.reads > 2:
            raise RuntimeError("the canary is hunter2")
        return self._served


def _row(name: str, fault: str, **options: Any) -> BadPlugin:
    """A provider that fails by itself and is named in ``attempts``."""
    return BadPlugin(name, fault, "itself", "attempts", provider(BadSwap, **options))


def _harmless(name: str, fault: str, action: Callable[[BadSwap], object]) -> BadPlugin:
    return BadPlugin(name, fault, "itself", "nowhere", provider(BadSwap, before=in_quote(action)))


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


SWAPS: tuple[BadPlugin, ...] = (
    _row("hangs-in-quote", "quote never ends", before=hang),
    _row("ignores-cancellation", "quote swallows its cancellation", before=ignore_cancellation),
    BadPlugin("slow-in-quote", "quote takes 1 s", "itself", "nowhere", provider(BadSwap, before=dawdle)),
    _row("raises-in-quote", "quote raises", before=raising(RuntimeError)),
    _row("exits-in-quote", "quote calls sys.exit", before=raising(SystemExit)),
    _row("cancels-itself", "quote raises CancelledError", before=raising(asyncio.CancelledError)),
    _row("recurses", "quote calls itself without end", before=recurse),
    _row("runs-out-of-memory", "quote raises MemoryError", before=raising(MemoryError)),
    _row("ends-an-iteration", "quote raises StopAsyncIteration", before=raising(StopAsyncIteration)),
    _row("answers-text", "quote returns a string", change=lambda quote: "a quote"),
    _row("answers-a-coroutine", "quote returns a function to call", change=lambda quote: lambda: quote),
    _row(
        "answers-a-generator",
        "quote returns a generator",
        change=lambda quote: (leg for leg in quote.outputs),
    ),
    _row("answers-a-list", "quote returns several quotes", change=lambda quote: [quote, quote]),
    _row("promises-1e30", "quotes 1e30 base units", change=lambda quote: _output(quote, amount=10**30)),
    _row("promises-double", "quotes and builds twice the amount", percent=200),
    _row("amount-is-nan", "the amount is not a number", change=lambda quote: _output(quote, amount=math.nan)),
    _row("amount-is-negative", "the amount is negative", change=lambda quote: _output(quote, amount=-1)),
    _row(
        "amount-is-too-big",
        "the amount is above uint256",
        change=lambda quote: _output(quote, amount=1 << 256),
    ),
    BadPlugin(
        "gas-is-negative",
        "quotes nine tenths, and negative gas",
        *("itself", "nowhere"),
        provider(BadSwap, percent=90, change=lambda quote: replace(quote, gas=Gas(-(10**9), 10**9))),
    ),
    BadPlugin(
        "leaves-gas-out",
        "quotes nine tenths, and no gas",
        *("itself", "nowhere"),
        provider(BadSwap, percent=90, change=lambda quote: replace(quote, gas=None)),
    ),
    _row(
        "pays-somebody-else",
        "the output is paid to Permit2",
        change=lambda quote: _output(quote, account=PERMIT2),
    ),
    _row(
        "huge-plan",
        "its plan has 50 MB",
        percent=101,
        change=lambda q: replace(q, plan={"x": "x" * 50_000_000}),
    ),
    _row(
        "deep-plan",
        "its plan is 100,000 lists deep",
        percent=101,
        change=lambda q: replace(q, plan={"x": _deep()}),
    ),
    _row(
        "plan-is-no-json",
        "its plan holds an object",
        percent=101,
        change=lambda q: replace(q, plan={"x": object()}),
    ),
    _row(
        "huge-text",
        "a fee's kind has a megabyte",
        change=lambda quote: replace(quote, fees=(Fee(HUGE_TEXT, quote.outputs[0].token, 1, True),)),
    ),
    _row(
        "block-is-made-up",
        "quotes at a block that is none",
        percent=101,
        change=lambda quote: replace(
            quote, block=replace(quote.block, number=quote.block.number + 1_000, hash="0x" + "ab" * 32)
        ),
    ),
    _row(
        "other-plan",
        "build looks for a member that its plans do not have",
        percent=101,
        built=lambda build: {"path": 1}["route"],
    ),
    _row("hangs-in-build", "build never ends", percent=101, built=lambda build: asyncio.Event().wait()),
    _row("builds-text", "build returns a string", percent=101, built=lambda build: "a build"),
    _row("builds-nothing", "build has no step", percent=101, built=lambda build: replace(build, steps=())),
    _row(
        "builds-another-call",
        "the calldata is random",
        percent=101,
        built=lambda build: replace(build, steps=(replace(build.steps[0], data=b"\xde\xad\xbe\xef" * 33),)),
    ),
    BadPlugin("raises-everywhere", "every method raises", "itself", "log", provider(RaisesEverywhere)),
    BadPlugin("takes-an-id", "takes another id later", "itself", "attempts", provider(TakesAnId)),
    BadPlugin("serves-raises", "serves raises", "itself", "log", provider(ServesRaises)),
    BadPlugin("networks-raise", "networks raises after the start", "itself", "log", provider(NetworksRaise)),
    BadPlugin(
        "contracts-are-none",
        "contracts returns None",
        *("itself", "attempts"),
        provider(ContractsAreNone, percent=101),
    ),
    BadPlugin("hangs-in-healthy", "healthy never ends", "itself", "nowhere", provider(HangsInHealthy)),
    _harmless("writes-to-stdout", "writes 100 kB to stdout", lambda own: sys.stdout.write("x" * 100_000)),
    _harmless(
        "sets-a-loop-policy", "sets an event loop policy", lambda own: asyncio.set_event_loop_policy(None)
    ),
)
