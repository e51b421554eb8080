"""Swaps, and transfers to another network (bridges): requests, routes, quotes and actions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from marshmallow import ValidationError, validates_schema

from quoteway.engine.auto_slippage import HIGH_BPS, LOW_BPS
from quoteway.engine.joining import ROUTES
from quoteway.errors import FieldError, InvalidRequest, Reason, UpstreamError
from quoteway.host.missing_contracts import missing_error
from quoteway.models import SIDES, Address, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.pricing.valuation import tokens_of_request
from quoteway.providers import Provider
from quoteway.web.http import fields
from quoteway.web.http.freshness import at_least
from quoteway.web.http.name_fields import AccountField, TokenField
from quoteway.web.http.operation import Call, get, post_quotes
from quoteway.web.http.schema import invalid, refuse, refuse_all
from quoteway.web.resources import catalog
from quoteway.web.resources.integrator_fees import FeeBody, fee_in
from quoteway.web.resources.quote_action import AcknowledgingBody, DeadlineBody, Quotable
from quoteway.web.resources.routing_limits import RoutingBody, check_protocols, limits_in
from quoteway.web.wire.actions import Action
from quoteway.web.wire.quotes import BridgeAction, BridgeQuote, ShownQuote, SwapQuote
from quoteway.web.wire.rows import BridgeRouteEntry, RoutePage
from quoteway.web.wire.view import Wire

FIRST, LAST = ("from_chain", "network"), ("to_chain", "network", "from_chain")
"""The members that name the network that a transfer begins and ends on."""
_SLIPPAGE = "How far the minimum output may be below the quoted one, in basis points"


class Transfer(DeadlineBody):
    """What a swap and a bridge transfer have in common."""

    address = AccountField("Account that signs the transactions and pays", places=FIRST, required=True)
    from_chain = fields.NetworkField("Network of `fromToken`")
    from_token = TokenField("Token to sell", native=True, places=FIRST, required=True)
    to_address = AccountField("Account that receives the output. Left out: `address`", places=LAST)
    to_chain = fields.NetworkField("Network of `toToken`. Left out: `network`, else `fromChain`")
    to_token = TokenField("Token to buy", native=True, places=LAST, required=True)
    refund_address = AccountField(
        "Account that receives the refund, on the first network, when a transfer is not "
        "filled. Left out: `address`. Only for transfers to another network",
        places=FIRST,
    )
    provider = fields.Text("Id of the only provider to ask. Left out: all enabled ones", max_length=64)
    approval_mode = fields.Choice(
        "How a Permit2 allowance is given: `transactions` by a transaction, "
        "`permit2-signature` by typed data to sign",
        ("transactions", "permit2-signature"),
        load_default="transactions",
    )


SIDE = fields.Choice(
    "Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount` of `toToken`, "
    "for at most `fromAmountMax`",
    SIDES,
    load_default="exactIn",
)
EITHER_AMOUNT = fields.Amount(
    "Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base units of `toToken`",
    minimum=1,
    required=True,
)


class SwapQuoteBody(FeeBody, RoutingBody, Transfer):
    """``network`` names both ends; ``fromChain`` and ``toChain`` name them apart and must not contradict
    it. ``atomicBatch`` says whether the wallet sends several calls as one; left out, this is not known.
    """

    amount = EITHER_AMOUNT
    network = fields.NetworkField("Network of both tokens. Required unless `fromChain` is given")
    side = SIDE
    slippage_bps = fields.SlippageOrAuto(
        f"{_SLIPPAGE}; with `exactOut` how far the maximum input may be above it. `auto`, within one "
        f"network: the gateway chooses {LOW_BPS} to {HIGH_BPS}"
    )
    certificate = fields.Choice(
        "`full`: adds to `optimality` the proof of its bound: a price for each token, and the pools with "
        "digests of their states. Where there is none, the quote has the warning `certificate_unavailable`",
        ("full",),
    )
    atomic_batch = fields.StrictBoolean(
        "Whether the wallet sends several calls as one (EIP-5792). `true`: two providers may share a swap "
        "within one network, if that pays more. `false`: no quote in parts is given. Left out: only swaps to "
        "another network may have parts"
    )

    refreshable_until = fields.StrictInteger(
        "Time until which the quote can be refreshed within its terms by `POST /v2/swaps/{quoteId}/refresh`, "
        "in Unix seconds: at most the setting `quotes.refreshable_s` (seconds) from now, and not after "
        "`deadline`. Only for swaps within one network, and not with `atomicBatch: true`. Left out: it "
        "cannot be refreshed",
        0,
        (1 << 53) - 1,
    )

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_networks(self, data: Mapping[str, Any], original: Mapping[str, Any], **kwargs: Any) -> None:
        refused: dict[str, tuple[Reason, str]] = {}
        if not original.get("network") and not original.get("fromChain"):
            refused["network"] = (Reason.MISSING, "is required unless fromChain is given")
        network = data.get("network")
        for name, end in (("fromChain", data.get("from_chain")), ("toChain", data.get("to_chain"))):
            if network and end not in (None, network):
                refused[name] = (Reason.CONFLICT, "names another network than `network` does")
        origin, target = ends(data)
        if origin is not None and origin == target and "refund_address" in data:
            message = "is for two networks: a swap within one network has no refund"
            refused["refundAddress"] = (Reason.CONFLICT, message)
        if target is not None and origin != target and "fee_bps" in data:
            refused["feeBps"] = (Reason.CONFLICT, "is for swaps within one network")
        if target is not None and origin != target and data.get("slippage_bps", 0) is None:
            message = 'must be an integer: "auto" is for swaps within one network'
            refused["slippageBps"] = (Reason.CONFLICT, message)
        if target is not None and origin != target and data.get("side") == "exactOut":
            message = "must be exactIn: an exact output is for swaps within one network"
            refused["side"] = (Reason.CONFLICT, message)
        if (against := _against_refreshes(data, origin, target)) is not None:
            refused["refreshableUntil"] = (Reason.CONFLICT, against)
        if refused:
            raise refuse_all(refused)

    @validates_schema
    def check_tokens(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        origin, target = ends(data)
        if origin is not None and origin == target and data["from_token"] == data["to_token"]:
            raise refuse(Reason.CONFLICT, "must be another token than fromToken", "toToken")


def _against_refreshes(data: Mapping[str, Any], origin: Network | None, target: Network | None) -> str | None:
    """Returns why the quote of a request that names ``refreshableUntil`` cannot be refreshed, or None."""
    until: int | None = data.get("refreshable_until")
    if until is None:
        return None
    if target is not None and origin != target:
        return "is for swaps within one network"
    if data.get("atomic_batch") is True:
        return "is for the quote of one provider: leave atomicBatch out, or set it to false"
    if until > data.get("deadline", until):
        return "must not be after deadline: the transactions of a later quote could not be executed"
    return None


class EndField(fields.NetworkField):
    """A network that a transfer begins or ends on. One that the deployment does not have, but which is named
    in a right form, is no wrong member: no route leads there. It has the chain id 0, as no network has.
    """

    def parse(self, value: Any) -> Network:
        try:
            return super().parse(value)
        except ValidationError:
            if not isinstance(value, str) or not re.fullmatch(self.schema["pattern"], value.lower()):
                raise
            return Network(value, 0, value)


class BridgeQuoteBody(Transfer):
    amount = fields.Amount("Amount to send, in base units of `fromToken`", minimum=1, required=True)
    slippage_bps = fields.SlippageField(_SLIPPAGE)
    from_chain = EndField("Network of `fromToken`", required=True)
    to_chain = EndField("Network of `toToken`; another one than `fromChain`", required=True)

    @validates_schema
    def check_ends(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        if data["from_chain"] == data["to_chain"]:
            raise refuse(Reason.CONFLICT, "must be another network than fromChain", "toChain")


class RoutesQuery(catalog.PageQuery):
    from_chain = fields.NetworkField("Only routes that leave this network")
    to_chain = fields.NetworkField("Only routes that arrive on this network")


def ends(data: Mapping[str, Any]) -> tuple[Network | None, Network | None]:
    """The network the tokens leave and the one they arrive on."""
    origin = data.get("from_chain") or data.get("network")
    return origin, data.get("to_chain") or data.get("network") or origin


async def tokens_of(
    call: Call,
    origin: Network,
    target: Network,
    members: Mapping[str, Any],
    candidates: Sequence[Provider],
) -> tuple[Token, Token]:
    """The facts of the tokens sold and bought. Raises ``InvalidRequest`` naming every address that is no
    token, ``UpstreamError`` (``contract_missing``) when ``candidates`` miss contracts."""
    wanted: dict[int, list[Address]] = {origin.chain_id: [members["from_token"]]}
    wanted.setdefault(target.chain_id, []).append(members["to_token"])
    found, _ = await asyncio.gather(
        asyncio.gather(*(call.gateway.tokens.find_all(*each) for each in wanted.items())),
        call.gateway.look_ahead(origin.chain_id),
    )
    sold, bought = found[0].get(members["from_token"]), found[-1].get(members["to_token"])
    if sold is None or bought is None:
        sides = (("fromToken", "from_token", sold, origin), ("toToken", "to_token", bought, target))
        unknown = [
            (name, members[member], network) for name, member, token, network in sides if token is None
        ]
        chain_ids = {network.chain_id for _, _, network in unknown}
        hiding = await call.gateway.missing.hiding({each for _, each, _ in unknown}, candidates, *chain_ids)
        if hiding:
            raise missing_error(hiding)
        raise invalid(
            *(
                FieldError(name, Reason.UNSUPPORTED_TOKEN, f"is no ERC-20 token on {network.slug}")
                for name, _, network in unknown
            )
        )
    return sold, bought


def amounts_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a ``SwapRequest`` that its exact amount is."""
    amount: int = members["amount"]
    if members.get("side") == "exactOut":
        return {"amount_in": 0, "amount_out": amount}
    return {"amount_in": amount}


