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
    """The blocks of which the index has everything; ``complete``: there is nothing before them."""

    from_block = required(
        fields.Integer, "first", description="First block of which the index has everything"
    )
    to_block = required(fields.Integer, "last", description="Last block of which the index has everything")
    complete = required(
        fields.Boolean,
        "from_start",
        description="Whether there is nothing of the wallet before the first block",
    )


# --- activity ---------------------------------------------------------------------------------------------


def _units(move: Any) -> str | None:
    return None if move.token is None else format_units(move.amount, move.token.decimals)


class MovementEntry(View):
    token_address = required(
        text.AddressText,
        "address",
        description="Contract of the token that moved; the zero address is the native coin",
    )
    token = nullable(TokenRef, description="Facts of the token")
    listed = required(
        fields.Boolean,
        lambda move: move.token is not None and move.token.listed,
        description="Whether a list of this deployment has the token",
    )
    direction = required(
        fields.String,
        enum=["in", "out", "self"],
        description="`in`: to the wallet; `out`: from it; `self`: to itself",
    )
    amount = required(text.AmountText, description="How much moved")
    amount_formatted = nullable(
        fields.String,
        _units,
        description="How much moved, in whole tokens. Null when the token's decimals are not known",
    )
    counterparty = required(text.AddressText, description="Account at the other end")
    hearsay = required(
        fields.Boolean,
        description="An unlisted token says that the wallet sent it, in a transaction of another account",
    )


class DoneCall(View):
    action = required(
        fields.String, description="What the call does, in the words of the description that was found"
    )
    function = required(fields.String, description="Signature of the called function")
    target = nullable(fields.String, description="Name of the called contract")


class KnownEvent(View):
    kind = required(fields.String, description="What happened, such as `swap`")
    source = required(fields.String, description="Name of the event source that declares the event")
    subject = required(fields.String, description="What it happened to, such as the address of a pool")


class ActivityEntry(View):
    hash = required(text.DigestText, description="Hash of the transaction")
    block = required(fields.Integer, description="Number of its block")
    timestamp = required(text.UnixTime, description="Time of its block")
    status = required(
        fields.String,
        lambda done: "success" if done.success else "reverted",
        enum=["success", "reverted"],
        description="Whether the transaction succeeded",
    )
    from_ = required(text.AddressText, "sender", description="Account that sent the transaction")
    to = nullable(text.AddressText, description="Called account. Null for a deployment")
    call = nullable(DoneCall, description="What the calldata says, as the core reads it")
    description = required(
        fields.String, "sentence", description="Sentence for people: what the transaction did"
    )
    transfers = required(
        [MovementEntry], "movements", description="Tokens and coins that came to the wallet or went from it"
    )
    transfers_left_out = required(
        fields.Integer, "cut", description="How many further transfers are not shown"
    )
    events = required([KnownEvent], description="What known protocols logged in the transaction")
    fee_wei = nullable(
        text.AmountText, description="What the wallet paid for gas, in wei. Null when another account paid"
    )


class Unread(View):
    """A transaction that could not be read, and why."""

    hash = required(text.DigestText, 0, description="Hash of the transaction")
    reason = required(fields.String, 1, description="Why it could not be read, a `details.reason`")


class Activity(View):
    wallet = required(text.WalletText)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    data = required([ActivityEntry], description="Transactions, newest first")
    next_cursor = nullable(text.CursorText)
    coverage = required(IndexCoverage, description="Blocks of which the index has everything")
    partial_ = required([Unread], "missing", description="Transactions that could not be read")


# --- value over time --------------------------------------------------------------------------------------


class ValuePoint(View):
    timestamp = required(text.UnixTime, description="Moment of the value")
    value_usd = nullable(text.UsdNumber, description="Worth of all tokens with a price")
    unpriced = required([text.AddressText], description="Tokens held then that have no price")


class Amounts(fields.List[Any], ConvertedField):
    """Base units at each point, null where they are not known."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(text.AmountText(allow_none=True), **kwargs)

    @staticmethod
    def convert(value: Sequence[int | None]) -> list[str | None]:
        return [None if amount is None else str(amount) for amount in value]


class HeldThen(View):
    token = required(TokenRef, description="Token that the wallet held")
    amounts = required(Amounts, description="At each point, in base units; null where it is not known")


class WalletHistory(View):
    wallet = required(text.WalletText)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    interval = required(text.IntervalText)
    from_ = required(text.UnixTime, "start", description="Start of the time that was asked for")
    to = required(text.UnixTime, "end", description="End of the time that was asked for")
    points = required([ValuePoint], description="Worth of the wallet at each moment, in order of time")
    tokens = required([HeldThen], description="Tokens with what the wallet held of each")
    coverage = required(Coverage, description="Time in which values are known")
    as_of_block = required(BlockRef, "block", description="Block at which the balances of now were read")
    method = required(fields.String, description="Sentence: how the values are computed")
    partial_ = required([Partial], "missing", description="What is not counted, with the reason")


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
    token = required(TokenRef, 0, description="Token that the amount counts")
    amount = required(text.AmountText, 1, description="How much of the token")


class GainEntry(View):
    position_id = required(fields.String, description="Id of the position; of a vault that of the vault")
    provider = required(text.ProviderId, "held.provider")
    pool_id = nullable(
        fields.String, "held.pool_id", description="Pool that holds the position. Null in a vault"
    )
    vault_id = nullable(
        fields.String, "held.vault_id", description="Vault that holds the position. Null in a pool"
    )
    network = required(text.NetworkText, "held.chain_id")
    chain_id = required(text.ChainIdNumber, "held.chain_id")
    opened_at = nullable(text.UnixTime, "gain.opened_at", description="When the position was opened")
    deposited = nullable(
        [TokenAmount], lambda row: row.legs(row.gain.deposited), description="What was put in, by token"
    )
    withdrawn = nullable(
        [TokenAmount], lambda row: row.legs(row.gain.withdrawn), description="What was taken out, by token"
    )
    collected_fees = nullable(
        [TokenAmount],
        lambda row: row.legs(row.gain.collected_fees),
        description="Fees that were paid out, by token",
    )
    uncollected_fees = nullable(
        [TokenAmount],
        lambda row: row.legs(row.gain.uncollected_fees),
        description="Fees that can be collected now, by token",
    )
    cost_usd = nullable(
        text.UsdNumber,
        "gain.cost_usd",
        description="What the position cost: the average cost at the prices of the hours of the deposits",
    )
    value_usd = nullable(text.UsdNumber, "gain.value_usd", description="What the position is worth now")
    realised_usd = nullable(text.UsdNumber, "gain.realised_usd", description="Gain of what was taken out")
    unrealised_usd = nullable(text.UsdNumber, "gain.unrealised_usd", description="Gain of what is still in")
    fees_usd = nullable(text.UsdNumber, "gain.fees_usd", description="Worth of all fees, collected or not")
    impermanent_loss_usd = nullable(
        text.UsdNumber,
        "gain.impermanent_loss_usd",
        description="Difference to holding the deposited tokens; negative is a loss",
    )
    reasons = required(
        [fields.String], "gain.reasons", description="Why members are null, a `details.reason` each"
    )


class Gains(View):
    wallet = required(text.WalletText)
    data = required([GainEntry], description="One row for each position")
    method = required(fields.String, description="Sentence: how each member is computed")
    partial_ = required([FailedSource], "missing", description="Providers whose positions are missing")
