"""Conformance suites: test classes for providers to subclass. See the how-to "Test a provider".

Each suite runs the provider inside a real gateway on the devnet. A subclass defines its ``provider_id``
and the fixtures named in the docstring of its suite. pytest collects the tests (``asyncio_mode = "auto"``).
"""

from quoteway.testing.conformance.bridges import BridgeConformance
from quoteway.testing.conformance.catalogs import CatalogConformance
from quoteway.testing.conformance.liquidity import LiquidityConformance
from quoteway.testing.conformance.metrics import MetricsConformance
from quoteway.testing.conformance.pools import PoolConformance
from quoteway.testing.conformance.prices import PriceConformance
from quoteway.testing.conformance.relays import RelayConformance
from quoteway.testing.conformance.rpc import RpcConformance
from quoteway.testing.conformance.swaps import SwapConformance
from quoteway.testing.conformance.vaults import VaultConformance

__all__ = [
    "BridgeConformance",
    "CatalogConformance",
    "LiquidityConformance",
    "MetricsConformance",
    "PoolConformance",
    "PriceConformance",
    "RelayConformance",
    "RpcConformance",
    "SwapConformance",
    "VaultConformance",
]
