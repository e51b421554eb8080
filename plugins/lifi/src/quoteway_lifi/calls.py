"""The functions in LI.FI's calldata that this plugin decodes.

The guard treats a swap on one chain as opaque; its decoded form is for display. A transfer to another chain
is offered only when it is one of ``TRANSFERS``, whose arguments the guard compares with the quote. Sources:
GenericSwapFacet, GenericSwapFacetV3 and AcrossFacetV4 of lifinance/contracts, SpokePool of
across-protocol/contracts.
"""

from __future__ import annotations

from collections.abc import Mapping

from quoteway import Arrival, DecodedCall
from quoteway.evm.abi import function

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
_START_ACROSS = f"startBridgeTokensViaAcrossV4({_BRIDGE}, {_ACROSS_V4})"
_DEPOSIT = (
    "deposit(bytes32 depositor, bytes32 recipient, bytes32 inputToken, bytes32 outputToken,"
    " uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, bytes32 exclusiveRelayer,"
    " uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
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
    _START_ACROSS,
    f"swapAndStartBridgeTokensViaAcrossV4({_BRIDGE}, {_SWAP}[] swapData, {_ACROSS_V4})",
)

# The bridge of TRANSFERS, as LI.FI's `allowBridges` names it.
TRANSFER_BRIDGE = "across"

# Of the facet: bridgeData.destinationChainId, acrossData.{receiverAddress, receivingAssetId, outputAmount,
# refundAddress}. After a source swap the facet computes the output amount again, so that function has no
# entry.
TRANSFERS: Mapping[str, Arrival] = {
    _START_ACROSS: Arrival(
        0, chain_id=(0, 7), recipient=(1, 0), token=(1, 3), amount_min=(1, 4), refund=(1, 1)
    ),
    _DEPOSIT: Arrival(0, chain_id=(6,), recipient=(1,), token=(3,), amount_min=(5,), refund=(0,)),
}
"""The transfers to another chain, each with the places of the arguments that say what arrives there."""


def read_transfer(data: bytes) -> tuple[DecodedCall, Arrival] | None:
    """Returns the decoded transfer and its places; None for other calldata and for a transfer with a message,
    which would call a recipient that is a contract with LI.FI's bytes."""
    for declaration, arrival in TRANSFERS.items():
        declared = function(declaration)
        if declared.selector != data[:4]:
            continue
        try:
            arguments = declared.decode(data)
        except ValueError:
            return None
        across = arguments[-1] if declaration == _START_ACROSS else arguments
        return None if across[-1] else (declared.describe(arguments), arrival)
    return None
