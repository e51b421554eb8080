"""The events of SpokePools that an indexer keeps: deposits on their origin, fills on their destination.

Refunds are paid in batches, several accounts to an event, so no rule makes rows of them.
"""

from __future__ import annotations

from quoteway import Context, EventRule, EventSource

from quoteway_across.deployments import configured_deployments

SOURCE = "across"
VERSION = 1
"""Increase it when the rows of facts change their meaning: indexers read the source again."""

_COMMON = {
    "bridge": "across",
    "transfer_id": "depositId",
    "token_in": "inputToken",
    "token_out": "outputToken",
    "amount_in": "inputAmount",
    "sender": "depositor",
}


def event_sources(context: Context) -> tuple[EventSource, ...]:
    """Returns the source of each network with a SpokePool. Raises ConfigError for a wrong row."""
    return tuple(
        EventSource(
            id=SOURCE,
            chain_id=row.chain_id,
            version=VERSION,
            rules=(
                EventRule(
                    "FundsDeposited(bytes32 inputToken, bytes32 outputToken, uint256 inputAmount, "
                    "uint256 outputAmount, uint256 indexed destinationChainId, uint256 indexed depositId, "
                    "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityDeadline, "
                    "bytes32 indexed depositor, bytes32 recipient, bytes32 exclusiveRelayer, bytes message)",
                    "bridge_event",
                    {
                        **_COMMON,
                        "kind": "sent",
                        "origin_chain_id": str(row.chain_id),
                        "destination_chain_id": "destinationChainId",
                        "amount_out": "outputAmount",
                        "recipient": "recipient",
                    },
                ),
                EventRule(
                    "FilledRelay(bytes32 inputToken, bytes32 outputToken, uint256 inputAmount, "
                    "uint256 outputAmount, uint256 repaymentChainId, uint256 indexed originChainId, "
                    "uint256 indexed depositId, uint32 fillDeadline, uint32 exclusivityDeadline, "
                    "bytes32 exclusiveRelayer, bytes32 indexed relayer, bytes32 depositor, "
                    "bytes32 recipient, bytes32 messageHash, (bytes32 updatedRecipient, "
                    "bytes32 updatedMessageHash, uint256 updatedOutputAmount, uint8 fillType) "
                    "relayExecutionInfo)",
                    "bridge_event",
                    {
                        **_COMMON,
                        "kind": "filled",
                        "origin_chain_id": "originChainId",
                        "destination_chain_id": str(row.chain_id),
                        # A depositor may change both after the deposit.
                        "amount_out": "relayExecutionInfo.updatedOutputAmount",
                        "recipient": "relayExecutionInfo.updatedRecipient",
                    },
                ),
            ),
            addresses=(row.spoke_pool,),
            family="bridge",
        )
        for row in configured_deployments(context).values()
    )
