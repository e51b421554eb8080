"""Compares a quote of a pool or vault with its request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from quoteway_client.comparing import most, same, same_address
from quoteway_client.errors import Difference, QuoteMismatch

if TYPE_CHECKING:
    from quoteway_client.models.pools import PoolQuote
    from quoteway_client.models.vaults import VaultQuote

DEFAULT_SLIPPAGE_BPS = 50


def place_quoted(place_id: str, body: Mapping[str, Any], quote: PoolQuote | VaultQuote) -> None:
    """Compares a quote with the id of its pool or vault and the body of its request. Names and symbols, which
    the gateway resolves, are not compared: name tokens and accounts by address where that matters.

    Raises ``QuoteMismatch``.
    """
    found = list(_differences(place_id, body, quote))
    if found:
        raise QuoteMismatch(found)


def _differences(
    place_id: str, body: Mapping[str, Any], quote: PoolQuote | VaultQuote
) -> Iterator[Difference]:
    echo, sender = quote.request, body.get("address")
    told_id = getattr(echo, "pool_id", None) or getattr(echo, "vault_id", "")
    yield from same("request.id", place_id.lower(), str(told_id).lower())
    chain_id = place_id.partition(":")[0]
    if chain_id.isdigit():
        yield from same("chainId", int(chain_id), quote.chain_id)
    yield from same("request.action", body.get("action"), echo.action)
    yield from same_address("request.address", sender, echo.address)
    yield from same_address("request.recipient", body.get("recipient") or sender, echo.recipient)
    if body.get("asset") is not None:
        yield from same_address("request.asset", body["asset"], echo.asset)
    if body.get("amount") is not None:
        told = "max" if echo.amount is None else str(echo.amount)
        yield from same("request.amount", str(body["amount"]), told)
    for member, name in (
        ("tick_lower", "tickLower"),
        ("tick_upper", "tickUpper"),
        ("position_id", "positionId"),
        ("strategy", "strategy"),
    ):
        if body.get(member) is not None:
            yield from same(f"request.{name}", body[member], getattr(echo, member, None))
    if hasattr(echo, "use_native"):
        yield from same("request.useNative", bool(body.get("use_native")), echo.use_native)
    yield from _terms(body, quote)


def _terms(body: Mapping[str, Any], quote: PoolQuote | VaultQuote) -> Iterator[Difference]:
    """Compares what is paid and received, and the slippage by which that may change."""
    echo, slippage_bps = quote.request, body.get("slippage_bps", DEFAULT_SLIPPAGE_BPS)
    if quote.slippage_bps > slippage_bps:
        yield Difference("slippageBps", f"at most {slippage_bps}", str(quote.slippage_bps))
    payees = {echo.address.lower(), echo.recipient.lower()}
    taken = 0
    for leg in quote.inputs:
        yield from same("inputs.token.chainId", quote.chain_id, leg.token.chain_id)
        yield from same_address("inputs.account", echo.address, leg.account)
        taken += most(leg) if leg.token.address.lower() == (echo.asset or "").lower() else 0
    if isinstance(body.get("amount"), int) and taken > body["amount"]:
        yield Difference("inputs of the asset", f"at most {body['amount']}", str(taken))
    for leg in quote.outputs:
        if leg.account.lower() not in payees:
            yield Difference("outputs.account", echo.recipient, leg.account)
