"""The published contracts of the Ethereum Name Service on a local chain, and names in them."""

import json

from quoteway.evm.abi import encode, function
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.ens import namehash
from quoteway_devnet.packages import prepare_ens

ROOT = bytes(32)
YEAR_S = 365 * 86_400


class NameService:
    """Registry, registrar of ``.eth`` and resolver, all of one unlocked account."""

    def __init__(self, rpc):
        self.rpc = rpc
        self.account = checksum(rpc("eth_accounts")[9])
        self._codes = json.loads(prepare_ens().read_text())
        self.registry = self._deploy("ENSRegistry")
        self.registrar = self._deploy(
            "BaseRegistrarImplementation", ("address", "bytes32"), (self.registry, namehash("eth"))
        )
        self.resolver = self._deploy("PublicResolver", ("address",), (self.registry,))
        self.own(ROOT, "eth", self.registrar)
        self.send(self.registrar, "addController(address controller)", self.account)

    def send(self, to, declaration, *values):
        """Sends a transaction to a contract."""
        return self._mined({"to": to, "data": "0x" + function(declaration).encode(values).hex()})

    def own(self, parent, label, owner):
        """Gives a name below the node of its parent to an owner."""
        declaration = "setSubnodeOwner(bytes32 node, bytes32 label, address owner)"
        self.send(self.registry, declaration, parent, keccak256(label.encode()), owner)

    def register(self, name, address=None, *, lifetime_s=YEAR_S, resolver=None):
        """Registers ``label.eth``, with a resolver and an address."""
        label = int.from_bytes(keccak256(name.removesuffix(".eth").encode()))
        declaration = "register(uint256 id, address owner, uint256 duration)"
        self.send(self.registrar, declaration, label, self.account, lifetime_s)
        self.resolve(name, address, resolver=resolver)

    def resolve(self, name, address=None, *, resolver=None):
        """Sets the resolver of a name, and its address in it."""
        node = namehash(name)
        if resolver or address:
            declaration = "setResolver(bytes32 node, address resolver)"
            self.send(self.registry, declaration, node, resolver or self.resolver)
        if address:
            self.send(self.resolver, "setAddr(bytes32 node, address addr)", node, address)

    def code(self, runtime):
        """Puts a contract with this code, in hex, on the chain."""
        address = checksum("0x" + keccak256(runtime.encode())[12:].hex())
        self.rpc("anvil_setCode", address, "0x" + runtime)
        return address

    def _deploy(self, contract, types=(), values=()):
        data = self._codes[contract] + encode(types, values).hex()
        return checksum(self._mined({"data": data})["contractAddress"])

    def _mined(self, transaction):
        sender = {"from": self.account, "gas": hex(6_000_000)}
        identity = self.rpc("eth_sendTransaction", {**sender, **transaction})
        while (receipt := self.rpc("eth_getTransactionReceipt", identity)) is None:
            pass
        assert receipt["status"] == "0x1", transaction
        return receipt
