"""Smart accounts on the devnet, from the bytecode that their makers publish: Safe, ERC-4337 and EIP-7702."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from eth_account import Account
from eth_account.messages import encode_defunct
from quoteway.evm.abi import function
from quoteway.evm.address import checksum, keccak256
from quoteway_devnet import packages
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.unpacking import members

OWNER = ACCOUNTS[8]
NOBODY = "0x" + "00" * 20
CREATE2_PROXY = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""github.com/Arachnid/deterministic-deployment-proxy; anvil has it."""
SAFE_FACTORY = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7"
"""Safe's singleton factory: the same code."""
GAS = 8_000_000

PINS = {
    "safe": packages.Package(
        "@safe-global/safe-contracts",
        "1.4.1",
        "LGPL-3.0",
        "sha512-fP1jewywSwsIniM04NsqPyVRFKPMAuirC3ftA/TA4X3Zc5EnwQp/UCJUU2PL/37/z/jMo8UUaJ+pnFNWmMU7dQ==",
    ),
    "0.7": packages.Package(
        "@account-abstraction/contracts",
        "0.7.0",
        "MIT",
        "sha512-Bt/66ilu3u8I9+vFZ9fTd+cWs55fdb9J5YKfrhsrFafH1drkzwuCSL/xEot1GGyXXNJLQuXbMRztQPyelNbY1A==",
    ),
    "0.8": packages.Package(
        "@account-abstraction/contracts",
        "0.8.0",
        "MIT",
        "sha512-8krPx/gpnoT+5xAroagVCbeA7FbUigMZWXFKKPm+oghyr29Dksssdx5sI7xGv9212i4JPaDDUGFk58dpuwVgHA==",
    ),
}
_SAFE = "build/artifacts/contracts"
# Key: package and contract. Value: file, salt and the canonical address, the same on public networks.
CONTRACTS = {
    ("safe", "Safe"): (f"{_SAFE}/Safe.sol/Safe.json", "0x41675C099F32341bf84BFc5382aF534df5C7461a"),
    ("safe", "SafeProxyFactory"): (
        f"{_SAFE}/proxies/SafeProxyFactory.sol/SafeProxyFactory.json",
        "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67",
    ),
    ("safe", "MultiSendCallOnly"): (
        f"{_SAFE}/libraries/MultiSendCallOnly.sol/MultiSendCallOnly.json",
        "0x9641d764fc13c8B624c04430C7356C1C7C8102e2",
    ),
    ("safe", "MultiSend"): (
        f"{_SAFE}/libraries/MultiSend.sol/MultiSend.json",
        "0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526",
    ),
    ("safe", "CompatibilityFallbackHandler"): (
        f"{_SAFE}/handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json",
        "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99",
    ),
    ("0.7", "EntryPoint"): ("artifacts/EntryPoint.json", "0x0000000071727De22E5E9d8BAf0edAc6f37da032"),
    ("0.7", "SimpleAccountFactory"): ("artifacts/SimpleAccountFactory.json", None),
    ("0.8", "EntryPoint"): ("artifacts/EntryPoint.json", "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108"),
    ("0.8", "SimpleAccountFactory"): ("artifacts/SimpleAccountFactory.json", None),
    ("0.8", "Simple7702Account"): ("artifacts/Simple7702Account.json", None),
}
SALTS = {
    "0.7": "90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3",
    "0.8": "0a59dbff790c23c976a548690c27297883cc66b4c67024f9117b0238995e35e9",
}


def bytecode():
    """The init code by package and contract. Fetched once with npm, pinned by the tarballs' hashes."""
    wanted = json.dumps([[*map(vars_of, PINS.values())], [list(key) for key in CONTRACTS]])
    folder = packages.cache_root() / f"accounts-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    with packages.exclusive(folder):
        if not folder.is_dir():
            with packages.appearing(folder) as target, tempfile.TemporaryDirectory() as scratch:
                _extract(Path(scratch), target)
    found = json.loads((folder / "bytecode.json").read_text())
    return {tuple(key.split("/")): bytes.fromhex(code[2:]) for key, code in found.items()}


