"""Quotes and builds transfers for both capabilities: one deposit into the origin's SpokePool."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    Block,
    BridgeRoute,
    Build,
    Chain,
    Context,
    Fee,
    FieldError,
    Gas,
    InvalidRequest,
    Leg,
    Notice,
    Quote,
    Reason,
    RefundTerms,
    SealedQuote,
    Spend,
    Step,
    SwapRequest,
    Token,
    TransferTerms,
    TransferTracking,
    UpstreamError,
)
from yarl import URL

from quoteway_across.deployments import Deployment, configured_deployments
from quoteway_across.fees_api import FeesApi, Limits, Route, SuggestedFees
from quoteway_across.route_limits import RouteLimits
from quoteway_across.spoke_pool import (
    DELEGATED_CODE,
    DEPOSIT,
    FILL_DEADLINE_BUFFER,
    QUOTE_TIME_BUFFER,
)
from quoteway_across.terms import Buffers, Terms, amounts, terms_of

LABEL = "Across SpokePool"
DEPOSIT_GAS = 100_000
_GAS_LIMIT = 150_000
# The places of depositV3's arguments. The depositor is the account that is refunded.
# SpokePool.speedUpDeposit: the depositor may change output amount, recipient and message by signature.
_REFUND_ADDRESS_WARNING = Notice("refund_address_controls_deposit")


class Transfers:
    """The transfers between the configured networks."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._max_fee_bps: int = context.settings.get("max_fee_bps", 1000)
        self.deployments: Mapping[int, Deployment] = configured_deployments(context)
        timeout_s: float = context.settings.get("api_timeout_s", 2.0)
        self._apis: dict[URL, FeesApi] = {
            row.api: FeesApi(context, row.api, timeout_s) for row in self.deployments.values()
        }
        self._limits = {base: RouteLimits(api) for base, api in self._apis.items()}
        self._buffers: dict[int, Buffers] = {}

    def chain(self, chain_id: int) -> Chain:
        """Returns the chain's client."""
        return self._context.chain(chain_id)

    def now(self) -> int:
        """Returns the time in Unix seconds."""
        return self._context.now()

    def healthy(self) -> bool | None:
        """Whether every API answered its last request; None before the first."""
        known = [api.healthy for api in self._apis.values() if api.healthy is not None]
        return all(known) if known else None

    # --- routes -------------------------------------------------------------------------------------------

    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        """Returns the routes between networks of this deployment. Limits take a request per route, so they
        are included only when both ends are given. Raises UpstreamError."""
        listed = await asyncio.gather(*(api.routes() for api in self._apis.values()))
        wanted = [
            (route, native)
            for routes in listed
            for route, native in routes.items()
            if from_chain_id in (None, route[0]) and to_chain_id in (None, route[2]) and self._serves(route)
        ]
        ends = {end for route, _ in wanted for end in (route[:2], route[2:])}
        ends |= {(chain_id, NATIVE) for chain_id, _ in ends}
        named = [route for route, _ in wanted] if None not in (from_chain_id, to_chain_id) else []
        tokens, limits = await asyncio.gather(self._tokens(ends), self._limits_of(named))
        rows = []
        for route, native in wanted:
            pairs = {(route[1], route[3])}
            if native:
                pairs |= {(a, b) for a in self._forms(*route[:2]) for b in self._forms(*route[2:])}
            for token_in, token_out in sorted(pairs):
                given, got = tokens.get((route[0], token_in)), tokens.get((route[2], token_out))
                if given is not None and got is not None:
                    known = limits.get(route)
                    bounds = (known.min_deposit, known.max_deposit) if known else (None, None)
                    rows.append(BridgeRoute(route[0], route[2], given, got, "across", True, *bounds))
        return rows

    async def _limits_of(self, routes: Sequence[Route]) -> dict[Route, Limits]:
        """Returns the limits of routes between two networks, which have the same API."""
        if not routes:
            return {}
        return await self._limits[self.deployments[routes[0][0]].api].of(routes)

    def _serves(self, route: Route) -> bool:
        origin, destination = self.deployments.get(route[0]), self.deployments.get(route[2])
        return origin is not None and destination is not None and origin.api == destination.api

    def _forms(self, chain_id: int, token: Address) -> tuple[Address, ...]:
        """Returns the token, and the native coin where the token is its wrapped form."""
        return (token, NATIVE) if token == self.deployments[chain_id].wrapped_native else (token,)

    async def _tokens(self, wanted: set[tuple[int, Address]]) -> dict[tuple[int, Address], Token]:
        found = await asyncio.gather(*(self._context.token(*end) for end in wanted), return_exceptions=True)
        return {end: token for end, token in zip(wanted, found, strict=True) if isinstance(token, Token)}

    # --- quote --------------------------------------------------------------------------------------------

    async def quote(self, request: SwapRequest) -> Quote | None:
        """Returns a transfer's quote; None without a route.

        Raises InvalidRequest for a recipient that would be paid in another token and for a refund address
        that would lose the tokens; UpstreamError when the fee service fails, its terms are refused, or the
        amount is out of bounds.
        """
        origin = self.deployments.get(request.chain_id)
        destination = self.deployments.get(request.to_chain_id)
        if origin is None or destination is None or origin is destination or origin.api != destination.api:
            return None
        api = self._apis[origin.api]
        token_in = _deposited(request.token_in.address, origin)
        token_out = _deposited(request.token_out.address, destination)
        if token_in is None or token_out is None:
            return None
        if request.refund_account in (NATIVE, origin.spoke_pool, token_in):
            raise _refused("refundAddress", "a refund to this address would be lost: name a wallet")
        route = (origin.chain_id, token_in, destination.chain_id, token_out)
        if route not in await api.routes():
            return None
        chain = self.chain(origin.chain_id)
        checked, fees, buffers, block = await asyncio.gather(
            self._check_recipient(request, destination),
            api.suggested_fees(route, request.amount_in, request.recipient),
            self.buffers(origin),
            chain.head(),
            return_exceptions=True,
        )
        # In this order: errors that the caller can correct come before upstream errors.
        for failure in (checked, fees, buffers, block):
            if isinstance(failure, BaseException):
                raise failure
        assert isinstance(buffers, Buffers)
        assert isinstance(block, Block)
        if not isinstance(fees, SuggestedFees):
            return None
        now = self.now()
        terms = terms_of(fees, request, origin, buffers, block, now, self._max_fee_bps)
        fee = _fee(request, terms.amount_out)
        until = terms.accepted_until(buffers)
        gas_price = None if block.base_fee_wei is None else 2 * block.base_fee_wei
        cost = None if block.base_fee_wei is None else DEPOSIT_GAS * block.base_fee_wei
        return Quote(
            inputs=(Leg(request.token_in, request.amount_in, request.sender),),
            outputs=(
                Leg(request.token_out, terms.amount_out, request.recipient, amount_min=terms.amount_out),
            ),
            block=block,
            plan={
                "pool": origin.spoke_pool,
                "in": token_in,
                "out": token_out,
                "quoted": terms.quote_timestamp,
                "fill": terms.fill_deadline,
                "relayer": terms.exclusive_relayer,
                "exclusivity": terms.exclusivity,
                "seconds": terms.estimated_seconds,
            },
            spends=_spends(request, origin),
            slippage_bps=request.slippage_bps,
            fees=(fee,),
            gas=Gas(DEPOSIT_GAS, _GAS_LIMIT, gas_price, None, cost),
            warnings=_warnings(request),
            lifetime_s=max(1, until - max(now, block.timestamp)),
            terms=TransferTerms(
                terms.estimated_seconds,
                terms.fill_deadline,
                RefundTerms(origin.chain_id, token_in, request.refund_account),
            ),
        )

    async def buffers(self, deployment: Deployment) -> Buffers:
        """Returns the SpokePool's limits, which are immutable and read once."""
        known = self._buffers.get(deployment.chain_id)
        if known is None:
            chain = self.chain(deployment.chain_id)
            calls = (QUOTE_TIME_BUFFER, FILL_DEADLINE_BUFFER)
            answers = await asyncio.gather(
                *(chain.call(deployment.spoke_pool, call.encode([])) for call in calls)
            )
            try:
                values = [call.decode_output(a)[0] for call, a in zip(calls, answers, strict=True)]
            except ValueError as error:
                raise UpstreamError(
                    "The SpokePool's limits cannot be read.", reason=Reason.RPC_ERROR
                ) from error
            known = self._buffers[deployment.chain_id] = Buffers(*values)
        return known

    async def _check_recipient(self, request: SwapRequest, destination: Deployment) -> None:
        """Raises InvalidRequest when the pool would pay another token than the one requested: it pays
        wallets in the native coin and contracts in the wrapped one (``_unwrapwrappedNativeTokenTo``)."""
        recipient, token = request.recipient, request.token_out
        if recipient in (NATIVE, destination.spoke_pool, token.address):
            raise _refused("toAddress", "tokens sent to this address would be lost: name a wallet")
        if not token.is_native and token.address != destination.wrapped_native:
            return
        code = bytes.fromhex(
            (await self.chain(destination.chain_id).request("eth_getCode", [recipient, "latest"]))[2:]
        )
        pays_wrapped = bool(code) and not code.startswith(DELEGATED_CODE)
        if pays_wrapped and token.is_native:
            raise _refused(
                "toAddress",
                "Across pays contracts in the wrapped coin: set toToken to that token",
            )
        if not pays_wrapped and not token.is_native:
            raise _refused(
                "toToken",
                "Across pays wallets in the native coin: set toToken to native, or toAddress to a contract",
            )

    # --- build --------------------------------------------------------------------------------------------

    async def build(self, sealed: SealedQuote) -> Build:
        """Returns the deposit on the quote's pinned terms: the same quote gives the same bytes.

        Raises UpstreamError with reason price_moved when the terms have expired.
        """
        request = sealed.request
        if not isinstance(request, SwapRequest):
            raise InvalidRequest("This quote is not a transfer.", reason=Reason.QUOTE_INVALID)
        origin, plan = self.deployments.get(request.chain_id), sealed.plan
        if origin is None or origin.spoke_pool != plan["pool"]:
            raise UpstreamError(
                "The SpokePool of this quote is no longer configured: request a new quote.",
                reason=Reason.PROVIDER_ERROR,
            )
        (given,), (got,) = sealed.inputs, sealed.outputs
        terms = Terms(
            got.amount_min or got.amount,
            plan["quoted"],
            plan["fill"],
            plan["relayer"],
            plan["exclusivity"],
            plan["seconds"],
        )
        block, buffers = await asyncio.gather(self.chain(request.chain_id).head(), self.buffers(origin))
        if terms.useful_until(buffers) <= max(self.now(), block.timestamp):
            raise UpstreamError(
                "The bridge's terms in this quote have run out (its timestamp is too old for the SpokePool, "
                "or its fill deadline too near): request a new quote.",
                reason=Reason.PRICE_MOVED,
                retryable=False,
            )
        args = _arguments(request, terms, plan)
        value = given.amount if given.token.is_native else 0
        step = Step(origin.spoke_pool, DEPOSIT.encode(args), value, request.chain_id)
        return Build(
            steps=(step,),
            spends=_spends(request, origin),
            inputs=sealed.inputs,
            outputs=sealed.outputs,
            deadline=terms.accepted_until(buffers),
            warnings=_warnings(request),
            terms=TransferTracking(
                "across",
                origin_chain_id=request.chain_id,
                destination_chain_id=request.to_chain_id,
                expected_seconds=terms.estimated_seconds,
                refund_address=request.refund_account,
            ),
        )


