"""A whole swap provider in one module: wraps the native coin, one for one."""

import quoteway
from quoteway import NATIVE, Build, Quote, SealedQuote, SwapProvider, SwapRequest
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
        block = await self.context.chain(request.chain_id).head()
        return Quote.exact_in(request, request.amount_in, block)

    async def build(self, sealed: SealedQuote) -> Build:
        return Build.call(sealed, DEPOSIT, self.wrapped[sealed.request.chain_id], [])


@quoteway.hookimpl
def quoteway_swap_providers(context):
    return [Wrap(context)]
