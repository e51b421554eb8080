"""The contracts by which an OP-stack chain charges for data, at their addresses on a local chain."""

from quoteway.evm.abi import function
from quoteway_devnet.packages import prepare_opstack
from quoteway_devnet.transactions import Transactions

ORACLE, L1_BLOCK = "0x420000000000000000000000000000000000000F", "0x4200000000000000000000000000000000000015"
DEPOSITOR = "0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001"


def charge(rpc, *, base_fee=20 * 10**9, blob_fee=10**9, scalars=(1368, 810_949), fjord=True):
    """Puts the contracts there, at these prices of the parent chain in wei."""
    transactions = Transactions(rpc, prepare_opstack())
    try:
        nonce = rpc("eth_getTransactionCount", transactions._transaction(None, b"", 0)["from"], "latest")
        transactions._nonce = int(nonce, 16)
        transactions.construct_at(ORACLE, "GasPriceOracle")
        transactions.construct_at(L1_BLOCK, "L1Block")
    finally:
        transactions.close()
    rpc("anvil_impersonateAccount", DEPOSITOR)
    rpc("anvil_setBalance", DEPOSITOR, hex(10**18))
    packed = b"".join(
        [scalars[0].to_bytes(4), scalars[1].to_bytes(4), bytes(24)]
        + [fee.to_bytes(32) for fee in (base_fee, blob_fee)]
        + [bytes(64)]
    )
    values = function("setL1BlockValuesEcotone()").selector + packed
    calls = [(L1_BLOCK, values), (ORACLE, function("setEcotone()").selector)]
    calls += [(ORACLE, function("setFjord()").selector)] if fjord else []
    for to, data in calls:
        sent = {"from": DEPOSITOR, "to": to, "data": "0x" + data.hex(), "gas": hex(200_000)}
        identity = rpc("eth_sendTransaction", sent)
        while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
            pass
        assert receipt["status"] == "0x1"


def fee_of(rpc, unsigned):
    """What the oracle charges for an unsigned transaction."""
    data = function("getL1Fee(bytes data) returns (uint256)").encode([unsigned])
    return int(rpc("eth_call", {"to": ORACLE, "data": "0x" + data.hex()}, "latest"), 16)
