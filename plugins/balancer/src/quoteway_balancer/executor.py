"""The executor: the Vault's own swaps, along one path or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoteway import NATIVE, Address, Block, Context, Executor, FlowLeg, FlowOrder, InvalidRequest, Step
from quoteway.evm.abi import function
from quoteway.evm.calls.balancer_vault import BATCH_SWAP, GIVEN_IN, SWAP
from quoteway_amm.balancer_stable import ComposableStablePool
from quoteway_amm.weighted import WeightedPool

from quoteway_balancer.deployments import configured_deployments
from quoteway_balancer.paths import amounts_of, paths_of

_SWAP, _BATCH_SWAP = function(SWAP), function(BATCH_SWAP)
_WETH = function("WETH() returns (address)")


class BalancerVault(Executor):
    """Encodes a swap in one pool, and batches of paths that share no token but their ends.

    The Vault gives a step a stated amount or what the step before it gave. So an amount can be divided where
    it is sold, but paths cannot join between their ends: what two steps give to a third is no amount that the
    order could state.
    """

    id = "balancer"
    title = "Balancer"
    # Measured over random swaps of one to three pools: within 12 % of their receipts.
    leg_gas = {WeightedPool.kind: 38_000, ComposableStablePool.kind: 89_000}
    transaction_gas = 63_000
    most_legs = 8
    splits = True
    joins = False
    takes_coin = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self._deployments = configured_deployments(context)
        self.networks = frozenset(self._deployments)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the Vault."""
        return {self._deployments[chain_id].vault: "Balancer Vault"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns the Vault, which takes its input by an ERC-20 allowance."""
        return (self._deployments[chain_id].vault,)

    async def refusal(self, chain_id: int, block: Block) -> str | None:
        """See ``Executor``: a Vault that wraps another coin than the network's would be misquoted."""
        row = self._deployments[chain_id]
        answer = await self._context.chain(chain_id).call(row.vault, _WETH.encode([]), block=block)
        (wrapped,) = _WETH.decode_output(answer)
        same = wrapped == row.wrapped_native
        return None if same else f"{row.vault} wraps the native coin as {wrapped}, not {row.wrapped_native}"

    async def encode(self, order: FlowOrder) -> Step:
        """See ``Executor``."""
        row = self._deployments[order.chain_id]
        wrapped = row.wrapped_native
        if any(leg.kind not in self.leg_gas for leg in order.legs):
            raise InvalidRequest("The Vault executes pools of Balancer only.")
        paths = paths_of(order, wrapped)
        funds = (order.sender, False, order.recipient, False)
        data = (
            _single(order, funds, paths[0][0])
            if [len(path) for path in paths] == [1]
            else _batch(order, funds, paths, wrapped)
        )
        value = order.amount_in if order.token_in == NATIVE else 0
        return Step(row.vault, data, value, order.chain_id)


_Funds = tuple[Address, bool, Address, bool]


def _single(order: FlowOrder, funds: _Funds, leg: FlowLeg) -> bytes:
    pool, (amount,) = bytes.fromhex(leg.pool[2:]), amounts_of(order, [(leg,)])
    swap = (pool, GIVEN_IN, order.token_in, order.token_out, amount, b"")
    return _SWAP.encode([swap, funds, order.amount_out_min, order.deadline])


def _batch(order: FlowOrder, funds: _Funds, paths: Sequence[tuple[FlowLeg, ...]], wrapped: Address) -> bytes:
    form = {wrapped: NATIVE} if NATIVE in (order.token_in, order.token_out) else {}
    assets: dict[Address, int] = {}
    for token in (order.token_in, order.token_out, *(leg.token_out for path in paths for leg in path)):
        assets.setdefault(form.get(token, token), len(assets))
    limits = [0] * len(assets)
    limits[0], limits[1] = order.amount_in, -order.amount_out_min
    steps = [
        (
            bytes.fromhex(leg.pool[2:]),
            assets[form.get(leg.token_in, leg.token_in)],
            assets[form.get(leg.token_out, leg.token_out)],
            0 if at else amount,
            b"",
        )
        for path, amount in zip(paths, amounts_of(order, paths), strict=True)
        for at, leg in enumerate(path)
    ]
    return _BATCH_SWAP.encode([GIVEN_IN, steps, [*assets], funds, limits, order.deadline])
