"""The contents of the two chains as rows of data: tokens with prices, pools, vaults.

All pool prices follow from one table of USD prices, so there is no arbitrage at the start. Depths and fees
differ, so that routes of one, two and three hops are each the best for some pair: EURC, GHO, MKR, CRV, LDO,
cbBTC and PEPE trade against a single other token.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Behaviour = Literal["plain", "wrapped", "no_return", "fee_on_transfer"]
Protocol = Literal["v2", "v3", "v4"]

NATIVE_SYMBOL = "ETH"
"""The native coin's symbol."""


@dataclass(frozen=True, slots=True)
class ChainRow:
    """A chain of the devnet."""

    slug: str
    chain_id: int
    name: str
    default_port: int


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token; ``behaviour`` selects its contract."""

    symbol: str
    name: str
    decimals: int
    usd: str
    behaviour: Behaviour = "plain"

    @property
    def price(self) -> Fraction:
        """US dollars for one whole token."""
        return Fraction(self.usd)

    def base_units(self, usd: int | Fraction) -> int:
        """Return the base units of the token worth ``usd`` US dollars, rounded down."""
        return int(Fraction(usd) / self.price * 10**self.decimals)


@dataclass(frozen=True, slots=True)
class Range:
    """A position with ``share_pct`` of the pool's depth, from ``lower`` to ``upper`` times its price.

    None is the end of the tick range.
    """

    lower: str | None
    upper: str | None
    share_pct: int


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool of ``depth_usd``; ``fee`` in hundredths of a basis point, ``tick_spacing`` for v4 only."""

    protocol: Protocol
    a: str
    b: str
    depth_usd: int
    fee: int = 3000
    tick_spacing: int = 0
    ranges: tuple[Range, ...] = ()
    hooked: bool = False


DEVNET = ChainRow("devnet", 31337, "Quoteway devnet", 8545)
DEVNET_L2 = ChainRow("devnet-l2", 31338, "Quoteway devnet L2", 8546)
CHAINS = (DEVNET, DEVNET_L2)

TOKENS = (
    TokenRow("WETH", "Wrapped Ether", 18, "3500", "wrapped"),
    TokenRow("USDC", "USD Coin", 6, "1"),
    TokenRow("USDT", "Tether USD", 6, "1", "no_return"),
    TokenRow("DAI", "Dai Stablecoin", 18, "1"),
    TokenRow("WBTC", "Wrapped BTC", 8, "100000"),
    TokenRow("wstETH", "Wrapped liquid staked Ether", 18, "4200"),
    TokenRow("LINK", "Chainlink", 18, "18"),
    TokenRow("UNI", "Uniswap", 18, "9"),
    TokenRow("AAVE", "Aave", 18, "240"),
    TokenRow("cbBTC", "Coinbase Wrapped BTC", 8, "100000"),
    TokenRow("EURC", "Euro Coin", 6, "1.08"),
    TokenRow("GHO", "GHO", 18, "1"),
    TokenRow("MKR", "Maker", 18, "1800"),
    TokenRow("CRV", "Curve DAO Token", 18, "0.65"),
    TokenRow("LDO", "Lido DAO", 18, "1.1"),
    TokenRow("PEPE", "Pepe", 18, "0.000012"),
    TokenRow("TAX", "Fee on Transfer", 18, "0.05", "fee_on_transfer"),
)

BASE_TOKENS = ("WETH", "USDC", "USDT", "DAI", "WBTC", "wstETH")
"""The intermediate tokens of routes."""

_FULL = Range(None, None, 30)
STABLE = (
    Range("0.999", "1.001", 40),
    Range("0.995", "1.004", 20),
    Range("0.97", "1.03", 20),
    Range(None, None, 20),
)
MAJOR = (
    Range("0.985", "1.015", 25),
    Range("0.93", "1.1", 25),
    Range("0.97", "1.3", 10),
    Range("1.02", "1.2", 5),
    Range("0.8", "0.98", 5),
    _FULL,
)
WIDE = (Range("0.9", "1.12", 30), Range("0.6", "1.05", 20), Range("0.8", "2", 20), _FULL)

