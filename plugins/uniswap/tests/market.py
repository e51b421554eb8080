"""A devnet chain as a market: own pools and tokens, trades, time, and what the contracts say of prices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eth_abi import encode
from eth_utils import keccak
from execution import Reverted
from liquidity import LiquidityHarness
from quoteway import NATIVE, GatewayError, Token
from quoteway.evm.abi import encode_call
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.anvil import STATES_KEPT
from quoteway_devnet.chains import Devnet
from quoteway_devnet.pools import Site, create_pools
from quoteway_devnet.tables import NATIVE_SYMBOL, PoolRow, Range, TokenRow, token_rows
from quoteway_devnet.transactions import DEPLOYER, Transactions

TRADER = ACCOUNTS[9].address
FULL = (Range(None, None, 100),)
GRANT_USD = 10**9
_V4_POOLS_SLOT = 6
_CHUNKS = 10
_OLDER = 10


class Market(LiquidityHarness):
    """One scenario on the devnet. ``rows`` describe its tokens by symbol, those of the scenario included."""

    def __init__(self, devnet: Devnet, seed: int, block_s: int) -> None:
        super().__init__(devnet, block_time_s=float(block_s))
        self.chance = random.Random(seed)
        self.block_s = block_s
        self.rows = {row.symbol: row for row in token_rows("devnet")}
        self.own_pools: list[Any] = []

    @property
    def usd(self) -> dict[str, float]:
        """The dollars per whole token that the devnet began with."""
        return {symbol: float(row.price) for symbol, row in self.rows.items()}

    def wait(self, seconds: int, *, then_s: int = 0) -> None:
        """Lets blocks come for so long: at least one. ``then_s``: how long nothing is read afterwards.

        Blocks whose state is gone when they are read are further apart: anvil makes a hundred a second.
        """
        blocks = max(seconds // self.block_s, 1)
        read = max(STATES_KEPT - then_s // self.block_s, 0)
        if blocks > read + _OLDER:
            older_s = seconds - read * self.block_s
            self.rpc("anvil_mine", hex(_OLDER), hex(older_s // _OLDER))
            blocks = read
        if blocks:
            self.rpc("anvil_mine", hex(blocks), hex(self.block_s))

    def units(self, symbol: str, usd: float) -> int:
        row = self.rows["WETH" if symbol == NATIVE_SYMBOL else symbol]
        return max(int(usd / float(row.price) * 10**row.decimals), 1)

    def begin(self, seconds: int) -> None:
        """Gives the trader and the holder enough for every scenario, and lets so much time pass."""
        sending = self._transactions()
        weth = self.network.wrapped_native
        sending.later("wrapping", weth, encode_call("deposit()", []), 2 * self.units("WETH", GRANT_USD))
        for symbol, row in self.rows.items():
            verb = "transfer" if row.behaviour == "wrapped" else "mint"
            for account in (TRADER, self.sender):
                data = encode_call(f"{verb}(address,uint256)", [account, self.units(symbol, GRANT_USD)])
                sending.later("granting", self.tokens[symbol].address, data)
        sending.flush()
        # The same second of a day's minutes in every run: prices are sampled every sixth minute.
        now_s = int(self.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
        start_s = (now_s // 3_600 + 1) * 3_600 + self.chance.randrange(3_600)
        self.rpc("evm_setNextBlockTimestamp", hex(start_s))
        self.wait(seconds)

    # --- what an attacker makes -----------------------------------------------------------------------------

    def make_token(self, symbol: str, usd: str, decimals: int = 18) -> None:
        """Deploys a token whose pools will say ``usd`` dollars, and gives the trader and the holder of it."""
        sending = self._transactions()
        address = sending.deploy("MintableToken", "(string,string,uint8)", symbol, symbol, decimals)
        self.rows[symbol] = TokenRow(symbol, symbol, decimals, usd)
        self.tokens[symbol] = Token(self.network.chain_id, address, decimals, symbol)
        for account in (TRADER, self.sender, DEPLOYER):
            amount = self.units(symbol, 10 * GRANT_USD)
            sending.later("minting", address, encode_call("mint(address,uint256)", [account, amount]))
        sending.flush()

    def make_pools(self, *pools: PoolRow, usd: dict[str, str] | None = None) -> list[Any]:
        """Creates pools, at other prices of tokens where ``usd`` has them, and returns their manifests."""
        wrong = {symbol: replace(self.rows[symbol], usd=price) for symbol, price in (usd or {}).items()}
        rows = self.rows | wrong
        addresses = {symbol: self.tokens[symbol].address for symbol in rows}
        site = Site(
            self._transactions(),
            self.manifest.contracts,
            addresses | {NATIVE_SYMBOL: NATIVE},
            rows | {NATIVE_SYMBOL: rows["WETH"]},
        )
        made = list(create_pools(site, pools))
        self.own_pools += made
        return made

    def _transactions(self) -> Transactions:
        made = Transactions(self.rpc)
        made._nonce = int(self.rpc("eth_getTransactionCount", DEPLOYER, "latest"), 16)
        return made

    async def push(self, pool: Any, sold: str, usd: float) -> None:
        """Sells about so many dollars of a token to this pool only, or less where it takes no more."""
        bought = pool.token1 if sold == pool.token0 else pool.token0
        symbols = {token.address: symbol for symbol, token in self.tokens.items()}
        for _ in range(6):
            try:
                return await self.swap_in(pool, sold, bought, self.units(symbols[sold], usd))
            except (LookupError, GatewayError, Reverted):
                usd /= 2
        raise LookupError(f"{pool.pair} takes nothing")

    def donate(self, pair: Any, sold: str, usd: float) -> None:
        """Gives a v2 pair tokens for nothing, so that its price moves."""
        symbol = next(symbol for symbol, token in self.tokens.items() if token.address == sold)
        self._send(TRADER, sold, encode_call("transfer(address,uint256)", [pair.id, self.units(symbol, usd)]))
        self._send(TRADER, pair.id, encode_call("sync()", []))
        self.rpc("evm_mine")

    def _send(self, sender: str, to: str, data: bytes) -> None:
        self.rpc(
            "eth_sendTransaction", {"from": sender, "to": to, "data": "0x" + data.hex(), "gas": hex(300_000)}
        )

    # --- what is true ---------------------------------------------------------------------------------------

    async def sold_for(self, symbol: str, amount: int, enough: float) -> float:
        """Returns the dollars that the router really pays the holder for an amount, at once or in parts.

        It is sold once, and in parts when that pays less than ``enough``. Nothing stays changed.
        """
        best = amount / 10**6 if symbol == "USDC" else 0.0
        for parts in (1, _CHUNKS):
            if best < enough and symbol != "USDC":
                snapshot = self.rpc("evm_snapshot")
                paid = [await self._sold(symbol, amount // parts) for _ in range(parts)]
                best = max(best, sum(paid) / 10**6)
                self.rewind(snapshot)
        return best

    async def _sold(self, symbol: str, amount: int) -> int:
        """Sells as much of an amount as there is a route for."""
        while amount:
            try:
                return (await self.swap(self.request(symbol, "USDC", amount))).received
            except (LookupError, GatewayError, Reverted):
                amount //= 4
        return 0

    def pool_price(self, pool: Any) -> float:
        """Returns what the contract says: whole coins of token1 per coin of token0."""
        if pool.protocol == "uniswap-v2":
            answer = self.rpc("eth_call", {"to": pool.id, "data": "0x0902f1ac"}, "latest")
            ratio = int(answer[66:130], 16) / int(answer[2:66], 16)
        else:
            to, data = pool.id, "0x3850c7bd"
            if pool.protocol == "uniswap-v4":
                slot = keccak(bytes.fromhex(pool.id[2:]) + _V4_POOLS_SLOT.to_bytes(32))
                to = self.manifest.contracts["PoolManager"]
                data = "0x1e2eaeaf" + encode(["bytes32"], [slot]).hex()
            word = int(self.rpc("eth_call", {"to": to, "data": data}, "latest")[:66], 16)
            ratio = ((word & ((1 << 160) - 1)) / 2**96) ** 2
        decimals = [self._row_of(token).decimals for token in (pool.token0, pool.token1)]
        return float(ratio) * 10.0 ** (decimals[0] - decimals[1])

    def true_prices(self, pools: Sequence[Any]) -> dict[str, float]:
        """Returns the dollars per token by symbol that the pools' contracts say, weighted by what they hold.

        Independent of the code under test: plain reads, and a weighted median over pools with priced tokens.
        """
        said: dict[str, list[tuple[str, float, float]]] = {}
        for pool in pools:
            first, second = self._row_of(pool.token0).symbol, self._row_of(pool.token1).symbol
            price = self.pool_price(pool)
            said.setdefault(first, []).append((second, price, float(pool.depth_usd)))
            said.setdefault(second, []).append((first, 1 / price, float(pool.depth_usd)))
        known = {"USDC": 1.0, "USDT": 1.0, "DAI": 1.0}
        for symbol in ("WETH", "WBTC", "wstETH", *sorted(said)):
            known.setdefault(symbol, _median([(p * known[o], w) for o, p, w in said[symbol] if o in known]))
        return known

    def _row_of(self, address: str) -> TokenRow:
        wrapped = self.network.wrapped_native if address == NATIVE else address
        return next(row for row in self.rows.values() if self.tokens[row.symbol].address == wrapped)


def _median(said: list[tuple[float, float]]) -> float:
    half, reached = sum(weight for _, weight in said) / 2, 0.0
    for value, weight in sorted(said):
        reached += weight
        if reached >= half:
            return value
    raise AssertionError("no pool tells the price")
