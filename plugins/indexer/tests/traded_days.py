"""Days of trading on a devnet, and what its pools and a vault did by hour, from receipts and contracts.

It imports nothing of the project: ``history_oracle`` replays the receipts' logs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

from history_contracts import contract_differences
from history_oracle import Oracle
from history_pools import HOUR, Pair, Pool
from history_trader import PAYER, HistoryTrader, call, mine_block, reading
from history_trial import EVENTS

DAY = 24 * HOUR
BLOCKS_A_DAY = 3
"""The node keeps the states of 128 blocks: all are read at the end, those of the index too."""
OPERATIONS = 9
"""Of a block."""
SETTLED = 3 * HOUR
PRECISION = 12
"""Digits of a vault's share price after those of a share."""
FINALITY = 64
"""Blocks behind the head that the node calls final."""


@dataclass
class VaultHour:
    """What a vault has at the last block of an hour."""

    block: int
    timestamp: int
    price: int
    assets: int


class TradedDays:
    """Trades for ``days``, ends within an hour, and reads everything back."""

    def __init__(self, devnet, days: int, seed: int) -> None:
        self.rpc, self.manifest = devnet.rpc("devnet"), devnet.chains["devnet"]
        contracts = self.manifest.contracts
        self.loaded = int(self.rpc("eth_blockNumber"), 16)
        """The block that the node began with: it has no older states."""
        self.trader = HistoryTrader(self.rpc, self.manifest, seed, most_pools=2)
        self.begun = int(self.rpc("eth_blockNumber"), 16)
        self.vault = next(vault for vault in self.manifest.vaults if vault.kind == "plain")
        places = (contracts[name] for name in ("UniswapV2Factory", "UniswapV3Factory", "PoolManager"))
        self.oracle = Oracle(*places)
        self.events: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.reads = 0
        self._trade(days)
        self.blocks = self._blocks()
        self.traded = self.blocks[-1]
        self._replay()
        self.share_decimals = self.decimals(self.vault.address)
        self.vault_hours = self._vault_hours()

    # --- trading -----------------------------------------------------------------------------------------

    def _trade(self, days: int) -> None:
        now, chance = self._time(), self.trader.chance
        self._vault_calls(now + 1, call("approve(address,uint256)", self.vault.address, 10**30))
        self.trader.switch_range_fees(True, now + 2)
        begun = self._time()
        for block in range(days * BLOCKS_A_DAY):
            at = begun + (block + 1) * DAY // BLOCKS_A_DAY + chance.randrange(-3000, 3000)
            self.trader.mine(at, OPERATIONS)
            if block % BLOCKS_A_DAY == 0:
                # What is transferred to a vault is the yield of its shares.
                gift = call("transfer(address,uint256)", self.vault.address, chance.randrange(10**7, 10**9))
                deposit = call("deposit(uint256,address)", chance.randrange(10**6, 10**10), PAYER)
                redeem = call("redeem(uint256,address,address)", chance.randrange(10**3, 10**6), PAYER, PAYER)
                self._vault_calls(at + 13, gift, deposit, redeem)
        # The last blocks are in one hour, and so the one that is final.
        hour = self._time() // HOUR * HOUR + HOUR
        mine_block(self.rpc, [], hour + 60)
        self.rpc("anvil_mine", hex(FINALITY + 2), hex(1))

    def _vault_calls(self, timestamp: int, *datas: bytes) -> None:
        approval = call("approve(address,uint256)", self.vault.address, 0)[:4]
        gift = call("transfer(address,uint256)", self.vault.address, 0)[:4]
        calls = []
        for data in datas:
            to = self.vault.asset if data[:4] in (approval, gift) else self.vault.address
            transaction = {"from": PAYER, "to": to, "data": "0x" + data.hex(), "gas": hex(1_000_000)}
            calls.append(("eth_sendTransaction", [transaction]))
        mine_block(self.rpc, calls, timestamp)

    def _time(self) -> int:
        return int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    # --- reading back ------------------------------------------------------------------------------------

    def _blocks(self) -> list[int]:
        """Returns the times of all blocks."""
        count = int(self.rpc("eth_blockNumber"), 16) + 1
        asked = [("eth_getBlockByNumber", [hex(number), False]) for number in range(count)]
        return [int(block["timestamp"], 16) for block in self.rpc.batch(asked)]

    def _replay(self) -> None:
        """Gives the oracle the logs of the receipts, and compares it with the contracts at hours' ends."""
        numbers = range(len(self.blocks))
        receipts = self.rpc.batch([("eth_getBlockReceipts", [hex(number)]) for number in numbers])
        for number, time in enumerate(self.blocks):
            logs = [log for receipt in receipts[number] for log in receipt["logs"]]
            for log in logs:
                log["blockTimestamp"] = hex(time)
            self.events.update(EVENTS[log["topics"][0]] for log in logs if log["topics"][0] in EVENTS)
            self.oracle.feed(logs)
            end = time - time % HOUR + HOUR
            if number + 1 == len(self.blocks) or self.blocks[number + 1] >= end:
                manager = self.manifest.contracts["PoolManager"]
                closed = self.oracle.touched(end)
                if number <= self.begun:
                    continue
                reads, wrong = contract_differences(self.rpc, manager, closed, hex(number))
                self.reads, self.wrong = self.reads + reads, self.wrong + wrong

    @property
    def until(self) -> int:
        """Returns the time of the newest block."""
        return self.blocks[-1]

    @property
    def pools(self) -> list[Pool]:
        """Returns the pools that were traded."""
        return [self.oracle.pools[pool.id.lower()] for pool in self.trader.pools]

    def created(self, pool: Pool) -> int:
        """Returns the hour of a pool's first event."""
        return min(hour for key, hour in self.oracle.buckets if key == pool.key)

    def hours(self, pool: Pool) -> dict[int, dict[str, int]]:
        """Returns what a pool did and had in all hours since its first one."""
        found, last = {}, None
        for hour in range(self.created(pool), self.until, HOUR):
            bucket = self.oracle.buckets.get((pool.key, hour))
            if bucket is not None:
                last = dict(bucket)
                if isinstance(pool, Pair):  # nothing of its fees is the protocol's
                    last |= {f"lp_fee{side}": bucket.get(f"fee{side}", 0) for side in (0, 1)}
                found[hour] = last
            else:
                assert last is not None
                stood = {name: last[name] for name in last if name[:-1] in ("principal", "uncollected")}
                held = {f"principal_seconds{side}": last[f"principal{side}"] * HOUR for side in (0, 1)}
                found[hour] = stood | held
        return found

    def _vault_hours(self) -> dict[int, VaultHour]:
        """Returns what the vault had in each hour that is final."""
        final = len(self.blocks) - 1 - FINALITY
        asked, places = [], []
        for end in range(self.blocks[self.loaded] // HOUR * HOUR + HOUR, self.blocks[final] + 1, HOUR):
            block = bisect_left(self.blocks, end) - 1
            share = call("convertToAssets(uint256)", 10 ** (self.share_decimals + PRECISION))
            asked += [(block, share), (block, call("totalAssets()"))]
            places.append((end - HOUR, block))
        calls = [
            ("eth_call", [{"to": self.vault.address, "data": "0x" + data.hex()}, hex(block)])
            for block, data in asked
        ]
        answers = self.rpc.batch(calls)
        return {
            hour: VaultHour(block, self.blocks[block], int(price, 16), int(assets, 16))
            for (hour, block), price, assets in zip(places, answers[::2], answers[1::2], strict=True)
            if price != "0x"
        }

    def mine(self) -> None:
        """Mines one more block, a second later."""
        mine_block(self.rpc, [], self.until + 1)
        self.blocks.append(self.until + 1)

    def decimals(self, contract: str) -> int:
        """Returns the decimals of a token."""
        return 18 if int(contract, 16) == 0 else reading(self.rpc, [(contract, call("decimals()"))])[0][0]

    def close(self) -> None:
        self.rpc.__exit__(None, None, None)
