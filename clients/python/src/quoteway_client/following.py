"""Follows a transaction until it is in a block, and a transfer between networks until it has arrived, was
refunded, or needs somebody to act."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from quoteway_client.calls import Call
from quoteway_client.errors import NotExecutable
from quoteway_client.exchange import Answered, Flow, Gateway, Pause
from quoteway_client.models.transactions import HashReport, Tracked
from quoteway_client.operations.transactions import submit_transaction_hash, track_transaction
from quoteway_client.sending import Sent

ENDS = ("filled", "refunded", "action_required")

T = TypeVar("T", HashReport, Tracked)


def following(gateway: Gateway, sent: Sent, timeout_s: float, poll_s: float) -> Flow[Tracked]:
    """Returns the last state of a transfer: ``status`` is ``filled``, ``refunded`` or ``action_required``.

    Raises ``ValueError`` for an action within one network, whose receipt says it all, and ``NotExecutable``
    when ``timeout_s`` is over before: follow the same again.
    """
    if all(leg.token.chain_id == sent.action.chain_id for leg in sent.action.outputs):
        raise ValueError("only a transfer to another network is followed: this action ended with its receipt")
    return (yield from tracking(gateway, sent.tx_id, sent.hash, timeout_s, poll_s)).model


def tracking(
    gateway: Gateway,
    tx_id: str,
    hash_: str,
    timeout_s: float,
    poll_s: float,
    told: Callable[[str], None] | None = None,
) -> Flow[Answered[Tracked]]:
    """Does what ``following`` does, by the ``txId`` and the hash of a transaction. ``told`` gets each new
    status.
    """

    def is_over(tracked: Tracked) -> bool:
        # A fill is told a moment before it is in a block.
        return tracked.status in ENDS and (tracked.status != "filled" or tracked.fill_hash is not None)

    call = track_transaction(tx_id, hash=hash_)
    return (yield from _until(gateway, call, is_over, "transfer", timeout_s, poll_s, told))


def reporting(
    gateway: Gateway,
    tx_id: str,
    hash_: str,
    timeout_s: float,
    poll_s: float,
    told: Callable[[str], None] | None = None,
) -> Flow[Answered[HashReport]]:
    """Returns what became of a transaction, compared with the one that was built: in a block, or another one.

    Raises ``NotExecutable`` as ``following`` does.
    """

    def is_over(report: HashReport) -> bool:
        return report.match == "mismatch" or report.status in ("confirmed", "reverted")

    call = submit_transaction_hash(tx_id, hash=hash_)
    return (yield from _until(gateway, call, is_over, "transaction", timeout_s, poll_s, told))


def _until(
    gateway: Gateway,
    call: Call[T],
    is_over: Callable[[T], bool],
    noun: str,
    timeout_s: float,
    poll_s: float,
    told: Callable[[str], None] | None,
) -> Flow[Answered[T]]:
    clock = gateway.retrying.clock
    ends_at, pause_s = clock() + timeout_s, min(0.2, poll_s)
    before = ""
    while True:
        answer = yield from gateway.answered(call)
        status = answer.model.status
        if told is not None and status != before:
            told(status)
        before = status
        if is_over(answer.model):
            return answer
        if clock() >= ends_at:
            raise NotExecutable(f"the {noun} is {status} after {timeout_s:g} s: follow it again")
        yield Pause(pause_s)
        pause_s = min(2 * pause_s, poll_s)
