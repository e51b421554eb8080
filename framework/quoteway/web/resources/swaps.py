"""Swaps: quote, the quote read back, and the action."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from marshmallow import validates_schema

from quoteway.errors import FieldError, Reason
from quoteway.models import Address, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.web.http.fields import (
    AddressField,
    Amount,
    Choice,
    NetworkField,
    SlippageField,
    StrictBoolean,
    Text,
)
from quoteway.web.http.operation import Call, Operation
from quoteway.web.http.schema import Refusal, RequestSchema, invalid, refuse, refuse_all
from quoteway.web.resources import quote_action
from quoteway.web.wire.actions import Action
from quoteway.web.wire.quotes import SwapQuote
from quoteway.web.wire.view import Wire

APPROVAL_MODES = ("transactions", "permit2-signature")


class Transfer(RequestSchema):
    """What a swap and a bridge transfer have in common."""

    address = AddressField("Who signs, and pays what is sold", required=True)
    amount = Amount("What is sold, in base units of fromToken", minimum=1, required=True)
    from_chain = NetworkField("The network of fromToken")
    from_token = AddressField("What is sold: an ERC-20 address, or native", native=True, required=True)
    slippage_bps = SlippageField("How far below the quoted amount the minimum may be, in basis points")
    to_address = AddressField("Who is paid; address when left out")
    to_chain = NetworkField("The network of toToken")
    to_token = AddressField("What is bought: an ERC-20 address, or native", native=True, required=True)
    refund_address = AddressField(
        "Who is paid back on the first network when a transfer does not arrive; address when left out"
    )
    provider = Text("Ask this provider alone", max_length=64)
    approval_mode = Choice(
        "Whether a Permit2 allowance comes as a transaction or as typed data to sign",
        APPROVAL_MODES,
        load_default="transactions",
    )


class SwapQuoteBody(Transfer):
    """``network`` names both ends; ``fromChain`` and ``toChain`` name them apart and must not contradict
    it. ``atomicBatch`` false: the wallet sends one call at a time, so no quote in parts is wanted.
    """

    network = NetworkField("Both ends, where they are one network")
    atomic_batch = StrictBoolean(
        "Whether the wallet sends several calls as one (EIP-5792); false: no quote in parts is given",
        load_default=True,
    )

    @validates_schema(skip_on_field_errors=False)
    def check_chains(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        network = data.get("network")
        ends = {"fromChain": data.get("from_chain"), "toChain": data.get("to_chain")}
        conflict = Refusal(Reason.CONFLICT, "names another network than `network` does")
        refused = {name: conflict for name, end in ends.items() if network and end not in (None, network)}
        if refused:
            raise refuse_all(refused)

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_chain_given(self, data: Mapping[str, Any], original: Mapping[str, Any], **kwargs: Any) -> None:
        if not original.get("network") and not original.get("fromChain"):
            raise refuse(Reason.MISSING, "is required unless fromChain is given", "network")

    @validates_schema(skip_on_field_errors=False)
    def check_refund(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        origin, target = ends(data)
        if origin is not None and origin == target and "refund_address" in data:
            message = "is for two networks: a swap within one network has no refund"
            raise refuse(Reason.CONFLICT, message, "refundAddress")

    @validates_schema
    def check_tokens(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        origin, target = ends(data)
        if origin is not None and origin == target and data["from_token"] == data["to_token"]:
            raise refuse(Reason.CONFLICT, "must be another token than fromToken", "toToken")


def ends(data: Mapping[str, Any]) -> tuple[Network | None, Network | None]:
    """The network the tokens leave and the one they arrive on."""
    origin = data.get("from_chain") or data.get("network")
    return origin, data.get("to_chain") or data.get("network") or origin


async def transfer_request(call: Call, origin: Network, target: Network) -> SwapRequest:
    """The request with its tokens' facts. Raises ``InvalidRequest`` naming every address that is no token."""
    body = call.body
    sold, bought, _ = await asyncio.gather(
        call.gateway.tokens.find(origin.chain_id, body["from_token"]),
        call.gateway.tokens.find(target.chain_id, body["to_token"]),
        call.gateway.look_ahead(origin.chain_id),
    )
    refused = [
        FieldError(member, Reason.UNSUPPORTED_TOKEN, f"is no ERC-20 token on {network.slug}")
        for member, token, network in (("fromToken", sold, origin), ("toToken", bought, target))
        if token is None
    ]
    if refused or sold is None or bought is None:
        raise invalid(refused)
    return _request(body, origin, target, sold, bought)


def _request(
    body: Mapping[str, Any], origin: Network, target: Network, sold: Token, bought: Token
) -> SwapRequest:
    sender: Address = body["address"]
    refund_to = body.get("refund_address")
    return SwapRequest(
        chain_id=origin.chain_id,
        to_chain_id=target.chain_id,
        token_in=sold,
        token_out=bought,
        amount_in=body["amount"],
        sender=sender,
        recipient=body.get("to_address", sender),
        slippage_bps=body["slippage_bps"],
        permit2_signature=body["approval_mode"] == "permit2-signature",
        refund_to=None if refund_to == sender else refund_to,
    )


async def create_quote(call: Call) -> Wire:
    origin, target = ends(call.body)
    assert origin is not None
    assert target is not None
    atomic_batch: bool = call.body["atomic_batch"]
    call.gateway.quoting.candidates(
        Capability.SWAP, origin.chain_id, target.chain_id, atomic_batch=atomic_batch
    )
    request = await transfer_request(call, origin, target)
    return await quote_action.quote(
        call, Capability.SWAP, request, provider=call.body.get("provider"), atomic_batch=atomic_batch
    )


async def show_quote(call: Call) -> Wire:
    return quote_action.shown_quote(call, Capability.SWAP, call.path["quoteId"])


OPERATIONS = (
    quote_action.quote_operation(
        "/v2/swaps/quote",
        "createSwapQuote",
        "Quote a swap",
        create_quote,
        SwapQuote,
        body=SwapQuoteBody,
        failures=(502,),
    ),
    Operation(
        "GET",
        "/v2/swaps/quote/{quoteId}",
        "getSwapQuote",
        "Read a quote back from its token",
        show_quote,
        SwapQuote,
        group="quotes",
        failures=(404,),
    ),
    quote_action.action_operation(
        "/v2/swaps/{quoteId}/action",
        "createSwapAction",
        "Unsigned transactions for a quote",
        quote_action.action_of_quote(Capability.SWAP),
        Action,
    ),
)
