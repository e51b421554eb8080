"""Fills the USD values of token amounts in models; None where no price is known.

Values are for display only. No amount, minimum or ranking depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from quoteway import models

AnyAmount = TypeVar("AnyAmount", models.Leg, models.Fee)
AnyPosition = TypeVar("AnyPosition", bound=models.PoolPosition | models.VaultPosition)

Keys = set[tuple[int, models.Address]]
"""Tokens, by chain id and address."""


@dataclass(frozen=True, slots=True)
class Valuation:
    """Fills the USD members that a provider left None. ``prices`` are keyed by chain id and address."""

    prices: Mapping[tuple[int, models.Address], models.Price]

    def usd(self, token: models.Token, amount: int, payout_usd: float | None = None) -> float | None:
        """Returns the value of ``amount`` base units in US dollars; None without a known price.

        ``payout_usd`` is what a sale of them pays, where known.
        """
        price = self.prices.get((token.chain_id, token.address))
        if price is not None and token.price_usd in (None, price.usd):
            return price.worth(token, amount, payout_usd)
        return None if token.price_usd is None else value_of(amount, token.decimals, token.price_usd)

    def token(self, token: models.Token) -> models.Token:
        if token.price_usd is not None:
            return token
        price = self.prices.get((token.chain_id, token.address))
        return token if price is None else replace(token, price_usd=price.usd)

    def amount(self, amount: AnyAmount) -> AnyAmount:
        amount_usd = self.usd(amount.token, amount.amount) if amount.amount_usd is None else amount.amount_usd
        return replace(amount, token=self.token(amount.token), amount_usd=amount_usd)

    def gas(self, gas: models.Gas, coin: models.Token) -> models.Gas:
        """Fills ``cost_usd``. ``coin`` is the native coin that pays the gas."""
        if gas.cost_wei is None or gas.cost_usd is not None:
            return gas
        return replace(gas, cost_usd=self.usd(coin, gas.cost_wei))

    def quote(self, quote: models.Quote, coin: models.Token) -> models.Quote:
        return replace(
            quote,
            inputs=tuple(self.amount(leg) for leg in quote.inputs),
            outputs=tuple(self.amount(leg) for leg in quote.outputs),
            fees=tuple(self.amount(fee) for fee in quote.fees),
            gas=None if quote.gas is None else self.gas(quote.gas, coin),
            terms=self.terms(quote.terms),
        )

    def terms(self, terms: models.QuoteTerms | None) -> models.QuoteTerms | None:
        match terms:
            case models.PoolTerms(dependent=models.Leg() as leg):
                return replace(terms, dependent=self.amount(leg))
            case models.VaultTerms():
                return replace(terms, asset=self.token(terms.asset), share=self.token(terms.share))
        return terms

    def position(self, position: AnyPosition) -> AnyPosition:
        """Fills ``value_usd``: principal plus uncollected fees, None when a part is unknown."""
        amounts = tuple(self.amount(leg) for leg in position.amounts)
        fees: tuple[models.Leg, ...] = ()
        if isinstance(position, models.PoolPosition):
            fees = tuple(self.amount(leg) for leg in position.uncollected_fees)
            position = replace(position, uncollected_fees=fees)
        value_usd = position.value_usd
        if value_usd is None:
            value_usd = total([leg.amount_usd for leg in (*amounts, *fees)])
        return replace(position, amounts=amounts, value_usd=value_usd)

    def pool(self, pool: models.Pool) -> models.Pool:
        return replace(pool, tokens=tuple(self.token(token) for token in pool.tokens))

    def vault(self, vault: models.Vault) -> models.Vault:
        tvl_usd = vault.tvl_usd
        if tvl_usd is None and vault.total_assets is not None:
            tvl_usd = self.usd(vault.asset, vault.total_assets)
        return replace(vault, asset=self.token(vault.asset), share=self.token(vault.share), tvl_usd=tvl_usd)

    def profile(self, profile: models.TokenProfile) -> models.TokenProfile:
        """Fills ``price_usd`` with the price on the first network that has one."""
        if profile.price_usd is not None:
            return profile
        known = (self.token(token).price_usd for token in profile.contracts)
        usd = next((usd for usd in known if usd is not None), None)
        return profile if usd is None else replace(profile, price_usd=usd)


def value_of(amount: int, decimals: int, usd: float) -> float | None:
    """Returns the US dollars of ``amount`` base units at ``usd`` per whole token; None if not finite."""
    value = amount / 10**decimals * usd
    return value if math.isfinite(value) else None


def total(values: Iterable[float | None]) -> float | None:
    """Returns the sum; None when there are no values, one is None, or the sum overflows."""
    known = list(values)
    try:
        return math.fsum(v for v in known if v is not None) if known and None not in known else None
    except OverflowError:  # finite values with an infinite sum
        return None


def tokens_of_request(request: models.Request) -> Keys:
    """Returns the tokens that every quote of this request contains."""
    keys = {(request.chain_id, models.NATIVE)}
    if isinstance(request, models.SwapRequest):
        keys |= {(t.chain_id, t.address) for t in (request.token_in, request.token_out)}
    elif request.asset is not None:
        keys.add((request.chain_id, request.asset))
    return keys


def tokens_of_quote(quote: models.Quote, chain_id: int) -> Keys:
    """Returns the tokens of a quote's legs, fees and gas."""
    tokens = [leg.token for leg in (*quote.inputs, *quote.outputs)] + [fee.token for fee in quote.fees]
    return {(token.chain_id, token.address) for token in tokens} | {(chain_id, models.NATIVE)}


def tokens_of_positions(positions: Iterable[models.PoolPosition | models.VaultPosition]) -> Keys:
    legs: list[models.Leg] = []
    for position in positions:
        legs += position.amounts
        legs += position.uncollected_fees if isinstance(position, models.PoolPosition) else ()
    return {(leg.token.chain_id, leg.token.address) for leg in legs}
