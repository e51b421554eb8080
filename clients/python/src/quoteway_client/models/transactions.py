"""Models of transactions.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from typing import Required, TypedDict

from quoteway_client.models.shared import AssetChange, Difference
from quoteway_client.wire import Model


class SubmitBody(TypedDict, total=False):
    """Body of a request: `SubmitBody` of the document."""

    signed_payload: Required[str]
    """Signed transaction as it is broadcast, as 0x hex."""


class Submitted(Model, frozen=True, kw_only=True):
    """`Submitted` of the document."""

    tx_id: str
    """`txId` of the path."""
    hash: str
    """Hash of the transaction."""
    broadcast: bool
    """Always true: a relay has broadcast the transaction."""
    verified: bool
    """Always true: the transaction is the one that was built."""


class HashBody(TypedDict, total=False):
    """Body of a request: `HashBody` of the document."""

    hash: Required[str]
    """Hash of the broadcast transaction, 32 bytes as 0x hex."""


class Realized(Model, frozen=True, kw_only=True):
    """`Realized` of the document."""

    asset_changes: tuple[AssetChange, ...]
    """Changes of the balances of the sender and of the quoted recipients, without the gas."""
    native_known: bool
    """Whether `assetChanges` has movements of the native coin, which emit no logs."""
    gas_used: int
    """Units of gas that the transaction used. An integer in decimal digits."""
    vs_quote_bps: int | None
    """Received output less the quoted one, in basis points of the quoted one: 0 is as quoted, negative is
    less. The lowest of several outputs. Null for a transaction with no quoted output, when it reverted,
    is not the one that was built, or the output is not known.
    """


class HashReport(Model, frozen=True, kw_only=True):
    """`HashReport` of the document."""

    tx_id: str
    """`txId` of the path."""
    hash: str
    """Hash of the transaction."""
    chain_id: int
    """Chain id of the network for which the transaction was built."""
    match: str
    """`match`: the transaction is the one that was built. `mismatch`: `differences` says what differs.
    `not_found`: no network of this deployment has it now.
    """
    differences: tuple[Difference, ...]
    """Members that differ from the transaction that was built; empty unless `match` is `mismatch`."""
    status: str
    """`pending`: not in a block yet. `confirmed` or `reverted`: in a block. `unknown`: the nodes do not
    have the transaction now, which does not mean that it failed.
    """
    block_number: int | None
    """Number of the block with the transaction. Null when it is in none."""
    block_hash: str | None
    """Hash of that block. Null when it is in none."""
    confirmations: int | None
    """Number of blocks from that block to the newest one, both included. Null when it is in none."""
    realized: Realized | None
    """What the transaction did. Null when it is in no block."""


class TrackedRefund(Model, frozen=True, kw_only=True):
    """`TrackedRefund` of the document."""

    chain_id: int
    """Chain id of the network on which the refund is paid."""
    token: str
    """Token of the refund."""
    address: str
    """Account that receives the refund."""
    amount: int
    """Amount of the refund. Base units in decimal digits."""


class Tracked(Model, frozen=True, kw_only=True):
    """`Tracked` of the document."""

    tx_id: str
    """`txId` of the path."""
    hash: str
    """Hash of the transaction."""
    status: str
    """`origin_*`: the deposit is sent or mined. `fill_pending` and `filled`: the payment on the other
    network. `refund_*`: the refund. `action_required`: see `reason`. `unknown`: the nodes do not have
    the transaction now, which does not mean that it failed.
    """
    origin_chain_id: int | None
    """Chain id of the network on which the deposit was made. Null when not known."""
    destination_chain_id: int | None
    """Chain id of the network on which the transfer is paid. Null when not known."""
    deposit_id: str | None
    """Number of the deposit at the bridge, as decimal text. Null when not known."""
    fill_deadline: int | None
    """Time until which the transfer can be filled; after it the deposit is refunded. Unix seconds. Null
    when not known.
    """
    fill_hash: str | None
    """Hash of the transaction that paid the recipient. Null before that."""
    refund_hash: str | None
    """Hash of the transaction that paid the refund. Null without one."""
    refund: TrackedRefund | None
    """Refund of the transfer. Null without one."""
    reason: str | None
    """Code of what the caller must do. Null unless `status` is `action_required`."""
