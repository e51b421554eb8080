"""The past of a wallet: its transactions, what it was worth, and what its positions have gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.evm.units import format_units
from quoteway.web.wire import text
from quoteway.web.wire.parts import BlockRef, TokenRef
from quoteway.web.wire.rows import FailedSource, HeldPosition, Partial
from quoteway.web.wire.series import Coverage
from quoteway.web.wire.view import ConvertedField, View, nullable, required


class IndexCoverage(View):
    """The blocks of which the index has everything; ``complete``: there is nothing before them."""

    from_block = required(fields.Integer, "first")
    to_block = required(fields.Integer, "last")
    complete = required(fields.Boolean, "from_start")


# --- activity ---------------------------------------------------------------------------------------------


def _units(move: Any) -> str | None:
    return None if move.token is None else format_units(move.amount, move.token.decimals)


class MovementEntry(View):
    token_address = required(text.AddressText, "address")
    token = nullable(TokenRef)
    listed = required(fields.Boolean, lambda move: move.token is not None and move.token.listed)
    direction = required(fields.String, enum=["in", "out", "self"])
    amount = required(text.AmountText)
    amount_formatted = nullable(fields.String, _units)
    counterparty = required(text.AddressText)
    hearsay = required(
        fields.Boolean,
        description="An unlisted token says that the wallet sent it, in a transaction of another account",
    )


class DoneCall(View):
    action = required(fields.String)
    function = required(fields.String)
    target = nullable(fields.String)


class KnownEvent(View):
    kind = required(fields.String)
    source = required(fields.String)
    subject = required(fields.String)


class ActivityEntry(View):
    hash = required(text.DigestText)
    block = required(fields.Integer)
    timestamp = required(fields.Integer)
    status = required(
        fields.String, lambda done: "success" if done.success else "reverted", enum=["success", "reverted"]
    )
    from_ = required(text.AddressText, "sender")
    to = nullable(text.AddressText)
    call = nullable(DoneCall)
    description = required(fields.String, "sentence")
    transfers = required([MovementEntry], "movements")
    transfers_left_out = required(fields.Integer, "cut")
    events = required([KnownEvent])
    fee_wei = nullable(text.AmountText)


class Unread(View):
    """A transaction that could not be read, and why."""

    hash = required(text.DigestText, 0)
    reason = required(fields.String, 1)


class Activity(View):
    wallet = required(text.AddressText)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(fields.Integer)
    data = required([ActivityEntry])
    next_cursor = nullable(fields.String)
    coverage = required(IndexCoverage)
    partial_ = required([Unread], "missing")


# --- value over time --------------------------------------------------------------------------------------


class ValuePoint(View):
    timestamp = required(fields.Integer)
    value_usd = nullable(fields.Float)
    unpriced = required([text.AddressText])


class Amounts(fields.List[Any], ConvertedField):
    """Base units at each point, null where they are not known."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(text.AmountText(allow_none=True), **kwargs)

    @staticmethod
    def convert(value: Sequence[int | None]) -> list[str | None]:
        return [None if amount is None else str(amount) for amount in value]


class HeldThen(View):
    token = required(TokenRef)
    amounts = required(Amounts, description="At each point, in base units; null where it is not known")


class WalletHistory(View):
    wallet = required(text.AddressText)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(fields.Integer)
    interval = required(fields.String, enum=["1h", "1d", "1w"])
    from_ = required(fields.Integer, "start")
    to = required(fields.Integer, "end")
    points = required([ValuePoint])
    tokens = required([HeldThen])
    coverage = required(Coverage)
    as_of_block = required(BlockRef, "block")
    method = required(fields.String)
    partial_ = required([Partial], "missing")


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
    token = required(TokenRef, 0)
    amount = required(text.AmountText, 1)


class GainEntry(View):
    position_id = required(fields.String)
    provider = required(fields.String, "held.provider")
    pool_id = nullable(fields.String, "held.pool_id")
    vault_id = nullable(fields.String, "held.vault_id")
    network = required(text.NetworkText, "held.chain_id")
    chain_id = required(fields.Integer, "held.chain_id")
    opened_at = nullable(fields.Integer, "gain.opened_at")
    deposited = nullable([TokenAmount], lambda row: row.legs(row.gain.deposited))
    withdrawn = nullable([TokenAmount], lambda row: row.legs(row.gain.withdrawn))
    collected_fees = nullable([TokenAmount], lambda row: row.legs(row.gain.collected_fees))
    uncollected_fees = nullable([TokenAmount], lambda row: row.legs(row.gain.uncollected_fees))
    cost_usd = nullable(fields.Float, "gain.cost_usd")
    value_usd = nullable(fields.Float, "gain.value_usd")
    realised_usd = nullable(fields.Float, "gain.realised_usd")
    unrealised_usd = nullable(fields.Float, "gain.unrealised_usd")
    fees_usd = nullable(fields.Float, "gain.fees_usd")
    impermanent_loss_usd = nullable(fields.Float, "gain.impermanent_loss_usd")
    reasons = required([fields.String], "gain.reasons")


class Gains(View):
    wallet = required(text.AddressText)
    data = required([GainEntry])
    method = required(fields.String)
    partial_ = required([FailedSource], "missing")
