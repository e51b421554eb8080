"""From a request to one of the four calls, by the unit rule: an amount counts base units of ``asset``."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import FieldError, InvalidRequest, Reason, Token, VaultRequest

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import Operation


@dataclass(frozen=True, slots=True)
class Order:
    """One call: ``amount`` assets of a deposit or withdrawal, shares of a mint or redemption.

    None: all shares there are (of a redemption).
    """

    operation: Operation
    amount: int | None

    @property
    def enters(self) -> bool:
        return self.operation in ("deposit", "mint")

    @property
    def counts_shares(self) -> bool:
        return self.operation in ("mint", "redeem")


def order_of(request: VaultRequest, facts: VaultFacts) -> Order:
    """``deposit`` and ``withdraw`` take either unit; ``mint`` and ``redeem`` are about shares by their name.

    Raises ``InvalidRequest``: ``unsupported_token`` for a token that is neither, ``conflict`` for the
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
        raise refused("amount", Reason.INVALID_FORMAT, '"max" is for withdraw and redeem only')
    if request.action in ("mint", "redeem") and not shares:
        raise refused(
            "asset",
            Reason.CONFLICT,
            f"{request.action} counts shares: name the share token {facts.address}, or use "
            f"{'deposit' if request.action == 'mint' else 'withdraw'} for an amount of the underlying",
        )
    if request.recipient in (facts.address, facts.asset.address):
        raise refused("recipient", Reason.CONFLICT, "what is sent to the vault or its token itself is lost")
    if request.action in ("deposit", "mint"):
        return Order("mint" if shares else "deposit", request.amount)
    return Order("redeem" if shares else "withdraw", request.amount)


def unit_of(order: Order, facts: VaultFacts) -> Token:
    """The token that the order's amount counts."""
    return facts.share if order.counts_shares else facts.asset


def refused(member: str, reason: Reason, message: str) -> InvalidRequest:
    """A refusal of one request member."""
    return InvalidRequest(
        f"{member}: {message}.", reason=reason, fields=[FieldError(member, reason, message)]
    )
