"""Replicas that share heads over a real server. Their nodes have a chain that grows by the clock.

``python tests/core/shared_replicas.py URL`` runs one until it is killed, and writes a line for each head.
"""

import asyncio
import sys
import time

from quoteway.errors import Reason, UpstreamError
from quoteway.evm.chain import RpcChain
from quoteway.host.shared_heads import SharedHeads
from quoteway.host.shared_server import SharedServer
from quoteway.networks import Network
from quoteway.shared_store import store_client

BLOCK_S = 0.5
CHAIN_ID = 31337
NETWORK = Network("devnet", CHAIN_ID, "Devnet", block_time_s=BLOCK_S, head_poll_s=0.1)
SECRET = b"a key that all replicas have"


def head_number():
    return int(time.time() / BLOCK_S)


class ClockNode:
    """A node whose head is that of the clock, ``behind`` blocks ago. From ``fork_at`` it has other blocks."""

    def __init__(self):
        self.behind = 0
        self.fork_at = None
        self.fails = False
        self.heads_asked = 0

    def block(self, number):
        def name(at):
            fork = 0 if self.fork_at is None or at < self.fork_at else 1
            return f"0x{fork:08x}{at:056x}"

        return {
            "number": hex(number),
            "hash": name(number),
            "parentHash": name(number - 1),
            "timestamp": hex(int(number * BLOCK_S)),
            "baseFeePerGas": "0x7",
            "logsBloom": "0x" + "00" * 256,
        }

    async def __call__(self, method, params, timeout_s):
        if self.fails:
            raise UpstreamError("No node answered.", reason=Reason.RPC_ERROR)
        if method == "eth_chainId":
            return hex(CHAIN_ID)
        newest = head_number() - self.behind
        if method == "eth_getBlockByHash":
            number = int(params[0][10:], 16)
            block = self.block(number)
            return block if block["hash"] == params[0] and number <= newest else None
        assert method == "eth_getBlockByNumber"
        if params[0] == "latest":
            self.heads_asked += 1
            return self.block(newest)
        return self.block(int(params[0], 16))


class SharingReplica:
    """A chain as a gateway has it, with the heads of ``server_url``; ``use`` keeps it in use."""

    def __init__(self, server_url, *, secret=SECRET, prefix="mine", timeout_s=2.0):
        self.server = SharedServer(
            store_client(server_url, timeout_s=30), prefix, [secret], timeout_s=timeout_s
        )
        self.heads = SharedHeads(self.server, NETWORK)
        self.node = ClockNode()
        self.chain = RpcChain(NETWORK, self.node, sharing=self.heads)

    async def use(self):
        """Begins to follow the head, as a request does."""
        return await self.chain.head()

    @property
    def known(self):
        return self.chain.known_head

    def is_at_the_head(self):
        return self.known is not None and self.known.number >= head_number() - self.node.behind - 2

    def events(self, name):
        return self.server.head_events["devnet", name]

    async def close(self):
        await self.chain.close()
        await self.heads.close()
        await self.server.close()


async def main(url):
    replica = SharingReplica(url)
    await replica.use()
    told = None
    while True:
        await replica.use()
        if replica.known is not None and replica.known.number != told:
            told = replica.known.number
            print(told, int(replica.heads.holds), flush=True)
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
