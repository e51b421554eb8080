"""The contents of look-alikes of public networks: tokens at their public addresses, and pools of them.

Token addresses, symbols and decimals: @uniswap/default-token-list. Prices are those of the devnet.
"""

from collections.abc import Mapping
from dataclasses import replace

from quoteway_devnet.tables import MAJOR, NATIVE_SYMBOL, STABLE, WIDE, Behaviour, PoolRow, TokenRow, token_row

_M = 1_000_000


def _as(symbol: str, decimals: int, behaviour: Behaviour = "plain", *, like: str | None = None) -> TokenRow:
    """Return a token with the price of the devnet's ``like``, by default of the same symbol."""
    model = token_row(like or symbol)
    return replace(model, symbol=symbol, decimals=decimals, behaviour=behaviour)


PUBLIC_TOKENS: Mapping[int, Mapping[str, TokenRow]] = {
    1: {
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48": _as("USDC", 6),
        "0xdAC17F958D2ee523a2206206994597C13D831ec7": _as("USDT", 6, "no_return"),
        "0x6B175474E89094C44Da98b954EedeAC495271d0F": _as("DAI", 18),
        "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599": _as("WBTC", 8),
    },
    10: {
        "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85": _as("USDC", 6),
        "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58": _as("USDT", 6),
        "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1": _as("DAI", 18),
        "0x68f180fcCe6836688e9084f035309E29Bf0A2095": _as("WBTC", 8),
    },
    56: {
        "0x55d398326f99059fF775485246999027B3197955": _as("USDT", 18),
        "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d": _as("USDC", 18),
        # Not "ETH", which is the native coin of every pool row.
        "0x2170Ed0880ac9A755fd29B2688956BD959F933F8": _as("ETH.b", 18, like="WETH"),
        "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3": _as("DAI", 18),
    },
    130: {
        "0x078D782b760474a361dDA0AF3839290b0EF57AD6": _as("USDC", 6),
        "0x9151434b16b9763660705744891fA906F660EcC5": _as("USDT", 6),
        "0x20CAb320A855b39F724131C69424240519573f81": _as("DAI", 18),
        "0x927B51f251480a681271180DA4de28D44EC4AfB8": _as("WBTC", 8),
    },
    137: {
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359": _as("USDC", 6),
        "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174": _as("USDC.e", 6, like="USDC"),
        "0xc2132D05D31c914a87C6611C10748AEb04B58e8F": _as("USDT", 6),
        "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619": _as("ETH.b", 18, like="WETH"),
        "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063": _as("DAI", 18),
        "0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6": _as("WBTC", 8),
    },
    8453: {
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913": _as("USDC", 6),
        "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf": _as("cbBTC", 8),
        "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb": _as("DAI", 18),
    },
    42161: {
        "0xaf88d065e77c8cC2239327C5EDb3A432268e5831": _as("USDC", 6),
        "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9": _as("USDT", 6),
        "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1": _as("DAI", 18),
        "0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f": _as("WBTC", 8),
    },
}
"""Chain id -> address -> token. The wrapped native coin comes from the deployment row."""

PUBLIC_POOLS = (
    PoolRow("v2", "WETH", "USDC", 20 * _M),
    PoolRow("v2", "WETH", "USDT", 8 * _M),
    PoolRow("v2", "WETH", "DAI", 9 * _M),
    PoolRow("v3", "WETH", "USDC", 40 * _M, 500, ranges=MAJOR),
    PoolRow("v3", "WETH", "USDC", 25 * _M, 3000, ranges=WIDE),
    PoolRow("v3", "WETH", "USDC.e", 10 * _M, 500, ranges=MAJOR),
    PoolRow("v3", "WETH", "ETH.b", 10 * _M, 500, ranges=MAJOR),
    PoolRow("v3", "USDC", "USDT", 15 * _M, 100, ranges=STABLE),
    PoolRow("v3", "WBTC", "WETH", 18 * _M, 3000, ranges=WIDE),
    PoolRow("v3", "cbBTC", "WETH", 18 * _M, 3000, ranges=WIDE),
    PoolRow("v4", NATIVE_SYMBOL, "USDC", 35 * _M, 500, 10, MAJOR),
    PoolRow("v4", NATIVE_SYMBOL, "USDT", 12 * _M, 500, 10, MAJOR),
    PoolRow("v4", "USDC", "USDT", 25 * _M, 100, 1, STABLE),
)
"""The pools of every look-alike, as far as it has their tokens. DAI is traded on v2 alone."""
