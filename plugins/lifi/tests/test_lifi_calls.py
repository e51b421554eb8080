"""The decoded functions in LI.FI's calldata."""

import re


def test_known_functions_have_the_selectors_of_the_diamond():
    """As its facets have them on the chain (and as others' decoders of LI.FI list them)."""
    from quoteway.evm.abi import function
    from quoteway_lifi.calls import DECLARATIONS

    found = {declared.split("(")[0]: function(declared).selector.hex() for declared in DECLARATIONS}
    assert found["swapTokensSingleV3ERC20ToERC20"] == "4666fc80"
    assert found["swapTokensSingleV3ERC20ToNative"] == "733214a3"
    assert found["swapTokensSingleV3NativeToERC20"] == "af7060fd"
    assert found["swapTokensMultipleV3ERC20ToERC20"] == "5fd9ae2e"
    assert found["swapTokensMultipleV3ERC20ToNative"] == "2c57e884"
    assert found["swapTokensMultipleV3NativeToERC20"] == "736eac0b"
    assert found["swapTokensGeneric"] == "4630a0d8"
    assert found["startBridgeTokensViaAcrossV4"] == "a1f1ce43"
    assert found["swapAndStartBridgeTokensViaAcrossV4"] == "1794958f"


def test_the_places_of_a_transfer_are_those_of_its_members():
    from quoteway_lifi.calls import TRANSFERS

    found = {}
    for declared, places in TRANSFERS.items():
        structs = re.findall(r"\(([^()]+)\)", declared)
        members = [[member.split()[1] for member in struct.split(", ")] for struct in structs]
        paths = {name: getattr(places, name) for name in places.__dataclass_fields__ if name != "step"}
        found[declared.partition("(")[0]] = {
            name: members[path[0] if len(path) > 1 else 0][path[-1]] for name, path in paths.items()
        }
    assert found == {
        "startBridgeTokensViaAcrossV4": {
            "chain_id": "destinationChainId",
            "recipient": "receiverAddress",
            "token": "receivingAssetId",
            "amount_min": "outputAmount",
            "refund": "refundAddress",
        },
        "deposit": {
            "chain_id": "destinationChainId",
            "recipient": "recipient",
            "token": "outputToken",
            "amount_min": "outputAmount",
            "refund": "depositor",
        },
    }
