"""Hours of pools in an index, beside a replay of their logs of the test's own, and their contracts."""

import random
from collections import defaultdict

import pytest
from eth_abi import decode
from eth_utils import keccak
from quoteway.evm.abi import encode_call
from solidly_exchange import Exchange
from test_solidly_event_sources import sources_of

pytest.importorskip("computed_hours", reason="needs the quoteway-indexer distribution")

from computed_hours import FINALITY, HOUR, computed
from history_trader import mine_block

HOURS = 30
OPERATIONS = 4
"""Of a block, at most."""
EVENTS = {
    keccak(text=f"{name}({','.join(indexed + data)})").hex(): (name, indexed, data)
    for name, indexed, data in (
        ("PoolCreated", ["address", "address", "bool"], ["address", "uint256"]),
        ("Fees", ["address"], ["uint256"] * 2),
        ("Sync", [], ["uint256"] * 2),
        ("Swap", ["address", "address"], ["uint256"] * 4),
        ("Mint", ["address"], ["uint256"] * 2),
        ("Burn", ["address", "address"], ["uint256"] * 2),
        ("Claim", ["address", "address"], ["uint256"] * 2),
    )
}
STANDING = ("principal", "uncollected")
MOVED = ("volume", "lp_fee")


class Trading:
    """Random operations on pools of an exchange, some in one block, over simulated hours."""

    def __init__(self, exchange, seed):
        self.exchange, self.chance = exchange, random.Random(seed)
        self.rpc = exchange.devnet.rpc("devnet")
        self.pools = {}
        for log in self.logs():
            if log["name"] == "PoolCreated":
                token0, token1, stable, pool, _ = log["values"]
                self.pools[pool] = (token0, token1, stable)
        for token in {token for pool in self.pools.values() for token in pool[:2]}:
            exchange.devnet.faucet(token, exchange.owner, 10**30)
            exchange.approve(token, exchange.address, 2**255)

    def logs(self):
        """Returns the logs of the exchange and its pools, decoded, with their block's number and time."""
        times, found = {}, []
        for log in self.rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}):
            known = EVENTS.get(log["topics"][0][2:])
            if known is None or (log["address"] not in self.pools and known[0] != "PoolCreated"):
                continue
            name, indexed, data = known
            if len(log["topics"]) != len(indexed) + 1:
                continue
            values = [
                decode([kind], bytes.fromhex(t[2:]))[0]
                for kind, t in zip(indexed, log["topics"][1:], strict=True)
            ]
            values += decode(data, bytes.fromhex(log["data"][2:]))
            number = int(log["blockNumber"], 16)
            if number not in times:
                times[number] = int(self.rpc("eth_getBlockByNumber", hex(number), False)["timestamp"], 16)
            found.append(
                {
                    "name": name,
                    "pool": log["address"],
                    "values": values,
                    "number": number,
                    "time": times[number],
                }
            )
        return found

    def trade(self):
        time = int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) // HOUR * HOUR + HOUR
        for hour in range(HOURS):
            begins = time + hour * HOUR
            seconds = sorted(self.chance.sample(range(HOUR), self.chance.choice((0, 1, 3))))
            for at in seconds:
                self.block(begins + at)
        # Blocks until the hours are over and final.
        for block in range(FINALITY + 2):
            mine_block(self.rpc, [], time + (HOURS + 1) * HOUR + block)

    def block(self, time):
        calls = []
        for _ in range(self.chance.randint(1, OPERATIONS)):
            data = self.operation()
            transaction = {
                "from": self.exchange.owner,
                "to": self.exchange.address,
                "data": "0x" + data.hex(),
            }
            calls.append(("eth_sendTransaction", [transaction | {"gas": hex(1_500_000)}]))
        mine_block(self.rpc, calls, time)

    def operation(self):
        pool = self.chance.choice(list(self.pools))
        token0, token1, stable = self.pools[pool]
        owner, address = self.exchange.owner, self.exchange.address
        held = self.state(pool)[2:4]
        part = self.chance.uniform(1e-6, 0.05)
        kind = self.chance.choice(("swap", "swap", "swap", "back", "add", "remove", "claim"))
        if kind == "claim":
            return encode_call("claim(address,address)", [pool, owner])
        if kind == "remove":
            amounts = [int(each * part) for each in held]
            return encode_call("remove(address,uint256,uint256,address)", [pool, *amounts, owner])
        if kind == "add":
            amounts = [int(each * self.chance.uniform(0, part)) for each in held]
            fee = self.chance.choice((0, 5, 30, 100))  # another one from now on
            return encode_call(
                "add(address,address,bool,uint256,uint256,uint256)", [token0, token1, stable, *amounts, fee]
            )
        way = [token0, token1] if kind == "swap" else [token1, token0]
        sold = int(held[0 if kind == "swap" else 1] * part)
        routes = [(*way, stable, address)]
        return encode_call(
            "swapExactTokensForTokens(uint256,uint256,(address,address,bool,address)[],address,uint256)",
            [sold, 0, routes, owner, 2**40],
        )

    def state(self, pool, block="latest"):
        """Returns what a contract says: units, reserves, whether it is stable, and its tokens."""
        data = "0x" + encode_call("metadata()", []).hex()
        answer = self.rpc("eth_call", {"to": pool, "data": data}, block)
        return decode(["uint256"] * 4 + ["bool", "address", "address"], bytes.fromhex(answer[2:]))

    def owed(self, pool, block):
        words = [
            self.rpc("eth_call", {"to": pool, "data": "0x" + encode_call(f"owed{side}()", []).hex()}, block)
            for side in (0, 1)
        ]
        return [int(word, 16) for word in words]

    def close(self):
        self.rpc.__exit__(None, None, None)


