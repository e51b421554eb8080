"""Reads a vault's terms at one block in one round trip: preview, limit, fees, share price."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import Address, Block, Chain, Reason, UpstreamError
from quoteway.evm import erc20
from quoteway.evm.chain import Call, CallFailed
from quoteway.evm.reverts import revert_reason
from quoteway.evm.units import format_units

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import (
    CONVERT_TO_ASSETS,
    CONVERT_TO_SHARES,
    LIMITS,
    PREVIEWS,
    READ_GAS,
    TOTAL_ASSETS,
    Operation,
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Amounts in base units, fees in basis points; None where the vault does not say.

    ``price`` is what ``10 ** price_exponent`` share base units convert to.
    """

    price: int | None
    price_exponent: int
    entry_bps: int | None
    exit_bps: int | None


@dataclass(frozen=True, slots=True)
class Terms:
    """``preview`` is the order's other amount, ``conversion`` the same without fees (EIP-4626
    ``convertTo*``; None where the vault does not say), ``limit`` in the order's unit, ``shares`` the
    sender's balance.
    """

    preview: int
    conversion: int | None
    limit: int | None
    shares: int | None
    total_assets: int | None
    rates: Rates


async def read_terms(
    chain: Chain,
    block: Block,
    facts: VaultFacts,
    operation: Operation,
    amount: int,
    sender: Address,
    recipient: Address,
) -> Terms:
    """Reads the terms. Raises ``UpstreamError`` with the revert reason when the preview reverts."""
    limited = recipient if operation in ("deposit", "mint") else sender
    convert = CONVERT_TO_SHARES if operation in ("deposit", "withdraw") else CONVERT_TO_ASSETS
    preview, conversion, limit, shares, total_assets, *rates = await chain.call_many(
        [
            read(facts, PREVIEWS[operation].encode([amount])),
            read(facts, convert.encode([amount])),
            read(facts, LIMITS[operation].encode([limited])),
            read(facts, erc20.BALANCE_OF.encode([sender])),
            read(facts, TOTAL_ASSETS.encode([])),
            *rate_reads(facts),
        ],
        block=block,
    )
    return Terms(
        previewed(operation, preview),
        erc20.word(conversion),
        erc20.word(limit),
        erc20.word(shares),
        erc20.word(total_assets),
        rates_of(facts, rates),
    )


async def read_preview(
    chain: Chain, block: Block, facts: VaultFacts, operation: Operation, amount: int
) -> int:
    """Returns the order's other amount. Raises as ``read_terms`` does."""
    (answer,) = await chain.call_many([read(facts, PREVIEWS[operation].encode([amount]))], block=block)
    return previewed(operation, answer)


def previewed(operation: Operation, answer: bytes | CallFailed) -> int:
    """Returns the number in a preview's answer. Raises as ``read_terms`` does."""
    value = erc20.word(answer)
    if value is None:
        why = revert_reason(answer.output) if isinstance(answer, CallFailed) else "it gives no number"
        raise UpstreamError(
            f"The vault cannot {operation} now: its preview fails ({why}).", reason=Reason.NO_ROUTE
        )
    return value


def read(facts: VaultFacts, data: bytes) -> Call:
    """Returns a read of the vault."""
    return Call(facts.address, data, gas=READ_GAS)


def rate_reads(facts: VaultFacts) -> list[Call]:
    """Returns the reads whose answers ``rates_of`` takes."""
    assets, shares = _sample(facts.asset.decimals), _sample(facts.share.decimals)
    return [
        read(facts, CONVERT_TO_ASSETS.encode([10 ** price_exponent(facts)])),
        read(facts, CONVERT_TO_SHARES.encode([assets])),
        read(facts, PREVIEWS["deposit"].encode([assets])),
        read(facts, CONVERT_TO_ASSETS.encode([shares])),
        read(facts, PREVIEWS["redeem"].encode([shares])),
    ]


def rates_of(facts: VaultFacts, answers: list[bytes | CallFailed]) -> Rates:
    """Returns share price and fees. A fee is the conversion, which has no fees (EIP-4626), minus the
    preview."""
    price, shares, deposited, assets, redeemed = (erc20.word(answer) for answer in answers)
    return Rates(price, price_exponent(facts), _fee_bps(shares, deposited), _fee_bps(assets, redeemed))


def price_exponent(facts: VaultFacts) -> int:
    """Returns the exponent of the shares whose price is read: 12 digits more precise than one share.

    It is limited for tokens with very many decimals, where some vaults would overflow.
    """
    decimals = facts.share.decimals
    return decimals + 12 if decimals <= 24 else min(decimals, 48)


def price_text(facts: VaultFacts, rates: Rates) -> str | None:
    """Returns whole assets per whole share as exact decimal text."""
    return None if rates.price is None else whole_price(facts, rates.price, rates.price_exponent)


def whole_price(facts: VaultFacts, assets: int, exponent: int) -> str:
    """Returns whole assets per whole share, as exact decimal text, where 10^``exponent`` base units of shares
    are worth ``assets`` base units."""
    shift = exponent - facts.share.decimals
    if shift >= 0:
        return format_units(assets, facts.asset.decimals + shift)
    return format_units(assets * 10**-shift, facts.asset.decimals)


def _sample(decimals: int) -> int:
    """Returns an amount so large that rounding does not look like a fee."""
    return int(10 ** min(max(decimals, 8), 36))


def _fee_bps(whole: int | None, net: int | None) -> int | None:
    if not whole or net is None:
        return None
    return max(0, (2 * (whole - net) * 10_000 + whole) // (2 * whole))
