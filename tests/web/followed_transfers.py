"""A bridge and an index whose states a test sets, beside the markets of ``drifting_market``."""

import asyncio

from drifting_market import FRIEND, NOW, USER, Place
from quoteway import BridgeProvider, MetricsProvider
from quoteway.engine.quote_tokens import TRANSACTION_LIFETIME_S, TransactionCommitment
from quoteway.models import IndexStatus, TransferRefund, TransferState

HASH = "0x" + "ab" * 32
FILL = "0x" + "cd" * 32
BLOCK = {"blockNumber": "0x1", "blockHash": "0x" + "11" * 32}
"""What the receipt of the payment says of its block, the newest of both networks."""
OTHER_HASH = "0x" + "ef" * 32
PENDING = TransferState("origin_pending", 7)
CONFIRMED = TransferState("origin_confirmed", 7, 8)
FILLED = TransferState("filled", 7, 8, "1", fill_hash=FILL)
REFUND = TransferRefund(7, "0x6B175474E89094C44Da98b954EedeAC495271d0F", USER, 10**18)
REFUNDED = TransferState("refunded", 7, 8, "1", refund_hash=FILL, refund=REFUND)


class ScriptedBridge(BridgeProvider):
    """Transfers are in ``state``, by hash in ``states``; an exception is raised. ``asked`` are the hashes."""

    id, title, networks = "scripted", "Scripted bridge", frozenset({7, 8})

    def __init__(self):
        self.state, self.states, self.asked, self.hangs = PENDING, {}, [], False

    async def routes(self, from_chain_id, to_chain_id):
        return []

    async def quote(self, request):
        return None

    async def build(self, sealed):
        raise NotImplementedError

    async def track(self, chain_id, transaction_hash):
        self.asked.append(transaction_hash)
        if self.hangs:
            await asyncio.Event().wait()
        state = self.states.get(transaction_hash, self.state)
        if isinstance(state, Exception):
            raise state
        return state


class ScriptedIndex(MetricsProvider):
    """The index of network 7, ``percent`` of it read; None: no row."""

    id, title, networks = "index", "Scripted index", frozenset({7, 8})

    def __init__(self):
        self.percent, self.updated_at, self.asked, self.error = 10.0, NOW, 0, None

    async def series(self, resource_id, metric, start, end, interval):
        return None

    async def index_status(self):
        self.asked += 1
        if self.error is not None:
            raise self.error
        row = IndexStatus(
            chain_id=7,
            state="indexing",
            percent=self.percent,
            blocks_per_s=1.0,
            logs_per_s=2.0,
            eta_s=60,
            head=100,
            indexed_block=int(self.percent),
            finalized_block=None,
            lag_blocks=100 - int(self.percent),
            lag_s=None,
            sources=(),
            problem=None,
            updated_at=self.updated_at,
        )
        return (row,)


class TransferPlace(Place):
    """A place with a scripted bridge and index."""

    def __init__(self, *, has_index=True, has_bridge=True):
        super().__init__(head_poll_s=0.05)
        self.bridge, self.index = ScriptedBridge(), ScriptedIndex()
        self.rpc.answers["eth_getTransactionReceipt"] = lambda params: BLOCK if params == [FILL] else None
        self._more = [*([self.bridge] if has_bridge else []), *([self.index] if has_index else [])]

    def plugins(self):
        found = super().plugins()
        found["fake"]._providers += self._more
        return found


def commitment(chain_id=7, expires_at=NOW + TRANSACTION_LIFETIME_S):
    return TransactionCommitment(chain_id, USER, FRIEND, 0, "0x" + "00" * 32, "0x" + "11" * 32, 0, expires_at)


def sealed_id(gateway, **changes):
    """A ``txId`` of the gateway."""
    return gateway.quote_tokens.seal_transaction(commitment(**changes))
