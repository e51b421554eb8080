"""A wallet across networks."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.evm.units import format_units
from quoteway.networks import Networks
from quoteway.web.wire.amounts import BlockRef, Leg, TokenRef
from quoteway.web.wire.rows import Page, PositionEntry
from quoteway.web.wire.terms import Range
from quoteway.web.wire.text import AddressText, AmountText, NetworkText
from quoteway.web.wire.view import View, Wire, constant, nullable, required


@dataclass(frozen=True, slots=True)
class ValuedHolding:
    """``amount`` base units of ``token`` and what they are worth."""

    token: models.Token
    amount: int
    value_usd: float | None


@dataclass(frozen=True, slots=True)
class HeldPosition:
    """A position with the id of the provider that has it."""

    provider: str
    position: models.PoolPosition | models.VaultPosition

    @property
    def pool_id(self) -> str | None:
        return self.position.pool_id if isinstance(self.position, models.PoolPosition) else None

    @property
    def vault_id(self) -> str | None:
        return self.position.vault_id if isinstance(self.position, models.VaultPosition) else None

    @property
    def chain_id(self) -> int:
        return int((self.pool_id or self.vault_id or "").partition(":")[0])


class Balance(View):
    network = required(NetworkText, "token.chain_id")
    chain_id = required(fields.Integer, "token.chain_id")
    token = required(TokenRef)
    amount = required(AmountText)
    amount_formatted = required(fields.String, lambda held: format_units(held.amount, held.token.decimals))
    value_usd = nullable(fields.Float)


class AsOf(View):
    chain_id = required(fields.Integer, 0)
    block = required(fields.Integer, 1)


class Partial(View):
    """What is missing from ``data``: a token; with ``token`` null, a network or the rest of its list."""

    chain_id = required(fields.Integer)
    token = nullable(AddressText)
    reason = required(fields.String)


class Balances(View):
    wallet = required(AddressText)
    data = required([Balance])
    total_usd = nullable(fields.Float, description="The sum of the values that are known")
    as_of = required([AsOf])
    partial_ = required([Partial], "missing")


class Whereabouts(View):
    pool_id = nullable(fields.String)
    vault_id = nullable(fields.String)
    provider = required(fields.String)
    network = required(NetworkText, "chain_id")
    chain_id = required(fields.Integer)


class VaultPositionEntry(View):
    """A position in a vault with the members of one in a pool."""

    position_id = required(fields.String, "vault_id")
    owner = required(AddressText)
    kind = required(fields.String, constant("fungible"))
    liquidity = required(AmountText, "shares")
    share = nullable(fields.Float)
    amounts = required([Leg])
    uncollected_fees = required([Leg], constant(()))
    range = nullable(Range, constant(None))
    in_range = nullable(fields.Boolean, constant(None))
    value_usd = nullable(fields.Float)
    as_of_block = required(BlockRef, "block")


class PortfolioPosition(Whereabouts, PositionEntry):
    """``poolId`` of a position in a vault is null, and ``vaultId`` of one in a pool."""

    @classmethod
    def render(cls, model: HeldPosition, networks: Networks) -> Wire:
        view = PositionEntry if isinstance(model.position, models.PoolPosition) else VaultPositionEntry
        return view.render(model.position, networks) | Whereabouts.render(model, networks)


class Positions(Page):
    data = required([PortfolioPosition])
