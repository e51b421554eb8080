"""Calls and transactions from anvil's unlocked accounts."""

from quoteway.evm.abi import encode_call, function


def read(rpc, to, signature, output_types, *values):
    call = function(f"{signature} returns {output_types}")
    data = rpc("eth_call", {"to": to, "data": "0x" + call.encode(values).hex()}, "latest")
    return call.decode_output(bytes.fromhex(data[2:]))


def raw_call(rpc, to, signature, *values, sender=None):
    request = {"to": to, "data": "0x" + encode_call(signature, values).hex()}
    return rpc("eth_call", request | ({"from": sender} if sender else {}), "latest")


def send(rpc, sender, to, signature, *values, value=0):
    """Send and return the receipt, whatever its status."""
    data = "0x" + encode_call(signature, values).hex()
    return rpc.send({"from": sender, "to": to, "data": data, "value": hex(value), "gas": hex(5_000_000)})


def balance(rpc, token, account):
    return read(rpc, token, "balanceOf(address)", "(uint256)", account)[0]
