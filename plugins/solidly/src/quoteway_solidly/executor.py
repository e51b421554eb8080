"""The executor: swaps along one path through the router of a deployment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoteway import (
    NATIVE,
    Address,
    Block,
    CallDescription,
    Context,
    ContractDescription,
    DeployedAt,
    Executor,
    FlowLeg,
    FlowOrder,
    InvalidRequest,
    PaymentRoles,
    Reason,
    SpendRoles,
    Step,
    UpstreamError,
)
from quoteway.evm.abi import function
from quoteway.evm.chain import Call

from quoteway_solidly.deployments import Rows, title_of
from quoteway_solidly.source import GET_POOL, address_in

_END = "(address from, address to, bool stable, address factory)[] routes, address to, uint256 deadline)"
TOKENS_FOR_TOKENS = f"swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, {_END}"
TOKENS_FOR_COIN = f"swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, {_END}"
COIN_FOR_TOKENS = f"swapExactETHForTokens(uint256 amountOutMin, {_END}"
WETH = function("weth() returns (address)")
POOL_FOR = function("poolFor(address tokenA, address tokenB, bool stable, address factory) returns (address)")

_SOLD, _BOUGHT = "#.routes.[0].[0]", "#.routes.[-1].[1]"


class SolidlyRouter(Executor):
    """Paths of up to four pools of the deployment's factory. The router wraps and unwraps the native coin."""

    transaction_gas = 70_000
    most_legs = 4
    takes_coin = True

    def __init__(self, context: Context, name: str, rows: Rows) -> None:
        self.id = name
        self.title = title_of(name)
        self.leg_gas = {name: 95_000}
        self.networks = frozenset(rows)
        self._context = context
        self._rows = rows

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the router."""
        return {self._rows[chain_id].router: f"{self.id.capitalize()} router"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns the router."""
        return (self._rows[chain_id].router,)

    async def refusal(self, chain_id: int, block: Block) -> str | None:
        """Refuses a router for another wrapped coin, and one that swaps through other pools."""
        row = self._rows[chain_id]
        calls = [Call(row.router, WETH.encode([]), max_output=32)]
        keys = [(row.wrapped_native, token, stable) for token in row.base_tokens for stable in (False, True)]
        for key in keys:
            calls.append(Call(row.factory, GET_POOL.encode(key), max_output=32))
            calls.append(Call(row.router, POOL_FOR.encode([*key, row.factory]), max_output=32))
        weth, *pools = await self._context.chain(chain_id).call_many(calls, block=block)
        wrapped = address_in(weth)
        if wrapped != row.wrapped_native:
            return f"{row.router} wraps the native coin as {wrapped}, the network has {row.wrapped_native}"
        for made, computed in zip(pools[::2], pools[1::2], strict=True):
            pool = address_in(made)
            if pool is None or (int(pool, 16) and pool != address_in(computed)):
                return f"{row.router} does not swap through the pools of {row.factory}"
        return None

    async def encode(self, order: FlowOrder) -> Step:
        """See ``Executor``. Raises InvalidRequest for what is no path through pools of the factory."""
        row = self._rows[order.chain_id]
        ends = [row.wrapped_native if end == NATIVE else end for end in (order.token_in, order.token_out)]
        at = ends[0]
        for leg in order.legs:
            if leg.token_in != at or leg.kind != self.id:
                raise InvalidRequest("The router executes one path through its own pools only.")
            at = leg.token_out
        if at != ends[1] or not order.legs:
            raise InvalidRequest("The path does not end at the output token.")
        routes = await self._routes(order)
        amounts: list[object] = [order.amount_in, order.amount_out_min]
        end = [routes, order.recipient, order.deadline]
        if order.token_in == NATIVE:
            data = function(COIN_FOR_TOKENS).encode([order.amount_out_min, *end])
            return Step(row.router, data, order.amount_in, order.chain_id)
        declaration = TOKENS_FOR_COIN if order.token_out == NATIVE else TOKENS_FOR_TOKENS
        return Step(row.router, function(declaration).encode([*amounts, *end]), 0, order.chain_id)

    async def _routes(self, order: FlowOrder) -> list[tuple[Address, Address, bool, Address]]:
        """Returns the router's routes: the factory says which of a pair's two pools each leg is."""
        row = self._rows[order.chain_id]
        calls = [
            Call(row.factory, GET_POOL.encode([leg.token_in, leg.token_out, stable]), max_output=32)
            for leg in order.legs
            for stable in (False, True)
        ]
        answers = await self._context.chain(order.chain_id).call_many(calls, block=order.block)
        pools = [address_in(answer) for answer in answers]
        if None in pools:
            raise UpstreamError("The factory could not be read.", reason=Reason.RPC_ERROR)
        return [
            (leg.token_in, leg.token_out, _is_stable(leg, pools[2 * at : 2 * at + 2]), row.factory)
            for at, leg in enumerate(order.legs)
        ]


def _is_stable(leg: FlowLeg, pools: Sequence[Address | None]) -> bool:
    if leg.pool not in pools:
        raise InvalidRequest(
            f"{leg.pool} is no pool of this router: request a new quote.", reason=Reason.QUOTE_INVALID
        )
    return pools.index(leg.pool) == 1


def descriptions(deployments: Mapping[str, Rows]) -> list[ContractDescription]:
    """Returns what the routers' swaps mean. It counts once the operator has pinned it."""
    calls = tuple(
        CallDescription(
            declaration,
            "swap",
            spends=(sold,),
            pays=(PaymentRoles(bought, "#.to", "#.amountOutMin"),),
            deadline="#.deadline",
        )
        for declaration, sold, bought in (
            (TOKENS_FOR_TOKENS, SpendRoles(_SOLD, "#.amountIn"), _BOUGHT),
            (TOKENS_FOR_COIN, SpendRoles(_SOLD, "#.amountIn"), NATIVE),
            (COIN_FOR_TOKENS, SpendRoles(NATIVE, "@.value"), _BOUGHT),
        )
    )
    found = []
    for name, rows in deployments.items():
        places = tuple(DeployedAt(chain_id, row.router) for chain_id, row in rows.items())
        found.append(ContractDescription(f"{name.capitalize()} router", calls, places))
    return found
