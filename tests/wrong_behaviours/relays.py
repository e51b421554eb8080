"""Relays that are wrong in one way each."""

import logging
import time

from quoteway.errors import UpstreamError
from quoteway.testing.conformance.relays import hash_of
from quoteway.testing.fakes import NodeRelay


class SaysAnotherHash(NodeRelay):
    """Returns a hash that is not the transaction's."""

    async def submit(self, chain_id, signed_payload):
        await super().submit(chain_id, signed_payload)
        return hash_of(signed_payload[::-1])


class SendsNothing(NodeRelay):
    """Returns the hash of a transaction that it does not broadcast."""

    async def submit(self, chain_id, signed_payload):
        return hash_of(signed_payload)


class HidesRefusals(NodeRelay):
    """Returns the hash of a transaction that the node refused."""

    async def submit(self, chain_id, signed_payload):
        try:
            return await super().submit(chain_id, signed_payload)
        except UpstreamError:
            return hash_of(signed_payload)


class ChoosesTheChain(NodeRelay):
    """Broadcasts on whichever chain takes the transaction."""

    async def submit(self, chain_id, signed_payload):
        try:
            return await super().submit(chain_id, signed_payload)
        except UpstreamError:
            (other,) = self.networks - {chain_id}
            return await super().submit(other, signed_payload)


class SaysSentWithoutANode(NodeRelay):
    """Returns the hash of a transaction when no node answers."""

    async def submit(self, chain_id, signed_payload):
        try:
            await self._context.chain(chain_id).request("eth_chainId", shared=False)
        except UpstreamError:
            return hash_of(signed_payload)
        return await super().submit(chain_id, signed_payload)


class LogsTransactions(NodeRelay):
    """Writes signed transactions to the log."""

    async def submit(self, chain_id, signed_payload):
        logging.getLogger("quoteway.plugin.fake").warning("sending %s", signed_payload.hex())
        return await super().submit(chain_id, signed_payload)


class VerifiesOnTheLoop(NodeRelay):
    """Checks each signature for 120 ms on the event loop."""

    async def submit(self, chain_id, signed_payload):
        time.sleep(0.12)  # noqa: ASYNC251 - the fault
        return await super().submit(chain_id, signed_payload)


class KeepsTransactions(NodeRelay):
    """Keeps a megabyte of each transaction that it was given."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.kept = []

    async def submit(self, chain_id, signed_payload):
        self.kept.append(bytearray(1_000_000))
        return await super().submit(chain_id, signed_payload)
