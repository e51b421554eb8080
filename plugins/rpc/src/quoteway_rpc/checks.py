"""Answers that another upstream has to confirm: nulls, empty logs, older heads, blocks of another chain.

``Checks`` is the stage before the choice of upstreams. Each upstream hands it its results (``inspect``). An
answer in doubt is refused once (``Unusable``), so that the call goes on elsewhere. It is returned when a
second upstream says the same, and at the end when the others gave no usable answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quoteway import Network, Reason, RpcError, UpstreamError

from quoteway_rpc.asking import Ask, Send
from quoteway_rpc.blocks import block_of
from quoteway_rpc.findings import AHEAD, BEHIND, CHECKS, CONFLICT, EMPTY, MISSING, Answer, Check, Doubt
from quoteway_rpc.heads import NetworkHeads
from quoteway_rpc.outcomes import NOT_FOUND
from quoteway_rpc.upstream import Unusable, Upstream

_TELL_HEADS = ("eth_blockNumber", "eth_getBlockByNumber")
_MOST_WAIT_S = 3.0
_CONFLICT_SHARE = 0.7
"""The part of a call's time in which nodes of different chains may come to agree."""
_MOST_LOOKS = 8
"""How many blocks of an answer that is not of the chain served are looked at."""
_MOST_CHECKED_BYTES = 1 << 20
_TELL_AGAIN_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 0.5


@dataclass(slots=True)
class _Doubted:
    """The answers in doubt to one call."""

    public: bool
    answers: list[tuple[Upstream, Doubt, Any]] = field(default_factory=list)


_doubted: contextvars.ContextVar[_Doubted | None] = contextvars.ContextVar(
    "quoteway_rpc_doubted", default=None
)
"""Of the call that runs. Tasks that ask several upstreams for it have the same one."""