def vars_of(package):
    return [package.name, package.version, package.integrity]


def _extract(scratch, target):
    packages.npm_pack(shutil.which("npm"), list(PINS.values()), scratch, "1 MB", None)
    code = {}
    for pin, package in PINS.items():
        files = {file for (of, _), (file, _) in CONTRACTS.items() if of == pin}
        found = members(scratch / package.tarball, files)
        for (of, name), (file, _) in CONTRACTS.items():
            if of == pin:
                code[f"{pin}/{name}"] = json.loads(found[file])["bytecode"]
    (target / "bytecode.json").write_text(json.dumps(code))


class Chain:
    """Transactions and calls on the devnet."""

    def __init__(self, devnet):
        self.devnet, self.code = devnet, bytecode()

    def rpc(self, method, *params):
        with self.devnet.rpc() as rpc:
            return rpc(method, *params)

    def call(self, to, declaration, *args):
        method = function(declaration)
        answer = self.rpc("eth_call", {"to": to, "data": "0x" + method.encode(list(args)).hex()}, "latest")
        (value,) = method.decode_output(bytes.fromhex(answer[2:]))
        return value

    def send(self, to, data, sender=OWNER.address, value=0):
        call = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value), "gas": hex(GAS)}
        return self.mined(self.rpc("eth_sendTransaction", call))

    def mined(self, sent):
        while (receipt := self.rpc("eth_getTransactionReceipt", sent)) is None:
            pass
        assert receipt["status"] == "0x1", receipt
        return receipt

    def create2(self, init_code, salt="00" * 32, factory=CREATE2_PROXY):
        """Deploys once; the address."""
        where = b"\xff" + bytes.fromhex(factory[2:]) + bytes.fromhex(salt) + keccak256(init_code)
        address = checksum("0x" + keccak256(where)[-20:].hex())
        if self.rpc("eth_getCode", address, "latest") == "0x":
            self.send(factory, bytes.fromhex(salt) + init_code)
        return address

    def canonical(self, pin, name):
        """The address of a contract that is at one address on all chains."""
        init_code, (_, address) = self.code[pin, name], CONTRACTS[pin, name]
        if pin == "safe":
            self.rpc("anvil_setCode", SAFE_FACTORY, self.rpc("eth_getCode", CREATE2_PROXY, "latest"))
            made = self.create2(init_code, factory=SAFE_FACTORY)
        else:
            made = self.create2(init_code, SALTS[pin])
        assert made == address, "the package's bytecode is that of public networks"
        return made


class Safe:
    """A Safe 1.4.1 with one owner, who sends the batch with MultiSendCallOnly."""

    def __init__(self, chain):
        self.chain = chain
        singleton = chain.canonical("safe", "Safe")
        handler = chain.canonical("safe", "CompatibilityFallbackHandler")
        self.multi_send = chain.canonical("safe", "MultiSendCallOnly")
        setup = function(
            "setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler,"
            " address paymentToken, uint256 payment, address paymentReceiver)"
        ).encode([[OWNER.address], 1, NOBODY, b"", handler, NOBODY, 0, NOBODY])
        create = function("createProxyWithNonce(address singleton, bytes initializer, uint256 salt)")
        receipt = chain.send(
            chain.canonical("safe", "SafeProxyFactory"), create.encode([singleton, setup, 1])
        )
        self.address = checksum("0x" + receipt["logs"][-1]["topics"][1][-40:])

    def execute(self, calls):
        packed = b"".join(
            b"\0" + bytes.fromhex(to[2:]) + value.to_bytes(32) + len(data).to_bytes(32) + data
            for to, value, data in calls
        )
        batch = function("multiSend(bytes transactions)").encode([packed])
        run = function(
            "execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas,"
            " uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)"
        )
        by_owner = bytes.fromhex(OWNER.address[2:]).rjust(32, b"\0") + bytes(32) + b"\x01"
        args = [self.multi_send, 0, batch, 1, 0, 0, 0, NOBODY, NOBODY, by_owner]
        return self.chain.send(self.address, run.encode(args))


