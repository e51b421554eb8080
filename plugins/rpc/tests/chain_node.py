"""A made-up chain, and nodes of it on loopback sockets: honest, lagging, forked, lying, limited."""

import hashlib
import json
import random

from fake_node import FakeNode, ok, send


def digest(*parts):
    return "0x" + hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


def address(*parts):
    return "0x" + digest("address", *parts)[2:42]


class MadeUpChain:
    """``height`` blocks of which each is made from its number. A fork differs from ``forked_at`` on."""

    def __init__(self, height=200, *, forked_at=None, logs_per_block=3, addresses=4, topics=5):
        self.height = height
        self.forked_at = forked_at
        self.logs_per_block = logs_per_block
        self.addresses = [address(each) for each in range(addresses)]
        self.topics = [digest("topic", each) for each in range(topics)]
        self._logs = {}

    def salt(self, number):
        return (
            f"fork of {self.forked_at}" if self.forked_at is not None and number >= self.forked_at else "main"
        )

    def hash_of(self, number):
        return digest(self.salt(number), number)

    def number_of(self, block_hash):
        return next((n for n in range(self.height, -1, -1) if self.hash_of(n) == block_hash), None)

    def block(self, number):
        if not 0 <= number <= self.height:
            return None
        members = {
            "number": hex(number),
            "hash": self.hash_of(number),
            "parentHash": self.hash_of(number - 1),
        }
        members |= {"timestamp": hex(1_000_000 + number), "baseFeePerGas": "0x7", "transactions": []}
        members |= {"logsBloom": "0x" + "ff" * 256, "gasUsed": "0x0", "gasLimit": "0x1c9c380"}
        roots = dict.fromkeys(("stateRoot", "transactionsRoot", "receiptsRoot"), digest("root", number))
        return members | {"miner": address("miner")} | roots

    def balance(self, account, number):
        return hex(int(digest(self.salt(number), account, number)[:18], 16))

    def logs_of(self, number):
        if number not in self._logs:
            chance = random.Random(f"{self.salt(number)} {number}")
            self._logs[number] = [
                {
                    "address": chance.choice(self.addresses),
                    "topics": chance.sample(self.topics, chance.randint(1, min(3, len(self.topics)))),
                    "data": digest("data", number, index),
                    "blockHash": self.hash_of(number),
                    "blockNumber": hex(number),
                    "transactionHash": digest("tx", number, index // 2),
                    "transactionIndex": hex(index // 2),
                    "logIndex": hex(index),
                    "removed": False,
                }
                for index in range(chance.randint(0, 2 * self.logs_per_block))
            ]
        return self._logs[number]

    def logs(self, wanted):
        if "blockHash" in wanted:
            number = self.number_of(wanted["blockHash"])
            first = last = number
        else:
            ends = (wanted.get(name, "latest") for name in ("fromBlock", "toBlock"))
            first, last = (self.at(end) for end in ends)
        last = min(last, self.height)
        return [log for n in range(first, last + 1) for log in self.logs_of(n) if matches(wanted, log)]

    def at(self, block):
        if isinstance(block, dict):
            return self.number_of(block["blockHash"])
        named = {"latest": self.height, "pending": self.height, "earliest": 0}
        behind = {"safe": max(0, self.height - 32), "finalized": max(0, self.height - 64)}
        return {**named, **behind}[block] if not block.startswith("0x") else int(block, 16)


def matches(wanted, log):
    addresses = wanted.get("address")
    addresses = [addresses] if isinstance(addresses, str) else addresses
    if addresses and log["address"] not in addresses:
        return False
    for at, topic in enumerate(wanted.get("topics") or ()):
        options = [topic] if isinstance(topic, str) else topic
        if (
            options is not None
            and None not in options
            and (at >= len(log["topics"]) or log["topics"][at] not in options)
        ):
            return False
    return True


class RefusalError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


HEADER_NOT_FOUND = (-32000, "header not found")


class ChainNode(FakeNode):
    """A node of ``chain``. ``lie(method, params, answer)`` gives another answer; ``refuse(wanted, logs)``
    raises ``RefusalError`` for logs beyond its limits, or returns those that it gives. ``others`` has the
    answers to further methods."""

    def __init__(self, chain, *, lie=None, refuse=None, behaviour=None):
        super().__init__(behaviour or self.answer)
        self.chain = chain
        self.lie = lie
        self.refuse = refuse
        self.others = {}

    def counted(self, method):
        return sum(request["method"] == method for request in self.seen)

    @property
    def calls(self):
        """The requests without those that the plugin sends of its own."""
        own = [("eth_getBlockByNumber", ["finalized", False]), ("web3_clientVersion", [])]
        return [each for each in super().calls if (each["method"], each["params"]) not in own]

    async def answer(self, node, request, writer):
        method, params = request["method"], request["params"]
        try:
            result = self.result(method, params)
            if self.lie is not None:
                result = self.lie(method, params, result)
        except RefusalError as refusal:
            body = {"jsonrpc": "2.0", "id": request["id"], "error": refusal.error}
            send(writer, json.dumps(body))
            return
        ok(writer, request, result)

    def result(self, method, params):
        chain = self.chain
        if method == "eth_blockNumber":
            return hex(chain.height)
        if method == "eth_getBlockByNumber":
            return chain.block(chain.at(params[0]))
        if method == "eth_getBlockByHash":
            number = chain.number_of(params[0])
            return None if number is None else chain.block(number)
        if method in ("eth_getBalance", "eth_call"):
            number = chain.at(params[1])
            if number is None or number > chain.height:
                raise RefusalError(*HEADER_NOT_FOUND)
            return chain.balance(str(params[0]), number)
        if method == "eth_gasPrice":
            return "0x64"
        if method == "eth_getLogs":
            logs = chain.logs(params[0])
            return logs if self.refuse is None else self.refuse(chain, params[0], logs)
        if method in self.others:
            return self.others[method]
        raise RefusalError(-32601, "the method does not exist")
