"""Asks several nodes for each read that feeds a quote, simulation or action: they must give one answer.

A network with ``quorum = 2`` uses no answer that only one of its upstreams gives. Upstreams that fail are
replaced by others and asked again, but the number that must agree is never lowered: poisoned nodes together
with a flood on the honest ones were how KelpDAO lost 292 million dollars in April 2026.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from quoteway import Network, Reason, RpcError, UpstreamError

from quoteway_rpc.agreed_head import AgreedHead
from quoteway_rpc.asking import Ask, Send
from quoteway_rpc.comparing import HEAD_TAGS, Mode, mode_of
from quoteway_rpc.health import Health
from quoteway_rpc.log_refusals import refusal_of
from quoteway_rpc.opinions import Opinion, Opinions, Outcome
from quoteway_rpc.probations import Probations
from quoteway_rpc.upstream import Unusable, Upstream

PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The pauses before upstreams are asked again that failed, or that differ while a new block spreads."""
PATIENCE_S: Final = 0.3
"""How long an upstream may take before another one is asked as well."""
SLOW_FOR_S: Final = 10.0
"""How long such an upstream is asked last."""
_OLD_BLOCKS: Final = 64
"""Blocks this far below the head are not reorganised: nodes that differ on their logs do so for good."""
_INVALID_PARAMS = (-32600, -32602)
# The position of the block parameter; without it the method reads the newest block.
_BLOCK_AT: Final[Mapping[str, int]] = {
    **dict.fromkeys(("eth_getBalance", "eth_getCode", "eth_getTransactionCount", "eth_getAccount"), 1),
    **dict.fromkeys(("eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1"), 1),
    **dict.fromkeys(("eth_getStorageAt", "eth_getProof"), 2),
    "eth_getStorageValues": 1,
}
# Here the block is a number: EIP-1898 does not cover them.
_NUMBER_AT: Final[Mapping[str, int]] = {
    "eth_feeHistory": 1,
    **dict.fromkeys(("eth_getBlockReceipts", "eth_getHeaderByNumber", "eth_getBlockAccessList"), 0),
    **dict.fromkeys(("eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber"), 0),
    **dict.fromkeys(("eth_getTransactionByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex"), 0),
}
_BY_HASH = ("eth_getBlockByHash", "eth_getHeaderByHash", "eth_getTransactionByBlockHashAndIndex")


def _size_refusal(ask: Ask, opinions: Opinions) -> RpcError | None:
    """Returns the error of an upstream that gives fewer logs at once than others: all can agree on parts."""
    if ask.method != "eth_getLogs":
        return None
    errors = (group.error for group in opinions.groups if group.error is not None)
    return next((error for error in errors if refusal_of(error) is not None), None)


class Chooser(Protocol):
    """The stage that asks upstreams: ``race.Race``."""

    def candidates(self, ask: Ask) -> Sequence[Upstream]:
        """Returns the upstreams that may be asked, the preferred ones first."""

    async def one(self, ask: Ask, upstream: Upstream, limit_s: float) -> Any:
        """Returns the answer of this very upstream. Raises ``RpcError`` or ``Unusable``."""


