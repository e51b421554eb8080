"""Vaults: the catalog, deposits and withdrawals, deployment, management and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from aiohttp import web
from marshmallow import validates_schema

from quoteway import models
from quoteway.errors import FieldError, GatewayError, Reason
from quoteway.host.lists import ListKind
from quoteway.models import MANAGE_ACTIONS, Capability, DeployRequest, ManageRequest, Vault, VaultRequest
from quoteway.networks import Network
from quoteway.providers import VaultProvider
from quoteway.web.http import fields
from quoteway.web.http.name_fields import AccountField, TokenField
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import Case, invalid, refuse
from quoteway.web.resources import catalog
from quoteway.web.resources.ids import VaultPath, find, owner_of, show
from quoteway.web.resources.permits import PermitsBody
from quoteway.web.resources.quote_action import AcknowledgingBody, Quotable
from quoteway.web.resources.series import series_of, series_operations
from quoteway.web.wire.actions import Action
from quoteway.web.wire.quotes import DeployAction, DeployQuote, ManageAction, VaultQuote
from quoteway.web.wire.rows import VaultEntry, VaultPage
from quoteway.web.wire.view import Wire


class VaultBody(AcknowledgingBody):
    """``amount`` is base units of ``asset``: the underlying means assets, the share token means shares."""

    cases = {
        "Entry": Case(
            ("deposit", "mint"),
            "Puts assets in: `amount` is exact.",
            patterns={"amount": fields.Amount.patterns[1]},
        ),
        "Exit": Case(("withdraw", "redeem"), "Takes assets out: `max` redeems all shares."),
    }

    action = fields.Action(
        "Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares",
        ("deposit", "withdraw", "mint", "redeem"),
        required=True,
    )
    address = AccountField("Account that signs the transactions and pays", required=True)
    amount = fields.AmountOrMax(
        "Amount in base units of `asset`; `max` redeems all shares", minimum=1, required=True
    )
    asset = TokenField(
        "Token that `amount` counts, the underlying or the share token of the vault; with `mint` and "
        "`redeem` the share token",
        native=True,
        required=True,
    )
    slippage_bps = fields.SlippageField(
        "How far the amount that is not given may change to the caller's disadvantage, in basis points"
    )
    recipient = AccountField("Account that receives the shares or assets. Left out: `address`")

    @validates_schema
    def check_max(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["amount"] is None and data["action"] not in ("withdraw", "redeem"):
            raise refuse(Reason.INVALID_FORMAT, '"max" is for withdraw and redeem only', "amount")


class VaultActionBody(PermitsBody, VaultBody):
    """``quoteId`` keeps the minimums of an earlier quote for the same request."""

    quote_id = fields.Text("Quote of the same request, whose minimums the action keeps", max_length=4_096)


class ManageBody(AcknowledgingBody):
    """Which of the actions a vault takes is the provider's to say (``actions.manage`` in ``/v2/providers``).

    ``amount`` is the value of ``setCap`` and ``setFee`` ("max": no cap); ``bot`` the account of ``setBot``
    and ``setOperator`` (the zero address: none); ``strategy`` what is added or removed.
    """

    cases = {
        suffix: Case(
            tuple(action for action, needed in MANAGE_ACTIONS.items() if needed == member),
            f"Needs `{member}`." if member else "Needs no value.",
            (member,) if member else (),
        )
        for suffix, member in (
            ("Plain", None),
            ("Amount", "amount"),
            ("Bot", "bot"),
            ("Strategy", "strategy"),
        )
    }

    action = fields.Action(
        "Management action; the provider's `actions.manage` lists those that it takes",
        tuple(MANAGE_ACTIONS),
        required=True,
    )
    address = AccountField("Account that signs; it must have the role that the vault requires", required=True)
    amount = fields.AmountOrMax(
        "New cap in base units of the underlying with `setCap`, `max` for none; new fee in "
        "the vault's own unit with `setFee`",
        minimum=0,
    )
    asset = TokenField("Underlying of the vault, which is not needed", native=True)
    bot = AccountField("Account that `setBot` or `setOperator` names; the zero address for none", zero=True)
    strategy = fields.Text(
        "Id or address of the strategy that `addStrategy` or `removeStrategy` names", max_length=64
    )

    @validates_schema
    def check_value(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        needed = MANAGE_ACTIONS[data["action"]]
        if needed is not None and needed not in data:
            raise refuse(Reason.MISSING, f"is needed for {data['action']}", needed)


class RebalanceBody(AcknowledgingBody):
    """Moves ``amount`` base units of the underlying into ``strategy``; without ``amount`` all that can be
    moved.

    Without ``strategy`` the vault's idle money goes into its first one. ``slippageBps`` bounds what the move
    may cost of the vault's total assets.
    """

    address = AccountField("Account that signs; it must have the role that the vault requires", required=True)
    amount = fields.AmountOrMax(
        "Amount to move, in base units of the underlying. Left out or `max`: all that can be moved", minimum=1
    )
    strategy = fields.Text(
        "Id or address of the strategy to move into. Left out: the vault's first one", max_length=64
    )
    slippage_bps = fields.SlippageField(
        "Most that the move may cost, in basis points of the vault's total assets"
    )


class DeployBody(AcknowledgingBody):
    asset = TokenField("Token that the vault takes in (the underlying)", required=True)
    bot = AccountField(
        "Account that may rebalance beside the owner. Left out or the zero address: none", zero=True
    )
    network = fields.NetworkField("Network of the new vault", required=True)
    owner = AccountField("Account that signs, and that will own the vault", required=True)
    strategy = fields.Text("Id of one of the provider's strategies", max_length=64, required=True)


class DeployActionBody(DeployBody):
    quote_id = fields.Text("Quote of the same request, whose terms the action keeps", max_length=4_096)


class VaultsQuery(catalog.PageQuery):
    network = fields.NetworkField("Only vaults of this network")
    protocol = fields.Text("Only vaults of this protocol", max_length=64)
    asset = fields.Text(
        "Only vaults of this underlying, by symbol, address, `native` or CAIP-19 id", max_length=100
    )
    strategy = fields.Text("Only vaults of this strategy", max_length=64)
    query = fields.Text("Only vaults with this text in the id, the name or the protocol", max_length=100)
    sort = catalog.sort_field("tvlUsd", "apy", "riskScore")


VAULTS = ListKind(Capability.VAULT, Vault, lambda source, chain_id: source.vaults(chain_id), by_chain=True)


@get("/v2/vaults", "Vaults", VaultPage, query=VaultsQuery, cached=True, description=catalog.FROM_MEMORY)
async def list_vaults(call: Call) -> web.Response:
    return await catalog.list_of_network(call, VAULTS, _selected, partial(_render, call))


@get(
    "/v2/vaults/{vaultId}",
    "One vault, as it is listed",
    VaultEntry,
    path_schema=VaultPath,
    cached=True,
    failures=(404, 502),
    description=catalog.ONE_ROW,
)
async def get_vault(call: Call) -> web.Response:
    return await show(call, VAULTS, partial(_render, call))


async def _render(call: Call, vaults: Sequence[Vault]) -> list[dict[str, Any]]:
    tokens = {(t.chain_id, t.address) for vault in vaults for t in (vault.asset, vault.share)}
    valuation = await call.gateway.valuation(tokens)
    return VaultEntry.render_all(map(valuation.vault, vaults), call.networks)


def _selected(vault: Vault, query: Mapping[str, Any]) -> bool:
    if "asset" in query and not catalog.names_token(query["asset"], vault.asset):
        return False
    if not catalog.matches(vault, query, "protocol", "strategy"):
        return False
    return catalog.mentions(query, vault.id, vault.name, vault.protocol)


async def _read_request(call: Call) -> tuple[VaultRequest, str]:
    vault, provider = await owner_of(call, Capability.VAULT)
    body = call.body
    request = VaultRequest(
        vault_id=vault.id,
        chain_id=vault.chain_id,
        action=body["action"],
        asset=body["asset"],
        amount=body["amount"],
        sender=body["address"],
        recipient=body.get("recipient", body["address"]),
        slippage_bps=body["slippage_bps"],
    )
    return request, provider.id


async def _read_management(call: Call) -> tuple[ManageRequest, str]:
    vault, provider = await owner_of(call, Capability.VAULT)
    body = call.body
    action = body.get("action", "rebalance")
    allowed = cast(VaultProvider, provider).manage_actions
    if "action" in body and action not in allowed:
        message = f"{action} is not supported by this vault. Supported: {', '.join(allowed) or 'none'}."
        raise invalid(FieldError("action", Reason.UNSUPPORTED_ACTION, message))
    request = ManageRequest(
        vault_id=vault.id,
        chain_id=vault.chain_id,
        action=action,
        sender=body["address"],
        asset=body.get("asset"),
        amount=body.get("amount"),
        slippage_bps=body.get("slippage_bps", 0),
        strategy=body.get("strategy"),
        bot=body.get("bot"),
    )
    return request, provider.id


async def _read_deploy_request(call: Call) -> tuple[DeployRequest, None]:
    body = call.body
    network: Network = body["network"]
    call.require(Capability.VAULT, network.chain_id)
    bot = body.get("bot")
    request = DeployRequest(
        chain_id=network.chain_id,
        asset=body["asset"],
        owner=body["owner"],
        strategy=body["strategy"],
        bot=None if bot == models.NATIVE else bot,
    )
    return request, None


async def _show_series(capability: Capability, metric: str, call: Call) -> Wire:
    wire = await series_of(capability, metric, call)
    components = wire.get("components")
    if metric == "tvl" and components is not None and components.get("usd", 0) is None:
        components["usd"] = await _tvl_usd(call)
    return wire


async def _tvl_usd(call: Call) -> float | None:
    """What the vault holds now in US dollars; None where its asset has no price or no provider knows it.

    A series that is known does not fail for this.
    """
    try:
        vault: Vault = (await find(call, Capability.VAULT)).item
    except GatewayError:
        return None
    valuation = await call.gateway.valuation({(vault.chain_id, vault.asset.address)})
    return valuation.vault(vault).tvl_usd


_PATH = "/v2/vaults/{vaultId}"
_DEPLOY = Quotable(Capability.VAULT, "VaultDeploy", "/v2/vaults/deploy", _read_deploy_request)
_VAULT = Quotable(Capability.VAULT, "Vault", _PATH, _read_request, VaultPath)
_MANAGE = Quotable(Capability.VAULT, "VaultManage", f"{_PATH}/manage", _read_management, VaultPath)
_REBALANCE = Quotable(Capability.VAULT, "VaultRebalance", f"{_PATH}/rebalance", _read_management, VaultPath)

OPERATIONS = (
    list_vaults,
    get_vault,
    _DEPLOY.quote("Quote deploying a managed vault", DeployQuote, DeployBody),
    _DEPLOY.action("Unsigned transactions that deploy a managed vault", DeployAction, DeployActionBody),
    _VAULT.quote("Quote a deposit or withdrawal", VaultQuote, VaultBody),
    _VAULT.action("Unsigned transactions for a deposit or withdrawal", Action, VaultActionBody),
    _MANAGE.action("Unsigned transactions for a management action", ManageAction, ManageBody),
    _REBALANCE.action("Unsigned transactions that rebalance a managed vault", ManageAction, RebalanceBody),
    *series_operations(Capability.VAULT, {"tvl": "TVL", "apy": "APY"}, _show_series, VaultPath),
)
