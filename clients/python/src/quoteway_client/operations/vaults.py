"""Vaults: lists, quotes, actions, deployments and series.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, Unpack

from quoteway_client.acting import act_vault
from quoteway_client.calls import Call, segment
from quoteway_client.comparing_places import place_quoted
from quoteway_client.models.shared import Action, Series
from quoteway_client.models.vaults import (
    DeployAction,
    DeployActionBody,
    DeployBody,
    DeployQuote,
    ManageAction,
    ManageBody,
    RebalanceBody,
    VaultActionBody,
    VaultBody,
    VaultEntry,
    VaultPage,
    VaultQuote,
)
from quoteway_client.resource import AsyncListed, Awaited, Blocking, Listed, Resource, ResourceAsync


def list_vaults(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    network: str | None = None,
    protocol: str | None = None,
    asset: str | None = None,
    strategy: str | None = None,
    query: str | None = None,
    sort: Literal["tvlUsd", "-tvlUsd", "apy", "-apy", "riskScore", "-riskScore"] | None = None,
) -> Call[VaultPage]:
    """Vaults.

    Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and
    `partial` names providers without an answer. Ask again while there are any.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before
    ``network``: Only vaults of this network
    ``protocol``: Only vaults of this protocol
    ``asset``: Only vaults of this underlying, by symbol, address, `native` or CAIP-19 id
    ``strategy``: Only vaults of this strategy
    ``query``: Only vaults with this text in the id, the name or the protocol
    ``sort``: Member to sort by, ascending; with `-` before it descending. Rows without it come last.
    """
    return Call(
        "GET",
        "/v2/vaults",
        VaultPage,
        query={
            "limit": limit,
            "cursor": cursor,
            "network": network,
            "protocol": protocol,
            "asset": asset,
            "strategy": strategy,
            "query": query,
            "sort": sort,
        },
    )


def get_vault(vault_id: str) -> Call[VaultEntry]:
    """One vault, as it is listed.

    The row of the list, from memory; where no list has it, what its provider reads from the chain by
    the id. A malformed id is 404, as one that no provider knows.

    ``vault_id``: Id of the vault: {chainId}:{address}.
    """
    return Call("GET", f"/v2/vaults/{segment(vault_id)}", VaultEntry)


def create_vault_deploy_quote(**body: Unpack[DeployBody]) -> Call[DeployQuote]:
    """Quote deploying a managed vault.

    Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
    `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
    expires. Nothing is reserved or sent.
    """
    return Call("POST", "/v2/vaults/deploy/quote", DeployQuote, body=body)


def create_vault_deploy_action(**body: Unpack[DeployActionBody]) -> Call[DeployAction]:
    """Unsigned transactions that deploy a managed vault.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum.
    """
    return Call("POST", "/v2/vaults/deploy/action", DeployAction, body=body)


def create_vault_quote(vault_id: str, **body: Unpack[VaultBody]) -> Call[VaultQuote]:
    """Quote a deposit or withdrawal.

    Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
    `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
    expires. Nothing is reserved or sent.

    ``vault_id``: Id of the vault: {chainId}:{address}.
    """
    return Call(
        "POST",
        f"/v2/vaults/{segment(vault_id)}/quote",
        VaultQuote,
        body=body,
        check=partial(place_quoted, vault_id, body),
    )


def create_vault_action(vault_id: str, **body: Unpack[VaultActionBody]) -> Call[Action]:
    """Unsigned transactions for a deposit or withdrawal.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum.

    ``vault_id``: Id of the vault: {chainId}:{address}.
    """
    return Call("POST", f"/v2/vaults/{segment(vault_id)}/action", Action, body=body)


def create_vault_manage_action(vault_id: str, **body: Unpack[ManageBody]) -> Call[ManageAction]:
    """Unsigned transactions for a management action.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum.

    ``vault_id``: Id of the vault: {chainId}:{address}.
    """
    return Call("POST", f"/v2/vaults/{segment(vault_id)}/manage/action", ManageAction, body=body)


def create_vault_rebalance_action(vault_id: str, **body: Unpack[RebalanceBody]) -> Call[ManageAction]:
    """Unsigned transactions that rebalance a managed vault.

    Gives unsigned transactions, decoded again from their bytes and simulated in their order, with the
    approvals that the wallet needs now. The same request at the same block gives the same bytes. What
    simulation or checks refuse is an error, never a worse minimum.

    ``vault_id``: Id of the vault: {chainId}:{address}.
    """
    return Call("POST", f"/v2/vaults/{segment(vault_id)}/rebalance/action", ManageAction, body=body)


def get_vault_tvl(
    vault_id: str,
    *,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[Series]:
    """TVL of a vault over time.

    From an index where there is one, else from the node's state and logs: `method` says which. A value
    that is not known is null. A series is read in the background: before the first read has ended every
    value is null with the reason `provider_timeout`; ask again in some seconds.

    ``vault_id``: Id of the vault: {chainId}:{address}
    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week.
    """
    return Call(
        "GET",
        f"/v2/vaults/{segment(vault_id)}/tvl",
        Series,
        query={"from": from_, "to": to, "interval": interval},
    )


def get_vault_apy(
    vault_id: str,
    *,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[Series]:
    """APY of a vault over time.

    From an index where there is one, else from the node's state and logs: `method` says which. A value
    that is not known is null. A series is read in the background: before the first read has ended every
    value is null with the reason `provider_timeout`; ask again in some seconds.

    ``vault_id``: Id of the vault: {chainId}:{address}
    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week.
    """
    return Call(
        "GET",
        f"/v2/vaults/{segment(vault_id)}/apy",
        Series,
        query={"from": from_, "to": to, "interval": interval},
    )


class VaultsOperations(Resource):
    """Vaults: lists, quotes, actions, deployments and series."""

    list = Listed(list_vaults)
    get = Blocking(get_vault)
    deploy_quote = Blocking(create_vault_deploy_quote)
    deploy_action = Blocking(create_vault_deploy_action)
    quote = Blocking(create_vault_quote)
    action = Blocking(create_vault_action)
    manage = Blocking(create_vault_manage_action)
    rebalance = Blocking(create_vault_rebalance_action)
    tvl = Blocking(get_vault_tvl)
    apy = Blocking(get_vault_apy)
    act = Blocking(act_vault)


class AsyncVaultsOperations(ResourceAsync):
    """Vaults: lists, quotes, actions, deployments and series."""

    list = AsyncListed(list_vaults)
    get = Awaited(get_vault)
    deploy_quote = Awaited(create_vault_deploy_quote)
    deploy_action = Awaited(create_vault_deploy_action)
    quote = Awaited(create_vault_quote)
    action = Awaited(create_vault_action)
    manage = Awaited(create_vault_manage_action)
    rebalance = Awaited(create_vault_rebalance_action)
    tvl = Awaited(get_vault_tvl)
    apy = Awaited(get_vault_apy)
    act = Awaited(act_vault)
