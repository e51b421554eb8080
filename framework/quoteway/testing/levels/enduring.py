"""Level 2: faults of nodes, cancellation, a blocked event loop, leaks and secrets, in every method."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import traceback
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from quoteway import Capability, GatewayError, RpcError, UpstreamError
from quoteway.testing.conformance.provider import MAX_BLOCK_S, longest_block, one_longest_block
from quoteway.testing.levels.calls import Call, hang, reads_of, sealed_quote, upstreams
from quoteway.testing.levels.check import TRANSACTIONS, Check, Failed, NotApplicable, require
from quoteway.testing.levels.recording import recording
from quoteway.testing.levels.subject import Subject

_COLD_BLOCK_S = 2.0
"""How long the first call of a method may block the loop: it may import its modules."""
_CANCEL_S = 3.0
_ROUNDS = 12
_REPEATED = ("quote", "tokens", "prices", "pools", "vaults", "routes", "forward", "series", "submit")
"""The methods that are called often, and must keep nothing of a call."""
_MOST_LEAKED = 200_000
"""Bytes that a call may keep, on average of some calls after the first ones."""
_AGED_S = 25
_BUILD_S = 10.0


async def _calls(subject: Subject) -> list[Call]:
    calls = [call async for call in reads_of(subject)]
    if subject.cases:
        sealed = await sealed_quote(subject, subject.cases[0])
        calls.append(("build", lambda: subject.provider.build(sealed)))
    return calls


async def first_calls_do_not_block_the_loop(subject: Subject) -> None:
    async for name, call in reads_of(subject):
        kept_s = await one_longest_block(lambda call=call: _quietly(call))  # type: ignore[misc]
        require(kept_s < _COLD_BLOCK_S, f"the first {name}() blocks the event loop for {kept_s:.1f} s")


async def no_method_blocks_the_loop(subject: Subject) -> None:
    for name, call in await _calls(subject):
        await _quietly(call)
        kept_s = await longest_block(lambda call=call: _quietly(call))  # type: ignore[misc]
        require(kept_s < MAX_BLOCK_S, f"{name}() blocks the event loop for {kept_s * 1000:.0f} ms")


async def every_method_can_be_cancelled(subject: Subject) -> None:
    """Cancels each method while neither its nodes nor its HTTP requests answer."""
    for name, call in await _calls(subject):
        with upstreams(subject, hang):
            task = asyncio.ensure_future(call())
            await asyncio.wait([task], timeout=0.05)
            if task.done():
                task.cancelled() or task.exception()
                continue
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_S)
        require(task.done(), f"{name}() still runs {_CANCEL_S:g} s after it was cancelled")
        require(task.cancelled(), f"{name}() goes on after it was cancelled, and returns or raises")


async def it_recovers_from_faults_of_its_upstreams(subject: Subject) -> None:
    """Raises what nodes raise, then answers again: the same calls must work as before."""
    async for name, call in reads_of(subject):
        before = await _outcome(call)
        for error in (
            UpstreamError("No node answers."),
            RpcError(-32000, "header not found"),
            TimeoutError(),
            ConnectionResetError(),
        ):
            with upstreams(subject, _raising(error)):
                try:
                    async with asyncio.timeout(_BUILD_S):
                        await call()
                except GatewayError:
                    pass
                except TimeoutError:
                    raise Failed(f"{name}() hangs when its nodes fail") from None
                except Exception as raised:
                    if raised is not error:
                        text = f"{name}() raises {type(raised).__name__} when its nodes fail, no GatewayError"
                        raise Failed(text) from raised
        after = await _outcome(call)
        require(after == before, f"{name}(): after its nodes failed, it answers {after}, before {before}")


async def _outcome(call: Callable[[], Awaitable[Any]]) -> str:
    """Returns what a call came to, as far as it must be the same again."""
    try:
        answer = await call()
    except GatewayError as error:
        return type(error).__name__
    outputs = getattr(answer, "outputs", None)
    if outputs is not None:
        return ", ".join(f"{leg.amount} {leg.token.symbol}" for leg in outputs)
    return "nothing" if answer is None else type(answer).__name__


def _raising(error: Exception) -> Callable[[], Awaitable[Any]]:
    async def answer() -> Any:
        raise error

    return answer


async def _quietly(call: Callable[[], Awaitable[Any]]) -> None:
    try:
        await call()
    except GatewayError:
        return


async def no_secret_is_shown(subject: Subject) -> None:
    """Looks in the log of every level, standard output, standard error, and errors with their causes."""
    if not subject.secrets:
        raise NotApplicable("its settings have no secret")
    said: list[str] = []
    with recording() as recorded:
        for _, call in await _calls(subject):
            for failing in (None, UpstreamError("No node answers."), ConnectionResetError()):
                try:
                    if failing is None:
                        await call()
                    else:
                        with upstreams(subject, _raising(failing)):
                            await call()
                except Exception as error:
                    said += traceback.format_exception(error)
        members = vars(subject.provider) if hasattr(subject.provider, "__dict__") else {}
        said += [repr(members.get(name)) for name in ("title", "docs", "id")]
        said.append(subject.provider.title)
    for where, text in (("its log or output", recorded.text), ("an error or fact", "\n".join(said))):
        require(not any(secret in text for secret in subject.secrets), f"a secret shows in {where}")


async def nothing_is_leaked(subject: Subject) -> None:
    """Measures memory, tasks, threads and open files that calls leave behind."""
    async for name, call in reads_of(subject):
        if name not in _REPEATED:
            continue
        for _ in range(3):
            await _quietly(call)
        tasks, threads, files = len(asyncio.all_tasks()), threading.active_count(), _open_files()
        tracemalloc.start()
        try:
            await _quietly(call)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(_ROUNDS):
                await _quietly(call)
            gc.collect()
            kept = (tracemalloc.get_traced_memory()[0] - before) // _ROUNDS
        finally:
            tracemalloc.stop()
        require(kept < _MOST_LEAKED, f"{name}() keeps {kept:,} bytes a call")
        for what, was, now in (
            ("tasks", tasks, len(asyncio.all_tasks())),
            ("threads", threads, threading.active_count()),
            ("open files", files, _open_files()),
        ):
            require(now - was < _ROUNDS, f"{name}() leaves {now - was} {what} after {_ROUNDS + 1} calls")


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


async def old_quotes_are_built(subject: Subject) -> None:
    for case in subject.cases[:2]:
        sealed = await sealed_quote(subject, case)
        aged = replace(sealed, created_at=sealed.created_at - _AGED_S)
        task = asyncio.ensure_future(subject.provider.build(aged))
        began = time.perf_counter()
        await asyncio.wait([task], timeout=_BUILD_S)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_S)
            raise Failed(f"build() of a quote of {_AGED_S} s ago does not end within {_BUILD_S:g} s")
        if not task.cancelled() and task.exception() is not None:
            raise Failed(f"build() of a quote of {_AGED_S} s ago raises {task.exception()!r}"[:300])
        took_s = time.perf_counter() - began
        require(took_s < _BUILD_S, f"build() of a quote of {_AGED_S} s ago takes {took_s:.1f} s")


async def another_process_builds_the_same_bytes(subject: Subject) -> None:
    """Builds a quote in a second gateway, as another worker or a later start does."""
    for case in subject.cases[:2]:
        sealed = await sealed_quote(subject, case)
        here = await subject.provider.build(sealed)
        async with subject.restarted() as other:
            provider: Any = other.registry.get(subject.capability, subject.provider.id)
            require(provider is not None, "it is enabled in one start and not in the next")
            try:
                there = await provider.build(sealed)
            except Exception as error:
                text = f"another process cannot build its quote: {type(error).__name__}"
                raise Failed(text) from error
        require(here.steps == there.steps, "another process builds other transactions of the same quote")


ENDURING: tuple[Check, ...] = (
    Check(
        "first_calls_do_not_block_the_loop",
        2,
        "Do slow work of the first call in quoteway_lifespan, in a thread (asyncio.to_thread).",
        first_calls_do_not_block_the_loop,
    ),
    Check(
        "no_method_blocks_the_loop",
        2,
        "Await what waits, and move computation to a thread (asyncio.to_thread) or a process.",
        no_method_blocks_the_loop,
    ),
    Check(
        "every_method_can_be_cancelled",
        2,
        "Do not catch asyncio.CancelledError or BaseException, or raise it again.",
        every_method_can_be_cancelled,
    ),
    Check(
        "it_recovers_from_faults_of_its_upstreams",
        2,
        "Raise UpstreamError when an upstream fails, and keep nothing of a failed call.",
        it_recovers_from_faults_of_its_upstreams,
        frozenset(Capability) - {Capability.RPC},
    ),
    Check(
        "no_secret_is_shown",
        2,
        "Declare secrets as SecretField and call reveal() only where the value is sent.",
        no_secret_is_shown,
    ),
    Check(
        "nothing_is_leaked",
        2,
        "Bound what the provider keeps between calls (cachetools.LRUCache), and await the tasks it starts.",
        nothing_is_leaked,
    ),
    Check(
        "old_quotes_are_built",
        2,
        "Build from the sealed quote until expires_at, whatever its age.",
        old_quotes_are_built,
        TRANSACTIONS,
    ),
    Check(
        "another_process_builds_the_same_bytes",
        2,
        "Put what build() needs into Quote.plan: another worker has nothing else.",
        another_process_builds_the_same_bytes,
        TRANSACTIONS,
    ),
)
