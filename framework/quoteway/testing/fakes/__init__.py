"""Small fake providers, one per capability, for tests of the core, plugins and clients.

Offline: ``MemoryRpc`` is a chain without contracts. ``FixedRateSwap`` and the catalogs use given data.

On a real chain: ``HttpRpc`` forwards to the network's endpoints. ``RouterSwap`` swaps through a Uniswap v2
router. The ``Wrap`` classes wrap the native coin.

``FakePlugin`` makes a plugin of any of them::

    plugin = FakePlugin(networks=[network], providers=[MemoryRpc({1}), FixedRateSwap])
    gateway = await make_gateway({"fake": plugin})
"""

from quoteway.testing.fakes.chains import HttpRpc, MemoryRpc
from quoteway.testing.fakes.listed import (
    ListedPools,
    ListedPrices,
    ListedRoutes,
    ListedTokens,
    ListedVaults,
    NodeRelay,
)
from quoteway.testing.fakes.plugin import FakePlugin, pinned
from quoteway.testing.fakes.swaps import (
    FAKE_CALLS,
    FAKE_TARGET,
    FixedRateSwap,
    RouterSwap,
    step_of,
    swap_quote,
)
from quoteway.testing.fakes.wrapping import WrapBridge, Wrapping, WrapPools, WrapSwaps, WrapTokens, WrapVaults

__all__ = [
    "FAKE_CALLS",
    "FAKE_TARGET",
    "FakePlugin",
    "FixedRateSwap",
    "HttpRpc",
    "ListedPools",
    "ListedPrices",
    "ListedRoutes",
    "ListedTokens",
    "ListedVaults",
    "MemoryRpc",
    "NodeRelay",
    "RouterSwap",
    "WrapBridge",
    "WrapPools",
    "WrapSwaps",
    "WrapTokens",
    "WrapVaults",
    "Wrapping",
    "pinned",
    "step_of",
    "swap_quote",
]
