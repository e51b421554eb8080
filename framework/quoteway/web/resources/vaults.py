"""Vaults: the catalog, deposits and withdrawals, deployment, management and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiohttp import web
from marshmallow import validates_schema

from quoteway.errors import FieldError, Reason
from quoteway.guard.model_types import flaw
from quoteway.host.lists import ListKind
from quoteway.models import NATIVE, Capability, DeployRequest, Vault, VaultRequest
from quoteway.networks import Network
from quoteway.providers import VaultProvider
from quoteway.web.http.fields import (
    MAX,
    AddressField,
    AmountOrMax,
    Choice,
    NetworkField,
    SlippageField,
    Text,
)
from quoteway.web.http.operation import Call, Handler, Operation
from quoteway.web.http.schema import RequestSchema, invalid, refuse
from quoteway.web.resources import catalog, quote_action
from quoteway.web.resources.ids import ResourceId, VaultIdField, owner_of
from quoteway.web.resources.series import SeriesQuery, series_of
from quoteway.web.wire.actions import Action
from quoteway.web.wire.series import Series
from quoteway.web.wire.vaults import (
    DeployAction,
    DeployQuote,
    ManageAction,
    VaultEntry,
    VaultPage,
    VaultQuote,
)

ACTIONS = ("deposit", "withdraw", "mint", "redeem")
MANAGE_ACTIONS = (
    "harvest",
    "claim",
    "pause",
    "unpause",
    "setFee",
    "setCap",
    "setOperator",
    "setBot",
    "addStrategy",
    "removeStrategy",
)


class VaultPath(RequestSchema):
    vault_id = VaultIdField("{chainId}:{vaultAddress}")


class VaultBody(RequestSchema):
    """``amount`` is base units of ``asset``: the underlying means assets, the share token means shares."""

    action = Choice("What to do", ACTIONS, reason=Reason.UNSUPPORTED_ACTION, required=True)
    address = AddressField("Who signs, and pays", required=True)
    amount = AmountOrMax("Base units of asset; max redeems all shares", minimum=1, required=True)
    asset = AddressField(
        "The token that amount counts: the underlying, or the share", native=True, required=True
    )
    slippage_bps = SlippageField("How far the side that is not given may move, in basis points")
    recipient = AddressField("Who is paid; address when left out")

    @validates_schema
    def check_max(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["amount"] == MAX and data["action"] not in ("withdraw", "redeem"):
            raise refuse(Reason.INVALID_FORMAT, '"max" is for withdraw and redeem only', "amount")


class VaultActionBody(VaultBody):
    """``quoteId`` keeps the minimums of an earlier quote for the same request."""

    quote_id = Text("A quote whose minimums the action keeps", max_length=4_096)


_NEEDED = {
    "setFee": "amount",
    "setCap": "amount",
    "setOperator": "bot",
    "setBot": "bot",
    "addStrategy": "strategy",
    "removeStrategy": "strategy",
}


class ManageBody(RequestSchema):
    """Which of the actions a vault takes is the provider's to say (``actions.manage`` in ``/v2/providers``).

    ``amount`` is the value of ``setCap`` and ``setFee`` ("max": no cap); ``bot`` the account of ``setBot``
    and ``setOperator`` (the zero address: none); ``strategy`` what is added or removed.
    """

    action = Choice("What to manage", MANAGE_ACTIONS, reason=Reason.UNSUPPORTED_ACTION, required=True)
    address = AddressField("Who signs; must have the role", required=True)
    amount = AmountOrMax("What setCap sets, in base units of the underlying; max: no cap", minimum=0)
    asset = AddressField("The underlying", native=True)
    bot = AddressField("Whom setBot names; the zero address: nobody", zero=True)
    strategy = Text("What addStrategy and removeStrategy name", max_length=64)

    @validates_schema
    def check_value(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        needed = _NEEDED.get(data["action"])
        if needed is not None and needed not in data:
            raise refuse(Reason.MISSING, f"is needed for {data['action']}", needed)


class RebalanceBody(RequestSchema):
    """Moves ``amount`` base units of the underlying into ``strategy``; without ``amount`` all that can be
    moved.

    Without ``strategy`` the vault's idle money goes into its first one. ``slippageBps`` bounds what the move
    may cost of the vault's total assets.
    """

    address = AddressField("Who signs; must have the role", required=True)
    amount = AmountOrMax(
        "How much to move, in base units of the underlying; all that can be when left out", minimum=1
    )
    strategy = Text("Where to; the first strategy when left out", max_length=64)
    slippage_bps = SlippageField("What the move may cost, in basis points")


class DeployBody(RequestSchema):
    asset = AddressField("The underlying", required=True)
    bot = AddressField("Who may rebalance; the zero address: nobody", zero=True)
    network = NetworkField("Where to", required=True)
    owner = AddressField("Who signs, and owns the vault", required=True)
    strategy = Text("One of the provider's strategies", max_length=64, required=True)


class DeployActionBody(DeployBody):
    quote_id = Text("A quote whose terms the action keeps", max_length=4_096)


class VaultsQuery(catalog.PageQuery):
    network = NetworkField("Vaults of this network")
    protocol = Text("Vaults of this protocol", max_length=64)
    asset = Text("Vaults of this underlying, by symbol or address", max_length=64)
    strategy = Text("Vaults of this strategy", max_length=64)
    query = Text("Text in the id, the name or the protocol", max_length=100)
    sort = Choice(
        "The member to sort by; - before it for descending",
        catalog.sort_choices("tvlUsd", "apy", "riskScore"),
    )


VAULTS = ListKind(
    Capability.VAULT, Vault, lambda provider, chain_id: provider.vaults(chain_id), by_chain=True
)


async def list_vaults(call: Call) -> web.Response:
    async def render(vaults: Sequence[Vault]) -> list[dict[str, Any]]:
        tokens = {(t.chain_id, t.address) for vault in vaults for t in (vault.asset, vault.share)}
        valuation = await call.gateway.valuation(tokens)
        return VaultEntry.render_all(map(valuation.vault, vaults), call.networks)

    return await catalog.list_of_network(call, VAULTS, _selected, render)


def _selected(vault: Vault, query: Mapping[str, Any]) -> bool:
    if "protocol" in query and vault.protocol != query["protocol"]:
        return False
    if "strategy" in query and vault.strategy != query["strategy"]:
        return False
    if "asset" in query and not catalog.names_token(query["asset"], vault.asset):
        return False
    return "query" not in query or catalog.mentions(query["query"], vault.id, vault.name, vault.protocol)


async def create_quote(call: Call) -> dict[str, Any]:
    request, provider = await _request(call)
    return await quote_action.quote(call, Capability.VAULT, request, provider=provider.id)


async def create_action(call: Call) -> web.Response:
    request, provider = await _request(call)
    pin = quote_action.pinned(call, Capability.VAULT)
    return await quote_action.direct(call, Capability.VAULT, request, provider=provider.id, pin=pin)


async def create_manage_action(call: Call) -> web.Response:
    request, provider = await _request(call)
    if request.action not in provider.manage_actions:
        allowed = ", ".join(provider.manage_actions) or "none"
        message = f"{request.action} is not supported by this vault. Supported: {allowed}."
        raise invalid([FieldError("action", Reason.UNSUPPORTED_ACTION, message)])
    return await quote_action.direct(call, Capability.VAULT, request, provider=provider.id)


async def create_rebalance_action(call: Call) -> web.Response:
    request, provider = await _request(call, action="rebalance")
    return await quote_action.direct(call, Capability.VAULT, request, provider=provider.id)


async def _request(call: Call, *, action: str | None = None) -> tuple[VaultRequest, VaultProvider]:
    vault: ResourceId = call.path["vault_id"]
    provider = await _provider(call, vault)
    body = call.body
    amount = body.get("amount")
    request = VaultRequest(
        vault_id=vault.id,
        chain_id=vault.chain_id,
        action=action or body["action"],
        asset=body.get("asset"),
        amount=None if amount == MAX else amount,
        sender=body["address"],
        recipient=body.get("recipient", body["address"]),
        slippage_bps=body.get("slippage_bps", 0),
        strategy=body.get("strategy"),
        bot=body.get("bot"),
    )
    return request, provider


async def _provider(call: Call, vault: ResourceId) -> VaultProvider:
    owner = await owner_of(
        call, Capability.VAULT, vault, lambda provider: cast(VaultProvider, provider).vault(vault.id), "vault"
    )
    return cast(VaultProvider, owner)


async def create_deploy_quote(call: Call) -> dict[str, Any]:
    return await quote_action.quote(call, Capability.VAULT, _deployment(call))


async def create_deploy_action(call: Call) -> web.Response:
    request = _deployment(call)
    pin = quote_action.pinned(call, Capability.VAULT)
    return await quote_action.direct(call, Capability.VAULT, request, pin=pin)


def _deployment(call: Call) -> DeployRequest:
    body = call.body
    network: Network = body["network"]
    call.require(Capability.VAULT, network.chain_id)
    bot = body.get("bot")
    return DeployRequest(
        chain_id=network.chain_id,
        asset=body["asset"],
        owner=body["owner"],
        strategy=body["strategy"],
        bot=None if bot == NATIVE else bot,
    )


def _metric(metric: str) -> Handler:
    async def show(call: Call) -> dict[str, Any]:
        wire = await series_of(call, Capability.VAULT, call.path["vault_id"], metric, _provider)
        components = wire.get("components")
        if metric == "tvl" and components is not None and components.get("usd", 0) is None:
            components["usd"] = await _tvl_usd(call, call.path["vault_id"])
        return wire

    return show


async def _tvl_usd(call: Call, vault_id: ResourceId) -> float | None:
    """What the vault holds now in US dollars, where its asset has a price; past prices are not known."""
    (outcome,) = await call.gateway.registry.calls.ask_all(
        [await _provider(call, vault_id)], lambda provider: provider.vault(vault_id.id), verb="vault"
    )
    vault = outcome.value
    if flaw(vault, Vault) is not None or vault is None:
        return None
    valuation = await call.gateway.valuation({(vault.chain_id, vault.asset.address)})
    return valuation.vault(vault).tvl_usd


_MUTATION_ERRORS = (400, 404, 422, 429, 502, 503)

OPERATIONS = (
    Operation(
        "GET",
        "/v2/vaults",
        "listVaults",
        "vaults",
        "Vaults",
        list_vaults,
        VaultPage,
        query=VaultsQuery,
    ),
    Operation(
        "POST",
        "/v2/vaults/deploy/quote",
        "createVaultDeployQuote",
        "vaults",
        "Quote deploying a managed vault",
        create_deploy_quote,
        DeployQuote,
        group="quotes",
        body=DeployBody,
        errors=_MUTATION_ERRORS,
    ),
    Operation(
        "POST",
        "/v2/vaults/deploy/action",
        "createVaultDeployAction",
        "vaults",
        "Unsigned transactions that deploy a managed vault",
        create_deploy_action,
        DeployAction,
        status=201,
        group="quotes",
        body=DeployActionBody,
        errors=_MUTATION_ERRORS,
    ),
    Operation(
        "POST",
        "/v2/vaults/{vaultId}/quote",
        "createVaultQuote",
        "vaults",
        "Quote a deposit or withdrawal",
        create_quote,
        VaultQuote,
        group="quotes",
        path_schema=VaultPath,
        body=VaultBody,
        errors=_MUTATION_ERRORS,
    ),
    Operation(
        "POST",
        "/v2/vaults/{vaultId}/action",
        "createVaultAction",
        "vaults",
        "Unsigned transactions for a deposit or withdrawal",
        create_action,
        Action,
        status=201,
        group="quotes",
        path_schema=VaultPath,
        body=VaultActionBody,
        errors=_MUTATION_ERRORS,
    ),
    Operation(
        "POST",
        "/v2/vaults/{vaultId}/manage/action",
        "createVaultManageAction",
        "vaults",
        "Unsigned transactions for a management action",
        create_manage_action,
        ManageAction,
        status=201,
        group="quotes",
        path_schema=VaultPath,
        body=ManageBody,
        errors=_MUTATION_ERRORS,
    ),
    Operation(
        "POST",
        "/v2/vaults/{vaultId}/rebalance/action",
        "createVaultRebalanceAction",
        "vaults",
        "Unsigned transactions that rebalance a managed vault",
        create_rebalance_action,
        ManageAction,
        status=201,
        group="quotes",
        path_schema=VaultPath,
        body=RebalanceBody,
        errors=_MUTATION_ERRORS,
    ),
    *(
        Operation(
            "GET",
            f"/v2/vaults/{{vaultId}}/{metric}",
            f"getVault{metric.capitalize()}",
            "vaults",
            f"{metric.upper()} of a vault over time",
            _metric(metric),
            Series,
            path_schema=VaultPath,
            query=SeriesQuery,
            errors=(404, 422, 429, 502, 503),
        )
        for metric in ("tvl", "apy")
    ),
)
