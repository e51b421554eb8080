"""What spenders may take of a wallet."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.holdings import (
    AsOf,
    Partial,
)
from quoteway.web.wire.parts import TokenRef
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
    chain_id = required(text.ChainIdNumber, "token.chain_id")
    kind = required(
        fields.String,
        lambda held: "erc20" if held.expiration is None else "permit2",
        enum=["erc20", "permit2"],
        description="permit2: an allowance that Permit2 keeps, and that the spender uses through it",
    )
    token = required(TokenRef, description="Token that the spender may take")
    listed = required(fields.Boolean, description="Whether a list of this deployment has the token")
    spender = required(text.AddressText, description="Account that may take the token from the wallet")
    label = nullable(
        fields.String,
        description="The name of the spender, where a provider declares it. Null where none does",
    )
    amount = required(text.AmountText, description="How much the spender may still take")
    unlimited = required(
        fields.Boolean,
        description="Whether the amount is the largest that the token stores, which stands for no limit",
    )
    expiration = nullable(
        text.UnixTime,
        description="When an allowance of Permit2 ends. Null for an ERC-20 allowance, which does not end",
    )


class Allowances(View):
    wallet = required(text.WalletText)
    data = required([AllowanceEntry], description="Allowances above zero that are not expired")
    as_of = required([AsOf], description="Block of each network at which the allowances were read")
    partial_ = required(
        [Partial], "missing", description="What could not be read; empty when nothing is missing"
    )
