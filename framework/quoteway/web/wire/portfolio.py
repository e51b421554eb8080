"""A wallet across networks."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.evm.units import format_units
from quoteway.networks import Networks
from quoteway.web.wire.pages import Page
from quoteway.web.wire.pools import PositionEntry
from quoteway.web.wire.text import AddressText, AmountText, NetworkText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import View, Wire, list_of, named, nested, nullable, required


@dataclass(frozen=True, slots=True)
class ValuedHolding:
    """``amount`` base units of ``token`` and what they are worth."""

    token: models.Token
    amount: int
    value_usd: float | None


@dataclass(frozen=True, slots=True)
class HeldPosition:
    """A position with the id of the provider that has it. ``in_pool`` False: it is one in a vault."""

    provider: str
    position: models.Position
    in_pool: bool

    @property
    def resource_id(self) -> str:
        return self.position.pool_id

    @property
    def chain_id(self) -> int:
        return int(self.resource_id.partition(":")[0])


class Balance(View):
    network = required(NetworkText, "token.chain_id")
    chain_id = required(fields.Integer, "token.chain_id")
    token = nested(TokenRef)
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
    data = list_of(Balance)
    total_usd = nullable(fields.Float, description="The sum of the values that are known")
    as_of = list_of(AsOf)
    missing = named("partial", list_of(Partial))


class Whereabouts(View):
    pool_id = nullable(fields.String, lambda held: held.resource_id if held.in_pool else None)
    vault_id = nullable(fields.String, lambda held: None if held.in_pool else held.resource_id)
    provider = required(fields.String)
    network = required(NetworkText, "chain_id")
    chain_id = required(fields.Integer)


class PortfolioPosition(Whereabouts, PositionEntry):
    """``poolId`` of a position in a vault is null, and ``vaultId`` of one in a pool."""

    @classmethod
    def render(cls, model: HeldPosition, networks: Networks) -> Wire:
        position = PositionEntry.render(model.position, networks)
        return position | Whereabouts.render(model, networks)


class Positions(Page):
    data = list_of(PortfolioPosition)