_M = 1_000_000


def _v2(a: str, b: str, depth_usd: int) -> PoolRow:
    return PoolRow("v2", a, b, depth_usd)


def _v3(a: str, b: str, fee: int, depth_usd: int, ranges: tuple[Range, ...] = MAJOR) -> PoolRow:
    return PoolRow("v3", a, b, depth_usd, fee, ranges=ranges)


def _v4(
    a: str,
    b: str,
    fee: int,
    tick_spacing: int,
    depth_usd: int,
    ranges: tuple[Range, ...] = MAJOR,
    hooked: bool = False,
) -> PoolRow:
    return PoolRow("v4", a, b, depth_usd, fee, tick_spacing, ranges, hooked)


POOLS: dict[str, tuple[PoolRow, ...]] = {
    DEVNET.slug: (
        _v2("WETH", "USDC", 20 * _M),
        _v2("WETH", "USDT", 8 * _M),
        _v2("WETH", "DAI", 5 * _M),
        _v2("WETH", "WBTC", 10 * _M),
        _v2("WETH", "LINK", 3 * _M),
        _v2("WETH", "UNI", 2 * _M),
        _v2("WETH", "AAVE", 1_500_000),
        _v2("WETH", "PEPE", 4 * _M),
        _v2("USDC", "USDT", 2 * _M),
        _v2("DAI", "MKR", 2 * _M),
        _v2("WETH", "TAX", 1 * _M),
        _v2("USDC", "TAX", 500_000),
        _v3("WETH", "USDC", 100, 3 * _M),
        _v3("WETH", "USDC", 500, 40 * _M),
        _v3("WETH", "USDC", 3000, 25 * _M, WIDE),
        _v3("WETH", "USDC", 10000, 4 * _M, WIDE),
        _v3("WETH", "USDT", 500, 15 * _M),
        _v3("WETH", "USDT", 3000, 9 * _M, WIDE),
        _v3("WETH", "DAI", 3000, 6 * _M, WIDE),
        _v3("WETH", "WBTC", 500, 30 * _M),
        _v3("WETH", "WBTC", 3000, 18 * _M, WIDE),
        _v3("USDC", "USDT", 100, 20 * _M, STABLE),
        _v3("USDC", "DAI", 100, 15 * _M, STABLE),
        _v3("WBTC", "USDC", 3000, 8 * _M, WIDE),
        _v3("WBTC", "DAI", 3000, 1 * _M, WIDE),
        _v3("WBTC", "USDT", 3000, 4 * _M, WIDE),
        _v3("USDT", "DAI", 100, 5 * _M, STABLE),
        _v3("wstETH", "WETH", 100, 20 * _M, STABLE),
        _v3("LINK", "WETH", 3000, 7 * _M, WIDE),
        _v3("UNI", "WETH", 3000, 5 * _M, WIDE),
        _v3("AAVE", "WETH", 3000, 6 * _M, WIDE),
        _v3("LDO", "WETH", 10000, 1_500_000, WIDE),
        _v3("PEPE", "WETH", 10000, 3 * _M, WIDE),
        _v3("MKR", "DAI", 3000, 3 * _M, WIDE),
        _v3("CRV", "DAI", 10000, 1 * _M, WIDE),
        _v3("EURC", "USDC", 500, 4 * _M),
        _v3("GHO", "USDT", 500, 3 * _M, STABLE),
        _v3("cbBTC", "WBTC", 100, 10 * _M, STABLE),
        _v4(NATIVE_SYMBOL, "USDC", 500, 10, 35 * _M),
        _v4(NATIVE_SYMBOL, "USDC", 3000, 60, 12 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "USDT", 500, 10, 12 * _M),
        _v4(NATIVE_SYMBOL, "DAI", 3000, 60, 3 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "WBTC", 3000, 60, 14 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "wstETH", 100, 1, 10 * _M, STABLE),
        _v4(NATIVE_SYMBOL, "LINK", 3000, 60, 4 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "UNI", 10000, 200, 1 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "AAVE", 10000, 200, 1 * _M, WIDE),
        _v4("USDC", "USDT", 100, 1, 25 * _M, STABLE),
        _v4("USDC", "DAI", 100, 1, 9 * _M, STABLE),
        _v4("WBTC", "USDC", 3000, 60, 10 * _M, WIDE),
        _v4("EURC", "USDC", 500, 10, 5 * _M),
        _v4("GHO", "USDT", 100, 1, 2 * _M, STABLE),
        _v4("cbBTC", "WBTC", 100, 1, 6 * _M, STABLE),
        # Deeper and cheaper than any other ETH/USDC pool: a router that ignores the hook would use it.
        _v4(NATIVE_SYMBOL, "USDC", 100, 1, 60 * _M, MAJOR, hooked=True),
    ),
    DEVNET_L2.slug: (
        _v2("WETH", "USDC", 6 * _M),
        _v2("WETH", "DAI", 1 * _M),
        _v3("WETH", "USDC", 500, 12 * _M),
        _v3("WETH", "USDC", 3000, 5 * _M, WIDE),
        _v3("WETH", "USDT", 500, 4 * _M),
        _v3("WETH", "WBTC", 3000, 6 * _M, WIDE),
        _v3("USDC", "USDT", 100, 8 * _M, STABLE),
        _v3("USDC", "DAI", 100, 4 * _M, STABLE),
        _v3("LINK", "WETH", 3000, 2 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "USDC", 500, 10, 9 * _M),
        _v4(NATIVE_SYMBOL, "USDT", 3000, 60, 2 * _M, WIDE),
        _v4(NATIVE_SYMBOL, "wstETH", 100, 1, 5 * _M, STABLE),
        _v4("USDC", "USDT", 100, 1, 7 * _M, STABLE),
        _v4("WBTC", "USDC", 3000, 60, 3 * _M, WIDE),
    ),
}