async def transfer_request(
    call: Call, origin: Network, target: Network, candidates: Sequence[Provider]
) -> tuple[SwapRequest, str | None]:
    """The request with its tokens' facts, and the provider to ask. Raises as ``tokens_of``."""
    body = call.body
    sold, bought = await tokens_of(call, origin, target, body, candidates)
    sender, refund_to = body["address"], body.get("refund_address")
    request = SwapRequest(
        chain_id=origin.chain_id,
        to_chain_id=target.chain_id,
        token_in=sold,
        token_out=bought,
        **amounts_of(body),
        sender=sender,
        recipient=body.get("to_address", sender),
        slippage_bps=body["slippage_bps"] or 0,  # None: chosen later
        permit2_signature=body["approval_mode"] == "permit2-signature",
        refund_to=None if refund_to == sender else refund_to,
        routing=limits_in(body),
        fee=fee_in(body),
        certificate=body.get("certificate") is not None,
    )
    return request, body.get("provider")


async def _read_swap(call: Call) -> tuple[SwapRequest, str | None]:
    origin, target = ends(call.body)
    assert origin is not None
    assert target is not None
    candidates = call.gateway.quoting.candidates(
        Capability.SWAP,
        origin.chain_id,
        target.chain_id,
        atomic_batch=call.body.get("atomic_batch") is not False,
    )
    check_protocols(call.gateway.registry, limits_in(call.body))
    return await transfer_request(call, origin, target, candidates)


