"""Bridges that are wrong in one way each: Across with one fault."""

import asyncio
from dataclasses import replace

from quoteway.models import TransferState
from quoteway_across.provider import AcrossBridge


class ListsWhatItDoesNotQuote(AcrossBridge):
    """Lists routes of tokens that it does not quote."""

    async def quote(self, request):
        return await super().quote(request) if request.token_in.symbol != "USDC" else None


class ListsOtherNetworks(AcrossBridge):
    """Lists all routes, whatever networks are asked for."""

    async def routes(self, from_chain_id, to_chain_id):
        return await super().routes(None, None)


class LosesTransfers(AcrossBridge):
    """Does not know the transfers that it sent."""

    async def track(self, chain_id, transaction_hash):
        return None


class TracksEverything(AcrossBridge):
    """Says that every transaction is a transfer that arrived."""

    async def track(self, chain_id, transaction_hash):
        return TransferState("filled")


class TracksOnAndOn(AcrossBridge):
    """Goes on tracking when it is cancelled."""

    async def track(self, chain_id, transaction_hash):
        try:
            return await super().track(chain_id, transaction_hash)
        except asyncio.CancelledError:
            return None


class PaysTheSender(AcrossBridge):
    """Quotes a transfer to the sender, whatever recipient is asked for."""

    async def quote(self, request):
        return await super().quote(replace(request, recipient=request.sender))


class PromisesNoMinimum(AcrossBridge):
    """Quotes an output without a minimum."""

    async def quote(self, request):
        quote = await super().quote(request)
        return quote and replace(quote, outputs=tuple(replace(leg, amount_min=None) for leg in quote.outputs))


class ForgetsTheFee(AcrossBridge):
    """Promises an output as if the relayer took no fee."""

    async def quote(self, request):
        quote = await super().quote(request)
        return quote and replace(
            quote, outputs=tuple(replace(leg, amount=request.amount_in) for leg in quote.outputs)
        )


class SharesTheRequest(AcrossBridge):
    """Keeps the transfer in a member that concurrent quotes share."""

    async def quote(self, request):
        self.request = request
        await asyncio.sleep(0.01)
        return await super().quote(self.request)
