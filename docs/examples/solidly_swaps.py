"""Swaps through the pools of an exchange like Solidly: its router quotes, swaps and enforces minimums."""

import quoteway
from quoteway import CallDescription, ContractSettings, ContractSwaps, PaymentRoles, SpendRoles

ROUTES = "(address from, address to, bool stable, address factory)[] routes"


class SolidlySwaps(ContractSwaps):
    id = "solidly-swaps"
    title = "Solidly-like exchange"
    quoting = f"getAmountsOut(uint256 amountIn, {ROUTES}) returns (uint256[] amounts)"
    swapping = CallDescription(
        "swapExactTokensForTokens("
        f"uint256 amountIn, uint256 amountOutMin, {ROUTES}, address to, uint256 deadline)",
        "swap",
        spends=(SpendRoles("#.routes.[0].[0]", "#.amountIn"),),
        pays=(PaymentRoles("#.routes.[-1].[1]", "#.to", "#.amountOutMin"),),
        deadline="#.deadline",
    )

    def plans(self, request):
        return [{"stable": False}, {"stable": True}]

    def quote_args(self, request, plan):
        return request.amount_in, self.routes(request, plan)

    def swap_args(self, order):
        routes = self.routes(order.request, order.plan)
        return order.amount_in, order.minimum, routes, order.recipient, order.deadline

    def routes(self, request, plan):
        factory = self.contract_of[request.chain_id]  # this exchange's factory is its router
        return [(request.token_in.address, request.token_out.address, plan["stable"], factory)]


@quoteway.hookimpl
def quoteway_settings():
    return ContractSettings


@quoteway.hookimpl
def quoteway_swap_providers(context):
    return [SolidlySwaps(context, quoteway.configured_contracts(context))]


@quoteway.hookimpl
def quoteway_call_descriptions(context):
    return [SolidlySwaps(context, quoteway.configured_contracts(context)).describe()]