class Agreement:
    """The stage of the quorum. Calls of clients, and networks without a quorum, go straight on."""

    def __init__(
        self,
        next_stage: Send,
        chooser: Chooser,
        healths: Mapping[int, Health],
        upstreams: Mapping[int, Sequence[Upstream]],
        log: logging.LoggerAdapter[logging.Logger] | logging.Logger,
        *,
        clock: Callable[[], float],
        count: Callable[[str, Network], None],
        attempt_timeout_s: float,
    ) -> None:
        self._next = next_stage
        self._chooser = chooser
        self._upstreams = upstreams
        self._log = log
        self._clock = clock
        self._count = count
        self._attempt_timeout_s = attempt_timeout_s
        self._probations = Probations(healths, log, clock, count)
        self._head = AgreedHead(self._ask_one, chooser.candidates, clock)
        self._newest: dict[int, int] = {}
        self._hash_refused: set[int] = set()
        self._slow: dict[Upstream, float] = {}
        self._probes: set[asyncio.Task[None]] = set()

    def forgive(self) -> None:
        """Lets upstreams back into use that contradicted the others."""
        self._probations.forgive()

    async def __call__(self, ask: Ask) -> Any:
        """Returns what ``quorum`` upstreams say.

        Raises ``RpcError`` when that many give the same error, and ``UpstreamError`` with reason
        ``nodes_disagree`` when they differ.
        """
        if ask.public or ask.network.quorum < 2:
            return await self._next(ask)
        mode = mode_of(ask.method, ask.params)
        if mode is Mode.ANY:
            return await self._next(ask)
        if mode is Mode.HEAD:
            if ask.method == "eth_blockNumber":
                header = await self._newest_block(replace(ask, method="eth_getBlockByNumber"), "latest")
                return header["number"]
            return await self._newest_block(ask, *ask.params)
        return await self._at_one_block(ask, mode)

    async def _newest_block(self, ask: Ask, tag: str, full: bool = False) -> Mapping[str, Any]:
        header = await self._head(replace(ask, params=[tag, full]))
        if header is None:
            raise self._disagreement(ask, "their heads")
        if tag == "latest":
            self._newest[ask.network.chain_id] = int(header["number"], 16)
        return header

    async def _at_one_block(self, ask: Ask, mode: Mode) -> Any:
        """Answers a call at a tag at the block that the nodes agree on: each node has another newest one."""
        at = _BLOCK_AT.get(ask.method, _NUMBER_AT.get(ask.method))
        if at is None or at > len(ask.params) or (at < len(ask.params) and ask.params[at] not in HEAD_TAGS):
            return await self._agreed(ask, mode)
        tag = ask.params[at] if at < len(ask.params) else "latest"
        header = await self._newest_block(replace(ask, method="eth_getBlockByNumber"), tag)

        def pinned(block: Any) -> Ask:
            return replace(ask, params=[*ask.params[:at], block, *ask.params[at + 1 :]])

        chain_id = ask.network.chain_id
        if ask.method in _NUMBER_AT or chain_id in self._hash_refused:
            return await self._agreed(pinned(header["number"]), mode)
        try:
            return await self._agreed(pinned({"blockHash": header["hash"]}), mode)
        except RpcError as refusal:
            if refusal.rpc_code not in _INVALID_PARAMS:
                raise
            answer = await self._agreed(pinned(header["number"]), mode)
            self._hash_refused.add(chain_id)  # nodes older than EIP-1898
            return answer

    # --- one call, several upstreams ------------------------------------------------------------------------

    async def _agreed(self, ask: Ask, mode: Mode) -> Any:
        quorum = ask.network.quorum
        opinions = Opinions(ask.method, mode)
        waiting = deque(self._in_order(ask))
        for pause_s in (*PAUSES_S, None):
            await self._collect(ask, opinions, waiting)
            most = opinions.most
            if most is not None and len(most.upstreams) >= quorum:
                self._settle(ask, opinions, most)
                return most.answer()
            too_large = _size_refusal(ask, opinions)
            if too_large is not None:
                raise too_large
            again = self._again(ask, opinions)
            if pause_s is None or not again or ask.ends_at - self._clock() <= pause_s:
                break
            await asyncio.sleep(pause_s)
            if len(opinions.groups) > 1 and not self._is_pinned(ask):
                opinions = Opinions(ask.method, mode)  # their words of a moment ago do not bind them
            waiting = deque(again)
        return self._without_quorum(ask, opinions)

    def _in_order(self, ask: Ask) -> list[Upstream]:
        """Returns the candidates, those last that were not waited for a moment ago."""
        now = self._clock()
        return sorted(self._chooser.candidates(ask), key=lambda each: now < self._slow.get(each, 0.0))

    async def _collect(self, ask: Ask, opinions: Opinions, waiting: deque[Upstream]) -> None:
        """Asks as many upstreams at once as answers are missing, and others for those that fail or are slow.

        Returns when enough agree, or all that were waiting have answered.
        """
        quorum = ask.network.quorum
        asked: dict[asyncio.Task[Outcome], Upstream] = {}
        extra = 0
        try:
            while opinions.lack(quorum) > 0:
                while waiting and len(asked) < opinions.lack(quorum) + extra:
                    upstream = waiting.popleft()
                    asked[asyncio.create_task(self._ask_one(ask, upstream))] = upstream
                if not asked:
                    return
                limit_s = PATIENCE_S if waiting else None
                done, _ = await asyncio.wait(asked, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    extra += 1
                    self._slow |= dict.fromkeys(asked.values(), self._clock() + SLOW_FOR_S)
                for task in done:
                    opinions.add(asked.pop(task), task.result())
        finally:
            for task in asked:
                task.cancel()

    async def _ask_one(self, ask: Ask, upstream: Upstream) -> Outcome:
        left_s = ask.ends_at - self._clock()
        if left_s <= 0:
            return Outcome(failure=Unusable("timeout"))
        try:
            limit_s = min(left_s, max(self._attempt_timeout_s, left_s / 2))
            return Outcome(await self._chooser.one(ask, upstream, limit_s))
        except RpcError as error:
            return Outcome(error=error)
        except Unusable as failure:
            return Outcome(failure=failure)

    def _again(self, ask: Ask, opinions: Opinions) -> Sequence[Upstream]:
        """Returns the upstreams to ask once more: those that failed, or all while a new block spreads."""
        if len(opinions.groups) > 1 and not self._is_pinned(ask):
            return self._chooser.candidates(ask)
        lasting = ("method_missing", "too_large", "too_many_members", "too_deep", "not_a_quantity")
        usable = set(self._chooser.candidates(ask))
        failed = [
            upstream
            for upstream, failure in opinions.failures.items()
            if upstream in usable and failure.kind not in lasting
        ]
        all_lack_it = not opinions.groups and not any(f.blames_upstream for f in opinions.failures.values())
        return () if all_lack_it else failed

    # --- what the answers mean ------------------------------------------------------------------------------

    def _is_pinned(self, ask: Ask) -> bool:
        """Whether honest nodes cannot differ: the call names a block by its hash, or an old one."""
        if ask.method in _BY_HASH:
            return True
        if any(isinstance(each, Mapping) and "blockHash" in each for each in ask.params):
            return True
        if ask.method != "eth_getLogs" or not ask.params or not isinstance(ask.params[0], Mapping):
            return False
        try:
            end = int(ask.params[0]["toBlock"], 16)
        except (KeyError, TypeError, ValueError):
            return False
        return end <= self._newest.get(ask.network.chain_id, 0) - _OLD_BLOCKS

    def _settle(self, ask: Ask, opinions: Opinions, most: Opinion) -> None:
        """Takes the odd ones out of use when their answers cannot be honest."""
        if opinions.mode is not Mode.EQUAL or not self._is_pinned(ask) or not most.is_certain:
            return
        for group in opinions.groups:
            if group is not most and group.is_certain:
                for upstream in group.upstreams:
                    self._probations.exclude(ask.network, upstream, ask.method)
        for upstream in self._probations.due(self._upstreams.get(ask.network.chain_id, ())):
            task = asyncio.create_task(self._probe(ask, upstream, most))
            self._probes.add(task)
            task.add_done_callback(self._probes.discard)

    async def _probe(self, ask: Ask, upstream: Upstream, agreed: Opinion) -> None:
        """Compares a cordoned upstream's answer with the agreed one, for nobody."""
        opinions = Opinions(ask.method, groups=[Opinion(agreed.value, agreed.error, [])])
        try:
            until = self._clock() + self._attempt_timeout_s
            outcome = await self._ask_one(replace(ask, ends_at=until), upstream)
        except RuntimeError:  # the HTTP session was closed: the gateway ends
            return
        opinions.add(upstream, outcome)
        if len(opinions.groups) > 1:
            self._probations.exclude(ask.network, upstream, ask.method)
        elif not opinions.failures:
            self._probations.agreed(ask.network, upstream)

    def _without_quorum(self, ask: Ask, opinions: Opinions) -> Any:
        """Returns null when that is all that enough nodes can say. Raises the error of all other cases."""
        network, quorum = ask.network, ask.network.quorum
        nothing = [group for group in opinions.groups if group.error is None and group.value is None]
        answers = sum(len(group.upstreams) for group in opinions.groups)
        if nothing and len(opinions.groups) == 2 and answers >= quorum and opinions.mode is Mode.EQUAL:
            # Some have it, though fewer than the quorum: for now, it is not there.
            other = next(group for group in opinions.groups if group not in nothing)
            if other.error is None:
                return None
        failures = list(opinions.failures.values())
        missing = [each for each in failures if each.kind == "method_missing" and each.error is not None]
        if len(missing) >= quorum or (missing and len(missing) == len(failures) and not answers):
            raise missing[0].error or missing[0]
        lacking = [each for each in failures if not each.blames_upstream]
        if not answers and lacking and len(lacking) == len(failures):
            raise lacking[0].error or lacking[0]
        if len(opinions.groups) > 1 or (answers and lacking):
            says = [", ".join(upstream.label for upstream in group.upstreams) for group in opinions.groups]
            raise self._disagreement(ask, " against ".join(says))
        if failures and not answers and all(each.kind == "timeout" for each in failures):
            text = f"No RPC upstream of {network.name} answered in time."
            raise UpstreamError(text, reason=Reason.PROVIDER_TIMEOUT, retryable=True)
        text = f"{answers} of the {quorum} nodes of {network.name} that must agree gave a usable answer."
        raise UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True)

    def _disagreement(self, ask: Ask, who: str) -> UpstreamError:
        """Returns the error of nodes that differ. The log names them, the error does not."""
        self._count("disagreements", ask.network)
        told = (ask.network.slug, ask.method, who)
        self._log.warning("the nodes of %s do not agree on %s: %s", *told)
        text = f"Fewer than {ask.network.quorum} nodes of {ask.network.name} gave the same answer."
        return UpstreamError(text, reason=Reason.NODES_DISAGREE, retryable=True)
