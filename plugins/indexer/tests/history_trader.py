"""Random operations of v2 pairs, v3 pools and the v4 PoolManager on a devnet, many in a block, over days.

The account that trades has code that pays what a v3 pool asks of it, or that settles with claims what an
operation of the PoolManager leaves.
"""

from __future__ import annotations

import random

from eth_abi import encode
from eth_utils import keccak

PAYER = "0x00000000000000000000000000000000C0de0003"
CLAIMANT = "0x00000000000000000000000000000000C0de0004"
NATIVE = "0x" + "00" * 20
PLENTY = 10**33
KEY = "(address,address,uint24,int24,address)"
CHANGE = "(int24,int24,int256,bytes32)"
SWAP = "(bool,int256,uint160)"
LOWEST, HIGHEST = 4295128740, 1461446703485210103287273052203988822378723970341
GAS = hex(1_500_000)


def call(signature: str, *values: object, types: tuple[str, ...] | None = None) -> bytes:
    inner = signature[signature.index("(") + 1 : -1]
    return keccak(text=signature)[:4] + encode(types or [t for t in inner.split(",") if t], values)


def assembled(*parts: bytes | str) -> bytes:
    """Puts code together. ``":name"`` is a place to jump to, ``"@name"`` pushes it."""
    places, code = {}, b""
    for part in parts:
        if isinstance(part, str):
            if part[0] == ":":
                places[part[1:]] = len(code)
            code += b"\x61\0\0" if part[0] == "@" else b"\x5b"
        else:
            code += part
    code, at = bytearray(code), 0
    for part in parts:
        if isinstance(part, str) and part[0] == "@":
            code[at + 1 : at + 3] = places[part[1:]].to_bytes(2)
        at += len(part) if isinstance(part, bytes) else (3 if part[0] == "@" else 1)
    return bytes(code)


def stored_selector(signature: str) -> bytes:
    return b"\x7f" + keccak(text=signature)[:4].ljust(32, b"\0") + bytes.fromhex("600052")


def payer_code() -> bytes:
    """Pays a v3 pool what is positive of the amounts of its callback, by the tokens in its data."""
    parts: list[bytes | str] = []
    for side in (0, 1):
        parts += [bytes([0x60, 4 + 32 * side]) + bytes.fromhex("358060001215"), f"@none{side}", b"\x57"]
        parts += [stored_selector("transfer(address,uint256)"), bytes.fromhex("3360045280602452")]
        parts += [bytes.fromhex("60006000604460006000"), bytes([0x60, 132 + 32 * side])]
        parts += [bytes.fromhex("355af150"), f":none{side}", b"\x50"]
    return assembled(*parts, b"\x00")


def claimant_code() -> bytes:
    """Makes the call in the data of ``unlockCallback``, then mints or burns claims of what is owed."""
    size = bytes.fromhex("608060243503")
    parts: list[bytes | str] = [size, bytes.fromhex("60c4600037"), bytes.fromhex("60006000"), size]
    parts += [bytes.fromhex("60006000335af1"), "@done", bytes.fromhex("5760006000fd"), ":done"]
    for side in (0, 1):
        parts += [stored_selector("exttload(bytes32)"), bytes([0x60, 132 + 32 * side])]
        parts += [bytes.fromhex("3560045260206000602460006000335af150600051")]
        parts += [stored_selector("mint(address,uint256,uint256)"), bytes.fromhex("80600012")]
        parts += [f"@owed{side}", b"\x57", stored_selector("burn(address,uint256,uint256)")]
        parts += [bytes.fromhex("600003"), f":owed{side}", bytes.fromhex("60445230600452")]
        parts += [bytes([0x60, 68 + 32 * side]), bytes.fromhex("35602452")]
        parts += [bytes.fromhex("60006000606460006000335af150")]
    return assembled(*parts, bytes.fromhex("6020600052600060205260406000f3"))


