"""Reads a devnet chain: calls in batches, and pools with all their ticks."""

import http.client
import json

from eth_abi import decode, encode
from eth_utils import keccak
from quoteway_amm import MAX_TICK, MIN_TICK, ConcentratedPool, V2Pool, word_of_tick

GAS = hex(10**9)
MAX_UINT256, MAX_UINT160, MAX_UINT48 = 2**256 - 1, 2**160 - 1, 2**48 - 1
MINT_V3 = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"


def calldata(signature, *values):
    return keccak(text=signature)[:4] + encode(split(signature[signature.index("(") :]), values)


def split(types):
    """Returns the top-level types of a parenthesised list."""
    parts, depth, start = [], 0, 1
    for at, letter in enumerate(types):
        depth += (letter == "(") - (letter == ")")
        if (letter == "," and depth == 1) or (letter == ")" and depth == 0):
            parts.append(types[start:at])
            start = at + 1
    return [part for part in parts if part]


class ChainState:
    """Blocking access to one chain; `sender` is an unlocked, funded account."""

    def __init__(self, port, manifest, sender):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.contracts = manifest.contracts
        self.sender = sender
        self.ticks = {}

    def batch(self, requests):
        """Returns results in order; None for a request that failed."""
        body = [
            {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
            for at, (method, params) in enumerate(requests)
        ]
        self.connection.request("POST", "/", json.dumps(body), {"Content-Type": "application/json"})
        answers = {answer["id"]: answer for answer in json.loads(self.connection.getresponse().read())}
        return [answers[at].get("result") for at in range(len(requests))]

    def calls(self, calls, outputs):
        """Returns decoded results of (target, calldata) pairs; None for a call that reverted."""
        requests = [
            ("eth_call", [{"from": self.sender, "to": to, "data": "0x" + data.hex(), "gas": GAS}, "latest"])
            for to, data in calls
        ]
        results = []
        for start in range(0, len(requests), 200):
            results += self.batch(requests[start : start + 200])
        return [None if found is None else decode(outputs, bytes.fromhex(found[2:])) for found in results]

    def call(self, to, signature, *values, returns):
        found = self.calls([(to, calldata(signature, *values))], returns)[0]
        assert found is not None, signature
        return found

    def multicall(self, calls, output):
        """Returns one decoded value per (target, calldata) pair; no call may revert."""
        values = []
        for start in range(0, len(calls), 1000):
            chunk = [(to, False, data) for to, data in calls[start : start + 1000]]
            (found,) = self.call(
                self.contracts["Multicall3"],
                "aggregate3((address,bool,bytes)[])",
                chunk,
                returns=["(bool,bytes)[]"],
            )
            values += [decode(output, data) for _, data in found]
        return values

    def send(self, to, data, value=0, sender=None):
        """Sends a transaction and returns its receipt; asserts success."""
        transaction = {
            "from": sender or self.sender, "to": to, "data": "0x" + data.hex(), "value": hex(value),
            "gas": hex(25_000_000),
        }  # fmt: skip
        (identity,) = self.batch([("eth_sendTransaction", [transaction])])
        assert identity is not None
        receipt = None
        while receipt is None:
            (receipt,) = self.batch([("eth_getTransactionReceipt", [identity])])
        assert int(receipt["status"], 16) == 1
        return receipt

    def impersonate(self, account):
        self.batch([("anvil_impersonateAccount", [account]), ("anvil_setBalance", [account, hex(10**20)])])

    def snapshot(self, pool):
        """Returns the pool at the latest block. Ticks are read once: only positions change them."""
        if pool.protocol == "uniswap-v2":
            reserve0, reserve1, _ = self.call(
                pool.id, "getReserves()", returns=["uint112", "uint112", "uint32"]
            )
            return V2Pool(pool.id, pool.token0, pool.token1, reserve0, reserve1)
        if pool.id not in self.ticks:
            self.ticks[pool.id] = self.read_ticks(pool)
        words = word_of_tick(MIN_TICK, pool.tick_spacing), word_of_tick(MAX_TICK, pool.tick_spacing)
        if pool.protocol == "uniswap-v3":
            slot0 = ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"]
            price, tick, _, _, _, protocol, _ = self.call(pool.id, "slot0()", returns=slot0)
            (liquidity,) = self.call(pool.id, "liquidity()", returns=["uint128"])
            kind, fee, fees = "v3", pool.fee, (protocol % 16, protocol >> 4)
        else:
            view, identity = self.contracts["StateView"], bytes.fromhex(pool.id[2:])
            slot0 = ["uint160", "int24", "uint24", "uint24"]
            price, tick, protocol, fee = self.call(view, "getSlot0(bytes32)", identity, returns=slot0)
            (liquidity,) = self.call(view, "getLiquidity(bytes32)", identity, returns=["uint128"])
            kind, fees = "v4", (protocol & 0xFFF, protocol >> 12)
        return ConcentratedPool(
            kind, pool.id, pool.token0, pool.token1, fee, pool.tick_spacing, price, tick, liquidity,
            self.ticks[pool.id], *words, *fees,
        )  # fmt: skip

    def read_ticks(self, pool):
        spacing = pool.tick_spacing
        words = range(word_of_tick(MIN_TICK, spacing), word_of_tick(MAX_TICK, spacing) + 1)
        if pool.protocol == "uniswap-v3":
            bitmaps = [(pool.id, calldata("tickBitmap(int16)", word)) for word in words]
        else:
            view, identity = self.contracts["StateView"], bytes.fromhex(pool.id[2:])
            bitmaps = [(view, calldata("getTickBitmap(bytes32,int16)", identity, word)) for word in words]
        found = [
            ((word << 8) + bit) * spacing
            for word, (bitmap,) in zip(words, self.multicall(bitmaps, ["uint256"]), strict=True)
            if bitmap
            for bit in range(256)
            if bitmap >> bit & 1
        ]
        if pool.protocol == "uniswap-v3":
            nets = [(pool.id, calldata("ticks(int24)", tick)) for tick in found]
        else:
            nets = [(view, calldata("getTickLiquidity(bytes32,int24)", identity, tick)) for tick in found]
        values = self.multicall(nets, ["uint128", "int128"])
        return tuple((tick, net) for tick, (_, net) in zip(found, values, strict=True))
