"""Swaps: quotes, actions, prices and depth.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, Unpack

from quoteway_client.acting import act_swap
from quoteway_client.calls import Call, segment
from quoteway_client.comparing import swap_quoted
from quoteway_client.models.shared import Action, ConsentBody
from quoteway_client.models.swaps import (
    AcknowledgingBody,
    SwapDepth,
    SwapPrice,
    SwapQuote,
    SwapQuoteBody,
    SwapQuotes,
    SwapQuotesBody,
)
from quoteway_client.resource import Awaited, Blocking, Resource, ResourceAsync


def create_swap_quote(**body: Unpack[SwapQuoteBody]) -> Call[SwapQuote]:
    """Quote a swap.

    Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
    `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
    expires. Nothing is reserved or sent.
    """
    return Call("POST", "/v2/swaps/quote", SwapQuote, body=body, check=partial(swap_quoted, body))


def get_swap_quote(quote_id: str) -> Call[SwapQuote]:
    """Read a quote back from its token.

    Made from the token alone, also of an expired quote: what the token does not hold is null.

    ``quote_id``: Signed token of a quote, its `quoteId`.
    """
    return Call("GET", f"/v2/swaps/quote/{segment(quote_id)}", SwapQuote)


def refresh_swap_quote(quote_id: str, **body: Unpack[AcknowledgingBody]) -> Call[SwapQuote]:
    """Quote a swap again within the terms of its first quote.

    Gives the best quote now for the request of a quote with `refreshTerms`, expired or not, of any
    provider if the request named none. Its `toAmountMin` is never below that of the first quote, and
    with `exactOut` its `fromAmountMax` never above; all else of the request stays as it was. Where the
    market does not allow that, the reason is `price_moved`, and `bestNow` says what the market gives. A
    refreshed quote can be refreshed too: the terms stay those of the first. The body may be empty.

    ``quote_id``: Signed token of a quote, its `quoteId`.
    """
    return Call("POST", f"/v2/swaps/{segment(quote_id)}/refresh", SwapQuote, body=body)


def create_swap_action(quote_id: str, **body: Unpack[ConsentBody]) -> Call[Action]:
    """Unsigned transactions for a quote.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum. The body may be empty.

    ``quote_id``: Signed token of a quote, its `quoteId`.
    """
    return Call("POST", f"/v2/swaps/{segment(quote_id)}/action", Action, body=body)


def create_swap_quotes(**body: Unpack[SwapQuotesBody]) -> Call[SwapQuotes]:
    """Quote up to 20 swaps at one block.

    `results` are in the order of `quotes`: each has a quote or the error that it would have alone. Each
    counts as one request of the rate limit. They share one deadline.
    """
    return Call("POST", "/v2/swaps/quotes", SwapQuotes, body=body)


def get_swap_price(
    *,
    network: str,
    from_token: str,
    to_token: str,
    amount: int,
    min_block: int | None = None,
    after_transaction: str | None = None,
    fee_bps: int | None = None,
    fee_recipient: str | None = None,
    side: Literal["exactIn", "exactOut"] | None = None,
) -> Call[SwapPrice]:
    """What a swap would pay or take, indicatively.

    Needs no wallet. Nothing is simulated, and there is no quoteId: request a quote to trade.

    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``fee_bps``: Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are
    net of it. With `exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it.
    Needs `feeRecipient`
    ``fee_recipient``: Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`.
    Needs `feeBps`. Address or ENS name
    ``network``: Network of both tokens
    ``from_token``: Token to sell; by address, `native` or the zero address for the native coin, by the
    symbol or id of a listed token, or a CAIP-19 id
    ``to_token``: Token to buy; by address, `native` or the zero address for the native coin, by the
    symbol or id of a listed token, or a CAIP-19 id
    ``amount``: Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base
    units of `toToken`
    ``side``: Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount`
    of `toToken`, for at most `fromAmountMax`.
    """
    return Call(
        "GET",
        "/v2/swaps/price",
        SwapPrice,
        query={
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "feeBps": fee_bps,
            "feeRecipient": fee_recipient,
            "network": network,
            "fromToken": from_token,
            "toToken": to_token,
            "amount": amount,
            "side": side,
        },
    )


def get_swap_depth(
    *,
    network: str,
    from_token: str,
    to_token: str,
    amount: int,
    min_block: int | None = None,
    after_transaction: str | None = None,
    fee_bps: int | None = None,
    fee_recipient: str | None = None,
    side: Literal["exactIn", "exactOut"] | None = None,
    rungs: int | None = None,
) -> Call[SwapDepth]:
    """What swaps of growing amounts would pay or take, indicatively.

    All amounts at one block. Each amount counts as one request of the rate limit.

    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``fee_bps``: Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are
    net of it. With `exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it.
    Needs `feeRecipient`
    ``fee_recipient``: Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`.
    Needs `feeBps`. Address or ENS name
    ``network``: Network of both tokens
    ``from_token``: Token to sell; by address, `native` or the zero address for the native coin, by the
    symbol or id of a listed token, or a CAIP-19 id
    ``to_token``: Token to buy; by address, `native` or the zero address for the native coin, by the
    symbol or id of a listed token, or a CAIP-19 id
    ``amount``: Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base
    units of `toToken`
    ``side``: Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount`
    of `toToken`, for at most `fromAmountMax`
    ``rungs``: Number of amounts.
    """
    return Call(
        "GET",
        "/v2/swaps/depth",
        SwapDepth,
        query={
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "feeBps": fee_bps,
            "feeRecipient": fee_recipient,
            "network": network,
            "fromToken": from_token,
            "toToken": to_token,
            "amount": amount,
            "side": side,
            "rungs": rungs,
        },
    )


class SwapsOperations(Resource):
    """Swaps: quotes, actions, prices and depth."""

    quote = Blocking(create_swap_quote)
    get_quote = Blocking(get_swap_quote)
    refresh = Blocking(refresh_swap_quote)
    action = Blocking(create_swap_action)
    quotes = Blocking(create_swap_quotes)
    price = Blocking(get_swap_price)
    depth = Blocking(get_swap_depth)
    act = Blocking(act_swap)


class AsyncSwapsOperations(ResourceAsync):
    """Swaps: quotes, actions, prices and depth."""

    quote = Awaited(create_swap_quote)
    get_quote = Awaited(get_swap_quote)
    refresh = Awaited(refresh_swap_quote)
    action = Awaited(create_swap_action)
    quotes = Awaited(create_swap_quotes)
    price = Awaited(get_swap_price)
    depth = Awaited(get_swap_depth)
    act = Awaited(act_swap)