class SimpleAccount:
    """A SimpleAccount of EntryPoint 0.7 or 0.8; a bundler sends its user operations."""

    OPERATION = (
        "(address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits,"
        " uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)"
    )

    def __init__(self, chain, version):
        self.chain, self.version = chain, version
        self.entry_point = chain.canonical(version, "EntryPoint")
        argument = bytes.fromhex(self.entry_point[2:]).rjust(32, b"\0")
        factory = chain.create2(chain.code[version, "SimpleAccountFactory"] + argument)
        create = function("createAccount(address owner, uint256 salt)").encode([OWNER.address, 0])
        self.address = checksum(
            chain.call(factory, "getAddress(address owner, uint256 salt) returns (address)", OWNER.address, 0)
        )
        chain.rpc("anvil_setBalance", self.address, hex(10**19))
        self._operate(b"", bytes.fromhex(factory[2:]) + create)

    def execute(self, calls):
        if self.version == "0.7":
            batch = function("executeBatch(address[] dest, uint256[] value, bytes[] func)")
            self._operate(batch.encode([list(column) for column in zip(*calls, strict=True)]))
        else:
            self._operate(Delegated.BATCH.encode([calls]))

    def _operate(self, call_data, init_code=b""):
        nonce = self.chain.call(
            self.entry_point,
            "getNonce(address sender, uint192 key) returns (uint256)",
            *(self.address, 0),
        )
        limits = (2_000_000).to_bytes(16) + (4_000_000).to_bytes(16)
        fees = (10**9).to_bytes(16) + (2 * 10**10).to_bytes(16)
        operation = [self.address, nonce, init_code, call_data, limits, 100_000, fees, b""]
        hashed = self.chain.call(
            self.entry_point,
            f"getUserOpHash({self.OPERATION} userOp) returns (bytes32)",
            (*operation, b""),
        )
        key = OWNER.private_key
        if self.version == "0.7":
            signed = Account.sign_message(encode_defunct(hashed), key)
        else:
            signed = Account.unsafe_sign_hash(hashed, key)
        handle = function(f"handleOps({self.OPERATION}[] ops, address beneficiary)")
        bundler = ACCOUNTS[9].address
        data = handle.encode([[(*operation, bytes(signed.signature))], bundler])
        receipt = self.chain.send(self.entry_point, data, bundler)
        # UserOperationEvent: the second word of its data tells whether the operation succeeded.
        (event,) = [log for log in receipt["logs"] if log["address"] == self.entry_point.lower()][-1:]
        assert int(event["data"][66:130], 16) == 1, "the user operation reverted"


class Delegated:
    """An ordinary key whose account has the code of Simple7702Account (EIP-7702)."""

    BATCH = function("executeBatch((address target, uint256 value, bytes data)[] calls)")

    def __init__(self, chain):
        self.chain, self.address = chain, OWNER.address
        # Since 0.8 the delegate has the EntryPoint's address in its code.
        chain.canonical("0.8", "EntryPoint")
        delegate = chain.create2(chain.code["0.8", "Simple7702Account"])
        nonce = int(chain.rpc("eth_getTransactionCount", self.address, "latest"), 16)
        granted = {"chainId": 31337, "address": delegate, "nonce": nonce + 1}
        signed = Account.sign_transaction(
            {
                "type": 4,
                "chainId": 31337,
                "nonce": nonce,
                "to": self.address,
                "value": 0,
                "gas": GAS,
                "maxFeePerGas": 10**11,
                "maxPriorityFeePerGas": 0,
                "authorizationList": [Account.sign_authorization(granted, OWNER.private_key)],
            },
            OWNER.private_key,
        )
        chain.mined(chain.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))
        code = chain.rpc("eth_getCode", self.address, "latest")
        assert code == "0xef0100" + delegate[2:].lower()

    def execute(self, calls):
        self.chain.send(self.address, self.BATCH.encode([calls]))


MAKERS = {
    "safe-1.4.1": Safe,
    "entry-point-0.7": lambda chain: SimpleAccount(chain, "0.7"),
    "entry-point-0.8": lambda chain: SimpleAccount(chain, "0.8"),
    "eip-7702": Delegated,
}


if __name__ == "__main__":
    bytecode()
