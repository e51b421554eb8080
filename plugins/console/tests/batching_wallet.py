"""A wallet of the browser that carries out several calls as one transaction: EIP-5792 by EIP-7702."""

import time

from console_pages import Extension, refused
from eth_account import Account
from quoteway_devnet.batch_code import batch_code
from quoteway_devnet.rpc import Rpc


class BatchingWallet(Extension):
    """``status`` is what it says of atomic batches, ``refuses`` the error with which it takes none."""

    def __init__(self, port, account, status="supported", refuses=None, delegate="0x" + "77" * 20):
        super().__init__(port, account)
        self.status, self.refuses, self.delegate = status, refuses, delegate
        self.batches = []

    def answer(self, method, params):
        if method == "wallet_getCapabilities":
            assert params == [self.account.address, ["0x7a69"]]
            return {"0x7a69": {"atomic": {"status": self.status}}}
        if method == "wallet_sendCalls":
            if self.refuses is not None:
                return refused(self.refuses, "The wallet takes no batch.")
            self.batches.append(params[0])
            return {"id": self._sent(params[0])}
        if method == "wallet_getCallsStatus":
            with Rpc(self.port) as rpc:
                receipt = rpc("eth_getTransactionReceipt", params[0])
            if receipt is None:
                return {"version": "2.0.0", "id": params[0], "status": 100}
            code = 200 if receipt["status"] == "0x1" else 500
            return {
                "version": "2.0.0",
                "id": params[0],
                "status": code,
                "atomic": True,
                "receipts": [receipt],
            }
        return super().answer(method, params)

    def _sent(self, batch):
        """Sends the calls as one transaction of the account, which gets code by it. Returns its hash."""
        assert batch["version"] == "2.0.0"
        assert batch["atomicRequired"] is True
        assert batch["from"] == self.account.address
        with Rpc(self.port) as rpc:
            rpc("anvil_setCode", self.delegate, "0x" + batch_code(batch["calls"]).hex())
            nonce = int(rpc("eth_getTransactionCount", self.account.address, "latest"), 16)
            signer = Account.from_key(self.account.private_key)
            # The sender's own nonce is counted up before the authorization is looked at.
            allowed = signer.sign_authorization(
                {"chainId": 31337, "address": self.delegate, "nonce": nonce + 1}
            )
            transaction = {
                "type": 4,
                "chainId": int(batch["chainId"], 16),
                "nonce": nonce,
                "to": self.account.address,
                "value": 0,
                "data": "0x",
                "gas": 3_000_000,
                "maxFeePerGas": 10**11,
                "maxPriorityFeePerGas": 10**9,
                "authorizationList": [allowed],
            }
            raw = signer.sign_transaction(transaction).raw_transaction
            identity = rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
            ends_at = time.monotonic() + 60
            while rpc("eth_getTransactionReceipt", identity) is None and time.monotonic() < ends_at:
                time.sleep(0.01)
        return identity
