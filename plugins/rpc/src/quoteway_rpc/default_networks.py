"""The networks that need no configuration but an endpoint.

Chain ids, native coins and explorers: the ethereum-lists/chains registry (EIP-155). Wrapped native: the
WETH9-like contract that the network's Uniswap deployment uses (``@uniswap/sdk-core``, ``WETH9``).
"""

from __future__ import annotations

from collections.abc import Mapping

from quoteway import Network
from quoteway.networks import L1FeeKind

_PREDEPLOYED_WETH = "0x4200000000000000000000000000000000000006"  # OP Stack chains

_L1_FEES: Mapping[str, L1FeeKind] = {
    "optimism": "op-stack",
    "base": "op-stack",
    "unichain": "op-stack",
    "arbitrum": "arbitrum",
}
"""The rollups among them."""

# slug: chain id, name, native symbol, native name, wrapped native, explorer, block time, head poll (seconds)
_ROWS = {
    "ethereum": (
        *(1, "Ethereum", "ETH", "Ether"),
        *("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "etherscan.io", 12.0, 3.0),
    ),
    "optimism": (10, "OP Mainnet", "ETH", "Ether", _PREDEPLOYED_WETH, "optimistic.etherscan.io", 2.0, 1.0),
    "bnb": (
        *(56, "BNB Smart Chain", "BNB", "BNB"),
        *("0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c", "bscscan.com", 0.75, 0.75),
    ),
    "unichain": (130, "Unichain", "ETH", "Ether", _PREDEPLOYED_WETH, "uniscan.xyz", 1.0, 1.0),
    "polygon": (
        *(137, "Polygon", "POL", "POL"),
        *("0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270", "polygonscan.com", 2.0, 1.0),
    ),
    "base": (8453, "Base", "ETH", "Ether", _PREDEPLOYED_WETH, "basescan.org", 2.0, 1.0),
    "arbitrum": (
        *(42161, "Arbitrum One", "ETH", "Ether"),
        *("0x82aF49447D8a07e3bd95BD0d56f35241523fBab1", "arbiscan.io", 0.25, 1.0),
    ),
}

DEFAULT_NETWORKS = tuple(
    Network(
        slug=slug,
        chain_id=chain_id,
        name=name,
        native_symbol=symbol,
        native_name=coin,
        wrapped_native=wrapped,
        explorer_url=f"https://{explorer}",
        block_time_s=block_time_s,
        head_poll_s=head_poll_s,
        l1_fee=_L1_FEES.get(slug),
    )
    for slug, (chain_id, name, symbol, coin, wrapped, explorer, block_time_s, head_poll_s) in _ROWS.items()
)
