"""Hours of pools in an index, beside the transfers of the receipts of their swaps."""

import random
from collections import defaultdict

import pytest
from curve_exchange import PLUGINS
from quoteway.evm.abi import encode_call
from quoteway_curve.executor import EXCHANGE, MOST_POOLS
from test_curve_event_sources import MOST, sources_of

pytest.importorskip("computed_hours", reason="needs the quoteway-indexer distribution")

from computed_hours import FINALITY, HOUR, computed
from eth_utils import keccak
from history_trader import mine_block

HOURS = 24
OPERATIONS = 4
"""Of a block, at most."""
NOBODY = "0x" + "00" * 20
KINDS = ("swap", "swap", "swap", "back", "add", "remove", "uneven", "one")
SWAPPED = "0x" + keccak(text="TokenExchange(address,int128,uint256,int128,uint256)").hex()
TRANSFER = "0x" + keccak(text="Transfer(address,address,uint256)").hex()


class Trading:
    """Random operations on the pools of an exchange, some in one block, over simulated hours."""

    def __init__(self, exchange, rpc, seed):
        self.exchange, self.rpc, self.chance = exchange, rpc, random.Random(seed)
        self.coins = {row["address"].lower(): row["coins"] for row in exchange.rows}
        self.ng = {row["address"].lower() for row in exchange.rows if row["release"] == "ng"}
        self.kinds = defaultdict(int)
        for pool, coins in self.coins.items():
            for coin in coins:
                exchange.devnet.faucet(coin, exchange.owner, 10**30)
                exchange.approve(coin, pool, MOST)
                exchange.approve(coin, exchange.router, MOST)

    def time(self):
        return int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    def trade(self):
        start = self.time() // HOUR * HOUR + HOUR
        for hour in range(HOURS):
            for at in sorted(self.chance.sample(range(HOUR), self.chance.choice((0, 1, 3)))):
                self.block(start + hour * HOUR + at)
        # Blocks until the hours are over and final.
        for block in range(FINALITY + 2):
            mine_block(self.rpc, [], start + (HOURS + 1) * HOUR + block)

    def block(self, time):
        calls = []
        for _ in range(self.chance.randint(1, OPERATIONS)):
            to, data = self.operation()
            sent = {"from": self.exchange.owner, "to": to, "data": "0x" + data.hex(), "gas": hex(2_000_000)}
            calls.append(("eth_sendTransaction", [sent]))
        mine_block(self.rpc, calls, time)

    def operation(self):
        pool = self.chance.choice(list(self.coins))
        kind = self.chance.choice(KINDS if pool in self.ng else KINDS[:-1])
        self.kinds[kind] += 1
        coins = self.coins[pool]
        parts = [int(held * self.chance.uniform(1e-7, 0.01)) + 1 for held in self.held(pool)]
        sold, bought = self.chance.sample(range(len(coins)), 2)
        if kind == "swap":
            call = "exchange(int128,int128,uint256,uint256)"
            return pool, encode_call(call, [sold, bought, parts[sold], 0])
        if kind == "back":
            return self.exchange.router, self.route(pool, (sold, bought), parts[sold])
        if kind == "add":
            return pool, encode_call("add(uint256[])", [parts])
        if kind == "remove":
            return pool, encode_call("remove(uint256)", [self.chance.randrange(10**15)])
        if kind == "uneven":
            return pool, encode_call("removeImbalance(uint256[])", [[*parts[:-1], 0]])
        return pool, encode_call("removeOne(int128,uint256)", [sold, parts[sold]])

    def route(self, pool, ends, amount):
        """Returns the calldata that sells and buys back in one transaction."""
        sold, bought = (self.coins[pool][end] for end in ends)
        kind = 10 if pool in self.ng else 1
        count = len(self.coins[pool])
        route = [sold, pool, bought, pool, sold] + [NOBODY] * 6
        params = [[*ends, 1, kind, count], [*ends[::-1], 1, kind, count]] + [[0] * 5] * (MOST_POOLS - 2)
        return encode_call(EXCHANGE, [route, params, amount, 0, [NOBODY] * MOST_POOLS, self.exchange.owner])

    def held(self, pool):
        return [self.exchange.held(coin, pool) for coin in self.coins[pool]]

    def expected(self):
        """Returns the hours by (pool, hour): of transfers of the pools in transactions with swaps."""
        hours = {}
        addresses = list(self.coins)
        logs = self.rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "address": addresses})
        touched = {(log["address"].lower(), log["transactionHash"], log["blockNumber"]) for log in logs}
        times = {}
        for pool, transaction, number in touched:
            if number not in times:
                times[number] = int(self.rpc("eth_getBlockByNumber", number, False)["timestamp"], 16)
            count = len(self.coins[pool])
            empty = {name: [0] * count for name in ("swaps", "volume", "washed")}
            hour = hours.setdefault((pool, times[number] // HOUR * HOUR), empty)
            receipt = self.rpc("eth_getTransactionReceipt", transaction)
            own = [log for log in receipt["logs"] if log["address"].lower() == pool]
            if SWAPPED not in {log["topics"][0] for log in own}:
                continue
            got, paid = [0] * count, [0] * count
            for log in receipt["logs"]:
                if log["topics"][0] != TRANSFER:
                    continue
                sender, recipient = ("0x" + topic[26:] for topic in log["topics"][1:])
                if pool not in (sender, recipient):
                    continue
                place = [coin.lower() for coin in self.coins[pool]].index(log["address"].lower())
                (got if recipient == pool else paid)[place] += int(log["data"], 16)
                hour["swaps"][place] += recipient == pool
            for place in range(count):
                hour["volume"][place] += got[place]
                hour["washed"][place] += min(got[place], paid[place])
        return hours


@pytest.mark.slow
async def test_hours_are_what_receipts_say(exchange, make_gateway, tmp_path):
    (source,) = sources_of(exchange.section()["routers"], exchange.rows)
    with exchange.devnet.rpc("devnet") as rpc:
        trading = Trading(exchange, rpc, 17)
        trading.trade()
        expected = trading.expected()
        gateway = await make_gateway(PLUGINS, config=exchange.config())
        chain = gateway.runtime.chain(source.chain_id)
        place = tmp_path / "index.duckdb", trading.time(), trading.coins
        found, shown = await computed(rpc, source, *place, table="pool_token_hour", chain=chain)
    assert trading.kinds.keys() == set(KINDS)
    rows = {}
    for row in sorted(found, key=lambda row: row["place"]):
        rows.setdefault(("0x" + row["pool"].hex(), row["hour"]), []).append(row)
    assert rows.keys() == expected.keys()
    assert len(rows) > HOURS
    for (pool, hour), row in rows.items():
        coins = [bytes.fromhex(coin[2:]) for coin in trading.coins[pool]]
        assert [(each["place"], each["token"]) for each in row] == list(enumerate(coins))
        for name in ("swaps", "volume", "washed"):
            assert [each[name] for each in row] == expected[pool, hour][name], (pool, hour, name)
        for each in row:
            # No event tells these.
            assert {each[name] for name in ("lp_fee", "protocol_fee", "donated")} == {None}
            assert each["principal"] is each["principal_seconds"] is None
            assert each["inexact"] == 0
    for pool, coins in trading.coins.items():
        own = [bucket for (key, _), bucket in expected.items() if key == pool]
        for side in range(len(coins)):
            for name in ("volume", "washed"):
                amount = sum(bucket[name][side] for bucket in own)
                assert shown[pool, "volume"].amounts[f"{name}{side}"] == amount > 0
            assert shown[pool, "fees"].amounts[f"lp{side}"] is None
            assert shown[pool, "tvl"].amounts[f"principal{side}"] is None
        for metric, untold in (("fees", "its fees"), ("tvl", "all that left the pool"), ("apr", "its fees")):
            assert f"events of the pool do not tell {untold}." in shown[pool, metric].method
        assert "do not tell" not in shown[pool, "volume"].method
        assert all(value is None for _, value in shown[pool, "apr"].points)
