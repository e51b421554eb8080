"""The built-in rows: Across on seven public networks, by chain id.

SpokePools as in @across-protocol/contracts 5.0.27, ``dist/broadcast/deployed-addresses.json``.
"""

from __future__ import annotations

from collections.abc import Mapping

PUBLIC_API = "https://app.across.to/api"

ROWS: Mapping[int, Mapping[str, str]] = {
    1: {"spoke_pool": "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5", "api": PUBLIC_API},  # Ethereum
    10: {"spoke_pool": "0x6f26Bf09B1C792e3228e5467807a900A503c0281", "api": PUBLIC_API},  # Optimism
    56: {"spoke_pool": "0x4e8E101924eDE233C13e2D8622DC8aED2872d505", "api": PUBLIC_API},  # BNB Smart Chain
    130: {"spoke_pool": "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64", "api": PUBLIC_API},  # Unichain
    137: {"spoke_pool": "0x9295ee1d8C5b022Be115A2AD3c30C72E34e7F096", "api": PUBLIC_API},  # Polygon
    8453: {"spoke_pool": "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64", "api": PUBLIC_API},  # Base
    42161: {"spoke_pool": "0xe35e9842fceaCA96570B734083f4a58e8F7C5f2A", "api": PUBLIC_API},  # Arbitrum One
}
