"""Random operations on pools of a Vault over simulated hours, and the hours that the Vault itself tells.

What a pool has is read from the Vault at every block that changed it. What moved is of the Vault's logs.
"""

import random
from collections import defaultdict
from typing import ClassVar

from chain_state import MAX_UINT48, MAX_UINT256, calldata
from computed_hours import FINALITY, HOUR
from eth_abi import decode, encode
from eth_utils import keccak
from history_trader import mine_block
from quoteway_devnet.transactions import DEPLOYER

OPERATIONS = 3
"""Of a block, at most."""
GAS = hex(3_000_000)
ONE = 10**18
FUNDS = "(address,bool,address,bool)"
OWN_FUNDS = DEPLOYER, False, DEPLOYER, False
PATH = "(address,(address,address,bool)[],uint256,uint256)"
CHANGE = ["address", "uint8"], ["uint256", "uint256[]", "uint256[]"]
DONATION = 3
"""The kind of a change of liquidity that mints nothing."""


def raw(text):
    return bytes.fromhex(text[2:])


def topic(signature):
    return "0x" + keccak(text=signature).hex()


class Trading:
    """Pools of one Vault by their names. Subclasses say how to read it and what to send.

    ``EVENTS`` are (types indexed after the pool, types in the data) by signature of the Vault's events.
    """

    EVENTS: ClassVar = {}

    def __init__(self, venue, pools, seed):
        self.venue, self.pools, self.chance = venue, pools, random.Random(seed)
        self.rpc = venue.transactions.rpc
        self.kinds = defaultdict(int)

    def trade(self, hours, kinds):
        """Mines blocks at random seconds of hours, and then some until all hours are over and final."""
        self.rpc("anvil_impersonateAccount", DEPLOYER)
        start = self.time() // HOUR * HOUR + HOUR
        for hour in range(hours):
            for at in sorted(self.chance.sample(range(HOUR), self.chance.choice((0, 1, 3)))):
                self.block(start + hour * HOUR + at, kinds)
        for block in range(FINALITY + 2):
            mine_block(self.rpc, [], start + (hours + 1) * HOUR + block)

    def time(self):
        return int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    def block(self, time, kinds):
        calls = []
        for _ in range(self.chance.randint(1, OPERATIONS)):
            kind = self.chance.choice(kinds)
            pool = self.pools[self.chance.choice(list(self.pools))]
            sent = getattr(self, kind)(pool)
            if sent is None:
                continue
            self.kinds[kind] += 1
            to, data = sent
            transaction = {"from": DEPLOYER, "to": to, "data": "0x" + data.hex(), "gas": GAS}
            calls.append(("eth_sendTransaction", [transaction]))
        mine_block(self.rpc, calls, time)

    def part(self, most):
        return int(most * self.chance.uniform(1e-6, 0.02))

    def held(self, pool):
        return self.balances(pool, "latest")

    def two(self, pool):
        return self.chance.sample(range(len(pool.tokens)), 2)

    def read(self, to, data, types, block="latest"):
        answer = self.rpc("eth_call", {"to": to, "data": "0x" + data.hex()}, block)
        return decode(types, bytes.fromhex(answer[2:]))

    def logs(self):
        """Returns (pool, block, transaction, name, values) of the Vault's logs of the pools."""
        names = {pool.id.lower(): name for name, pool in self.pools.items()}
        known = {topic(text): (text.split("(")[0], *types) for text, types in self.EVENTS.items()}
        found = []
        wanted = {"fromBlock": "0x0", "toBlock": "latest", "address": self.venue.vault}
        for log in self.rpc("eth_getLogs", wanted):
            first = log["topics"][1] if len(log["topics"]) > 1 else ""
            pool = names.get(first) or names.get("0x" + first[26:])
            if pool is None:
                continue
            name, indexed, data = known.get(log["topics"][0], (None, [], []))
            topics = zip(indexed, log["topics"][2:], strict=False)
            values = [decode([kind], bytes.fromhex(text[2:]))[0] for kind, text in topics]
            values += decode(data, bytes.fromhex(log["data"][2:])) if data else ()
            found.append((pool, int(log["blockNumber"], 16), log["transactionHash"], name, values))
        return found

    def times(self, numbers):
        blocks = self.rpc.batch([("eth_getBlockByNumber", [hex(each), False]) for each in numbers])
        return dict(zip(numbers, (int(each["timestamp"], 16) for each in blocks), strict=True))

    def expected(self, until):
        """Returns the hours by (pool, hour): for each name of a column, the amounts of all tokens."""
        logs = self.logs()
        times = self.times(sorted({number for _, number, *_ in logs}))
        hours = {}
        for name, pool in self.pools.items():
            own = [log for log in logs if log[0] == name]
            numbers = sorted({number for _, number, *_ in own})
            stood = [(times[number], self.balances(pool, hex(number))) for number in numbers]
            for hour in {times[number] // HOUR * HOUR for number in numbers}:
                last = max(number for number in numbers if times[number] < hour + HOUR)
                row = self.moved(pool, [log for log in own if times[log[1]] // HOUR * HOUR == hour])
                row["principal"] = self.balances(pool, hex(last))
                row["principal_seconds"] = integral(stood, hour, min(hour + HOUR, until))
                hours[name, hour] = row
        return hours

    def moved(self, pool, logs):
        """Returns the sums of an hour, of each token."""
        count = len(pool.tokens)
        row = {name: [0] * count for name in ("swaps", "volume", "washed")}
        traded = defaultdict(lambda: [[0] * count, [0] * count])
        for _, _, transaction, name, values in logs:
            if name != "Swap":
                continue
            ends = [self.place(pool, token) for token in values[:2]]
            if None in ends:
                continue
            for way, amount in ((0, values[2]), (1, values[3])):
                traded[transaction][way][ends[way]] += amount
            row["swaps"][ends[0]] += 1
            row["volume"][ends[0]] += values[2]
        for sold, bought in traded.values():
            for place in range(count):
                row["washed"][place] += min(sold[place], bought[place])
        return row

    @staticmethod
    def place(pool, token):
        tokens = [each.lower() for each in pool.tokens]
        return tokens.index(token.lower()) if token.lower() in tokens else None


def integral(stood, start, end):
    """Returns amounts times the seconds that they stood between two times."""
    total = [0] * len(stood[0][1])
    for at, (since, amounts) in enumerate(stood):
        until = stood[at + 1][0] if at + 1 < len(stood) else end
        seconds = max(0, min(until, end) - max(since, start))
        total = [sum_ + amount * seconds for sum_, amount in zip(total, amounts, strict=True)]
    return total


class TradingV2(Trading):
    """Operations of the first Vault. A pool with ``manager`` can do nothing but manage."""

    EVENTS: ClassVar = {
        "Swap(bytes32,address,address,uint256,uint256)": (["address"] * 2, ["uint256"] * 2),
    }

    def balances(self, pool, block):
        data = calldata("getPoolTokens(bytes32)", raw(pool.id))
        tokens, amounts, _ = self.read(self.venue.vault, data, ["address[]", "uint256[]", "uint256"], block)
        known = dict(zip(tokens, amounts, strict=True))
        return [known.get(token.lower(), 0) for token in pool.tokens]

    def swap(self, pool):
        if hasattr(pool, "manager"):
            return None
        sold, bought = self.two(pool)
        return self.swapped(pool, pool.tokens[sold], pool.tokens[bought], self.held(pool)[sold])

    def shares(self, pool):
        """Buys or sells shares of a pool that has them among its tokens."""
        if not hasattr(pool, "amplification"):
            return None
        own, token = pool.id[:42], self.chance.randrange(len(pool.tokens))
        if self.chance.random() < 0.5:
            return self.swapped(pool, own, pool.tokens[token], ONE * 10**3)
        return self.swapped(pool, pool.tokens[token], own, self.held(pool)[token])

    def swapped(self, pool, sold, bought, held):
        order = raw(pool.id), 0, sold, bought, self.part(held), b""
        signature = f"swap((bytes32,uint8,address,address,uint256,bytes),{FUNDS},uint256,uint256)"
        return self.venue.vault, calldata(signature, order, OWN_FUNDS, 0, MAX_UINT48)

    def back(self, pool):
        """Sells and buys back in one transaction."""
        if hasattr(pool, "manager"):
            return None
        sold, bought = self.two(pool)
        amount = self.part(self.held(pool)[sold])
        steps = [(raw(pool.id), 0, 1, amount, b""), (raw(pool.id), 1, 0, 0, b"")]
        signature = (
            f"batchSwap(uint8,(bytes32,uint256,uint256,uint256,bytes)[],address[],{FUNDS},int256[],uint256)"
        )
        ends = [pool.tokens[sold], pool.tokens[bought]]
        limits = [MAX_UINT256 >> 1] * 2
        return self.venue.vault, calldata(signature, 0, steps, ends, OWN_FUNDS, limits, MAX_UINT48)

    def join(self, pool):
        amounts = [self.part(each) for each in self.held(pool)]
        return self.change(pool, "join", encode(["uint256", "uint256[]", "uint256"], [1, amounts, 0]))

    def exit(self, pool):
        kind = 2 if hasattr(pool, "amplification") else 1
        return self.change(pool, "exit", encode(["uint256", "uint256"], [kind, self.part(10**21)]))

    def change(self, pool, way, data):
        if hasattr(pool, "manager"):
            return None
        is_stable = hasattr(pool, "amplification")
        assets = self.venue.registered(pool) if is_stable else list(pool.tokens)
        limits = [MAX_UINT256 if way == "join" else 0] * len(assets)
        signature = f"{way}Pool(bytes32,address,address,(address[],uint256[],bytes,bool))"
        order = (assets, limits, data, False)
        return self.venue.vault, calldata(signature, raw(pool.id), DEPLOYER, DEPLOYER, order)

    def manage(self, pool):
        """Says what the manager has of a token, which may be more or less than before."""
        if not hasattr(pool, "manager"):
            return None
        token = self.chance.choice(pool.tokens[:2])
        return self.venue.vault, pool.managing(token, self.chance.randrange(10**24))


class TradingV3(Trading):
    """Operations of the second Vault, through its routers, and changes of the protocol's share of fees.

    ``rates`` are those of the providers that may grow.
    """

    EVENTS: ClassVar = {
        "Swap(address,address,address,uint256,uint256,uint256,uint256)": (["address"] * 2, ["uint256"] * 4),
        "LiquidityAdded(address,address,uint8,uint256,uint256[],uint256[])": CHANGE,
        "LiquidityRemoved(address,address,uint8,uint256,uint256[],uint256[])": CHANGE,
    }

    def __init__(self, venue, pools, seed, rates):
        super().__init__(venue, pools, seed)
        self.rates = dict(rates)

    def balances(self, pool, block):
        data = calldata("getPoolTokenInfo(address)", pool.id)
        types = ["address[]", "(uint8,address,bool)[]", "uint256[]", "uint256[]"]
        return list(self.read(self.venue.vault, data, types, block)[2])

    def put_aside(self, pool, block):
        """Returns what the Vault has put aside of each token, of the fees of swaps, up to a block.

        That is what it still has, and what the controller has collected.
        """
        signature = "getAggregateSwapFeeAmount(address,address)"
        calls = [calldata(signature, pool.id, token) for token in pool.tokens]
        kept = [self.read(self.venue.vault, data, ["uint256"], hex(block))[0] for data in calls]
        topics = [topic("ProtocolSwapFeeCollected(address,address,uint256)"), f"0x{pool.id[2:].lower():0>64}"]
        wanted = {"fromBlock": "0x0", "toBlock": hex(block), "address": self.venue.fees, "topics": topics}
        for log in self.rpc("eth_getLogs", wanted):
            kept[self.place(pool, "0x" + log["topics"][2][26:])] += int(log["data"], 16)
        return kept

    def moved(self, pool, logs):
        row = super().moved(pool, logs)
        count = len(pool.tokens)
        fees, row["donated"] = [0] * count, [0] * count
        for _, _, _, name, values in logs:
            if name == "Swap":
                fees[self.place(pool, values[0])] += values[5]
            elif name is not None:
                kind, amounts, paid = values[1], values[3], values[4]
                fees = [fee + more for fee, more in zip(fees, paid, strict=True)]
                if name == "LiquidityAdded" and kind == DONATION:
                    row["donated"] = [sum(pair) for pair in zip(row["donated"], amounts, strict=True)]
        first, last = logs[0][1], logs[-1][1]
        is_new = logs[0][1] == pool.made
        before = [0] * count if is_new else self.put_aside(pool, first - 1)
        after = self.put_aside(pool, last)
        row["protocol_fee"] = [each - was for each, was in zip(after, before, strict=True)]
        row["lp_fee"] = [fee - part for fee, part in zip(fees, row["protocol_fee"], strict=True)]
        return row

    def swap(self, pool):
        sold, bought = self.two(pool)
        return self.swapped(pool, [(sold, bought)])

    def back(self, pool):
        """Sells and buys back in one transaction."""
        sold, bought = self.two(pool)
        return self.swapped(pool, [(sold, bought), (bought, sold)])

    def swapped(self, pool, ways):
        held = self.held(pool)
        paths = [
            (pool.tokens[sold], [(pool.id, pool.tokens[bought], False)], self.part(held[sold]), 0)
            for sold, bought in ways
        ]
        data = calldata(f"swapExactIn({PATH}[],uint256,bool,bytes)", paths, MAX_UINT48, False, b"")
        return self.venue.batch_router, data

    def add(self, pool):
        amounts = [self.part(each) for each in self.held(pool)]
        signature = "addLiquidityUnbalanced(address,uint256[],uint256,bool,bytes)"
        return self.venue.router, calldata(signature, pool.id, amounts, 0, False, b"")

    def donate(self, pool):
        if pool.id != self.pools["three"].id:
            return None
        amounts = [self.part(each) for each in self.held(pool)]
        return self.venue.router, calldata(
            "donate(address,uint256[],bool,bytes)", pool.id, amounts, False, b""
        )

    def remove(self, pool):
        signature = "removeLiquidityProportional(address,uint256,uint256[],bool,bytes)"
        least = [0] * len(pool.tokens)
        return self.venue.router, calldata(signature, pool.id, self.part(10**21), least, False, b"")

    def remove_one(self, pool):
        signature = "removeLiquiditySingleTokenExactIn(address,uint256,address,uint256,bool,bytes)"
        token = self.chance.choice(pool.tokens)
        return self.venue.router, calldata(signature, pool.id, self.part(10**21), token, 1, False, b"")

    def grow(self, pool):
        """Lets the rates of all providers grow. No transaction is sent."""
        for provider in self.rates:
            self.rates[provider] += self.part(ONE)
            self.venue.rate_provider(self.rates[provider], provider)

    def share(self, pool):
        share = self.chance.choice((0, 10, 33, 50)) * 10**16
        return self.venue.fees, calldata("setProtocolSwapFeePercentage(address,uint256)", pool.id, share)

    def recovery(self, pool):
        data = calldata("isPoolInRecoveryMode(address)", pool.id)
        (is_on,) = self.read(self.venue.vault, data, ["bool"])
        way = "disable" if is_on else "enable"
        return self.venue.vault, calldata(f"{way}RecoveryMode(address)", pool.id)
