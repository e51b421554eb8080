"""A devnet account that signs transactions and sends them to the node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eth_account import Account as Signer
from quoteway import NATIVE
from quoteway.evm.abi import encode_call

from quoteway_devnet.accounts import Account
from quoteway_devnet.demo.clients import Node
from quoteway_devnet.demo.errors import DemoError

_TIP_WEI = 10**9


@dataclass(frozen=True, slots=True)
class Sent:
    """A mined transaction with its gas, in units and in wei."""

    identity: str
    block: int
    gas_used: int
    gas_wei: int


class Wallet:
    """One account on one chain."""

    def __init__(self, account: Account, node: Node) -> None:
        self.address = account.address
        self._key = account.private_key
        self._node = node

    def balance(self, token: str, owner: str | None = None) -> int:
        """Return the balance of ``owner`` (default: this account) in base units; NATIVE is the native
        coin."""
        holder = owner or self.address
        if token == NATIVE:
            return int(self._node.call("eth_getBalance", holder, "latest"), 16)
        return self._read(token, encode_call("balanceOf(address)", [holder]))

    def read_address(self, contract: str, getter: str) -> str:
        """Return the address from a getter without arguments, in lower case."""
        return f"0x{self._read(contract, encode_call(getter, [])):040x}"

    def allowance(self, token: str, spender: str) -> int:
        """Return the allowance of ``spender`` in base units."""
        return self._read(token, encode_call("allowance(address,address)", [self.address, spender]))

    def approve(self, token: str, spender: str, amount: int) -> Sent:
        """Set an allowance. Raises DemoError."""
        data = "0x" + encode_call("approve(address,uint256)", [spender, amount]).hex()
        return self.send({"to": token, "data": data, "value": "0x0", "chainId": self._node.chain_id}, None)

    def insert_signatures(
        self, transactions: Sequence[dict[str, Any]], signatures: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Sign each typed-data request (EIP-712) and put the 65 bytes where its ``appliesTo`` says.

        Raises DemoError when the place has another length than a signature.
        """
        signed = [dict(transaction) for transaction in transactions]
        for request in signatures:
            place = request["appliesTo"]
            signature = Signer.sign_typed_data(self._key, full_message=request["typedData"]).signature
            target = signed[place["transaction"]]
            data = bytearray.fromhex(target["data"][2:])
            start, end = place["offset"], place["offset"] + place["length"]
            if len(signature) != place["length"] or end > len(data):
                raise DemoError(
                    f"The action keeps {place['length']} bytes for a signature of {len(signature)}; "
                    "this is a defect of the provider, please report it."
                )
            data[start:end] = signature
            target["data"] = "0x" + data.hex()
        return signed

    def send(self, transaction: dict[str, Any], gas_limit: str | None) -> Sent:
        """Sign one transaction of an action, send it, wait for its receipt. Raises DemoError when it reverts.

        Adds nonce, gas price and the step's gas limit, which the action leaves to the signer.
        """
        node = self._node
        if transaction["chainId"] != node.chain_id:
            raise DemoError(
                f"The action is for chain {transaction['chainId']}, not {node.chain_id}; nothing was signed, "
                "please report it."
            )
        latest = int(node.call("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
        # The next block's base fee can be far higher where the chain was reverted to an earlier block.
        base_fee = max(latest, int(node.call("eth_gasPrice"), 16))
        limit = gas_limit or node.call("eth_estimateGas", {"from": self.address, **_callable(transaction)})
        signed = Signer.sign_transaction(
            {
                **transaction,
                "nonce": int(node.call("eth_getTransactionCount", self.address, "pending"), 16),
                "gas": int(limit, 16),
                "maxFeePerGas": 2 * base_fee + _TIP_WEI,
                "maxPriorityFeePerGas": _TIP_WEI,
            },
            self._key,
        )
        identity = node.call("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
        receipt = node.receipt(identity)
        if receipt["status"] != "0x1":
            raise DemoError(
                f"Transaction {identity} to {transaction['to']} reverted on {node.slug}; "
                "restart the devnet and, if it comes again, please report it."
            )
        used = int(receipt["gasUsed"], 16)
        return Sent(
            identity, int(receipt["blockNumber"], 16), used, used * int(receipt["effectiveGasPrice"], 16)
        )

    def _read(self, token: str, data: bytes) -> int:
        return int(self._node.call("eth_call", {"to": token, "data": "0x" + data.hex()}, "latest"), 16)


def _callable(transaction: dict[str, Any]) -> dict[str, Any]:
    return {name: transaction[name] for name in ("to", "data", "value")}
