"""What a position has gained or lost, from what it took in and paid out, at the prices of those hours.

Cost is that of the amounts that went in, in US dollars of their hours. What goes out carries its share of the
cost, by liquidity (average cost). Fees are apart. Nothing is guessed: what depends on an unknown price or
event is None, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quoteway.models import PoolPosition, PositionFlow, Token, VaultPosition
from quoteway.pricing.past_prices import PastPrices
from quoteway.pricing.valuation import Valuation, total

NOT_INDEXED, INCOMPLETE = "not_indexed", "flows_incomplete"
PRICE_UNKNOWN, AMOUNT_UNKNOWN = "price_unknown", "amount_unknown"
FEES_UNKNOWN, FEES_IN_PRINCIPAL = "fees_not_logged", "fees_in_principal"
ONE_TOKEN = "one_token"  # noqa: S105 - a reason, not a secret
"""Why members are None: no index has the position's events; they do not add up to its liquidity; a price or
an amount is not known; the protocol logs no fees, or keeps them in the principal; one token cannot diverge.
"""


@dataclass(frozen=True, slots=True)
class Gain:
    """The gains of a position in US dollars, and the amounts in base units in the order of its tokens.

    ``cost_usd`` is that of what is in the position. ``impermanent_loss_usd`` is what the principal is worth
    now less what its deposits would be worth now: negative is a loss. ``reasons`` says why members are None.
    """

    tokens: tuple[Token, ...]
    opened_at: int | None = None
    deposited: tuple[int, ...] | None = None
    withdrawn: tuple[int, ...] | None = None
    collected_fees: tuple[int, ...] | None = None
    uncollected_fees: tuple[int, ...] | None = None
    cost_usd: float | None = None
    value_usd: float | None = None
    realised_usd: float | None = None
    unrealised_usd: float | None = None
    fees_usd: float | None = None
    impermanent_loss_usd: float | None = None
    reasons: tuple[str, ...] = ()


@dataclass(slots=True)
class _Account:
    """A position while its flows are replayed.

    ``deposits`` are the deposited base units that are still in it, not rounded: they are for values alone.
    ``pending`` is principal that was taken out and is not paid yet.
    """

    liquidity: int
    cost_usd: float | None
    deposits: list[float]
    deposited: list[int]
    withdrawn: list[int]
    realised_usd: float | None
    pending: list[int]
    fees: list[int]
    fees_usd: float | None


def position_gain(
    position: PoolPosition | VaultPosition,
    flows: Sequence[PositionFlow] | None,
    then: PastPrices,
    now: Valuation,
) -> Gain:
    """Returns the gain of a position, given all its flows, oldest first; None: they are not indexed."""
    tokens = tuple(leg.token for leg in position.amounts)
    value_usd = total(now.usd(leg.token, leg.amount) for leg in position.amounts)
    if flows is None or not tokens:
        return Gain(tokens, value_usd=value_usd, reasons=(NOT_INDEXED,))
    liquidity = position.liquidity if isinstance(position, PoolPosition) else position.shares
    if sum(flow.liquidity_delta for flow in flows) != liquidity:
        return Gain(tokens, value_usd=value_usd, reasons=(INCOMPLETE,))
    if any(flow.principal is None or len(flow.principal) != len(tokens) for flow in flows):
        return Gain(tokens, value_usd=value_usd, reasons=(AMOUNT_UNKNOWN,))
    account = _replayed(flows, tokens, then)
    if account is None:
        return Gain(tokens, value_usd=value_usd, reasons=(INCOMPLETE,))
    reasons: list[str] = []
    if None in (account.cost_usd, account.realised_usd, value_usd):
        reasons.append(PRICE_UNKNOWN)
    uncollected, collected, fees_usd, why = _fees(position, flows, account, tokens, now)
    reasons += why
    held = total(_whole(now, token, amount) for token, amount in zip(tokens, account.deposits, strict=True))
    loss = None if len(tokens) < 2 else _difference(value_usd, held)
    if len(tokens) < 2:
        reasons.append(ONE_TOKEN)
    return Gain(
        tokens,
        opened_at=flows[0].timestamp if flows else None,
        deposited=tuple(account.deposited),
        withdrawn=tuple(account.withdrawn),
        collected_fees=collected,
        uncollected_fees=uncollected,
        cost_usd=account.cost_usd,
        value_usd=value_usd,
        realised_usd=account.realised_usd,
        unrealised_usd=_difference(value_usd, account.cost_usd),
        fees_usd=fees_usd,
        impermanent_loss_usd=loss,
        reasons=tuple(dict.fromkeys(reasons)),
    )


def _replayed(flows: Iterable[PositionFlow], tokens: Sequence[Token], then: PastPrices) -> _Account | None:
    """Returns the account after all flows; None when more goes out than is in."""
    none = [0] * len(tokens)
    account = _Account(0, 0.0, [0.0] * len(tokens), [*none], [*none], 0.0, [*none], [*none], 0.0)
    for flow in flows:
        assert flow.principal is not None
        value = total(
            then.usd(token.address, token.decimals, abs(amount), flow.timestamp)
            for token, amount in zip(tokens, flow.principal, strict=True)
        )
        if flow.liquidity_delta > 0:
            account.cost_usd = _sum(account.cost_usd, value)
            for at, amount in enumerate(flow.principal):
                account.deposits[at] += amount
                account.deposited[at] += amount
        elif flow.liquidity_delta < 0:
            if -flow.liquidity_delta > account.liquidity:
                return None
            share = -flow.liquidity_delta / account.liquidity
            released = None if account.cost_usd is None else account.cost_usd * share
            gained = None if value is None or released is None else value - released
            account.realised_usd = _sum(account.realised_usd, gained)
            account.cost_usd = None if released is None else _difference(account.cost_usd, released)
            for at, amount in enumerate(flow.principal):
                account.deposits[at] *= 1 - share
                account.withdrawn[at] -= amount
                account.pending[at] -= amount
        account.liquidity += flow.liquidity_delta
        if flow.paid is not None:
            _collect(account, flow, tokens, then)
    return account


def _collect(account: _Account, flow: PositionFlow, tokens: Sequence[Token], then: PastPrices) -> None:
    """Books what was paid: first the principal that was owed, the rest is fees."""
    assert flow.paid is not None
    fees: list[float | None] = []
    for at, (token, paid) in enumerate(zip(tokens, flow.paid, strict=True)):
        principal = min(paid, account.pending[at])
        account.pending[at] -= principal
        account.fees[at] += paid - principal
        fees.append(then.usd(token.address, token.decimals, paid - principal, flow.timestamp))
    account.fees_usd = _sum(account.fees_usd, total(fees))


def _fees(
    position: PoolPosition | VaultPosition,
    flows: Sequence[PositionFlow],
    account: _Account,
    tokens: Sequence[Token],
    now: Valuation,
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None, float | None, list[str]]:
    """Returns uncollected and collected fees, their value, and why one of them is None."""
    if not isinstance(position, PoolPosition) or position.kind == "fungible":
        return None, None, None, [FEES_IN_PRINCIPAL]
    owed = [leg.amount for leg in position.uncollected_fees]
    if len(owed) != len(tokens):
        return None, None, None, [AMOUNT_UNKNOWN]
    if not _logs_fees(position) and len(flows) > 1:
        # In v4 each change of a position pays its fees out, and no event of the pool tells how much.
        return tuple(owed), None, None, [FEES_UNKNOWN]
    uncollected = [max(0, amount - pending) for amount, pending in zip(owed, account.pending, strict=True)]
    open_usd = total(now.usd(token, amount) for token, amount in zip(tokens, uncollected, strict=True))
    fees_usd = None if open_usd is None else _sum(account.fees_usd, open_usd)
    return tuple(uncollected), tuple(account.fees), fees_usd, [] if fees_usd is not None else [PRICE_UNKNOWN]


def _logs_fees(position: PoolPosition) -> bool:
    """Returns whether what a position is paid is logged: that of a pool with an address, as in v3."""
    return len(position.pool_id.partition(":")[2]) == 42


def _whole(now: Valuation, token: Token, amount: float) -> float | None:
    """Returns the value of a number of base units with a fraction; of an unlisted token what it may count."""
    if not token.listed:
        return now.usd(token, round(amount))
    price = now.prices.get((token.chain_id, token.address))
    usd = token.price_usd if price is None else price.usd
    if not amount:
        return 0.0
    return None if usd is None else amount / 10**token.decimals * usd


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


def _difference(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right
