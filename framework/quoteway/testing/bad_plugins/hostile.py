"""Swap providers with a fault that costs others, as long as they run in the server's own process."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from quoteway import Address, Fee, Quote, SwapRequest
from quoteway.evm.permit2 import ADDRESS as PERMIT2

from .row import BadPlugin, provider
from .swaps import SHORT_S, BadSwap, OwnNetworks, in_quote, keep_files, keep_tasks, keep_threads, raising

MANY = 200_000


class OwnBaseException(BaseException):
    """Not an ``Exception``, so that ``except Exception`` does not catch it."""


def cancel_all(provider: BadSwap) -> None:
    for task in asyncio.all_tasks():
        task.cancel()


async def close_session(provider: BadSwap) -> None:
    await provider.context.http.close()


def compute(provider: BadSwap) -> None:
    ends_at = time.monotonic() + SHORT_S
    while time.monotonic() < ends_at:
        math.isqrt(1 << 4_096)


def change_models(provider: BadSwap) -> None:
    type.__setattr__(Quote, "outputs", property(lambda quote: ()))


def replace_guard(provider: BadSwap) -> None:
    from quoteway.guard import calldata

    for name in [name for name, member in vars(calldata).items() if inspect.isfunction(member)]:
        setattr(calldata, name, lambda *args, **named: None)


def compute_forever(provider: BadSwap) -> None:
    while True:
        math.isqrt(1 << 4_096)


def leak(provider: BadSwap) -> None:
    provider.kept.append(os.urandom(50_000_000))


def change_request(name: str) -> Callable[..., Any]:
    """A provider that writes into the request that all providers get."""

    class Writes(BadSwap):
        async def quote(self, request: SwapRequest) -> Quote | None:
            object.__setattr__(request, name, 1)
            return await super().quote(request)

    return Writes


class BlocksInHealthy(BadSwap):
    async def healthy(self) -> bool | None:
        time.sleep(SHORT_S)  # noqa: ASYNC251 - that is the fault
        return True


class EndlessSpenders(BadSwap):
    def spenders(self, chain_id: int) -> Sequence[Address]:
        def forever() -> Iterator[Address]:
            while True:
                yield PERMIT2

        return forever()  # type: ignore[return-value]


class NetworksBlock(OwnNetworks):
    def _of(self) -> frozenset[int]:
        time.sleep(SHORT_S)
        return self._served


HOSTILE: tuple[BadPlugin, ...] = (
    BadPlugin(
        "own-base-exception",
        "quote raises what is no Exception",
        *("itself", "attempts"),
        provider(BadSwap, before=raising(OwnBaseException)),
    ),
    BadPlugin(
        "interrupts",
        "quote raises KeyboardInterrupt",
        *("itself", "attempts"),
        provider(BadSwap, before=raising(KeyboardInterrupt)),
    ),
    BadPlugin(
        "writes-the-request",
        "sets the amount of the request to 1",
        *("others' answers", "attempts"),
        provider(change_request("amount_in")),
        "process",
    ),
    BadPlugin(
        "closes-the-session",
        "closes the HTTP session that all plugins share",
        *("others' answers", "log"),
        provider(BadSwap, before=close_session),
        "process",
    ),
    BadPlugin(
        "cancels-all-tasks",
        "cancels every task of the loop",
        *("others' answers", "attempts"),
        provider(BadSwap, before=in_quote(cancel_all)),
        "process",
    ),
    BadPlugin(
        "changes-the-models",
        "replaces a member of the class Quote",
        *("others' answers", "log"),
        provider(BadSwap, before=in_quote(change_models)),
        "process",
    ),
    BadPlugin(
        "replaces-the-guard",
        "replaces a function of the guard",
        *("others' answers", "log"),
        provider(BadSwap, before=in_quote(replace_guard)),
        "process",
    ),
    BadPlugin(
        "endless-spenders",
        "spenders yields for ever",
        *("itself", "attempts"),
        provider(EndlessSpenders),
    ),
    BadPlugin(
        "sleeps-in-quote",
        "quote calls time.sleep",
        *("blocks the loop", "log"),
        provider(BadSwap, before=in_quote(lambda own: time.sleep(SHORT_S))),
        "process",
    ),
    BadPlugin(
        "computes-in-quote",
        "quote computes without a pause",
        *("blocks the loop", "log"),
        provider(BadSwap, before=in_quote(compute)),
        "process",
    ),
    BadPlugin(
        "computes-for-ever",
        "quote never ends and never pauses",
        *("blocks the loop for ever", "log"),
        provider(BadSwap, before=in_quote(compute_forever)),
        "process",
    ),
    BadPlugin(
        "keeps-files",
        "keeps 100 files open a quote",
        *("others' answers", "nowhere"),
        provider(BadSwap, before=in_quote(keep_files)),
        "process",
    ),
    BadPlugin(
        "keeps-tasks",
        "starts 1,000 tasks a quote",
        *("others' answers", "nowhere"),
        provider(BadSwap, before=in_quote(keep_tasks)),
        "process",
    ),
    BadPlugin(
        "keeps-memory",
        "keeps 10 MB a quote",
        *("others' answers", "nowhere"),
        provider(BadSwap, before=in_quote(lambda own: own.kept.append(bytearray(10_000_000)))),
        "process",
    ),
    BadPlugin(
        "logs-a-megabyte",
        "logs a megabyte a quote",
        *("others' answers", "nowhere"),
        provider(BadSwap, before=in_quote(lambda own: own.context.log.error("x" * 1_000_000))),
        "process",
    ),
    BadPlugin(
        "keeps-threads",
        "starts 20 threads a quote",
        *("others' answers", "nowhere"),
        provider(BadSwap, before=in_quote(keep_threads)),
        "process",
    ),
    BadPlugin(
        "leaks",
        "keeps 50 MB a quote",
        *("ends the process", "log"),
        provider(BadSwap, before=in_quote(leak)),
        "process",
    ),
    BadPlugin(
        "sleeps-in-healthy",
        "healthy calls time.sleep",
        "blocks the loop",
        "log",
        provider(BlocksInHealthy),
        "process",
    ),
    BadPlugin(
        "sleeps-in-networks",
        "networks calls time.sleep",
        "blocks the loop",
        "log",
        provider(NetworksBlock),
        "process",
    ),
    BadPlugin(
        "huge-fees",
        "a quote has 200,000 fees",
        *("itself", "attempts"),
        provider(
            BadSwap,
            change=lambda quote: replace(quote, fees=(Fee("lp", quote.outputs[0].token, 1, True),) * MANY),
        ),
    ),
    BadPlugin(
        "stops-the-loop",
        "quote calls loop.stop",
        *("ends the process", "log"),
        provider(BadSwap, before=in_quote(lambda own: asyncio.get_running_loop().stop())),
        "process",
    ),
    BadPlugin(
        "ends-the-process",
        "quote calls os._exit",
        *("ends the process", "log"),
        provider(BadSwap, before=in_quote(lambda own: os._exit(7))),
        "process",
    ),
    BadPlugin(
        "ignores-sigterm",
        "quote ignores SIGTERM for the process",
        *("ends the process", "log"),
        provider(BadSwap, before=in_quote(lambda own: signal.signal(signal.SIGTERM, signal.SIG_IGN))),
        "process",
    ),
)