@dataclass(frozen=True, slots=True)
class VaultRow:
    """A plain ERC-4626 vault with its first deposit and what it earns in a year."""

    id: str
    asset: str
    name: str
    symbol: str
    deposit_usd: int
    yield_pct_per_year: str


VAULTS = (
    VaultRow("steady-usdc", "USDC", "Steady USDC", "stUSDC", 8 * _M, "4"),
    VaultRow("bold-usdc", "USDC", "Bold USDC", "bdUSDC", 3 * _M, "11"),
)
"""On both chains. One managed vault spreads its USDC over the two."""

MANAGED_DEPOSIT_USD = 1 * _M
MANAGED_SHARES_PCT = (55, 35)
"""The parts of the managed vault's deposit in each of ``VAULTS``; the rest stays idle."""

GRANT_USD = 100 * _M
"""The value of each token that every default account has at the start."""

NATIVE_GRANT_WEI = 1_000_000 * 10**18


def token_row(symbol: str) -> TokenRow:
    """Return the row of a symbol; the native coin has that of its wrapped form."""
    wanted = "WETH" if symbol == NATIVE_SYMBOL else symbol
    return next(row for row in TOKENS if row.symbol == wanted)


def token_rows(slug: str) -> tuple[TokenRow, ...]:
    """Return the tokens of a chain, which are those of its pools."""
    traded = {symbol for pool in POOLS[slug] for symbol in (pool.a, pool.b)} | {"WETH"}
    return tuple(row for row in TOKENS if row.symbol in traded)


def base_units(symbol: str, usd: int | Fraction) -> int:
    """Return ``TokenRow.base_units`` of the devnet's token with this symbol."""
    return token_row(symbol).base_units(usd)
