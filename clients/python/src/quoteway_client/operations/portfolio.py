"""Balances, positions, approvals and history of wallets.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, Unpack

from quoteway_client.calls import Call
from quoteway_client.models.portfolio import (
    Activity,
    Allowances,
    Balances,
    BalancesBody,
    BalancesOfWallets,
    Gains,
    Positions,
    RevokeBody,
    WalletHistory,
)
from quoteway_client.models.shared import Action
from quoteway_client.resource import AsyncListed, Awaited, Blocking, Listed, Resource, ResourceAsync
from quoteway_client.revocations import revocation_built


def get_portfolio_balances(
    *,
    wallet: str,
    min_block: int | None = None,
    after_transaction: str | None = None,
    network: str | None = None,
    tokens: str | Sequence[str] | None = None,
    include_native: bool | None = None,
    include_unlisted: bool | None = None,
) -> Call[Balances]:
    """A wallet's balances.

    All balances of a network are of one block, named in `asOf`. With `tokens`, each of them is shown,
    zero or not; without, those that the wallet holds and that this deployment lists, or that the wallet
    received as far as an index knows (`listed` false). `spam` tells that an unlisted token breaks
    rules, which `spamReasons` names: `link` and `promise` in its name, `look_alike` of a listed symbol,
    `mass_gift` to many at once, `not_transferable` in a simulation. Spam has no value; `spam` is null
    of unlisted tokens that `tokens` names: they are not judged. A token that cannot be read is in
    `partial` (`call_failed`, `short_answer`, `no_token`, `out_of_gas`), and so is a network that
    cannot, with `token` null; `token_limit` there tells that the network's list is longer than what one
    request reads, and `index_unavailable`, `index_incomplete` or `index_behind` that unlisted tokens
    may be missing. `totalUsd` adds up what is `counted`: the values of listed tokens whose price is
    `anchored`, and with `includeUnlisted` those of others; `totalComplete` is false while one of these,
    a listed token, or anything else is missing. `realisableUsd` is what the pools pay at least for all
    of it, each token sold alone. What no catalog lists, what has no anchored price, and what moved by 2
    % or more within the hour (`moved1hPct`, warning `price_moved`) is worth no more.

    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``wallet``: Account whose balances are read. Address or ENS name
    ``network``: Network to read. Left out: all
    ``tokens``: Tokens separated by commas, at most 1000 over all networks. The request line is limited
    too (`server.max_line_bytes`, 8,190: some 180 addresses). Left out: the tokens listed by this
    deployment, of which only those held are shown; by address, `native` or the zero address for the
    native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id
    ``include_native``: Whether the balance of the native coin is read too
    ``include_unlisted``: Whether `totalUsd` counts tokens that no catalog lists, and those whose price
    is not anchored, at what they can be sold for.
    """
    return Call(
        "GET",
        "/v2/portfolio/balances",
        Balances,
        query={
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "wallet": wallet,
            "network": network,
            "tokens": tokens,
            "includeNative": include_native,
            "includeUnlisted": include_unlisted,
        },
    )


def list_balances_of_wallets(**body: Unpack[BalancesBody]) -> Call[BalancesOfWallets]:
    """The balances of up to 20 wallets.

    `data` has each wallet as `GET` of the same path shows it, in the order of `wallets`, all at one
    block of each network. A wallet that could be read on no network has its networks in `partial`. Each
    wallet counts as one request of the rate limit. With `tokens`, each of them is shown, zero or not;
    without, those that the wallet holds and that this deployment lists, or that the wallet received as
    far as an index knows (`listed` false). `spam` tells that an unlisted token breaks rules, which
    `spamReasons` names: `link` and `promise` in its name, `look_alike` of a listed symbol, `mass_gift`
    to many at once, `not_transferable` in a simulation. Spam has no value; `spam` is null of unlisted
    tokens that `tokens` names: they are not judged. A token that cannot be read is in `partial`
    (`call_failed`, `short_answer`, `no_token`, `out_of_gas`), and so is a network that cannot, with
    `token` null; `token_limit` there tells that the network's list is longer than what one request
    reads, and `index_unavailable`, `index_incomplete` or `index_behind` that unlisted tokens may be
    missing. `totalUsd` adds up what is `counted`: the values of listed tokens whose price is
    `anchored`, and with `includeUnlisted` those of others; `totalComplete` is false while one of these,
    a listed token, or anything else is missing. `realisableUsd` is what the pools pay at least for all
    of it, each token sold alone. What no catalog lists, what has no anchored price, and what moved by 2
    % or more within the hour (`moved1hPct`, warning `price_moved`) is worth no more.
    """
    return Call("POST", "/v2/portfolio/balances", BalancesOfWallets, body=body)


def get_portfolio_positions(
    *,
    wallet: str,
    limit: int | None = None,
    cursor: str | None = None,
    min_block: int | None = None,
    after_transaction: str | None = None,
    network: str | None = None,
) -> Call[Positions]:
    """A wallet's positions in pools and vaults.

    Merged from every pool and vault provider under one deadline. A provider that fails or is late is
    named in `partial`. `valueUsd` is principal and uncollected fees, null unless all is priced.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``wallet``: Account whose positions are listed. Address or ENS name
    ``network``: Network to read. Left out: all.
    """
    return Call(
        "GET",
        "/v2/portfolio/positions",
        Positions,
        query={
            "limit": limit,
            "cursor": cursor,
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "wallet": wallet,
            "network": network,
        },
    )


def get_portfolio_approvals(
    *,
    wallet: str,
    min_block: int | None = None,
    after_transaction: str | None = None,
    network: str | None = None,
    tokens: str | Sequence[str] | None = None,
) -> Call[Allowances]:
    """What spenders may take of a wallet.

    The allowances above zero, of ERC-20 tokens and through Permit2, at one block (`asOf`). Read are:
    the listed tokens, or those in `tokens`, for the spenders that providers declare; and what the
    wallet's approvals in the last 10,000 blocks name, of any token for any spender. An older approval
    of an unknown spender is not found. `partial` names a token that cannot be read, and with `token`
    null a network: `logs_unavailable` where its node gave no logs, or too many, and `token_limit` where
    its list is longer than what one request reads.

    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``wallet``: Account whose approvals are listed. Address or ENS name
    ``network``: Network to read. Left out: all
    ``tokens``: Tokens separated by commas, at most 1000 over all networks. The request line is limited
    too (`server.max_line_bytes`, 8,190: some 180 addresses). Left out: the tokens listed by this
    deployment, of which only those held are shown; by address, `native` or the zero address for the
    native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id.
    """
    return Call(
        "GET",
        "/v2/portfolio/approvals",
        Allowances,
        query={
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "wallet": wallet,
            "network": network,
            "tokens": tokens,
        },
    )


def create_revocation(**body: Unpack[RevokeBody]) -> Call[Action]:
    """Unsigned transactions that end approvals.

    An action of its own kind (`revocation`): `approve(spender, 0)` for each ERC-20 allowance, and one
    `lockdown` for all that Permit2 keeps. What is zero already is left out; 422 `conflict` when all is.
    """
    return Call(
        "POST", "/v2/portfolio/approvals/revoke", Action, body=body, check=partial(revocation_built, body)
    )


def get_portfolio_activity(
    *, wallet: str, network: str, cursor: str | None = None, limit: int | None = None
) -> Call[Activity]:
    """A wallet's transactions, newest first.

    The transactions in which tokens came to the wallet or went from it, as far as the index reaches
    (`coverage`). Which they are is from the index; what happened in them is from their receipts on the
    chain. `call` is what a known description reads from the calldata, `description` a sentence of the
    core, `events` what known protocols logged in it. `hearsay` marks what an unlisted token says that
    the wallet sent in a transaction of another account: any contract can say that. Native coin counts
    where the wallet sent it with a transaction. A transaction that cannot be read is in `partial`. 503
    where no index keeps the wallet's transfers.

    ``wallet``: Account whose transactions are listed. Address or ENS name
    ``network``: Network to read
    ``cursor``: Value of `nextCursor` of the page before
    ``limit``: Number of transactions on a page.
    """
    return Call(
        "GET",
        "/v2/portfolio/activity",
        Activity,
        query={"wallet": wallet, "network": network, "cursor": cursor, "limit": limit},
    )


def get_portfolio_history(
    *,
    wallet: str,
    network: str,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
    include_unlisted: bool | None = None,
) -> Call[WalletHistory]:
    """The value of a wallet's tokens over time.

    `valueUsd` of a point is what the wallet's listed tokens with a known price were worth; null outside
    of `coverage`, and where none of what it had is priced. `tokens` has the exact balances at the
    points, in base units. `partial` names what is not counted: the native coin (`not_indexed`),
    positions (`positions_not_counted`, `position_not_counted` with the token of its shares), a token
    whose transfers do not explain its balance (`balance_unexplained`), such as a rebasing one, and
    limits (`token_limit`, `transfer_limit`). 503 where no index keeps the wallet's transfers.

    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week
    ``wallet``: Account whose tokens are valued. Address or ENS name
    ``network``: Network to read
    ``include_unlisted``: Whether tokens that no catalog lists count too.
    """
    return Call(
        "GET",
        "/v2/portfolio/history",
        WalletHistory,
        query={
            "from": from_,
            "to": to,
            "interval": interval,
            "wallet": wallet,
            "network": network,
            "includeUnlisted": include_unlisted,
        },
    )


def get_portfolio_pnl(
    *,
    wallet: str,
    limit: int | None = None,
    cursor: str | None = None,
    min_block: int | None = None,
    after_transaction: str | None = None,
    network: str | None = None,
) -> Call[Gains]:
    """What a wallet's positions have gained and lost.

    One row for each position that `GET /v2/portfolio/positions` shows, from all that it took in and
    paid out since it was opened, as an index has it. A member is null where it is not known, and
    `reasons` says why: `not_indexed`, `flows_incomplete` (its events do not add up to its liquidity),
    `price_unknown`, `amount_unknown` (shares that came from another account), `fees_not_logged` (v4,
    after the first change), `fees_in_principal` (v2 and vaults), `one_token`. `partial` names a
    provider that failed, `position_limit` and `index_unavailable`. 503 where no index is kept.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``min_block``: Number of a block, such as the newest of the caller's own node: the answer is of this
    block or a later one
    ``after_transaction``: Hash of a transaction: the answer is of its block or a later one
    ``wallet``: Account whose positions are listed. Address or ENS name
    ``network``: Network to read. Left out: all.
    """
    return Call(
        "GET",
        "/v2/portfolio/pnl",
        Gains,
        query={
            "limit": limit,
            "cursor": cursor,
            "minBlock": min_block,
            "afterTransaction": after_transaction,
            "wallet": wallet,
            "network": network,
        },
    )


class PortfolioOperations(Resource):
    """Balances, positions, approvals and history of wallets."""

    balances = Blocking(get_portfolio_balances)
    balances_of_wallets = Blocking(list_balances_of_wallets)
    positions = Listed(get_portfolio_positions)
    approvals = Blocking(get_portfolio_approvals)
    revoke = Blocking(create_revocation)
    activity = Listed(get_portfolio_activity)
    history = Blocking(get_portfolio_history)
    pnl = Blocking(get_portfolio_pnl)


class AsyncPortfolioOperations(ResourceAsync):
    """Balances, positions, approvals and history of wallets."""

    balances = Awaited(get_portfolio_balances)
    balances_of_wallets = Awaited(list_balances_of_wallets)
    positions = AsyncListed(get_portfolio_positions)
    approvals = Awaited(get_portfolio_approvals)
    revoke = Awaited(create_revocation)
    activity = AsyncListed(get_portfolio_activity)
    history = Awaited(get_portfolio_history)
    pnl = Awaited(get_portfolio_pnl)
