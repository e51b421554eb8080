"""Conformance suites: test classes for providers to subclass. See the how-to "Test a provider".

Each suite runs the provider inside a real gateway on the devnet. A subclass defines its ``provider_id``
and the fixtures named in the docstring of its suite. pytest collects the tests (``asyncio_mode = "auto"``).
"""

from quoteway.testing.conformance.catalogs import CatalogConformance
from quoteway.testing.conformance.liquidity import LiquidityConformance
from quoteway.testing.conformance.pools import PoolConformance
from quoteway.testing.conformance.prices import PriceConformance
from quoteway.testing.conformance.rpc import RpcConformance
from quoteway.testing.conformance.swaps import SwapConformance
from quoteway.testing.conformance.vaults import VaultConformance

__all__ = [
    "CatalogConformance",
    "LiquidityConformance",
    "PoolConformance",
    "PriceConformance",
    "RpcConformance",
    "SwapConformance",
    "VaultConformance",
]
