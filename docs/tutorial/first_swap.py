"""Quote a swap, take the action, sign it, send it, and compare what arrived with what was quoted."""

import json
import sys
import time
import urllib.request

from eth_account import Account

GATEWAY = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
NODE = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8545"
# The first of anvil's well-known development keys: for the local chain only, never for real money.
wallet = Account.from_key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")


def ask(path, body=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(GATEWAY + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def node(method, *params):
    """JSON-RPC straight to the local chain: the gateway never broadcasts."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(NODE, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["result"]


listed = ask("/v2/tokens?network=devnet")["data"]
tokens = {token["symbol"]: token["contracts"][0]["address"] for token in listed}

quote = ask(
    "/v2/swaps/quote",
    {
        "network": "devnet",
        "fromToken": "native",
        "toToken": tokens["USDC"],
        "amount": str(10**18),
        "address": wallet.address,
    },
)
print("quoted  ", quote["toAmount"], "at least", quote["toAmountMin"])

action = ask(f"/v2/swaps/{quote['quoteId']}/action", method="POST")
balance = "0x70a08231" + wallet.address[2:].lower().rjust(64, "0")
before = int(node("eth_call", {"to": tokens["USDC"], "data": balance}, "latest"), 16)
for transaction, step in zip(action["transactions"], action["steps"], strict=True):
    print("signing ", step["clearSigning"]["intent"])
    signed = wallet.sign_transaction(
        {
            **transaction,
            "nonce": int(node("eth_getTransactionCount", wallet.address, "latest"), 16),
            "gas": int(step["gasLimit"], 16),
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        }
    )
    sent = node("eth_sendRawTransaction", "0x" + signed.raw_transaction.hex().removeprefix("0x"))
    while (receipt := node("eth_getTransactionReceipt", sent)) is None:
        time.sleep(0.05)
    assert receipt["status"] == "0x1", f"{sent} reverted"
received = int(node("eth_call", {"to": tokens["USDC"], "data": balance}, "latest"), 16) - before
print("received", received, "difference", received - int(quote["toAmount"]))
