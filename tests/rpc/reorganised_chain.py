"""A chain of blocks with logs that can be reorganised, as a node answers for it, and filters over it."""

import itertools

from quoteway.engine.quote_tokens import KeyRing
from quoteway.web.rpc.cursors import Cursors
from quoteway.web.rpc.filter_ids import FilterIds
from quoteway.web.rpc.filters import Filters

ADDRESS = "0x" + "aa" * 20
TOPIC = "0x" + "bb" * 32


class ChainModel:
    """``blocks`` is the chain from block 0; every block ever made has a hash of its own."""

    def __init__(self):
        self.made = itertools.count(1)
        self.blocks = []
        self.asked = []
        self.mine(0)

    def mine(self, logs):
        """Adds a block with so many logs."""
        number, unique = len(self.blocks), next(self.made)
        block_hash = f"0x{unique:064x}"
        parent = self.blocks[-1]["hash"] if self.blocks else "0x" + "00" * 32
        self.blocks.append(
            {
                "number": hex(number),
                "hash": block_hash,
                "parentHash": parent,
                "timestamp": hex(1_000 + number),
                "logs": [
                    {
                        "address": ADDRESS,
                        "topics": [TOPIC],
                        "data": "0x",
                        "blockNumber": hex(number),
                        "blockHash": block_hash,
                        "transactionHash": f"0x{unique * 1_000 + index:064x}",
                        "transactionIndex": hex(index),
                        "logIndex": hex(index),
                        "removed": False,
                    }
                    for index in range(logs)
                ],
            }
        )

    def drop(self, depth):
        """Takes the newest blocks off, but never the first."""
        del self.blocks[max(1, len(self.blocks) - depth) :]

    def logs_after(self, number):
        return [log for block in self.blocks[number + 1 :] for log in block["logs"]]

    async def ask(self, method, params):
        self.asked.append(method)
        return getattr(self, method)(*params)

    def eth_getBlockByNumber(self, at, full):  # noqa: N802
        number = len(self.blocks) - 1 if at == "latest" else int(at, 16)
        if number >= len(self.blocks):
            return None
        return {name: value for name, value in self.blocks[number].items() if name != "logs"}

    def eth_getLogs(self, criteria):  # noqa: N802
        if criteria.get("topics") not in (None, [], [TOPIC]):
            return []
        if "blockHash" in criteria:
            return next(b["logs"] for b in self.blocks if b["hash"] == criteria["blockHash"])
        low, high = int(criteria["fromBlock"], 16), int(criteria["toBlock"], 16)
        return [log for block in self.blocks[low : high + 1] for log in block["logs"]]


class Client:
    """What a client knows from polls alone. A log given twice, or removed without being there, is a fault."""

    def __init__(self):
        self.logs = {}
        self.blocks = []

    def take(self, changes):
        for change in changes:
            if isinstance(change, str):
                self.blocks.append(change)
                continue
            key = change["blockHash"], change["logIndex"]
            if change["removed"]:
                assert key in self.logs, "a log is removed that was never given"
                del self.logs[key]
            else:
                assert key not in self.logs, "a log is given twice"
                self.logs[key] = change


KEYS = KeyRing([("a", b"k" * 32)])
CHAIN = 1


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


def worker(clock, cursors=None, keys=KEYS):
    return Filters(FilterIds(keys, "tests", clock), cursors or Cursors(None), clock)


async def new_filter(filters, chain, criteria=None):
    return await filters.answer(chain.ask, CHAIN, "eth_newFilter", [criteria or {}])


async def changes(filters, chain, filter_id):
    return await filters.answer(chain.ask, CHAIN, "eth_getFilterChanges", [filter_id])