async def _read_transfer(call: Call) -> tuple[SwapRequest, str | None]:
    origin, target = call.body["from_chain"], call.body["to_chain"]
    enabled = call.gateway.registry.enabled(Capability.BRIDGE)
    if enabled and not any(each.serves(origin.chain_id, target.chain_id) for each in enabled):
        for name, end in (("fromChain", origin), ("toChain", target)):
            if not end.chain_id:
                hint = call.networks.suggestion(end.slug)
                raise _without_route(f"{name} names no network of this deployment.{hint}")
        raise _without_route("No bridge leads from one of these networks to the other.")
    candidates = call.gateway.quoting.candidates(Capability.BRIDGE, origin.chain_id, target.chain_id)
    try:
        return await transfer_request(call, origin, target, candidates)
    except InvalidRequest as error:
        if error.reason is not Reason.UNSUPPORTED_TOKEN:
            raise
        raise _without_route(error.message) from error


def _without_route(message: str) -> UpstreamError:
    """The error of a transfer that no route leads to (``api-spec-v2``, Errors, rule 1)."""
    return UpstreamError(message, reason=Reason.NO_ROUTE, retryable=False)


@get(
    "/v2/swaps/quote/{quoteId}",
    "Read a quote back from its token",
    SwapQuote,
    description="Made from the token alone, also of an expired quote: what the token does not hold is null.",
    group="quotes",
    failures=(404,),
)
async def get_swap_quote(call: Call) -> Wire:
    gateway = call.gateway
    sealed = gateway.quote_tokens.open(Capability.SWAP, call.path["quoteId"], allow_expired=True)
    return SwapQuote.render(ShownQuote(sealed, int(gateway.runtime.clock())), call.networks)


