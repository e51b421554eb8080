"""The past of a wallet: its transactions, what it was worth, and what its positions have gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.evm.units import format_units
from quoteway.web.wire import text
from quoteway.web.wire.holdings import (
    HeldPosition,
    Partial,
)
from quoteway.web.wire.parts import BlockRef, TokenRef
from quoteway.web.wire.rows import (
    FailedSource,
)
from quoteway.web.wire.series import Coverage
from quoteway.web.wire.view import ConvertedField, View, nullable, required


class IndexCoverage(View):
    """Blocks of which the index has everything."""

    from_block = required(
        fields.Integer, "first", description="First block of the span that is indexed without a gap"
    )
    to_block = required(fields.Integer, "last", description="Last block of that span")
    complete = required(
        fields.Boolean,
        "from_start",
        description="Whether the index has everything before the first block too",
    )


# --- activity ---------------------------------------------------------------------------------------------


def _units(move: Any) -> str | None:
    return None if move.token is None else format_units(move.amount, move.token.decimals)


class MovementEntry(View):
    token_address = required(
        text.AddressText,
        "address",
        description="Contract of the token; the zero address stands for the native coin",
    )
    token = nullable(TokenRef, description="Facts of the token. Null where the address is no ERC-20 token")
    listed = required(
        fields.Boolean,
        lambda move: move.token is not None and move.token.listed,
        description="Whether a catalog of this deployment lists the token",
    )
    direction = required(
        fields.String,
        enum=["in", "out", "self"],
        description="`in`: received by the wallet. `out`: sent by it. `self`: from it to itself",
    )
    amount = required(text.AmountText, description="Amount that moved")
    amount_formatted = nullable(
        fields.String,
        _units,
        description="Amount that moved, in whole tokens, as a decimal number in text. Null when `token` is",
    )
    counterparty = required(text.AddressText, description="Account at the other end of the movement")
    hearsay = required(
        fields.Boolean,
        description="True where an unlisted token logs that the wallet sent it, in a transaction of "
        "another account: any contract can log that",
    )


class DoneCall(View):
    action = required(fields.String, description="What the called function does, such as `swap`")
    function = required(fields.String, description="Signature of the called function")
    target = nullable(
        fields.String,
        description="Name of the called contract in the gateway's registry of call descriptions",
    )


class KnownEvent(View):
    kind = required(fields.String, description="Kind of the event, such as `swap`")
    source = required(fields.String, description="Id of the event source of the index")
    subject = required(
        fields.String,
        description="Pool or vault that the event is about, by its address or 32-byte id; of a transfer "
        "the name of the bridge",
    )


class ActivityEntry(View):
    hash = required(text.DigestText, description="Hash of the transaction")
    block = required(fields.Integer, description="Number of the block of the transaction")
    timestamp = required(text.UnixTime, description="Time of the block")
    status = required(
        fields.String,
        lambda done: "success" if done.success else "reverted",
        enum=["success", "reverted"],
        description="Whether the transaction succeeded",
    )
    from_ = required(text.AddressText, "sender", description="Account that sent the transaction")
    to = nullable(text.AddressText, description="Account that the transaction calls. Null for a deployment")
    call = nullable(
        DoneCall, description="Called function, where a description of it is known. Null otherwise"
    )
    description = required(
        fields.String, "sentence", description="What the transaction did, in a sentence of the gateway"
    )
    transfers = required(
        [MovementEntry],
        "movements",
        description="Tokens and coins that the wallet received or sent, at most 100",
    )
    transfers_left_out = required(
        fields.Integer, "cut", description="Number of further transfers that `transfers` leaves out"
    )
    events = required([KnownEvent], description="Events of known protocols in the transaction")
    fee_wei = nullable(
        text.WeiText,
        description="Fee that the wallet paid for the transaction. Null where another account sent it",
    )


class Unread(View):
    """A transaction that could not be read, and why."""

    hash = required(text.DigestText, 0, description="Hash of the transaction")
    reason = required(
        fields.String,
        1,
        description="Why it could not be read: one of `details.reason`, or `transaction_not_found`",
    )


class Activity(View):
    wallet = required(text.WalletText)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    data = required([ActivityEntry], description="Transactions, newest first")
    next_cursor = nullable(
        text.CursorText, description="Value of `cursor` for the next page. Null on the last page"
    )
    coverage = required(IndexCoverage, description="Span of blocks whose transactions are indexed")
    partial_ = required([Unread], "missing", description="Transactions of the page that could not be read")


# --- value over time --------------------------------------------------------------------------------------


class ValuePoint(View):
    timestamp = required(text.UnixTime, description="Moment of the value")
    value_usd = nullable(
        text.UsdNumber,
        description="Value of the tokens with a price. Null outside of `coverage`, and where none of the "
        "held tokens has a price",
    )
    unpriced = required(
        [text.AddressText], description="Tokens that the wallet held then and that have no price"
    )


class Amounts(fields.List[Any], ConvertedField):
    """Base units at each point, null where they are not known."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(text.AmountText(allow_none=True), **kwargs)

    @staticmethod
    def convert(value: Sequence[int | None]) -> list[str | None]:
        return [None if amount is None else str(amount) for amount in value]


