"""A wallet's balances and positions, and what of them could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway import models
from quoteway.evm.units import format_units
from quoteway.networks import Networks
from quoteway.web.wire import text
from quoteway.web.wire.parts import Leg, Notice, Range, TokenRef
from quoteway.web.wire.rows import Page, PositionEntry
from quoteway.web.wire.view import (
    View,
    Wire,
    constant,
    hidden,
    nullable,
    optional,
    required,
)


@dataclass(frozen=True, slots=True)
class ValuedHolding:
    """``amount`` base units of ``token``, what they are worth, and what a sale of all pays at least.

    ``spam`` are the rules of spam that the token breaks; None: it was not judged.
    """

    token: models.Token
    amount: int
    value_usd: float | None
    realisable_usd: float | None = None
    price: models.Price | None = None
    counted: bool = False
    spam: tuple[str, ...] | None = ()


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
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(text.ChainIdNumber, "token.chain_id")
    token = required(TokenRef, description="Token of the balance")
    amount = required(text.AmountText, description="Balance of the wallet")
    amount_formatted = required(
        fields.String,
        lambda held: format_units(held.amount, held.token.decimals),
        description="Balance of the wallet in whole tokens, as a decimal number in text",
    )
    value_usd = nullable(
        text.UsdNumber,
        description="Value of the balance. Of a token that no catalog lists, or whose price is not "
        "anchored or has moved, no more than can be sold. Null when not known, and for spam",
    )
    realisable_usd = nullable(
        text.UsdNumber, description="Least that pools pay for the whole balance, sold alone"
    )
    confidence = nullable(text.ConfidenceNumber, lambda held: held.price and held.price.confidence)
    liquidity_usd = nullable(
        text.UsdNumber,
        lambda held: held.price and held.price.depth_usd,
        description="Amount that can be sold near the price",
    )
    sources = required(
        [fields.String],
        lambda held: held.price.sources if held.price else (),
        description="Ids of the price sources that agree on the price; empty without a price",
    )
    anchored = required(
        fields.Boolean,
        lambda held: held.price is not None and held.price.anchored,
        description="Whether the price is confirmed: reached from dollar tokens through pools that stood "
        "for a while, or agreed on by sources of several plugins",
    )
    moved_1h_pct = nullable(
        fields.Float,
        lambda held: held.price and held.price.moved_1h_pct,
        description="Largest difference of the present price to one of the last hour, in percent: 2 is 2 %",
    )
    warnings = required(
        [Notice],
        lambda held: held.price.warnings if held.price else (),
        description="What to know about the price, such as `price_moved`",
    )
    counted = required(fields.Boolean, description="Whether `valueUsd` is part of `totalUsd`")
    listed = required(
        fields.Boolean, "token.listed", description="Whether a catalog of this deployment lists the token"
    )
    spam = nullable(
        fields.Boolean,
        lambda held: None if held.spam is None else bool(held.spam),
        description="Whether the token breaks a rule of spam. Null when it was not judged",
    )
    spam_reasons = required(
        [fields.String],
        lambda held: held.spam or (),
        description="Rules that the token breaks, such as `link` or `mass_gift`",
    )


class AsOf(View):
    chain_id = required(text.ChainIdNumber, 0)
    block = required(fields.Integer, 1, description="Number of the block that was read")


@dataclass(frozen=True, slots=True)
class Missing:
    """A token that could not be read, or without ``token`` a network, and why."""

    chain_id: int
    token: models.Address | None
    reason: str


class Partial(View):
    """What is missing from ``data``: a token; with ``token`` null, a network or the rest of its list."""

    chain_id = required(text.ChainIdNumber)
    token = nullable(
        text.AddressText,
        description="Token that could not be read. Null for a whole network, or for the rest of its list",
    )
    reason = required(
        fields.String,
        description="Why it is missing: one of `details.reason`, or a code that the operation's "
        "description names",
    )


class Balances(View):
    wallet = required(text.WalletText)
    data = required([Balance], description="Balances of the wallet, one for each token and network")
    total_usd = nullable(
        text.UsdNumber, description="Sum of `valueUsd` of the balances that are `counted`. Null when none is"
    )
    total_complete = required(
        fields.Boolean, description="Whether nothing that should count is missing from `totalUsd`"
    )
    as_of = required([AsOf], description="Block of each network at which the balances were read")
    partial_ = required(
        [Partial], "missing", description="What could not be read; empty when nothing is missing"
    )


class BalancesOfWallets(View):
    data = required([Balances], description="Balances of each wallet, in the order of `wallets`")
    total_usd = nullable(
        text.UsdNumber, description="Sum of the known totals of the wallets. Null when none is known"
    )
    total_complete = required(fields.Boolean, description="Whether the totals of all wallets are complete")


class Whereabouts(View):
    pool_id = nullable(fields.String, description="Pool of the position. Null for a vault")
    vault_id = nullable(fields.String, description="Vault of the position. Null for a pool")
    provider = required(text.ProviderId)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)


class VaultPositionEntry(PositionEntry):
    """A position in a vault with the members of one in a pool."""

    position_id = required(fields.String, "vault_id", description="Id of the vault")
    pool_id = optional(fields.String, hidden, description="Not of a vault")
    kind = required(fields.String, constant("fungible"), description="Always `fungible`")
    liquidity = required(text.AmountText, "shares", description="Base units of the vault's shares")
    uncollected_fees = required([Leg], constant(()), description="Always empty")
    range = nullable(Range, constant(None), description="Always null")
    in_range = nullable(fields.Boolean, constant(None), description="Always null")


class PortfolioPosition(Whereabouts, PositionEntry):
    """``poolId`` of a position in a vault is null, and ``vaultId`` of one in a pool."""

    @classmethod
    def render(cls, model: HeldPosition, networks: Networks) -> Wire:
        view = PositionEntry if isinstance(model.position, models.PoolPosition) else VaultPositionEntry
        return view.render(model.position, networks) | Whereabouts.render(model, networks)


class Positions(Page):
    data = required([PortfolioPosition], description="Positions that the wallet has in pools and vaults")
    as_of = required(
        [AsOf],
        description="Block of each network at which the positions were read: the oldest `asOfBlock` among "
        "its positions on all pages, else the newest block before they were looked for. A network whose "
        "block is not known is left out",
    )
