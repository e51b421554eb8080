"""Chains that grow, reorganise and finalise, and what a node of each answers at this moment."""

import hashlib
import json

ADDRESSES = ["0x" + f"{n:02x}" * 20 for n in range(1, 5)]
LAG = 70
"""The finalised block is this far below the head at most, and never reorganised."""


def text_hash(*parts):
    return "0x" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Block:
    """A block with one transaction. ``seed`` tells two blocks of one height apart."""

    def __init__(self, chain_id, number, parent, seed):
        self.number, self.parent, self.seed = number, parent, seed
        self.hash = text_hash(chain_id, number, parent and parent.hash, seed)
        # Two blocks of one height may hold the same transaction, as after a real reorganisation.
        self.transaction = text_hash(chain_id, "transaction", number, seed % 2)
        self.balances = {each: int(text_hash(self.hash, each)[2:10], 16) for each in ADDRESSES}

    def rendered(self, full):
        transaction = {"hash": self.transaction} if full else self.transaction
        return {
            "number": hex(self.number),
            "hash": self.hash,
            "parentHash": self.parent and self.parent.hash,
            "transactions": [transaction],
        }

    def log(self, address):
        return {"address": address, "blockNumber": hex(self.number), "blockHash": self.hash, "topics": []}


class ModelChain:
    def __init__(self, chain_id, random, length=200):
        self.chain_id, self.random = chain_id, random
        self.blocks, self.by_hash, self.every = [], {}, []
        self.finalized = 0
        for _ in range(length):
            self.grow()

    @property
    def head(self):
        return self.blocks[-1]

    def grow(self):
        parent = self.blocks[-1] if self.blocks else None
        block = Block(self.chain_id, len(self.blocks), parent, self.random.randrange(1 << 30))
        self.blocks.append(block)
        self.by_hash[block.hash] = block
        self.every.append(block)
        self.finalized = max(self.finalized, len(self.blocks) - 1 - LAG)

    def change(self):
        """Adds a block, or replaces the newest 1 to 64 by as many, one fewer or one more."""
        if self.random.random() < 0.7:
            return self.grow()
        depth = self.random.randint(1, min(64, self.head.number - self.finalized))
        left = self.blocks[-depth:]
        del self.blocks[-depth:]
        if self.random.random() < 0.2:  # back to a branch that had been left
            branch = [b for b in self.every[-1000:] if b.parent is self.blocks[-1] and b is not left[0]]
            self.blocks += branch[:1]
        for _ in range(max(1, depth + self.random.randint(-1, 1))):
            self.grow()
        return None

    def block(self, at):
        if isinstance(at, dict):
            at = at.get("blockHash") or at["blockNumber"]
        if len(at) == 66:
            return self.by_hash.get(at.lower())
        number = {
            "latest": self.head.number,
            "safe": self.finalized + 10,
            "finalized": self.finalized,
        }.get(at)
        number = int(at, 16) if number is None else number
        return self.blocks[number] if number < len(self.blocks) else None

    def answer(self, method, params):
        """Returns the result. Raises ``LookupError`` for a block that there is not."""
        if method in ("eth_getBlockByNumber", "eth_getBlockByHash"):
            block = self.block(params[0])
            return block and block.rendered(params[1] if len(params) > 1 else False)
        if method == "eth_blockNumber":
            return hex(self.head.number)
        if method == "web3_clientVersion":
            return "Geth/v1.16.0"
        if method == "eth_getTransactionReceipt":
            for block in reversed(self.blocks):
                if block.transaction == params[0].lower():
                    hashes = {"transactionHash": block.transaction, "blockHash": block.hash}
                    return {**hashes, "blockNumber": hex(block.number)}
            return None
        if method == "eth_getLogs":
            return self._logs(params[0])
        block = self.block(params[-1] if len(params) > 1 else "latest")
        if block is None:
            raise LookupError
        if method == "eth_getBalance":
            return hex(block.balances[params[0].lower()])
        assert method == "eth_call"
        return "0x" + hashlib.sha256((block.hash + params[0]["to"].lower()).encode()).hexdigest()

    def _logs(self, wanted):
        if "blockHash" in wanted:
            block = self.block(wanted["blockHash"])
            if block is None:
                raise LookupError
            return [block.log(ADDRESSES[0])]
        first, last = (self.block(wanted.get(end, "latest")) for end in ("fromBlock", "toBlock"))
        if first is None or last is None:
            raise LookupError
        return [block.log(ADDRESSES[0]) for block in self.blocks[first.number : last.number + 1]]


def calls(chain, random):
    """Returns a random call, in one of the spellings that clients use."""
    block = random.choice(chain.blocks) if random.random() < 0.5 else random.choice(chain.blocks[-70:])
    if random.random() < 0.2:
        block = random.choice(chain.every)
    number = block.number + (random.random() < 0.02) * 1000
    text = hex(number)
    tags = ["latest", "safe", "finalized"]
    objects = [{"blockHash": block.hash}, {"blockNumber": text}, {"blockHash": "0x" + block.hash[2:].upper()}]
    at = random.choice([text, "0x" + text[2:].upper(), "0x0" + text[2:], *tags, *objects])
    address = random.choice(ADDRESSES)
    address = random.choice([address, "0x" + address[2:].upper()])
    by_number = text if isinstance(at, dict) else at
    return random.choice(
        [
            ("eth_blockNumber", []),
            ("eth_getBlockByNumber", [by_number, random.random() < 0.5]),
            ("eth_getBlockByNumber", [by_number]),
            ("eth_getBlockByHash", [block.hash, False]),
            ("eth_getBalance", [address]),
            ("eth_getBalance", [address, at]),
            ("eth_call", [{"to": address}, at]),
            ("eth_getTransactionReceipt", [block.transaction]),
            ("eth_getLogs", [{"blockHash": block.hash}]),
            ("eth_getLogs", [{"fromBlock": hex(max(block.number - 3, 0)), "toBlock": hex(block.number)}]),
            ("eth_getLogs", [{"fromBlock": hex(block.number)}]),
        ]
    )
