"""Reads raw logs of v2, v3 and v4 pools, and keeps their hours, for comparison with the index.

It imports nothing of the project: ``history_pools`` has the maths of the contracts.
"""

from __future__ import annotations

from collections import defaultdict
from math import isqrt

from eth_utils import keccak
from history_pools import HOUR, WORD, Bucket, Pair, Pool, Ranges


def topic(signature: str) -> str:
    return "0x" + keccak(text=signature).hex()


def words(log: dict) -> list[int]:
    data = log["data"][2:]
    return [int(data[at : at + 64], 16) for at in range(0, len(data), 64)]


def signed(value: int) -> int:
    value &= WORD
    return value - (1 << 256) if value >> 255 else value


def address(word: str | int) -> str:
    return "0x" + (word[-40:] if isinstance(word, str) else f"{word:064x}"[-40:]).lower()


class Oracle:
    """Pools by address or id, and their finished buckets by (pool, hour)."""

    def __init__(self, factory2: str, factory3: str, manager: str) -> None:
        self.places = {factory2.lower(): "v2", factory3.lower(): "v3", manager.lower(): "v4"}
        self.pools: dict[str, Pool] = {}
        self.buckets: dict[tuple[str, int], Bucket] = {}
        self.open: dict[str, int] = {}
        self.events = 0
        self._handlers = {
            topic("PairCreated(address,address,address,uint256)"): self._pair,
            topic("PoolCreated(address,address,uint24,int24,address)"): self._pool3,
            topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)"): self._pool4,
            topic("Initialize(uint160,int24)"): self._initialize,
            topic("Swap(address,uint256,uint256,uint256,uint256,address)"): self._swap2,
            topic("Sync(uint112,uint112)"): self._sync,
            topic("Mint(address,uint256,uint256)"): self._change2,
            topic("Burn(address,uint256,uint256,address)"): self._change2,
            topic("Transfer(address,address,uint256)"): self._shares,
            topic("Swap(address,address,int256,int256,uint160,uint128,int24)"): self._swap3,
            topic("Mint(address,address,int24,int24,uint128,uint256,uint256)"): self._mint3,
            topic("Burn(address,int24,int24,uint128,uint256,uint256)"): self._burn3,
            topic("Collect(address,address,int24,int24,uint128,uint128)"): self._collect3,
            topic("CollectProtocol(address,address,uint128,uint128)"): self._collect_protocol3,
            topic("Flash(address,address,uint256,uint256,uint256,uint256)"): self._flash3,
            topic("SetFeeProtocol(uint8,uint8,uint8,uint8)"): self._protocol3,
            topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)"): self._swap4,
            topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)"): self._modify4,
            topic("Donate(bytes32,address,uint256,uint256)"): self._donate4,
            topic("ProtocolFeeUpdated(bytes32,uint24)"): self._protocol4,
        }

    def feed(self, logs: list[dict]) -> None:
        """Applies logs in order; ``blockTimestamp`` is their time."""
        for log in logs:
            handler = self._handlers.get(log["topics"][0]) if log["topics"] else None
            if handler is None:
                continue
            if handler in (self._pair, self._pool3, self._pool4):
                if log["address"].lower() in self.places:
                    handler(log, int(log["blockTimestamp"], 16))
                    self.events += 1
                continue
            key = log["address"].lower()
            if self.places.get(key) == "v4":
                key = log["topics"][1].lower()
            pool = self.pools.get(key)
            if pool is not None:
                now = int(log["blockTimestamp"], 16)
                self._at(pool, now)
                handler(log, pool)
                self.events += 1

    def touched(self, end: int) -> list[Pool]:
        """Closes the hours that end by then. Returns their pools, in the state at the end."""
        closed = [pool for pool in self.pools.values() if self.open.get(pool.key, end) < end]
        for pool in closed:
            self._close(pool)
        return closed

    def _at(self, pool: Pool, now: int) -> None:
        hour = now - now % HOUR
        if pool.key in self.open and self.open[pool.key] != hour:
            self._close(pool)
        if pool.key not in self.open:
            self.open[pool.key] = hour
            pool.bucket = Bucket()
            pool.since = hour
            if pool.price is not None:
                pool.seen()
        pool.pass_time(now)

    def _close(self, pool: Pool) -> None:
        hour = self.open.pop(pool.key)
        if isinstance(pool, Pair):
            pool.unexplained()
        pool.pass_time(hour + HOUR)
        bucket = pool.bucket
        for name, values in (("principal", pool.principal()), ("uncollected", pool.uncollected())):
            for side, value in enumerate(values):
                bucket[f"{name}{side}"] = value
        prices = bucket.pop("prices", [])
        if prices:
            named = ("open", prices[0]), ("high", max(prices)), ("low", min(prices)), ("close", prices[-1])
            bucket.update({f"{name}_sqrt_price_x96": price for name, price in named})
        bucket["swaps"] = len(bucket.swaps)
        self._wash(bucket)
        self.buckets[pool.key, hour] = bucket

    def _wash(self, bucket: Bucket) -> None:
        """What a transaction, or a recipient that is no router and no pool, sold and bought back."""
        by_transaction = defaultdict(list)
        for transaction, sender, recipient, flows in bucket.swaps:
            by_transaction[transaction].append((sender, recipient, flows))
        routers = {s for _, s, r, _ in bucket.swaps if r is not None and s != r}
        accounts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        washed = [0, 0]
        for swaps in by_transaction.values():
            total = [sum(flows[place] for *_, flows in swaps) for place in range(4)]
            for side in (0, 1):
                both = min(total[side], total[2 + side])
                washed[side] += both
                total[side] -= both
                total[2 + side] -= both
            recipients = {recipient for _, recipient, _ in swaps}
            if len(recipients) == 1 and None not in recipients:
                (account,) = recipients
                accounts[account] = [a + b for a, b in zip(accounts[account], total, strict=True)]
        for account, total in accounts.items():
            if account not in routers and account not in self.pools:
                for side in (0, 1):
                    washed[side] += min(total[side], total[2 + side])
        for side in (0, 1):
            bucket[f"washed{side}"] = washed[side]

    # --- creations ---------------------------------------------------------------------------------------

    def _add(self, pool: Pool, now: int) -> None:
        self.pools[pool.key] = pool
        self._at(pool, now)

    def _pair(self, log: dict, now: int) -> None:
        key = address(words(log)[0])
        self._add(Pair(key, (address(log["topics"][1]), address(log["topics"][2]))), now)

    def _pool3(self, log: dict, now: int) -> None:
        spacing, pool = words(log)
        tokens = address(log["topics"][1]), address(log["topics"][2])
        self._add(Ranges(address(pool), tokens, int(log["topics"][3], 16), spacing, False), now)

    def _pool4(self, log: dict, now: int) -> None:
        fee, spacing, _, price, tick = words(log)
        tokens = address(log["topics"][2]), address(log["topics"][3])
        pool = Ranges(log["topics"][1].lower(), tokens, fee, spacing, True)
        self._add(pool, now)
        pool.price, pool.tick = price, signed(tick)
        pool.seen()

    def _initialize(self, log: dict, pool: Ranges) -> None:
        price, tick = words(log)
        pool.price, pool.tick = price, signed(tick)
        pool.seen()

    # --- v2 ----------------------------------------------------------------------------------------------

    def _sync(self, log: dict, pool: Pair) -> None:
        pool.unexplained()
        reserves = tuple(words(log))
        pool.moved = (reserves[0] - pool.reserves[0], reserves[1] - pool.reserves[1])
        pool.reserves = reserves
        pool.price = isqrt((reserves[1] << 192) // reserves[0])
        pool.seen()

    def _swap2(self, log: dict, pool: Pair) -> None:
        in0, in1, out0, out1 = words(log)
        pool.explained((in0 - out0, in1 - out1))
        for side, amount in enumerate((in0, in1)):
            pool.bucket.add("volume", side, amount)
            pool.bucket.add("fee", side, amount * 3 // 1000)
        swap = log["transactionHash"], address(log["topics"][1]), address(log["topics"][2])
        pool.bucket.swaps.append((*swap, (in0, in1, out0, out1)))

    def _change2(self, log: dict, pool: Pair) -> None:
        first, second = words(log)[:2]
        is_mint = len(log["topics"]) == 2
        pool.explained((first, second) if is_mint else (-first, -second))

    def _shares(self, log: dict, pool: Pool) -> None:
        """Shares have no amounts of the pool."""

    # --- v3 ----------------------------------------------------------------------------------------------

    def _swap3(self, log: dict, pool: Ranges) -> None:
        moved0, moved1, price, liquidity, tick = words(log)
        moved = signed(moved0), signed(moved1)
        pool.swap(moved, price, liquidity, signed(tick), None)
        self._traded(log, pool, moved, address(log["topics"][2]))

    def _traded(self, log: dict, pool: Ranges, moved: tuple[int, int], recipient: str | None) -> None:
        pool.seen()
        flows = max(moved[0], 0), max(moved[1], 0), max(-moved[0], 0), max(-moved[1], 0)
        sender = address(log["topics"][2 if pool.v4 else 1])
        pool.bucket.swaps.append((log["transactionHash"], sender, recipient, flows))

    def _ranged(self, log: dict) -> tuple[str, int, int]:
        owner, lower, upper = log["topics"][1:4]
        return address(owner), signed(int(lower, 16)), signed(int(upper, 16))

    def _mint3(self, log: dict, pool: Ranges) -> None:
        owner, lower, upper = self._ranged(log)
        _, amount, moved0, moved1 = words(log)
        assert pool.principal_of(lower, upper, amount) == (moved0, moved1)
        pool.modify((owner,), lower, upper, amount)
        pool.held = [pool.held[0] + moved0, pool.held[1] + moved1]

    def _burn3(self, log: dict, pool: Ranges) -> None:
        owner, lower, upper = self._ranged(log)
        amount, moved0, moved1 = words(log)
        if amount:
            assert pool.principal_of(lower, upper, -amount) == (-moved0, -moved1)
        pool.modify((owner,), lower, upper, -amount)
        known = pool.positions[owner, lower, upper]
        known[3], known[4] = known[3] + moved0, known[4] + moved1

    def _collect3(self, log: dict, pool: Ranges) -> None:
        owner, lower, upper = self._ranged(log)
        _, moved0, moved1 = words(log)
        known = pool.positions[owner, lower, upper]
        known[3], known[4] = known[3] - moved0, known[4] - moved1
        assert min(known[3:]) >= 0
        pool.held = [pool.held[0] - moved0, pool.held[1] - moved1]

    def _collect_protocol3(self, log: dict, pool: Ranges) -> None:
        for side, amount in enumerate(words(log)):
            pool.held[side] -= amount
            pool.owed_to_protocol[side] -= amount

    def _flash3(self, log: dict, pool: Ranges) -> None:
        _, _, *paid = words(log)
        for side, amount in enumerate(paid):
            part = amount // pool.protocol[side] if pool.protocol[side] else 0
            pool.growth[side] = (pool.growth[side] + ((amount - part) << 128) // pool.liquidity) & WORD
            pool.held[side] += amount
            pool.owed_to_protocol[side] += part
            pool.bucket.add("flash_fee", side, amount)
            pool.bucket.add("lp_fee", side, amount - part)
            pool.bucket.add("protocol_fee", side, part)

    def _protocol3(self, log: dict, pool: Ranges) -> None:
        pool.protocol = tuple(words(log)[2:])

    # --- v4 ----------------------------------------------------------------------------------------------

    def _swap4(self, log: dict, pool: Ranges) -> None:
        moved0, moved1, price, liquidity, tick, fee = words(log)
        moved = -signed(moved0), -signed(moved1)
        pool.swap(moved, price, liquidity, signed(tick), fee)
        self._traded(log, pool, moved, None)

    def _modify4(self, log: dict, pool: Ranges) -> None:
        lower, upper, delta, salt = words(log)
        lower, upper, delta = signed(lower), signed(upper), signed(delta)
        owner = address(log["topics"][2]), salt
        moved = pool.principal_of(lower, upper, delta) if delta else (0, 0)
        pool.modify(owner, lower, upper, delta)
        known = pool.positions[(*owner, lower, upper)]
        for side in (0, 1):
            pool.held[side] += moved[side] - known[3 + side]
            known[3 + side] = 0

    def _donate4(self, log: dict, pool: Ranges) -> None:
        for side, amount in enumerate(words(log)):
            pool.growth[side] = (pool.growth[side] + (amount << 128) // pool.liquidity) & WORD
            pool.held[side] += amount
            pool.bucket.add("donated", side, amount)

    def _protocol4(self, log: dict, pool: Ranges) -> None:
        (packed,) = words(log)
        pool.protocol = packed & 0xFFF, packed >> 12
