"""Which network CoinMarketCap means by a platform, and which of its coins are native coins.

A platform is named by the id of its coin, and by its name in the contract addresses of a coin.
"""

from __future__ import annotations

from collections.abc import Mapping

BY_COIN: Mapping[int, int] = {1027: 1, 1839: 56, 3890: 137, 28321: 137, 5805: 43114, 11841: 42161, 11840: 10}
"""Chain ids by the ucid of the platform's coin."""

BY_NAME: Mapping[str, int] = {
    "ethereum": 1,
    "bnb smart chain (bep20)": 56,
    "polygon": 137,
    "avalanche c-chain": 43114,
    "arbitrum": 42161,
    "optimism": 10,
    "base": 8453,
}
"""Chain ids by the platform's name in lower case."""

NATIVE_COINS: Mapping[int, tuple[int, ...]] = {
    1027: (1, 10, 8453, 42161),
    1839: (56,),
    5805: (43114,),
    28321: (137,),
}
"""The networks whose native coin is this ucid."""
