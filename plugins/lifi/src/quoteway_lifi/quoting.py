"""Quotes LI.FI's offer for a request, and builds the transaction that meets a sealed quote."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any

from cachetools import TTLCache
from quoteway import (
    Block,
    Build,
    Capability,
    Context,
    FieldError,
    InvalidRequest,
    Leg,
    Notice,
    Quote,
    Reason,
    SealedQuote,
    Spend,
    Step,
    SwapRequest,
    TransferTerms,
    TransferTracking,
    UpstreamError,
)

from quoteway_lifi.api import LifiApi
from quoteway_lifi.contracts import registry_of
from quoteway_lifi.offer import Offer, read_offer

# The bridge whose transfers the core reads, as LI.FI's `allowBridges` names it.
_TRANSFER_BRIDGE = "across"
_OPAQUE_CALLDATA = Notice("opaque_calldata")


class Quoter:
    """Quotes and builds for the swap and the bridge provider of one gateway."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.registry = registry_of(context)
        self.api = LifiApi(context)
        self._built: TTLCache[tuple[Any, ...], Build] = TTLCache(1_024, 900, timer=context.now)

    async def quote(self, request: SwapRequest, capability: Capability) -> Quote | None:
        """Returns LI.FI's best offer; None when both tokens are the same. Raises ``UpstreamError`` as in
        ``failures``, and ``InvalidRequest`` for a refund address other than the sender: the API takes none.
        """
        if request.token_in == request.token_out:
            return None
        if request.is_cross_chain and request.refund_account != request.sender:
            message = "LI.FI refunds the sender only: leave refundAddress out"
            raise InvalidRequest(
                f"refundAddress: {message}.",
                reason=Reason.CONFLICT,
                fields=[FieldError("refundAddress", Reason.CONFLICT, message)],
            )
        block, offer = await asyncio.gather(
            self.context.chain(request.chain_id).head(),
            self._ask(request, _fraction(request.slippage_bps), {}),
        )
        if offer.transaction.value > (request.amount_in if request.token_in.is_native else 0):
            raise UpstreamError(
                "LI.FI's route takes a fee in the native coin on top of the amount, which quotes cannot "
                "state.",
                reason=Reason.NO_ROUTE,
            )
        readable = self._readable(offer, request)
        opaque_allowed = self._may_be_opaque and not request.is_cross_chain
        if readable is False or (readable is None and not opaque_allowed):
            raise UpstreamError(
                "LI.FI's route cannot be checked: nothing describes what its calldata does. For a swap on "
                'one network, [providers.lifi] opaque = "simulated" lets a simulation decide.',
                reason=Reason.NO_ROUTE,
            )
        warnings = () if readable else (_OPAQUE_CALLDATA,)
        quote = _quote(offer, request, capability, block, self.context.settings["lifetime_s"], warnings)
        # The offer has its transaction: a build at the same block needs no other one.
        key = _key(capability, request, quote.outputs, quote.plan, block)
        self._built[key] = _build(offer, request, capability, warnings)
        return quote

    async def build(self, sealed: SealedQuote) -> Build:
        """Returns a new transaction of LI.FI for the quoted tools, with a minimum no lower than the sealed
        one.

        LI.FI puts an id of its own into every answer, so the build of a quote at a block is cached, and that
        of a new quote comes with it. The key is the quote's content, because a part of a joined quote has no
        token of its own. Raises ``UpstreamError`` with ``price_moved`` when the minimum cannot be met.
        """
        request = sealed.request
        if not isinstance(request, SwapRequest):
            raise InvalidRequest("This quote is neither a swap nor a transfer.", reason=Reason.QUOTE_INVALID)
        block = await self.context.chain(request.chain_id).head()
        key = _key(sealed.capability, request, sealed.outputs, sealed.plan, block)
        built = self._built.get(key)
        if built is None:
            offer = await self._renewed(sealed, request)
            warnings = () if self._readable(offer, request) else (_OPAQUE_CALLDATA,)
            built = _build(offer, request, sealed.capability, warnings)
            self._built[key] = built
        return built

    @property
    def _may_be_opaque(self) -> bool:
        settings = self.context.config.providers.get("lifi")
        return settings is not None and settings.opaque == "simulated"

    def _readable(self, offer: Offer, request: SwapRequest) -> bool | None:
        return self.context.readable(_step(offer), request.sender)

    async def _renewed(self, sealed: SealedQuote, request: SwapRequest) -> Offer:
        minimum = sealed.outputs[0].amount_min or 0
        pin = {
            "allowBridges": ",".join(sealed.plan["bridges"]) or "none",
            "allowExchanges": ",".join(sealed.plan["exchanges"]) or "none",
        }
        offer = await self._ask(request, _fraction(request.slippage_bps), pin)
        if offer.got.amount_min is not None and offer.got.amount_min < minimum <= offer.got.amount:
            # The amount suffices; only LI.FI's minimum below it is too low.
            offer = await self._ask(request, _slippage_to(offer.got.amount, minimum), pin)
        if (offer.got.amount_min or 0) < minimum:
            raise UpstreamError(
                "LI.FI no longer meets the quoted minimum: request a new quote.",
                reason=Reason.PRICE_MOVED,
                retryable=False,
            )
        quoted = sealed.plan["tool"], sealed.plan["bridges"], sealed.plan["exchanges"]
        if (offer.tool, [*offer.bridges], [*offer.exchanges]) != quoted:
            raise UpstreamError(
                "LI.FI no longer offers the quoted tool: request a new quote.",
                reason=Reason.PRICE_MOVED,
                retryable=False,
            )
        return offer

    async def _ask(self, request: SwapRequest, slippage: str, pin: Mapping[str, str]) -> Offer:
        if request.is_cross_chain:  # other routes could not be checked, so they are not asked for
            pin = {"allowBridges": _TRANSFER_BRIDGE, "allowExchanges": "none", **pin}
        body = await self.api.get(
            "quote",
            {
                "fromChain": str(request.chain_id),
                "toChain": str(request.to_chain_id),
                "fromToken": request.token_in.address,
                "toToken": request.token_out.address,
                "fromAmount": str(request.amount_in),
                "fromAddress": request.sender,
                "toAddress": request.recipient,
                "slippage": slippage,
                "integrator": self.context.settings["integrator"],
                # The wallet may not have approved yet; the gateway runs its own simulation.
                "skipSimulation": "true",
                **pin,
            },
        )
        return read_offer(body, request)


