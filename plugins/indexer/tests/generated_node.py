"""A node of a chain that is made up as it is asked for: long, with limits, delays and lies, and no work."""

import asyncio
import hashlib
import json

from quoteway import EventRule, EventSource
from quoteway.evm.log_bloom import bloom_of
from quoteway.testing.faulty_node import FaultyNode, send

CHAIN_ID = 31337
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
TOKENS = tuple("0x" + f"{at:02x}" * 20 for at in (0xA1, 0xB2, 0xC3))
SOURCE = EventSource(
    "transfers",
    CHAIN_ID,
    0,
    (
        EventRule(
            "Transfer(address indexed from, address indexed to, uint256 value)",
            "transfer",
            {"token": "@", "sender": "from", "recipient": "to", "amount": "value"},
        ),
    ),
)
_GENESIS_TIME = 1_700_000_000
_FINALITY = 64


class _Front(FaultyNode):
    """The only request that it passes on is the one for the chain's id."""

    async def forward(self, request, writer):
        send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": hex(CHAIN_ID)}))


class RefusedError(Exception):
    """The node refuses a request, with a code and a text."""


class GeneratedNode:
    """A chain of ``head`` + 1 blocks, of which one of ``sparse`` has logs: one to eight, seldom 80.

    ``most_blocks`` and ``most_results`` are the limits of ``eth_getLogs``; with ``truncates`` an answer ends
    silently at the limit of results. ``lie(method, params, result)`` may return another result than the
    true one. ``calls`` are the requests by method.
    """

    def __init__(
        self, head, *, seed=1, sparse=4, most_blocks=None, most_results=None, truncates=False, delay_s=0.0
    ):
        self.head, self.seed, self.sparse = head, seed, sparse
        self.most_blocks, self.most_results, self.truncates = most_blocks, most_results, truncates
        self.delay_s = delay_s
        self.lie = None
        self.refused = 0
        self._forks = [0]
        """The first block of each branch, the newest branch last."""
        self._numbers = {}
        self._node = _Front("", self._answer)

    def running(self):
        return self._node.running()

    @property
    def calls(self):
        return self._node.calls

    def reorganise(self, depth, head):
        """Replaces the last ``depth`` blocks, and ends the chain at another head."""
        self._forks.append(self.head - depth + 1)
        self.head = head

    # --- the chain --------------------------------------------------------------------------------------

    def digest(self, number):
        branch = max(at for at, first in enumerate(self._forks) if first <= number)
        digest = hashlib.sha256(f"{self.seed} {branch} {number}".encode()).digest()
        self._numbers[digest] = number
        return digest

    def count(self, number):
        """Returns how many logs a block has."""
        digest = self.digest(number)
        if digest[0] % self.sparse:
            return 0
        return 80 if digest[1] == 0 else 1 + digest[2] % 8

    def transfers(self, number):
        """Returns the tokens, senders, recipients and amounts of a block's logs."""
        digest = self.digest(number)
        values = (hashlib.sha256(digest + bytes([at])).digest() for at in range(self.count(number)))
        return [(TOKENS[value[0] % 3], value[:20], value[12:], int.from_bytes(value)) for value in values]

    def rows(self):
        """Returns what an index has of the chain: block, log index, token, sender, recipient, amount."""
        return [
            (number, index, bytes.fromhex(token[2:]), sender, recipient, amount)
            for number in range(self.head + 1)
            for index, (token, sender, recipient, amount) in enumerate(self.transfers(number))
        ]

    def minimum(self):
        """Returns the fewest requests that give all logs within the limits."""
        requests, blocks, results = 1, 0, 0
        for number in range(self.head + 1):
            count = self.count(number)
            is_full = self.most_blocks is not None and blocks == self.most_blocks
            if is_full or (self.most_results is not None and results + count > self.most_results):
                requests, blocks, results = requests + 1, 0, 0
            blocks, results = blocks + 1, results + count
        return requests

    # --- JSON-RPC ---------------------------------------------------------------------------------------

    async def _answer(self, _, request, writer):
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        method, params = request["method"], request["params"]
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = self._result(method, params)
            answer["result"] = result if self.lie is None else self.lie(method, params, result)
        except RefusedError as refusal:
            self.refused += method == "eth_getLogs"
            answer["error"] = {"code": refusal.args[0], "message": refusal.args[1]}
        send(writer, json.dumps(answer))

    def _result(self, method, params):
        if method == "eth_blockNumber":
            return hex(self.head)
        if method == "eth_getBlockByNumber":
            tags = {"latest": self.head, "finalized": self.head - _FINALITY, "safe": self.head - 32}
            number = tags[params[0]] if params[0] in tags else int(params[0], 16)
            return self.block(number) if 0 <= number <= self.head else None
        if method == "eth_getBlockByHash":
            number = self._number_of(params[0])
            return None if number is None else self.block(number)
        if method == "eth_getLogs":
            return self._logs(params[0])
        raise RefusedError(-32601, "the method does not exist")

    def block(self, number):
        return {
            "number": hex(number),
            "hash": "0x" + self.digest(number).hex(),
            "parentHash": "0x" + (self.digest(number - 1) if number else bytes(32)).hex(),
            "timestamp": hex(_GENESIS_TIME + number),
            "logsBloom": f"0x{self._bloom(number):0512x}",
            "baseFeePerGas": "0x7",
            "gasLimit": hex(30_000_000),
            "transactions": [],
        }

    def _bloom(self, number):
        logs = self.logs(number)
        return bloom_of({item for log in logs for item in (log["address"], *log["topics"])})

    def logs(self, number):
        block_hash = "0x" + self.digest(number).hex()
        return [
            {
                "address": token,
                "topics": [
                    TRANSFER,
                    "0x" + bytes(12).hex() + sender.hex(),
                    "0x" + bytes(12).hex() + to.hex(),
                ],
                "data": f"0x{amount:064x}",
                "blockNumber": hex(number),
                "blockHash": block_hash,
                "blockTimestamp": hex(_GENESIS_TIME + number),
                "transactionHash": block_hash,
                "transactionIndex": "0x0",
                "logIndex": hex(index),
                "removed": False,
            }
            for index, (token, sender, to, amount) in enumerate(self.transfers(number))
        ]

    def _number_of(self, block_hash):
        digest = bytes.fromhex(block_hash[2:])
        number = self._numbers.get(digest)
        is_there = number is not None and number <= self.head and self.digest(number) == digest
        return number if is_there else None

    def _logs(self, wanted):
        if "blockHash" in wanted:
            number = self._number_of(wanted["blockHash"])
            if number is None:
                raise RefusedError(-32000, "unknown block")
            return self.logs(number)
        first, last = int(wanted["fromBlock"], 16), min(int(wanted["toBlock"], 16), self.head)
        if self.most_blocks is not None and last - first + 1 > self.most_blocks:
            raise RefusedError(-32600, f"eth_getLogs is limited to a {self.most_blocks} block range")
        count = sum(map(self.count, range(first, last + 1)))
        is_long = self.most_results is not None and count > self.most_results
        if is_long and not self.truncates:
            raise RefusedError(-32005, f"query returned more than {self.most_results} results")
        found = [log for number in range(first, last + 1) for log in self.logs(number)]
        return found[: self.most_results] if is_long else found
