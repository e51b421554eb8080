"""The swap provider: exact quotes and Universal Router transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from quoteway import (
    NATIVE,
    Address,
    Block,
    Build,
    CertificateCheck,
    CertifiedSwap,
    ConfigError,
    Context,
    InvalidRequest,
    Quote,
    Reason,
    SealedQuote,
    SwapProvider,
    SwapRequest,
    Token,
    UpstreamError,
)
from quoteway.evm import permit2
from quoteway.evm.calls.router_commands import RESERVED_RECIPIENTS
from quoteway.models import LIMITS
from quoteway_router.paths import REFUSALS, Refusal
from quoteway_router.venue import is_wrapping

from quoteway_uniswap.building import build_swap
from quoteway_uniswap.candidates import hooked_pools, pool_id
from quoteway_uniswap.deployments import (
    PROVIDER_ID,
    Deployment,
    allowed_hooks,
    contracts_of,
    deployments_of,
)
from quoteway_uniswap.exact_output_routing import best_exact_output
from quoteway_uniswap.families import FAMILIES
from quoteway_uniswap.plans import PLAN_VERSION
from quoteway_uniswap.quoting import quote_of_route, quote_of_wrapping
from quoteway_uniswap.routing import (
    WRAPPING,
    Route,
    best_route,
)
from quoteway_uniswap.shared import shared_by
from quoteway_uniswap.verifying import verify_certificate


class UniswapProvider(SwapProvider):
    """Quotes the best flow over v2, v3 and v4 pools, net of gas, exact at its block.

    An exact output takes the best paths in parallel, each of one protocol.
    """

    id = PROVIDER_ID
    title = "Uniswap"
    honours = LIMITS
    enforces_fees = True
    exact_out = True
    docs = "https://docs.uniswap.org/contracts/universal-router/overview"
    plan_version = PLAN_VERSION

    def __init__(self, context: Context) -> None:
        self._context = context
        self._max_hops: int | None = context.settings.get("max_hops")
        self._lifetime_s: int | None = context.settings.get("lifetime_s")
        self._deployments = configured_deployments(context)
        self.networks = frozenset(self._deployments)
        self.protocols = protocols_of(self._deployments)
        self._shared = shared_by(context)
        self._tokens: dict[int, Mapping[Address, Token]] = {}

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the Universal Routers."""
        return {
            d.router: f"{d.protocol.title()} Universal Router" for d in self._deployments.get(chain_id, ())
        }

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns every contract of the network's rows."""
        return contracts_of(self._deployments.get(chain_id, ()))

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns Permit2 and the routers that pull through it."""
        rows = self._deployments.get(chain_id, ())
        return (permit2.ADDRESS, *dict.fromkeys(row.router for row in rows)) if rows else ()

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``SwapProvider``. Raises UpstreamError with reason insufficient_liquidity or amount_too_low."""
        deployments = self._deployments.get(request.chain_id)
        if request.is_cross_chain or not deployments:
            return None
        self._check(request, deployments)
        block = await self._context.chain(request.chain_id).head()
        for deployment in deployments:
            if is_wrapping(request, deployment.wrapped_native):
                return self._wrapping(deployment, block, request)
        tokens, *outcomes = await asyncio.gather(
            self._pass_through_tokens(request.chain_id),
            *(self._route(d, block, request) for d in deployments),
            return_exceptions=True,
        )
        routes = [outcome for outcome in outcomes if isinstance(outcome, Route)]
        if routes:
            best = max(routes, key=lambda route: route.worth)
            known = tokens if isinstance(tokens, Mapping) else {}
            capped = self._max_hops is not None and (request.routing.max_hops or 0) > self._max_hops
            return quote_of_route(best, block, request, known, self._lifetime_s, hops_capped=capped)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return self._refuse(request, deployments, outcomes)

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``SwapProvider``. Raises UpstreamError when the quote's deployment is no longer configured."""
        request = sealed.request
        if not isinstance(request, SwapRequest):
            raise InvalidRequest("This quote is not a swap.", reason=Reason.QUOTE_INVALID)
        for deployment in self._deployments.get(request.chain_id, ()):
            if (deployment.protocol, deployment.router) == (sealed.plan["protocol"], sealed.plan["router"]):
                chain = self._context.chain(request.chain_id)
                return await build_swap(self._context, chain, deployment, sealed, request)
        raise UpstreamError(
            "The router of this quote is no longer configured: request a new quote.",
            reason=Reason.PROVIDER_ERROR,
        )

    async def verify(self, swap: CertifiedSwap) -> Sequence[CertificateCheck]:
        """See ``SwapProvider``. The pools are those of this installation's rows, read through the lens."""
        rows = self._deployments.get(swap.chain_id, ())
        return await verify_certificate(self._context.chain(swap.chain_id), rows, swap)

    async def _route(self, deployment: Deployment, block: Block, request: SwapRequest) -> Route | Refusal:
        chain = self._shared.chain(request.chain_id, self._deployments[request.chain_id])
        find = best_route if request.amount_out is None else best_exact_output
        return await find(deployment, chain, self._shared.splitting, block, request, self._max_hops)

    def _wrapping(self, deployment: Deployment, block: Block, request: SwapRequest) -> Quote | None:
        """Returns the quote of wrapping, which is a hop of its own; None when the limits exclude it."""
        limits = request.routing
        allowed = limits.takes_protocol((self.id, WRAPPING))
        if not allowed or not limits.takes_pool(request.chain_id, deployment.wrapped_native):
            return None
        return quote_of_wrapping(deployment, block, request, self._lifetime_s)

    async def _pass_through_tokens(self, chain_id: int) -> Mapping[Address, Token]:
        """Returns the tokens that routes may pass through: fees are stated in them."""
        known = self._tokens.get(chain_id)
        if known is None:
            bases = {NATIVE, *(token for row in self._deployments[chain_id] for token in row.pass_through)}
            found = await asyncio.gather(*(self._context.token(chain_id, token) for token in sorted(bases)))
            known = self._tokens[chain_id] = {token.address: token for token in found if token is not None}
        return known

    def _check(self, request: SwapRequest, deployments: Sequence[Deployment]) -> None:
        if request.token_in.address == request.token_out.address:
            raise InvalidRequest("tokenIn and tokenOut must be two different tokens.", reason=Reason.CONFLICT)
        if request.amount >= permit2.MAX_AMOUNT:
            raise InvalidRequest(
                f"amount must be below {permit2.MAX_AMOUNT}, the maximum of Permit2.",
                reason=Reason.AMOUNT_TOO_HIGH,
            )
        if request.recipient in RESERVED_RECIPIENTS or request.recipient in {d.router for d in deployments}:
            raise InvalidRequest(
                "recipient must not be the router or a reserved address: the tokens would be lost.",
                reason=Reason.INVALID_FORMAT,
            )

    def _refuse(
        self, request: SwapRequest, deployments: Sequence[Deployment], refusals: Sequence[object]
    ) -> Quote | None:
        tokens = request.token_in.address, request.token_out.address
        hooked = [pool_id(key) for deployment in deployments for key in hooked_pools(deployment, *tokens)]
        skipped = (
            f" Skipped because their hooks may change any amount: {', '.join(hooked)}." if hooked else ""
        )
        for refusal in ("insufficient_liquidity", "amount_too_low", "no_liquidity"):
            if refusal in refusals:
                message, reason = REFUSALS[refusal]
                raise UpstreamError(message + skipped, reason=reason)
        if request.routing.given:
            raise UpstreamError("No path keeps the limits on the route." + skipped, reason=Reason.NO_ROUTE)
        if skipped:
            raise UpstreamError(
                "No pool without hooks connects these tokens." + skipped, reason=Reason.NO_ROUTE
            )
        return None


