"""Swaps: quote, the quote read back, and the action."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from marshmallow import ValidationError, validates_schema

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
    described,
)
from quoteway.web.http.operation import Call, Operation
from quoteway.web.http.schema import Refusal, RequestSchema, invalid
from quoteway.web.resources import quote_action
from quoteway.web.wire.actions import Action
from quoteway.web.wire.quotes import SwapQuote

APPROVAL_MODES = ("transactions", "permit2-signature")


class Transfer(RequestSchema):
    """What a swap and a bridge transfer have in common."""

    address = described(AddressField(required=True), "Who signs, and pays what is sold")
    amount = described(Amount(minimum=1, required=True), "What is sold, in base units of fromToken")
    from_chain = described(NetworkField(), "The network of fromToken")
    from_token = described(
        AddressField(native=True, required=True), "What is sold: an ERC-20 address, or native"
    )
    slippage_bps = described(
        SlippageField(), "How far below the quoted amount the minimum may be, in basis points"
    )
    to_address = described(AddressField(), "Who is paid; address when left out")
    to_chain = described(NetworkField(), "The network of toToken")
    to_token = described(
        AddressField(native=True, required=True), "What is bought: an ERC-20 address, or native"
    )
    refund_address = described(
        AddressField(),
        "Who is paid back on the first network when a transfer does not arrive; address when left out",
    )
    provider = described(Text(max_length=64), "Ask this provider alone")
    approval_mode = described(
        Choice(*APPROVAL_MODES, load_default="transactions"),
        "Whether a Permit2 allowance comes as a transaction or as typed data to sign",
    )


class SwapQuoteBody(Transfer):
    """``network`` names both ends; ``fromChain`` and ``toChain`` name them apart and must not contradict
    it. ``atomicBatch`` false: the wallet sends one call at a time, so no quote in parts is wanted.
    """

    network = described(NetworkField(), "Both ends, where they are one network")
    atomic_batch = described(
        StrictBoolean(load_default=True),
        "Whether the wallet sends several calls as one (EIP-5792); false: no quote in parts is given",
    )

    @validates_schema(skip_on_field_errors=False)
    def check_chains(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        network, origin = data.get("network"), data.get("from_chain")
        target = data.get("to_chain")
        if network is not None:
            wrong = [
                name
                for name, end in (("fromChain", origin), ("toChain", target))
                if end is not None and end != network
            ]
            if wrong:
                raise ValidationError(
                    {
                        name: [Refusal(Reason.CONFLICT, "names another network than `network` does")]
                        for name in wrong
                    }
                )

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_chain_given(self, data: Mapping[str, Any], original: Mapping[str, Any], **kwargs: Any) -> None:
        if not original.get("network") and not original.get("fromChain"):
            raise ValidationError(
                {"network": [Refusal(Reason.MISSING, "is required unless fromChain is given")]}
            )

    @validates_schema(skip_on_field_errors=False)
    def check_refund(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        origin, target = ends(data)
        if origin is not None and origin == target and "refund_address" in data:
            raise ValidationError(
                {
                    "refundAddress": [
                        Refusal(
                            Reason.CONFLICT, "is for two networks: a swap within one arrives or never happens"
                        )
                    ]
                }
            )

    @validates_schema
    def check_tokens(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        origin, target = ends(data)
        if origin is not None and origin == target and data["from_token"] == data["to_token"]:
            raise ValidationError(
                {"toToken": [Refusal(Reason.CONFLICT, "must be another token than fromToken")]}
            )


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


async def create_quote(call: Call) -> dict[str, Any]:
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


async def show_quote(call: Call) -> dict[str, Any]:
    return quote_action.shown_quote(call, Capability.SWAP, call.path["quoteId"])


async def create_action(call: Call) -> web.Response:
    return await quote_action.exchange(call, Capability.SWAP, call.path["quoteId"])


OPERATIONS = (
    Operation(
        "POST",
        "/v2/swaps/quote",
        "createSwapQuote",
        "swaps",
        "Quote a swap",
        create_quote,
        SwapQuote,
        group="quotes",
        body=SwapQuoteBody,
        errors=(400, 422, 429, 502, 503),
    ),
    Operation(
        "GET",
        "/v2/swaps/quote/{quoteId}",
        "getSwapQuote",
        "swaps",
        "Read a quote back from its token",
        show_quote,
        SwapQuote,
        group="quotes",
        errors=(404, 429, 503),
    ),
    Operation(
        "POST",
        "/v2/swaps/{quoteId}/action",
        "createSwapAction",
        "swaps",
        "Unsigned transactions for a quote",
        create_action,
        Action,
        status=201,
        group="quotes",
        errors=(404, 429, 502, 503),
    ),
)