def replayed(logs, pools, until):
    """Returns the hours of pools by (pool, hour), and the last block of each hour with logs."""
    hours, last = defaultdict(lambda: defaultdict(int)), {}
    held = {pool: {"reserves": [0, 0], "owed": [0, 0], "at": 0} for pool in pools}

    def bring(pool, time):
        """Adds up what stood until a time, by hours."""
        known = held[pool]
        while known["at"] and known["at"] < time:
            hour = known["at"] // HOUR * HOUR
            upto = min(time, hour + HOUR)
            if (pool, hour) in hours:
                for side in (0, 1):
                    hours[pool, hour][f"principal_seconds{side}"] += known["reserves"][side] * (
                        upto - known["at"]
                    )
            known["at"] = upto

    for log in logs:
        pool, time = log["pool"], log["time"]
        if pool not in pools:
            continue
        bring(pool, time)
        known, hour = held[pool], time // HOUR * HOUR
        if known["at"] and (pool, hour) not in hours:
            for side in (0, 1):
                hours[pool, hour][f"principal_seconds{side}"] += known["reserves"][side] * (time - hour)
        known["at"], bucket = time, hours[pool, hour]
        last[hour] = max(last.get(hour, 0), log["number"])
        values = log["values"]
        if log["name"] == "Sync":
            known["reserves"] = list(values)
        elif log["name"] == "Fees":
            for side in (0, 1):
                bucket[f"lp_fee{side}"] += values[1 + side]
                known["owed"][side] += values[1 + side]
        elif log["name"] == "Swap":
            bucket["swaps"] += 1
            for side in (0, 1):
                bucket[f"volume{side}"] += values[2 + side]
        elif log["name"] == "Claim":
            for side in (0, 1):
                known["owed"][side] -= values[2 + side]
        for side in (0, 1):
            bucket[f"principal{side}"] = known["reserves"][side]
            bucket[f"uncollected{side}"] = known["owed"][side]
    for pool in pools:
        bring(pool, until)
    return hours, last


@pytest.mark.slow
async def test_hours_are_what_logs_and_contracts_say(fresh_devnet, tmp_path):
    exchange = Exchange(fresh_devnet)
    for first, second, dollars, stable, fee in (
        ("USDC", "DAI", 5_000_000, True, 5),
        ("USDC", "DAI", 300_000, False, 30),
        ("WETH", "USDC", 8_000_000, False, 30),
    ):
        exchange.add(first, second, dollars, stable, fee)
    trading = Trading(exchange, 5)
    try:
        trading.trade()
        logs = trading.logs()
        until = int(trading.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        expected, last = replayed(logs, trading.pools, until)
        (source,) = sources_of(exchange.row())
        found, shown = await computed(trading.rpc, source, tmp_path / "index.duckdb", until, trading.pools)
        rows = {("0x" + row["pool"].hex(), row["hour"]): row for row in found}
        compared = 0
        for pool in trading.pools:
            for hour, number in last.items():
                if (pool, hour) not in expected:
                    continue
                bucket, row = expected[pool, hour], rows.pop((pool, hour))
                for name in (*MOVED, *STANDING, "principal_seconds"):
                    for side in (0, 1):
                        assert row[f"{name}{side}"] == bucket[f"{name}{side}"], (pool, hour, name, side)
                assert (row["swaps"], row["inexact"]) == (bucket["swaps"], 0)
                assert row["donated0"] == row["donated1"] == row["protocol_fee0"] == row["protocol_fee1"] == 0
                stable = trading.pools[pool][2]
                assert (row["close_sqrt_price_x96"] is None) == stable
                # The contract at the last block of the hour that had an event of any pool.
                assert [row["principal0"], row["principal1"]] == list(trading.state(pool, hex(number))[2:4])
                assert [row["uncollected0"], row["uncollected1"]] == trading.owed(pool, hex(number))
                compared += 1
            own = [bucket for (key, _), bucket in expected.items() if key == pool]
            for side in (0, 1):
                volume = sum(bucket[f"volume{side}"] for bucket in own)
                assert shown[pool, "volume"].amounts[f"volume{side}"] == volume > 0
                fees = sum(bucket[f"lp_fee{side}"] for bucket in own)
                assert shown[pool, "fees"].amounts[f"lp{side}"] == fees > 0
                newest = own[-1]
                assert shown[pool, "tvl"].amounts[f"principal{side}"] == newest[f"principal{side}"]
                assert shown[pool, "tvl"].amounts[f"uncollected{side}"] == newest[f"uncollected{side}"]
        assert not rows
        assert compared > HOURS
        assert {log["name"] for log in logs} == {name for name, _, _ in EVENTS.values()}
    finally:
        trading.close()
