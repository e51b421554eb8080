"""Transactions of the deployer, mined one by one or as whole blocks."""

import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from quoteway.evm.abi import encode, function
from quoteway.evm.address import checksum, create2_address, keccak256

from quoteway_devnet.rpc import Call, Rpc

DEPLOYER = "0x59904BED39ad8708851A23461A222A82Da16fa5B"
"""keccak256("quoteway devnet deployer")[12:]. It has no known key: anvil impersonates it. Contract
addresses depend on it and its nonces; the ten default accounts keep nonce 0."""

CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployment proxy: calldata is salt and init code. anvil has it from the start."""

_GAS = 12_000_000
_MAX_CODE_BYTES = 24_576
"""EIP-170."""


def constructor_arguments(signature: str, values: Sequence[Any]) -> bytes:
    """Encode a constructor's arguments; ``signature`` is the list of their types, ``(address,string)``."""
    return encode(function(f"constructor{signature}").types, values)


def own_init_code(contract: str) -> bytes:
    """Return the init code of a contract whose source is in this repository."""
    package = resources.files("quoteway_devnet")
    file = package / "artifacts" / f"{contract}.json"
    if not file.is_file():
        file = package / "borrowed" / f"{contract}.json"
    return bytes.fromhex(json.loads(file.read_text())["bytecode"][2:])


class Transactions:
    """Sends as the deployer on one chain. ``flush`` mines what is queued, ``close`` ends the session.

    ``bytecode`` are files of init codes by contract (``packages``).
    """

    def __init__(self, rpc: Rpc, *bytecode: Path) -> None:
        self.rpc = rpc
        self._init_codes: dict[str, str] = {}
        for file in bytecode:
            self._init_codes |= json.loads(file.read_text())
        self._pending: list[tuple[str, dict[str, str]]] = []
        self._nonce = 0
        rpc.batch(
            [
                ("anvil_impersonateAccount", [DEPLOYER]),
                ("anvil_setBalance", [DEPLOYER, hex(2**100)]),
                ("evm_setAutomine", [False]),
            ]
        )

    def init_code(self, contract: str, libraries: Mapping[str, str] | None = None) -> bytes:
        """Return the init code of a published contract or of one of ours, with its libraries linked."""
        text = self._init_codes.get(contract)
        if text is None:
            return own_init_code(contract)
        for address in (libraries or {}).values():
            # Each contract here has at most one library, so every placeholder belongs to it.
            text = re.sub(r"__\$[0-9a-f]{34}\$__", address[2:].lower(), text)
        return bytes.fromhex(text[2:])

    def deploy(
        self, contract: str, signature: str = "()", *values: Any, libraries: Mapping[str, str] | None = None
    ) -> str:
        """Create a contract from the deployer's next nonce and return its address."""
        data = self.init_code(contract, libraries) + constructor_arguments(signature, values)
        self._pending.append((f"deploying {contract}", self._transaction(None, data, 0)))
        return checksum(self.flush()[-1]["contractAddress"])

    def deploy2(self, contract: str, salt: bytes, signature: str = "()", *values: Any) -> str:
        """Queue a deployment through the CREATE2 deployer and return the contract's address."""
        init_code = self.init_code(contract) + constructor_arguments(signature, values)
        self.later(f"deploying {contract}", CREATE2_DEPLOYER, salt + init_code)
        return create2_address(CREATE2_DEPLOYER, salt, keccak256(init_code))

    def construct_at(self, address: str, contract: str, signature: str = "()", *values: Any) -> str:
        """Put a contract at an address of choice and return the address.

        The init code is called as if it were the code there: the constructor sees its own address, writes
        its storage, creates its children and returns the runtime code with its immutables, which then takes
        the place of the init code. The deployer is its ``msg.sender``. Raises RuntimeError when it reverts or
        the code is larger than EIP-170 allows, which anvil does not check here.
        """
        self.flush()
        init_code = self.init_code(contract) + constructor_arguments(signature, values)
        # Nonce 1 as of a created contract (EIP-161): the addresses of its children depend on it.
        self.rpc("anvil_setNonce", address, "0x1")
        self.rpc("anvil_setCode", address, "0x" + init_code.hex())
        runtime = self.rpc("eth_call", self._transaction(address, b"", 0), "latest")
        if not 2 < len(runtime) <= 2 + 2 * _MAX_CODE_BYTES:
            raise RuntimeError(f"{contract} has {len(runtime) // 2 - 1} bytes, at most {_MAX_CODE_BYTES} fit")
        self.later(f"constructing {contract}", address, b"")
        self.flush()
        self.rpc("anvil_setCode", address, runtime)
        return address

    def later(self, what: str, to: str, data: bytes, value: int = 0) -> None:
        """Queue a transaction for the next ``flush``; ``what`` names it when it fails."""
        self._pending.append((what, self._transaction(to, data, value)))

    def flush(self) -> list[dict[str, Any]]:
        """Mine all queued transactions in one block and return their receipts.

        Raises RuntimeError naming the first that reverted.
        """
        queued, self._pending = self._pending, []
        # anvil handles the members of a batch in any order: nonces are explicit, and mining is a call of its
        # own.
        calls: list[Call] = [
            ("eth_sendTransaction", [transaction | {"nonce": hex(self._nonce + index)}])
            for index, (_, transaction) in enumerate(queued)
        ]
        self._nonce += len(queued)
        hashes = self.rpc.batch(calls)
        self.rpc("evm_mine")
        receipts = self.rpc.batch([("eth_getTransactionReceipt", [value]) for value in hashes])
        for (what, _), receipt in zip(queued, receipts, strict=True):
            if receipt is None or receipt["status"] != "0x1":
                raise RuntimeError(f"{what} failed: {receipt}")
        return receipts

    def read(self, to: str, declaration: str, *values: Any) -> tuple[Any, ...]:
        """Call a view function, declared as ``name(types) returns (types)``, on the latest block."""
        call = function(declaration)
        request = {"to": to, "data": "0x" + call.encode(values).hex()}
        return call.decode_output(bytes.fromhex(self.rpc("eth_call", request, "latest")[2:]))

    def close(self) -> None:
        """Restore automatic mining and end the impersonation."""
        self.flush()
        self.rpc.batch([("evm_setAutomine", [True]), ("anvil_stopImpersonatingAccount", [DEPLOYER])])

    @staticmethod
    def _transaction(to: str | None, data: bytes, value: int) -> dict[str, str]:
        transaction = {"from": DEPLOYER, "data": "0x" + data.hex(), "gas": hex(_GAS), "value": hex(value)}
        if to is not None:
            transaction["to"] = to
        return transaction