def protocols_of(deployments: Mapping[int, Sequence[Deployment]]) -> tuple[str, ...]:
    """Returns the protocols that routes over these deployments can show."""
    found = [
        f"{row.protocol}-{kind}"
        for rows in deployments.values()
        for row in rows
        for kind, family in FAMILIES.items()
        if family.contracts_in(row) is not None
    ]
    return tuple(dict.fromkeys((*found, WRAPPING)))


def configured_deployments(context: Context) -> dict[int, tuple[Deployment, ...]]:
    """Returns the deployments by chain id. Raises ConfigError for a wrong row."""
    extra = configured_rows(context)
    allowed = _allowed_hooks(context)
    found = {
        network.chain_id: deployments_of(
            network, extra.get(network.slug, ()), allowed.get(network.slug, frozenset())
        )
        for network in context.networks
    }
    return {chain_id: deployments for chain_id, deployments in found.items() if deployments}


def configured_rows(context: Context) -> dict[str, list[Mapping[str, object]]]:
    """Returns the rows of the plugin's own section by slug. Raises ConfigError for an unknown network."""
    extra: dict[str, list[Mapping[str, object]]] = {}
    for row in context.settings.get("deployments", ()):
        members = dict(row)
        slug = members.pop("network", None)
        if not isinstance(slug, str) or context.networks.find(slug) is None:
            known = ", ".join(network.slug for network in context.networks)
            raise ConfigError(f"plugin.uniswap.deployments: network must be one of {known}, got {slug!r}")
        extra.setdefault(slug, []).append(members)
    return extra


def _allowed_hooks(context: Context) -> dict[str, frozenset[Address]]:
    """Returns the hooks of ``allowed_hooks`` by network. Raises ConfigError for wrong ones."""
    found: dict[str, frozenset[Address]] = {}
    for name, addresses in context.settings.get("allowed_hooks", {}).items():
        where = f"plugin.uniswap.allowed_hooks.{name}"
        try:
            found[context.networks.configured(name, where).slug] = allowed_hooks(addresses)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
    return found
