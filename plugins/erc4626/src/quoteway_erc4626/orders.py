"""Maps a request to one of the four calls: an amount is in base units of ``asset``."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import FieldError, InvalidRequest, Reason, Token, VaultRequest

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import Operation


@dataclass(frozen=True, slots=True)
class Order:
    """One call. ``amount`` is in assets for deposit and withdraw, in shares for mint and redeem; None
    redeems all shares.
    """

    operation: Operation
    amount: int | None

    @property
    def is_deposit(self) -> bool:
        return self.operation in ("deposit", "mint")

    @property
    def counts_shares(self) -> bool:
        return self.operation in ("mint", "redeem")


def order_of(request: VaultRequest, facts: VaultFacts) -> Order:
    """Returns the call. ``deposit`` and ``withdraw`` take assets or shares, ``mint`` and ``redeem`` shares
    only.

    Raises ``InvalidRequest``: ``unsupported_token`` for any other token, ``conflict`` for the
    underlying with ``mint`` or ``redeem``, ``invalid_format`` for "max" with ``deposit`` or ``mint``.
    """
    shares = request.asset == facts.address
    if not shares and request.asset != facts.asset.address:
        raise refused(
            "asset",
            Reason.UNSUPPORTED_TOKEN,
            f"must be the vault's underlying {facts.asset.address} or its share token {facts.address}",
        )
    if request.amount is None:
        if request.action in ("withdraw", "redeem"):
            return Order("redeem", None)
        raise refused(
            "amount", Reason.INVALID_FORMAT, '"max" works with withdraw and redeem only: give an amount'
        )
    if request.action in ("mint", "redeem") and not shares:
        raise refused(
            "asset",
            Reason.CONFLICT,
            f"{request.action} counts shares: name the share token {facts.address}, or use "
            f"{'deposit' if request.action == 'mint' else 'withdraw'} for an amount of the underlying",
        )
    if request.recipient in (facts.address, facts.asset.address):
        raise refused(
            "recipient", Reason.CONFLICT, "tokens sent to the vault or its token would be lost: name a wallet"
        )
    if request.action in ("deposit", "mint"):
        return Order("mint" if shares else "deposit", request.amount)
    return Order("redeem" if shares else "withdraw", request.amount)


def unit_of(order: Order, facts: VaultFacts) -> Token:
    """Returns the token in whose base units the order's amount is given."""
    return facts.share if order.counts_shares else facts.asset


def refused(member: str, reason: Reason, message: str) -> InvalidRequest:
    """Returns the error for one request member."""
    return InvalidRequest(
        f"{member}: {message}.", reason=reason, fields=[FieldError(member, reason, message)]
    )
