"""The networks known without configuration; each is served once an endpoint is configured for it.

Chain ids, native coins and explorers: the ethereum-lists/chains registry (EIP-155). Wrapped native: the
WETH9-like contract that the network's Uniswap deployment uses (``@uniswap/sdk-core``, ``WETH9``).
"""

from __future__ import annotations

from quoteway import Network

DEFAULT_NETWORKS = (
    Network(
        slug="ethereum",
        chain_id=1,
        name="Ethereum",
        wrapped_native="0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        explorer_url="https://etherscan.io",
        block_time_s=12.0,
        head_poll_s=3.0,
    ),
    Network(
        slug="optimism",
        chain_id=10,
        name="OP Mainnet",
        wrapped_native="0x4200000000000000000000000000000000000006",
        explorer_url="https://optimistic.etherscan.io",
        block_time_s=2.0,
        head_poll_s=1.0,
    ),
    Network(
        slug="bnb",
        chain_id=56,
        name="BNB Smart Chain",
        native_symbol="BNB",
        native_name="BNB",
        wrapped_native="0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c",
        explorer_url="https://bscscan.com",
        block_time_s=0.75,
        head_poll_s=0.75,
    ),
    Network(
        slug="unichain",
        chain_id=130,
        name="Unichain",
        wrapped_native="0x4200000000000000000000000000000000000006",
        explorer_url="https://uniscan.xyz",
        block_time_s=1.0,
        head_poll_s=1.0,
    ),
    Network(
        slug="polygon",
        chain_id=137,
        name="Polygon",
        native_symbol="POL",
        native_name="POL",
        wrapped_native="0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270",
        explorer_url="https://polygonscan.com",
        block_time_s=2.0,
        head_poll_s=1.0,
    ),
    Network(
        slug="base",
        chain_id=8453,
        name="Base",
        wrapped_native="0x4200000000000000000000000000000000000006",
        explorer_url="https://basescan.org",
        block_time_s=2.0,
        head_poll_s=1.0,
    ),
    Network(
        slug="arbitrum",
        chain_id=42161,
        name="Arbitrum One",
        wrapped_native="0x82aF49447D8a07e3bd95BD0d56f35241523fBab1",
        explorer_url="https://arbiscan.io",
        block_time_s=0.25,
        head_poll_s=1.0,
    ),
)