@post_quotes(
    "/v2/swaps/{quoteId}/refresh",
    "Quote a swap again within the terms of its first quote",
    SwapQuote,
    description="Gives the best quote now for the request of a quote with `refreshTerms`, expired or not, of "
    "any provider if the request named none. Its `toAmountMin` is never below that of the first quote, and "
    "with `exactOut` its `fromAmountMax` never above; all else of the request stays as it was. Where the "
    "market does not allow that, the reason is `price_moved`, and `bestNow` says what the market gives. "
    "A refreshed quote can be refreshed too: the terms stay those of the first. The body may be empty.",
    body=AcknowledgingBody,
    body_required=False,
)
async def refresh_swap_quote(call: Call) -> Wire:
    gateway = call.gateway
    sealed = gateway.quote_tokens.open_refreshable(call.path["quoteId"])
    gateway.prices.begin(tokens_of_request(sealed.request))
    async with at_least(gateway, sealed.request.chain_id, call.body):
        answer = await gateway.refreshing.refresh(sealed, acknowledged=call.body["acknowledge"])
        return await SWAPS.shown(gateway, answer)


@get(
    "/v2/bridges/routes",
    "Routes between two networks",
    RoutePage,
    query=RoutesQuery,
    cached=True,
    description=catalog.FROM_MEMORY,
)
async def list_bridge_routes(call: Call) -> web.Response:
    origin: Network | None = call.query.get("from_chain")
    target: Network | None = call.query.get("to_chain")
    chain_ids = [network.chain_id for network in (origin, target) if network is not None]
    call.require(Capability.BRIDGE, *chain_ids)

    async def collect() -> catalog.Listing:
        ends = origin.chain_id if origin else None, target.chain_id if target else None
        merged = await catalog.merge(call, ROUTES, ends, *chain_ids)
        rows = BridgeRouteEntry.render_all(merged.rows, call.networks)
        return catalog.Listing(rows, key=_route_key, updated_at=merged.read_at, missing=merged.partial)

    return await catalog.answer(call, collect)


def _route_key(row: Mapping[str, Any]) -> str:
    tokens = row["fromToken"]["address"], row["toToken"]["address"]
    return "|".join((row["fromChain"], row["toChain"], *tokens, row["bridge"]))


SWAPS = Quotable(Capability.SWAP, "Swap", "/v2/swaps", _read_swap)
_BRIDGES = Quotable(Capability.BRIDGE, "Bridge", "/v2/bridges", _read_transfer)

OPERATIONS = (
    SWAPS.quote("Quote a swap", SwapQuote, SwapQuoteBody, failures=(502,)),
    get_swap_quote,
    refresh_swap_quote,
    SWAPS.action("Unsigned transactions for a quote", Action),
    list_bridge_routes,
    _BRIDGES.quote("Quote a transfer to another network", BridgeQuote, BridgeQuoteBody, failures=(502,)),
    _BRIDGES.action("Unsigned transactions for a bridge quote", BridgeAction),
)