def _key(
    capability: Capability,
    request: SwapRequest,
    outputs: Sequence[Leg],
    plan: Mapping[str, Any],
    block: Block,
) -> tuple[Any, ...]:
    amounts = tuple((leg.amount, leg.amount_min) for leg in outputs)
    return capability, request, amounts, json.dumps(plan, sort_keys=True), block.hash


def _quote(
    offer: Offer,
    request: SwapRequest,
    capability: Capability,
    block: Block,
    lifetime_s: int,
    warnings: tuple[Notice, ...],
) -> Quote:
    terms = TransferTerms(estimated_seconds=offer.duration_s) if capability is Capability.BRIDGE else None
    minimum = offer.got.amount_min or 0
    return Quote(
        inputs=(offer.given,),
        outputs=(offer.got,),
        block=block,
        plan={"tool": offer.tool, "bridges": [*offer.bridges], "exchanges": [*offer.exchanges]},
        spends=_spends(offer),
        slippage_bps=request.slippage_bps,
        fees=offer.fees,
        gas=offer.gas,
        route=offer.route,
        warnings=warnings,
        net_output=None if offer.gas_in_output is None else minimum - offer.gas_in_output,
        lifetime_s=lifetime_s,
        terms=terms,
        is_estimate=True,
    )


def _build(offer: Offer, request: SwapRequest, capability: Capability, warnings: tuple[Notice, ...]) -> Build:
    tracking = None
    if capability is Capability.BRIDGE:
        tracking = TransferTracking(
            offer.tool, request.chain_id, request.to_chain_id, expected_seconds=offer.duration_s
        )
    return Build(
        (_step(offer),),
        _spends(offer),
        (offer.given,),
        (offer.got,),
        warnings=warnings,
        terms=tracking,
    )


def _step(offer: Offer) -> Step:
    made = offer.transaction
    return Step(made.to, made.data, made.value, made.chain_id)


def _spends(offer: Offer) -> tuple[Spend, ...]:
    if offer.spender is None:
        return ()
    return (Spend(offer.given.token.address, offer.given.amount, offer.spender),)


def _fraction(slippage_bps: int) -> str:
    return f"{Decimal(slippage_bps) / 10_000:f}"


def _slippage_to(amount: int, minimum: int) -> str:
    """Returns the slippage from ``amount`` down to ``minimum``, rounded down."""
    exact = Decimal(amount - minimum) / Decimal(amount)
    return f"{exact.quantize(Decimal('0.000001'), ROUND_DOWN):f}"
