"""What the tokens of a wallet were worth over time.

Balances of the past are those that the chain has now, less what came since and plus what went: exact for
every token whose transfers are all logged. A token for which that cannot be true is named and not counted.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from quoteway.engine.gateway import Gateway
from quoteway.errors import disabled
from quoteway.evm.holdings import read_holdings
from quoteway.models import Address, Block, IndexReach, Token, TokenTransfer, WalletTokens
from quoteway.pricing.past_prices import OLDEST_S, PastPrices, read_past_prices
from quoteway.pricing.valuation import total, value_of

MOST_TOKENS = 250
MOST_TRANSFERS = 20_000
PAGE = 2_000
UNEXPLAINED, TOKEN_LIMIT, TRANSFER_LIMIT = "balance_unexplained", "token_limit", "transfer_limit"
POSITION, UNREADABLE = "position_not_counted", "call_failed"


@dataclass(frozen=True, slots=True)
class ValuePoint:
    """The value at a moment; ``unpriced`` are tokens that the wallet had and that had no price.

    ``value_usd`` is that of the priced tokens, None when none of those that it had is priced, or when the
    moment is outside of what is known.
    """

    timestamp: int
    value_usd: float | None
    unpriced: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldThen:
    """A token with its balance in base units at each moment, None where it is not known."""

    token: Token
    amounts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class WalletValue:
    """The value of a wallet over time. ``coverage`` is the span in which balances are known.

    ``block`` is where the balances of today are from. ``missing`` are tokens (None: any) and reasons.
    """

    points: tuple[ValuePoint, ...]
    tokens: tuple[HeldThen, ...]
    coverage: tuple[int, int]
    block: Block
    missing: tuple[tuple[Address | None, str], ...]


@dataclass(frozen=True, slots=True)
class _Moves:
    """The transfers from and to a wallet, newest first; ``is_cut``: older ones were left out."""

    transfers: Sequence[TokenTransfer]
    is_cut: bool


async def wallet_value(
    gateway: Gateway, chain_id: int, wallet: Address, moments: Sequence[int], *, unlisted: bool
) -> WalletValue:
    """Returns the value of a wallet at moments in ascending order, of listed tokens unless ``unlisted``.

    Raises ``ProviderUnavailable`` when no index keeps the wallet's transfers, and ``UpstreamError`` when the
    index or the chain cannot be read.
    """
    received, listed = await asyncio.gather(
        gateway.history.wallet_tokens(chain_id, wallet), gateway.tokens.listed(chain_id)
    )
    if received is None:
        raise disabled("No index keeps the transfers of this wallet on this network.")
    chain = gateway.runtime.chain(chain_id)
    wanted, missing = _wanted(received, listed, unlisted=unlisted)
    block, began = await asyncio.gather(
        chain.block_seen_elsewhere(received.reach.last), _began(gateway, chain_id, received.reach)
    )
    known = {token: listed[token] for token in wanted if token in listed}
    known |= await gateway.tokens.find_each(chain_id, [token for token in wanted if token not in known])
    holdings, moves = await asyncio.gather(
        read_holdings(chain, wallet, wanted, known, block),
        _moves(gateway, chain_id, wallet, received.reach, max(began, moments[0] if moments else began)),
    )
    missing += [(token, UNREADABLE) for token, _ in holdings.unreadable]
    if moves.is_cut:
        began = max(began, moves.transfers[-1].timestamp + 1)
        missing.append((None, TRANSFER_LIMIT))
    moved: defaultdict[Address, list[TokenTransfer]] = defaultdict(list)
    for each in moves.transfers:
        moved[each.token].append(each)
    tokens: list[HeldThen] = []
    for held in holdings.tokens:
        own = moved.get(held.token.address, ())
        amounts = _amounts(wallet, held.amount, own, moments, began, block.timestamp)
        if amounts is None:
            missing.append((held.token.address, UNEXPLAINED))
        elif any(amounts):
            tokens.append(HeldThen(held.token, amounts))
    prices = PastPrices()
    if tokens and moments:
        asked = [each.token.address for each in tokens]
        prices = await read_past_prices(gateway.history, chain_id, asked, moments[0] - OLDEST_S, moments[-1])
    # Up to 250 tokens at 1,000 moments: on the event loop nothing would be answered for half a second.
    points = await asyncio.to_thread(_points, moments, tokens, prices)
    return WalletValue(points, tuple(tokens), (began, block.timestamp), block, tuple(missing))


def _wanted(
    received: WalletTokens, listed: Mapping[Address, Token], *, unlisted: bool
) -> tuple[list[Address], list[tuple[Address | None, str]]]:
    """Returns the tokens whose balances count, and what is not counted."""
    missing: list[tuple[Address | None, str]] = [
        (each.token, POSITION) for each in received.received if each.kind != "token"
    ]
    wanted = [
        each.token
        for each in sorted(received.received, key=lambda each: each.token not in listed)
        if each.kind == "token" and (unlisted or each.token in listed)
    ]
    if len(wanted) > MOST_TOKENS or received.left_out:
        missing.append((None, TOKEN_LIMIT))
    return wanted[:MOST_TOKENS], missing


async def _began(gateway: Gateway, chain_id: int, reach: IndexReach) -> int:
    """Returns since when all transfers are known, in Unix seconds."""
    if reach.from_start:
        return 0
    return (await gateway.runtime.chain(chain_id).block(reach.first)).timestamp


async def _moves(gateway: Gateway, chain_id: int, wallet: Address, reach: IndexReach, since: int) -> _Moves:
    """Returns the transfers at or after a moment, up to the last block of ``reach``."""
    found: list[TokenTransfer] = []
    before = reach.last + 1, 0
    while True:
        page = await gateway.history.wallet_transfers(
            chain_id, wallet, before=before, since_block=reach.first, limit=PAGE
        )
        if page is None:
            raise disabled("No index keeps the transfers of this wallet on this network.")
        found += page.transfers
        if not page.more or not page.transfers or page.transfers[-1].timestamp < since:
            return _Moves(found, is_cut=False)
        if len(found) >= MOST_TRANSFERS:
            return _Moves(found, is_cut=True)
        before = page.transfers[-1].block, page.transfers[-1].log_index


def _amounts(
    wallet: Address,
    amount: int,
    moves: Iterable[TokenTransfer],
    moments: Sequence[int],
    began: int,
    until: int,
) -> tuple[int | None, ...] | None:
    """Returns the balance at each moment, given that of now and the moves, newest first.

    None when the balance would have been negative. What happened in the second of a moment counts.
    """
    amounts: list[int | None] = []
    waiting = iter(moves)
    move = next(waiting, None)
    for moment in reversed(moments):
        while move is not None and move.timestamp > moment:
            amount += (move.sender == wallet) * move.amount - (move.recipient == wallet) * move.amount
            move = next(waiting, None)
        if amount < 0:
            return None
        amounts.append(amount if began <= moment <= until else None)
    return tuple(reversed(amounts))


def _points(moments: Sequence[int], tokens: Sequence[HeldThen], prices: PastPrices) -> tuple[ValuePoint, ...]:
    return tuple(_point(at, moment, tokens, prices) for at, moment in enumerate(moments))


def _point(at: int, moment: int, tokens: Sequence[HeldThen], prices: PastPrices) -> ValuePoint:
    held = [(each.token, amount) for each in tokens if (amount := each.amounts[at])]
    is_known = all(each.amounts[at] is not None for each in tokens)
    if not is_known:
        return ValuePoint(moment, None)
    values: list[float] = []
    unpriced: list[Address] = []
    for token, amount in held:
        price = prices.before(token.address, moment)
        value = None if price is None else value_of(amount, token.decimals, price)
        if value is None:
            unpriced.append(token.address)
        else:
            values.append(value)
    return ValuePoint(moment, total(values) if values or unpriced else 0.0, tuple(unpriced))