def _deposited(token: Address, deployment: Deployment) -> Address | None:
    """Returns the token that the SpokePool holds: the wrapped form of the native coin."""
    return deployment.wrapped_native if token == NATIVE else token


def _arguments(request: SwapRequest, terms: Terms, plan: Mapping[str, Any]) -> list[Any]:
    return [
        request.refund_account,
        request.recipient,
        plan["in"],
        plan["out"],
        request.amount_in,
        terms.amount_out,
        request.to_chain_id,
        terms.exclusive_relayer,
        terms.quote_timestamp,
        terms.fill_deadline,
        terms.exclusivity,
        b"",
    ]


def _spends(request: SwapRequest, origin: Deployment) -> tuple[Spend, ...]:
    if request.token_in.is_native:
        return ()
    return (Spend(request.token_in.address, request.amount_in, origin.spoke_pool),)


def _fee(request: SwapRequest, amount_out: int) -> Fee:
    """Returns all that the bridge keeps, in the deposited token."""
    given, got = amounts(request, amount_out)
    kept = given - got
    units = kept * 10**request.token_in.decimals
    amount = -(-units.numerator // units.denominator)
    bps = round(float(kept / given) * 10_000, 4)
    return Fee("bridge", request.token_in, amount, True, bps)


def _warnings(request: SwapRequest) -> tuple[Notice, ...]:
    return () if request.refund_account == request.sender else (_REFUND_ADDRESS_WARNING,)


def _refused(member: str, message: str) -> InvalidRequest:
    return InvalidRequest(
        f"{member}: {message}.",
        reason=Reason.CONFLICT,
        fields=[FieldError(member, Reason.CONFLICT, message)],
    )