class HeldThen(View):
    token = required(TokenRef, description="Token that the wallet held")
    amounts = required(
        Amounts, description="Balance at each point, in base units; null where it is not known"
    )


class WalletHistory(View):
    wallet = required(text.WalletText)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    interval = required(text.IntervalText)
    from_ = required(text.UnixTime, "start", description="Start of the requested time")
    to = required(text.UnixTime, "end", description="End of the requested time")
    points = required(
        [ValuePoint], description="Value of the wallet's tokens at each moment, in the order of time"
    )
    tokens = required([HeldThen], description="Tokens that count, with the balance at each point")
    coverage = required(Coverage, description="Span in which the balances are known")
    as_of_block = required(
        BlockRef,
        "block",
        description="Block whose balances are the newest, from which those of the past are computed",
    )
    method = required(fields.String, description="How the values are computed, in sentences")
    partial_ = required([Partial], "missing", description="What the values do not count, with the reason")


# --- gains ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PositionGain:
    """A position with the id of the provider that has it, and its gain."""

    held: HeldPosition
    gain: Any

    @property
    def position_id(self) -> str:
        """Returns the position's id, of a vault that of the vault."""
        position = self.held.position
        return position.position_id if isinstance(position, models.PoolPosition) else position.vault_id

    def legs(self, amounts: Sequence[int] | None) -> list[tuple[models.Token, int]] | None:
        """Returns amounts with the tokens that they are of."""
        return None if amounts is None else list(zip(self.gain.tokens, amounts, strict=True))


class TokenAmount(View):
    token = required(TokenRef, 0, description="Token of the amount")
    amount = required(text.AmountText, 1, description="Amount of the token")


class GainEntry(View):
    position_id = required(fields.String, description="Id of the position; for a vault the id of the vault")
    provider = required(text.ProviderId, "held.provider")
    pool_id = nullable(fields.String, "held.pool_id", description="Pool of the position. Null for a vault")
    vault_id = nullable(fields.String, "held.vault_id", description="Vault of the position. Null for a pool")
    network = required(text.NetworkText, "held.chain_id")
    chain_id = required(text.ChainIdNumber, "held.chain_id")
    opened_at = nullable(
        text.UnixTime, "gain.opened_at", description="Time of the first event of the position"
    )
    deposited = nullable(
        [TokenAmount],
        lambda row: row.legs(row.gain.deposited),
        description="Sum of what was deposited, for each token",
    )
    withdrawn = nullable(
        [TokenAmount],
        lambda row: row.legs(row.gain.withdrawn),
        description="Sum of what was withdrawn, for each token, without fees",
    )
    collected_fees = nullable(
        [TokenAmount],
        lambda row: row.legs(row.gain.collected_fees),
        description="Sum of the fees that were paid out, for each token",
    )
    uncollected_fees = nullable(
        [TokenAmount],
        lambda row: row.legs(row.gain.uncollected_fees),
        description="Fees that can be collected now, for each token",
    )
    cost_usd = nullable(
        text.UsdNumber,
        "gain.cost_usd",
        description="Cost of what is in the position now: deposits at the prices of their hours, less the "
        "share of each withdrawal (average cost)",
    )
    value_usd = nullable(
        text.UsdNumber, "gain.value_usd", description="Value of the principal now, without fees"
    )
    realised_usd = nullable(
        text.UsdNumber,
        "gain.realised_usd",
        description="Withdrawals at the prices of their hours less their share of the cost; negative is a "
        "loss",
    )
    unrealised_usd = nullable(
        text.UsdNumber, "gain.unrealised_usd", description="`valueUsd` less `costUsd`; negative is a loss"
    )
    fees_usd = nullable(
        text.UsdNumber,
        "gain.fees_usd",
        description="Value of all fees: collected ones at the prices of their hours, others at those of now",
    )
    impermanent_loss_usd = nullable(
        text.UsdNumber,
        "gain.impermanent_loss_usd",
        description="`valueUsd` less the present value of the deposits that are still in the position; "
        "negative is a loss",
    )
    reasons = required(
        [fields.String],
        "gain.reasons",
        description="Codes of why members are null; the operation's description explains them",
    )


class Gains(View):
    wallet = required(text.WalletText)
    data = required([GainEntry], description="One row for each position")
    method = required(fields.String, description="How the members are computed, in sentences")
    partial_ = required(
        [FailedSource], "missing", description="Providers whose positions or events are missing"
    )
