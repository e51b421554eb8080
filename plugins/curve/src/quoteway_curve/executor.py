"""The executor: swaps along one path through Curve's Router NG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoteway import (
    NATIVE,
    Address,
    CallDescription,
    ContractDescription,
    DeployedAt,
    Executor,
    FlowOrder,
    InvalidRequest,
    PaymentRoles,
    Reason,
    SpendRoles,
    Step,
)
from quoteway.evm.abi import function
from quoteway_amm.stable_swap import StableSwapPool

from quoteway_curve.deployments import STABLE, Deployment
from quoteway_curve.source import ID, TITLE, CurvePools

EXCHANGE = (
    "exchange(address[11] route, uint256[5][5] swapParams, uint256 amount, uint256 minDy,"
    " address[5] pools, address receiver)"
)
MOST_POOLS = 5
_SWAP_TYPE = 1
"""A swap by the pool's `exchange`, the one that is used."""
_ROUTE = 2 * MOST_POOLS + 1
_TITLE = "Curve Router NG"


class CurveRouter(Executor):
    """Paths of up to five pools between ERC-20 tokens. The router has no deadline."""

    id = ID
    title = TITLE
    transaction_gas = 95_000
    leg_gas: Mapping[str, int] = {StableSwapPool.kind: 140_000}
    most_legs = MOST_POOLS
    enforces_deadline = False

    def __init__(self, source: CurvePools) -> None:
        self.networks = source.networks
        self._source = source

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the router."""
        return {self._source.rows[chain_id].router: _TITLE}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns the router."""
        return (self._source.rows[chain_id].router,)

    async def encode(self, order: FlowOrder) -> Step:
        """See ``Executor``. Raises InvalidRequest for what is no path through configured pools."""
        row = self._source.rows[order.chain_id]
        facts = await self._source.facts(order.chain_id, order.block)
        route, params = [order.token_in], []
        for leg in order.legs:
            pool = facts.get(leg.pool)
            if pool is None or not {leg.token_in, leg.token_out} <= {*pool.coins}:
                raise InvalidRequest(
                    f"{leg.pool} is no pool of these coins: request a new quote.", reason=Reason.QUOTE_INVALID
                )
            if leg.token_in != route[-1] or leg.kind != StableSwapPool.kind:
                raise InvalidRequest("The router executes one path through its own pools only.")
            route += [leg.pool, leg.token_out]
            places = [pool.coins.index(token) for token in (leg.token_in, leg.token_out)]
            kind = row.ng_type if pool.is_ng else STABLE
            params.append([*places, _SWAP_TYPE, kind, len(pool.coins)])
        if not 0 < len(params) <= MOST_POOLS or route[-1] != order.token_out:
            raise InvalidRequest("The path does not end at the output token, or has over five pools.")
        data = function(EXCHANGE).encode(
            [
                route + [NATIVE] * (_ROUTE - len(route)),
                params + [[0] * 5] * (MOST_POOLS - len(params)),
                order.amount_in,
                order.amount_out_min,
                [NATIVE] * MOST_POOLS,
                order.recipient,
            ]
        )
        return Step(row.router, data, 0, order.chain_id)


def descriptions(deployments: Mapping[int, Deployment]) -> list[ContractDescription]:
    """Returns what the router's swap means. It counts once the operator has pinned it."""
    if not deployments:
        return []
    swap = CallDescription(
        EXCHANGE,
        "swap",
        spends=(SpendRoles("#.route.[0]", "#.amount"),),
        # The router goes on until the first pool that is zero.
        pays=(PaymentRoles("#.route.[last]", "#.receiver", "#.minDy"),),
    )
    places = tuple(DeployedAt(chain_id, row.router) for chain_id, row in deployments.items())
    return [ContractDescription(_TITLE, (swap,), places)]
