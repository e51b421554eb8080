"""The built-in rows of forks that have a router of their own, by chain id. ``forks`` explains the members.

Sources: the makers' SDKs (SushiSwap's UniswapV2Library and v2 SDK, PancakeSwap's v2 and v3 SDKs and
deployment lists). Factories, deployers and init-code hashes give the known addresses of pools, see
``tests/test_forks.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ETHEREUM_TOKENS = (
    "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",  # USDC
    "0xdAC17F958D2ee523a2206206994597C13D831ec7",  # USDT
    "0x6B175474E89094C44Da98b954EedeAC495271d0F",  # DAI
    "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",  # WBTC
)
_BNB_TOKENS = (
    "0x55d398326f99059fF775485246999027B3197955",  # USDT
    "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",  # USDC
    "0x2170Ed0880ac9A755fd29B2688956BD959F933F8",  # ETH
)
_PANCAKE_V3: Mapping[str, Any] = {
    "protocol": "pancakeswap-v3",
    "title": "PancakeSwap v3",
    "router_kind": "v3-router",
    "router": "0x1b81D678ffb9C0263b24A97847620C99d213eB14",
    "v3": {
        "factory": "0x0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865",
        "deployer": "0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9",
        "init_code_hash": "0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2",
        "fees": [[100, 1], [500, 10], [2500, 50], [10000, 200]],
    },
}

FORK_ROWS: Mapping[int, tuple[Mapping[str, Any], ...]] = {
    1: (  # Ethereum
        {
            "protocol": "sushiswap-v2",
            "title": "SushiSwap v2",
            "router_kind": "v2-router02",
            "router": "0xd9e1cE17f2641f24aE83637ab66a2cca9C378B9F",
            "wrapped_native": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            "v2": {
                "factory": "0xC0AEe478e3658e2610c5F7A4A2E1777cE9e4f2Ac",
                "init_code_hash": "0xe18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303",
            },
            "base_tokens": _ETHEREUM_TOKENS,
        },
        {
            "protocol": "pancakeswap-v2",
            "title": "PancakeSwap v2",
            "router_kind": "v2-router02",
            "router": "0xEfF92A263d31888d860bD50809A8D171709b7b1c",
            "wrapped_native": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            "v2": {
                "factory": "0x1097053Fd2ea711dad45caCcc45EfF7548fCB362",
                "init_code_hash": "0x57224589c67f3f30a6b0d7a1b54cf3153ab84563bc609ef41dfb34f8b2974d2d",
                "fee": [9975, 10000],
                "protocol_share": [8, 25],  # PancakePair._mintFee
            },
            "base_tokens": _ETHEREUM_TOKENS,
        },
        {
            **_PANCAKE_V3,
            "wrapped_native": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            "base_tokens": _ETHEREUM_TOKENS,
        },
    ),
    56: (  # BNB Smart Chain
        {
            "protocol": "pancakeswap-v2",
            "title": "PancakeSwap v2",
            "router_kind": "v2-router02",
            "router": "0x10ED43C718714eb63d5aA57B78B54704E256024E",
            "wrapped_native": "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c",
            "v2": {
                "factory": "0xcA143Ce32Fe78f1f7019d7d551a6402fC5350c73",
                "init_code_hash": "0x00fb7f630766e6a796048ea87d01acd3068e8ff67d078148a3fa3f4a84f69bd5",
                "fee": [9975, 10000],
                "protocol_share": [8, 25],  # PancakePair._mintFee
            },
            "base_tokens": _BNB_TOKENS,
        },
        {
            **_PANCAKE_V3,
            "wrapped_native": "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c",
            "base_tokens": _BNB_TOKENS,
        },
    ),
}
