"""Well-known vaults of public networks, by chain id: rows as in a network's ``deployments["erc4626"]``.

Many independent public sources give these addresses, and each is checked on the chain before it is listed.
Add other vaults in the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

ROWS: Mapping[int, tuple[Mapping[str, str], ...]] = {
    1: (
        # Savings Dai
        {
            "vault": "0x83F20F44975D03b1b09e64809B757c47f942BEeA",
            "protocol": "sky",
            "strategy": "dai-savings-rate",
        },
        # Savings USDS
        {
            "vault": "0xa3931d71877C0E7a3148CB7Eb4463524FEc27fbD",
            "protocol": "sky",
            "strategy": "sky-savings-rate",
        },
    ),
}
