"""Follows a transfer between networks until it has arrived, was refunded, or needs somebody to act."""

from __future__ import annotations

from quoteway_client.errors import NotExecutable
from quoteway_client.exchange import Flow, Gateway, Pause
from quoteway_client.models.transactions import Tracked
from quoteway_client.operations.transactions import track_transaction
from quoteway_client.sending import Sent

ENDS = ("filled", "refunded", "action_required")


def following(gateway: Gateway, sent: Sent, timeout_s: float, poll_s: float) -> Flow[Tracked]:
    """Returns the last state of a transfer: ``status`` is ``filled``, ``refunded`` or ``action_required``.

    Raises ``ValueError`` for an action within one network, whose receipt says it all, and ``NotExecutable``
    when ``timeout_s`` is over before: follow the same again.
    """
    if all(leg.token.chain_id == sent.action.chain_id for leg in sent.action.outputs):
        raise ValueError("only a transfer to another network is followed: this action ended with its receipt")
    clock = gateway.retrying.clock
    ends_at, pause_s = clock() + timeout_s, min(0.2, poll_s)
    while True:
        tracked = yield from gateway.call(track_transaction(sent.tx_id, hash=sent.hash))
        # A fill is told a moment before it is in a block.
        if tracked.status in ENDS and (tracked.status != "filled" or tracked.fill_hash is not None):
            return tracked
        if clock() >= ends_at:
            raise NotExecutable(f"the transfer is {tracked.status} after {timeout_s:g} s: follow it again")
        yield Pause(pause_s)
        pause_s = min(2 * pause_s, poll_s)
