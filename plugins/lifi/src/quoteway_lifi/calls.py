"""The functions of LI.FI's Diamond whose calldata is decoded for display.

The guard treats LI.FI's calldata as opaque, whether or not it is one of these. Sources:
GenericSwapFacet, GenericSwapFacetV3 and AcrossFacetV4 of lifinance/contracts.
"""

from __future__ import annotations

from collections.abc import Mapping

from quoteway import Arrival

_SWAP = (
    "(address callTo, address approveTo, address sendingAssetId, address receivingAssetId,"
    " uint256 fromAmount, bytes callData, bool requiresDeposit)"
)
_BRIDGE = (
    "(bytes32 transactionId, string bridge, string integrator, address referrer, address sendingAssetId,"
    " address receiver, uint256 minAmount, uint256 destinationChainId, bool hasSourceSwaps,"
    " bool hasDestinationCall) bridgeData"
)
_ACROSS_V4 = (
    "(bytes32 receiverAddress, bytes32 refundAddress, bytes32 sendingAssetId, bytes32 receivingAssetId,"
    " uint256 outputAmount, uint128 outputAmountMultiplier, bytes32 exclusiveRelayer, uint32 quoteTimestamp,"
    " uint32 fillDeadline, uint32 exclusivityParameter, bytes message) acrossData"
)
_ENDS = "bytes32 transactionId, string integrator, string referrer, address receiver, uint256 minAmountOut"

DECLARATIONS = (
    f"swapTokensSingleV3ERC20ToERC20({_ENDS}, {_SWAP} swapData)",
    f"swapTokensSingleV3ERC20ToNative({_ENDS}, {_SWAP} swapData)",
    f"swapTokensSingleV3NativeToERC20({_ENDS}, {_SWAP} swapData)",
    f"swapTokensMultipleV3ERC20ToERC20({_ENDS}, {_SWAP}[] swapData)",
    f"swapTokensMultipleV3ERC20ToNative({_ENDS}, {_SWAP}[] swapData)",
    f"swapTokensMultipleV3NativeToERC20({_ENDS}, {_SWAP}[] swapData)",
    f"swapTokensGeneric({_ENDS}, {_SWAP}[] swapData)",
    f"startBridgeTokensViaAcrossV4({_BRIDGE}, {_ACROSS_V4})",
    f"swapAndStartBridgeTokensViaAcrossV4({_BRIDGE}, {_SWAP}[] swapData, {_ACROSS_V4})",
)

# bridgeData.destinationChainId, acrossData.{receiverAddress, receivingAssetId, outputAmount, refundAddress}.
# After a source swap the facet computes the output amount again, so that function has no entry.
ARRIVALS: Mapping[str, Arrival] = {
    "startBridgeTokensViaAcrossV4": Arrival(
        0, chain_id=(0, 7), recipient=(1, 0), token=(1, 3), amount_min=(1, 4), refund=(1, 1)
    ),
}
"""The places of the arguments that say what arrives on the other chain, by function name."""
