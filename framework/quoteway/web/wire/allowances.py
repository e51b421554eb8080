"""What spenders may take of a wallet."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.parts import TokenRef
from quoteway.web.wire.rows import AsOf, Partial
from quoteway.web.wire.view import View, nullable, required


@dataclass(frozen=True, slots=True)
class ShownAllowance:
    """``amount`` base units of ``token``. ``expiration`` None: a plain ERC-20 allowance."""

    token: models.Token
    spender: str
    amount: int
    unlimited: bool
    expiration: int | None
    label: str | None
    listed: bool


class AllowanceEntry(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(fields.Integer, "token.chain_id")
    kind = required(
        fields.String,
        lambda held: "erc20" if held.expiration is None else "permit2",
        enum=["erc20", "permit2"],
        description="permit2: an allowance that Permit2 keeps, and that the spender uses through it",
    )
    token = required(TokenRef)
    listed = required(fields.Boolean, description="Whether a list of this deployment has the token")
    spender = required(text.AddressText)
    label = nullable(fields.String, description="The name of the spender, where a provider declares it")
    amount = required(text.AmountText)
    unlimited = required(fields.Boolean)
    expiration = nullable(fields.Integer, description="Unix seconds; of Permit2 only")


class Allowances(View):
    wallet = required(text.AddressText)
    data = required([AllowanceEntry])
    as_of = required([AsOf])
    partial_ = required([Partial], "missing")
