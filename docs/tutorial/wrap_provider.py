"""A whole swap provider in one module: wraps the native coin, one for one."""

import quoteway
from quoteway import NATIVE, Build, Leg, Quote, SealedQuote, Step, SwapProvider, SwapRequest
from quoteway.evm.abi import function

DEPOSIT = function("deposit()")


class Wrap(SwapProvider):
    id = "wrap"
    title = "Wrapped native coin"

    def __init__(self, context):
        self.context = context
        self.wrapped = {n.chain_id: n.wrapped_native for n in context.networks if n.wrapped_native}
        self.networks = frozenset(self.wrapped)

    def contracts(self, chain_id):
        return {self.wrapped[chain_id]: "Wrapped native coin"}

    async def quote(self, request: SwapRequest) -> Quote | None:
        wraps = (
            request.token_in.address == NATIVE and request.token_out.address == self.wrapped[request.chain_id]
        )
        if not wraps or request.recipient != request.sender:
            return None  # nothing here: the others go on
        amount = request.amount_in
        return Quote(
            inputs=(Leg(request.token_in, amount, request.sender),),
            outputs=(Leg(request.token_out, amount, request.recipient, amount_min=amount),),
            block=await self.context.chain(request.chain_id).head(),
            plan={},
            slippage_bps=request.slippage_bps,
        )

    async def build(self, sealed: SealedQuote) -> Build:
        amount = sealed.inputs[0].amount
        step = Step(
            self.wrapped[sealed.request.chain_id], DEPOSIT.encode([]), amount, sealed.request.chain_id
        )
        return Build(steps=(step,), spends=(), inputs=sealed.inputs, outputs=sealed.outputs)


@quoteway.hookimpl
def quoteway_swap_providers(context):
    return [Wrap(context)]
