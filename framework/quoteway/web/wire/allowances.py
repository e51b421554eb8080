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
        description="`erc20`: the token keeps the allowance. `permit2`: the contract Permit2 keeps it, "
        "and the spender takes the token through it",
    )
    token = required(TokenRef, description="Token of the allowance")
    listed = required(fields.Boolean, description="Whether a catalog of this deployment lists the token")
    spender = required(text.AddressText, description="Account that may take the token from the wallet")
    label = nullable(
        fields.String,
        description="Name of the spender, as a provider declares it. Null where none does",
    )
    amount = required(text.AmountText, description="Amount that the spender may still take")
    unlimited = required(
        fields.Boolean,
        description="Whether the amount is one that stands for no limit, such as 2^256 - 1",
    )
    expiration = nullable(
        text.UnixTime,
        description="Time at which a `permit2` allowance ends. Null for `erc20`, which does not end",
    )


class Allowances(View):
    wallet = required(text.WalletText)
    data = required([AllowanceEntry], description="Allowances above zero that have not expired")
    as_of = required([AsOf], description="Block of each network at which the allowances were read")
    partial_ = required(
        [Partial], "missing", description="What could not be read; empty when nothing is missing"
    )