class Checks:
    """The stage that compares answers with the chain as all upstreams tell it."""

    def __init__(
        self,
        send: Send,
        heads: Mapping[int, NetworkHeads],
        log: logging.LoggerAdapter[logging.Logger] | logging.Logger,
        count: Callable[[str, Network], None],
    ) -> None:
        self._count = count
        self._next = send
        self._heads = heads
        self._log = log
        self._told: dict[tuple[str, ...], float] = {}
        for each in heads.values():
            for upstream in each.views:
                upstream.inspect = functools.partial(self._inspect, each)

    async def __call__(self, ask: Ask) -> Any:
        """Returns an answer that is confirmed or not in doubt."""
        heads = self._heads.get(ask.network.chain_id)
        if heads is None:
            return await self._next(ask)
        heads.used()
        if ask.method not in CHECKS:
            return await self._next(ask)
        if ask.method in _TELL_HEADS and block_of(ask.method, ask.params) == "latest":
            await heads.ready(ask.left_s / 2)
        doubted = _Doubted(ask.public)
        token = _doubted.set(doubted)
        try:
            result = await self._next(ask)
        except RpcError:
            raise
        except UpstreamError:
            if not doubted.answers:
                raise
            result = await self._without_confirmation(ask, heads, doubted)
        finally:
            _doubted.reset(token)
        self._report(heads, doubted, result)
        return result

    # --- each upstream's answer -----------------------------------------------------------------------------

    async def _inspect(
        self,
        heads: NetworkHeads,
        upstream: Upstream,
        method: str,
        params: Sequence[Any],
        result: Any,
    ) -> None:
        check = CHECKS.get(method)
        if check is None or _is_long(result):
            return
        found = _parsed(result)
        answer = Answer(heads, upstream, method, params, found, upstream.read)
        try:
            doubt = await check(answer)
            if method in _TELL_HEADS:
                heads.learn(upstream, method, params, found)
            if doubt is not None and doubt.kind == CONFLICT:
                doubt = await self._after_a_look(answer, check, doubt)
        except Unusable:
            self._count("wrong_answers", heads.network)
            raise
        if doubt is None and method in _TELL_HEADS:
            heads.tell_others(upstream, method, params, found)
        doubted = _doubted.get()
        if doubt is None or doubted is None:
            return
        # The core compares heads itself.
        alone = len(heads.views) == 1 and not (doubt.kind == BEHIND and doubted.public)
        confirmed = doubt.kind != BEHIND and any(
            doubt == other and upstream is not by for by, other, _ in doubted.answers
        )
        if alone or confirmed:
            return
        doubted.answers.append((upstream, doubt, result))
        self._count("answers_in_doubt", heads.network)
        raise Unusable(NOT_FOUND if doubt.kind == MISSING else "data_missing")

    async def _after_a_look(self, answer: Answer, check: Check, doubt: Doubt) -> Doubt | None:
        """Compares an answer again that is not of the chain served, which may be reorganised by now.

        Its upstream says which blocks it has there. They are served when the most upstreams that answer have
        them. Raises ``Unusable`` when the upstream is of another chain.
        """
        heads, upstream = answer.heads, answer.upstream
        upstream.reconnected()  # its next answer is compared too
        if not upstream.is_chain_id(await answer.read("eth_chainId", [])):
            raise Unusable("wrong_chain_id")
        left: Doubt | None = doubt
        for _ in range(_MOST_LOOKS):
            left = await check(answer)
            if left is None or left.kind != CONFLICT:
                break
            number: int = left.mark[0]
            before, at = heads.hash_at(number), [hex(number), False]
            block = await answer.read("eth_getBlockByNumber", at)
            if block is None:
                break
            heads.learn(upstream, "eth_getBlockByNumber", at, block)
            if heads.hash_at(number) == before:
                break
        return left

    def _report(self, heads: NetworkHeads, doubted: _Doubted, result: Any) -> None:
        for upstream, doubt, given in doubted.answers:
            if given is not result and given != result and doubt.kind in (AHEAD, EMPTY, CONFLICT):
                self._tell(upstream.label, heads.network.slug, doubt.kind)
                self._count("contradicted_answers", heads.network)

    def _tell(self, *told: str) -> None:
        """Logs what an endpoint does wrong, but not with each of its answers."""
        now = asyncio.get_running_loop().time()
        if now - self._told.get(told, -math.inf) >= _TELL_AGAIN_S:
            self._told[told] = now
            self._log.warning("%s of %s gave an answer that another contradicts: %s", *told)

    # --- when nobody confirmed ------------------------------------------------------------------------------

    async def _without_confirmation(self, ask: Ask, heads: NetworkHeads, doubted: _Doubted) -> Any:
        """Returns a null or empty answer that the others gave no answer to. Heads are asked for again."""
        kinds = {doubt.kind for _, doubt, _ in doubted.answers}
        if BEHIND in kinds:
            return await self._newer(ask, heads, doubted)
        if CONFLICT in kinds:
            # After a reorganisation the others count until it is clear that they do not answer.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(_MOST_WAIT_S, _CONFLICT_SHARE * ask.left_s)):
                    await heads.ask_again()
                    return await self._again(ask)
        for _, doubt, result in doubted.answers:
            if doubt.kind in (MISSING, EMPTY):
                return result
        raise UpstreamError(
            f"The RPC upstreams of {ask.network.name} contradict each other.",
            reason=Reason.RPC_ERROR,
            retryable=True,
        )

    async def _newer(self, ask: Ask, heads: NetworkHeads, doubted: _Doubted) -> Any:
        """Returns a head that is no older than the one served before, when all answered older ones.

        The core gets the newest of them: it waits itself, and proves reorganisations. A client gets the
        number served before, or waits for the block for one block time. A node that is alone is believed
        after that: its chain was reset. Until then, another node behind its address may be late.
        """
        if not ask.public:
            late = [result for _, doubt, result in doubted.answers if doubt.kind == BEHIND]
            return max(late, key=_number_of)
        alone = len(heads.views) == 1
        if ask.method == "eth_blockNumber" and heads.served is not None and not alone:
            return hex(heads.served.number)
        limit_s = min(ask.network.block_time_s, _MOST_WAIT_S, ask.left_s / 2)
        try:
            async with asyncio.timeout(limit_s):
                return await self._again(ask)
        except TimeoutError:
            pass
        if alone:
            upstream, _, result = doubted.answers[-1]
            heads.restart(upstream, _number_of(result))
            return result
        raise UpstreamError(
            f"The nodes of {ask.network.name} answer older blocks than before. Send the request again.",
            reason=Reason.BEHIND,
            retryable=True,
            headers={"Retry-After": str(max(math.ceil(limit_s), 1))},
        )

    async def _again(self, ask: Ask) -> Any:
        """Asks after growing pauses until there is an answer."""
        pause_s = _FIRST_PAUSE_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            try:
                return await self._next(ask)
            except RpcError:
                raise
            except UpstreamError:
                continue


def _number_of(result: Any) -> int:
    found = _parsed(result)
    return int(found["number"] if isinstance(found, Mapping) else found, 16)


def _parsed(result: Any) -> Any:
    """Returns the value of a result, also of one that is passed on as its JSON text."""
    return result.parsed() if hasattr(result, "parsed") else result


def _is_long(result: Any) -> bool:
    """Whether a result is a text so long that reading it would hold up the event loop."""
    return hasattr(result, "parsed") and len(result) > _MOST_CHECKED_BYTES