class HistoryTrader:
    """Sends random operations to the pools of a devnet, and mines them at times of its choice."""

    def __init__(self, rpc, manifest, seed: int, most_pools: int = 1000) -> None:
        self.rpc, self.manifest, self.chance = rpc, manifest, random.Random(seed)
        pools = [p for p in manifest.pools if p.hooks == NATIVE and "TAX" not in p.pair]
        self.pools = []
        for protocol in ("uniswap-v2", "uniswap-v3", "uniswap-v4"):
            self.pools += [p for p in pools if p.protocol == protocol][:most_pools]
        self.manager = manifest.contracts["PoolManager"]
        self.ranges: dict[str, list[list[int]]] = {}
        self.states: dict[str, list[int]] = {}
        self.calls: list[tuple[str, list[object]]] = []
        self._prepare()

    def _prepare(self) -> None:
        rpc, tokens = self.rpc, {t for p in self.pools for t in (p.token0, p.token1)} - {NATIVE}
        weth = self.manifest.contracts["WETH9"]
        for account in (PAYER, CLAIMANT):
            rpc("anvil_impersonateAccount", account)
            rpc("anvil_setBalance", account, hex(PLENTY))
            for token in tokens:
                if token == weth:
                    self._do(account, token, call("deposit()"), PLENTY // 10)
                else:
                    self._do(account, token, call("mint(address,uint256)", account, PLENTY))
        for token in (NATIVE, *sorted(tokens)):
            amount = PLENTY // 100
            calls = []
            if token == NATIVE:
                calls.append((self.manager, amount, call("settle()")))
            else:
                calls.append((self.manager, 0, call("sync(address)", token)))
                calls.append((token, 0, call("transfer(address,uint256)", self.manager, amount)))
                calls.append((self.manager, 0, call("settle()")))
            mint = call("mint(address,uint256,uint256)", CLAIMANT, int(token, 16), amount)
            calls.append((self.manager, 0, mint))
            rpc("anvil_setCode", CLAIMANT, "0x" + calling_code(calls).hex())
            self._do(CLAIMANT, self.manager, call("unlock(bytes)", b""))
        rpc("anvil_setCode", PAYER, "0x" + payer_code().hex())
        rpc("anvil_setCode", CLAIMANT, "0x" + claimant_code().hex())

    def _do(self, sender: str, to: str, data: bytes, wei: int = 0) -> None:
        transaction = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(wei), "gas": GAS}
        assert self.rpc.send(transaction)["status"] == "0x1"

    def _send(self, sender: str, to: str, data: bytes) -> None:
        transaction = {"from": sender, "to": to, "data": "0x" + data.hex(), "gas": GAS}
        self.calls.append(("eth_sendTransaction", [transaction]))

    def mine(self, timestamp: int, operations: int) -> None:
        """Mines a block of random operations."""
        chosen = [self.chance.choice(self.pools) for _ in range(operations)]
        self._read({p.id: p for p in chosen})
        self.calls = []
        for pool in chosen:
            {"uniswap-v2": self._pair, "uniswap-v3": self._pool, "uniswap-v4": self._managed}[pool.protocol](
                pool
            )
        mine_block(self.rpc, self.calls, timestamp)

    def switch_fees(self, on: bool, timestamp: int) -> None:
        """Sets the protocol fees of all pools, in a block of its own, and collects those of some v3 pools."""
        factory = self.manifest.contracts["UniswapV2Factory"]
        setter = self._owner(factory, "feeToSetter()")
        self.calls = []
        self._send(setter, factory, call("setFeeTo(address)", CLAIMANT if on else NATIVE))
        self._switch_range_fees(on)
        mine_block(self.rpc, self.calls, timestamp)

    def switch_range_fees(self, on: bool, timestamp: int) -> None:
        """Does the same for v3 and v4 pools alone."""
        self.calls = []
        self._switch_range_fees(on)
        mine_block(self.rpc, self.calls, timestamp)

    def _switch_range_fees(self, on: bool) -> None:
        chance = self.chance
        owner3 = self._owner(self.manifest.contracts["UniswapV3Factory"], "owner()")
        owner4 = self._owner(self.manager, "owner()")
        self._send(owner4, self.manager, call("setProtocolFeeController(address)", owner4))
        for pool in self.pools:
            if pool.protocol == "uniswap-v3":
                shares = (chance.randint(4, 10), chance.randint(4, 10)) if on else (0, 0)
                self._send(owner3, pool.id, call("setFeeProtocol(uint8,uint8)", *shares))
                if chance.random() < 0.5:
                    sizes = (1 << 128) - 1, chance.randrange(10**6)
                    self._send(
                        owner3, pool.id, call("collectProtocol(address,uint128,uint128)", PAYER, *sizes)
                    )
            elif pool.protocol == "uniswap-v4":
                fee = chance.randint(1, 1000) << 12 | chance.randint(1, 1000) if on else 0
                signature = f"setProtocolFee({KEY},uint24)"
                data = call(signature, self._key(pool), fee, types=(KEY, "uint24"))
                self._send(owner4, self.manager, data)

    def _owner(self, contract: str, getter: str) -> str:
        ((word,),) = reading(self.rpc, [(contract, call(getter))])
        owner = f"0x{word:040x}"
        self.rpc("anvil_impersonateAccount", owner)
        self.rpc("anvil_setBalance", owner, hex(10**20))
        return owner

    def _key(self, pool) -> tuple:
        return pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks

    def _read(self, pools) -> None:
        asked = []
        for pool in pools.values():
            if pool.protocol == "uniswap-v2":
                asked.append((pool.id, call("getReserves()")))
            elif pool.protocol == "uniswap-v3":
                asked.append((pool.id, call("slot0()")))
            else:
                asked.append((self.manager, call("extsload(bytes32)", slot_of(pool.id))))
        for (key, pool), answer in zip(pools.items(), reading(self.rpc, asked), strict=True):
            if pool.protocol == "uniswap-v2":
                self.states[key] = answer[:2]
            elif pool.protocol == "uniswap-v3":
                self.states[key] = [answer[0], signed(answer[1], 256)]
            else:
                self.states[key] = [answer[0] & ((1 << 160) - 1), signed(answer[0] >> 160, 24)]

    def _size(self, whole: int) -> int:
        return max(1, int(whole * 10 ** self.chance.uniform(-7, -2)))

    def _pair(self, pool) -> None:
        chance, reserves, roll = self.chance, self.states[pool.id], self.chance.random()
        tokens = pool.token0, pool.token1

        def give(side: int, amount: int) -> None:
            self._send(PAYER, tokens[side], call("transfer(address,uint256)", pool.id, amount))

        if roll < 0.75:
            side = chance.randrange(2)
            amount = self._size(reserves[side])
            give(side, amount)
            out = amount * 997 * reserves[1 - side] // (reserves[side] * 1000 + amount * 997)
            if not out:
                return
            outs = (0, out) if side == 0 else (out, 0)
            to = chance.choice((PAYER, "0x" + chance.randbytes(20).hex()))
            self._send(PAYER, pool.id, call("swap(uint256,uint256,address,bytes)", *outs, to, b""))
            reserves[side], reserves[1 - side] = reserves[side] + amount, reserves[1 - side] - out
        elif roll < 0.87:
            share = 10 ** chance.uniform(-6, -2)
            for side in (0, 1):
                amount = max(1, int(reserves[side] * share))
                give(side, amount)
                reserves[side] += amount
            self._send(PAYER, pool.id, call("mint(address)", PAYER))
        elif roll < 0.95:
            shares = chance.randrange(1, 10**12)
            self._send(PAYER, pool.id, call("transfer(address,uint256)", pool.id, shares))
            self._send(PAYER, pool.id, call("burn(address)", PAYER))
        else:
            for side in (0, 1):
                amount = self._size(reserves[side])
                give(side, amount)
                reserves[side] += amount
            self._send(PAYER, pool.id, call("sync()"))

    def _range(self, pool) -> tuple[int, int]:
        chance, spacing, tick = self.chance, pool.tick_spacing, self.states[pool.id][1]
        middle = tick // spacing + chance.randint(-30, 30)
        width = chance.choice((1, 2, 5, 20, 100))
        return (middle - width) * spacing, (middle + width) * spacing

    def _limit(self, pool, down: bool) -> int:
        price = self.states[pool.id][0]
        if self.chance.random() < 0.3:
            return price * 999 // 1000 if down else price * 1001 // 1000
        return LOWEST if down else HIGHEST

    def _sized_swap(self, pool, down: bool) -> tuple[int, bool]:
        whole = {6: 10**10, 8: 10**7}.get(self._decimals(pool, down), 10**21)
        return self._size(whole), self.chance.random() < 0.6

    def _decimals(self, pool, down: bool) -> int:
        token = pool.token0 if down else pool.token1
        return next((t.decimals for t in self.manifest.tokens if t.address == token), 18)

    def _liquidity(self) -> int:
        return int(10 ** self.chance.uniform(9, 19))

    def _pool(self, pool) -> None:
        chance, roll = self.chance, self.chance.random()
        known = self.ranges.setdefault(pool.id, [])
        paying = encode(["address", "address"], [pool.token0, pool.token1])
        if roll < 0.65:
            down = chance.random() < 0.5
            size, exact_in = self._sized_swap(pool, down)
            to = chance.choice((PAYER, "0x" + chance.randbytes(20).hex()))
            limit = self._limit(pool, down)
            signature = "swap(address,bool,int256,uint160,bytes)"
            self._send(PAYER, pool.id, call(signature, to, down, size if exact_in else -size, limit, paying))
        elif roll < 0.78 or not known:
            lower, upper = self._range(pool)
            amount = self._liquidity()
            known.append([lower, upper, amount])
            signature = "mint(address,int24,int24,uint128,bytes)"
            self._send(PAYER, pool.id, call(signature, PAYER, lower, upper, amount, paying))
        elif roll < 0.95:
            at = chance.randrange(len(known))
            lower, upper, amount = known[at]
            size = chance.choice((0, amount, amount // 3))
            known[at][2] -= size
            if not known[at][2]:
                known.pop(at)
            self._send(PAYER, pool.id, call("burn(int24,int24,uint128)", lower, upper, size))
            if chance.random() < 0.7:
                most = chance.choice(((1 << 128) - 1, chance.randrange(1 << 40)))
                signature = "collect(address,int24,int24,uint128,uint128)"
                self._send(PAYER, pool.id, call(signature, PAYER, lower, upper, most, most))
        else:
            sizes = chance.randrange(10**9), chance.randrange(10**9)
            signature = "flash(address,uint256,uint256,bytes)"
            self._send(PAYER, pool.id, call(signature, pool.id, *sizes, paying))

    def _managed(self, pool) -> None:
        chance, roll = self.chance, self.chance.random()
        known = self.ranges.setdefault(pool.id, [])
        key = self._key(pool)
        modify = f"modifyLiquidity({KEY},{CHANGE},bytes)"
        if roll < 0.65:
            down = chance.random() < 0.5
            size, exact_in = self._sized_swap(pool, down)
            change = (down, -size if exact_in else size, self._limit(pool, down))
            data = call(f"swap({KEY},{SWAP},bytes)", key, change, b"", types=(KEY, SWAP, "bytes"))
        elif roll < 0.78 or not known:
            lower, upper = self._range(pool)
            salt, amount = chance.choice((b"", b"\1")).rjust(32, b"\0"), self._liquidity()
            known.append([lower, upper, amount, salt])
            change = (lower, upper, amount, salt)
            data = call(modify, key, change, b"", types=(KEY, CHANGE, "bytes"))
        elif roll < 0.95:
            at = chance.randrange(len(known))
            lower, upper, amount, salt = known[at]
            size = chance.choice((0, amount, amount // 3))
            known[at][2] -= size
            if not known[at][2]:
                known.pop(at)
            data = call(modify, key, (lower, upper, -size, salt), b"", types=(KEY, CHANGE, "bytes"))
        else:
            signature = f"donate({KEY},uint256,uint256,bytes)"
            types = (KEY, "uint256", "uint256", "bytes")
            sizes = chance.randrange(10**9), chance.randrange(10**9)
            data = call(signature, key, *sizes, b"", types=types)
        currencies = int(pool.token0, 16), int(pool.token1, 16)
        slots = [keccak(encode(["address", "uint256"], [CLAIMANT, each])) for each in currencies]
        payload = encode(["uint256", "uint256", "bytes32", "bytes32"], [*currencies, *slots]) + data
        self._send(CLAIMANT, self.manager, call("unlock(bytes)", payload))


def calling_code(calls) -> bytes:
    """Code that makes these calls, each (address, wei, calldata), and returns empty bytes."""
    code = b""
    for to, wei, data in calls:
        for at in range(0, len(data), 32):
            code += b"\x7f" + data[at : at + 32].ljust(32, b"\0") + b"\x61" + at.to_bytes(2) + b"\x52"
        code += bytes.fromhex("60006000") + b"\x61" + len(data).to_bytes(2) + bytes.fromhex("6000")
        code += b"\x7f" + wei.to_bytes(32) + b"\x73" + bytes.fromhex(to[2:]) + bytes.fromhex("5af150")
    return code + bytes.fromhex("6020600052600060205260406000f3")


def slot_of(pool_id: str, at: int = 0) -> bytes:
    """The slot of a member of a v4 pool: PoolManager keeps them from slot 6."""
    first = int.from_bytes(keccak(bytes.fromhex(pool_id[2:]) + (6).to_bytes(32)))
    return (first + at).to_bytes(32)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def mine_block(rpc, calls, timestamp: int) -> None:
    """Mines a block with these transactions."""
    rpc("evm_setAutomine", False)
    rpc.batch(calls)
    rpc("evm_setNextBlockTimestamp", timestamp)
    rpc("evm_mine")
    rpc("evm_setAutomine", True)


def reading(rpc, asked, block: str = "latest") -> list[list[int]]:
    """Returns the words that calls give at a block."""
    calls = [("eth_call", [{"to": to, "data": "0x" + data.hex()}, block]) for to, data in asked]
    return [
        [int(answer[at : at + 64], 16) for at in range(2, len(answer), 64)] for answer in rpc.batch(calls)
    ]
