"""EIP-2612: ERC-20 tokens that take an allowance by a signature of their owner (``permit``).

A token counts only if its ``DOMAIN_SEPARATOR()`` is the hash of the EIP-712 domain that is shown to the
signer: name, version, chain id and the token itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quoteway.context import Chain
from quoteway.evm import erc20
from quoteway.evm.abi import Function, encode, function
from quoteway.evm.address import keccak256
from quoteway.models import Address, Block, Call, CallFailed, Permit

PERMIT = function(
    "permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)"
)
_NONCES = function("nonces(address owner) returns (uint256)")
_DOMAIN_SEPARATOR = function("DOMAIN_SEPARATOR() returns (bytes32)")
_PERMIT_TYPEHASH = function("PERMIT_TYPEHASH() returns (bytes32)")
_VERSION = function("version() returns (string)")
_EIP712_DOMAIN = function(  # EIP-5267
    "eip712Domain() returns (bytes1 fields, string name, string version, uint256 chainId,"
    " address verifyingContract, bytes32 salt, uint256[] extensions)"
)
_NAMED_DOMAIN = b"\x0f"
"""The ``fields`` of a domain of name, version, chain id and contract, without a salt."""
_MAX_OUTPUT_BYTES = 1_024

_TYPES = {
    "EIP712Domain": "string name,string version,uint256 chainId,address verifyingContract",
    "Permit": "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline",
}
_TYPE_HASHES = {name: keccak256(f"{name}({members})".encode()) for name, members in _TYPES.items()}


@dataclass(frozen=True, slots=True)
class PermitToken:
    """A token with EIP-2612: its EIP-712 domain, and the ``nonce`` of the owner's next permit."""

    address: Address
    chain_id: int
    name: str
    version: str
    nonce: int

    @property
    def separator(self) -> bytes:
        """The hash of the domain."""
        texts = (keccak256(text.encode()) for text in (self.name, self.version))
        types = ("bytes32", "bytes32", "bytes32", "uint256", "address")
        return keccak256(encode(types, (_TYPE_HASHES["EIP712Domain"], *texts, self.chain_id, self.address)))

    def typed_data(self, owner: Address, permit: Permit) -> Mapping[str, Any]:
        """The EIP-712 payload for ``eth_signTypedData_v4``; integers as decimal text, exact everywhere."""
        return {
            "types": {
                struct: [{"name": name, "type": kind} for kind, name in map(str.split, members.split(","))]
                for struct, members in _TYPES.items()
            },
            "primaryType": "Permit",
            "domain": {
                "name": self.name,
                "version": self.version,
                "chainId": self.chain_id,
                "verifyingContract": self.address,
            },
            "message": {
                "owner": owner,
                "spender": permit.spender,
                "value": str(permit.value),
                "nonce": str(permit.nonce),
                "deadline": str(permit.deadline),
            },
        }

    def digest(self, owner: Address, permit: Permit) -> bytes:
        """The hash that is signed (EIP-712). Raises ``ValueError`` when a value does not fit."""
        types = ("bytes32", "address", "address", "uint256", "uint256", "uint256")
        values = (permit.spender, permit.value, permit.nonce, permit.deadline)
        struct = keccak256(encode(types, (_TYPE_HASHES["Permit"], owner, *values)))
        return keccak256(b"\x19\x01" + self.separator + struct)


async def read_permit_tokens(
    chain: Chain, owner: Address, tokens: Collection[Address], block: Block
) -> dict[Address, PermitToken | str]:
    """Reads tokens in one round trip. A text in place of a ``PermitToken`` says why it has no such permit.

    Raises ``UpstreamError`` when no node answers.
    """
    methods = (_DOMAIN_SEPARATOR, _PERMIT_TYPEHASH, _EIP712_DOMAIN, erc20.NAME, _VERSION)
    data = [_NONCES.encode([owner]), *(method.encode([]) for method in methods)]
    reads = [Call(token, each, max_output=_MAX_OUTPUT_BYTES) for token in tokens for each in data]
    outputs = iter(await chain.call_many(reads, block=block))
    chain_id, found = chain.network.chain_id, {}
    for token, *answers in zip(tokens, *[outputs] * len(data), strict=True):
        found[token] = _permit_token(chain_id, token, *answers)
    return found


def _permit_token(
    chain_id: int,
    token: Address,
    nonces: bytes | CallFailed,
    separator: bytes | CallFailed,
    type_hash: bytes | CallFailed,
    *texts: bytes | CallFailed,
) -> PermitToken | str:
    nonce = erc20.word(nonces)
    if nonce is None or erc20.word(separator) is None:
        return "it has no permit of EIP-2612"
    # Most tokens do not tell the type. Those with another one often do: DAI, and tokens made after it.
    if erc20.word(type_hash) is not None and type_hash != _TYPE_HASHES["Permit"]:
        return "its permit has other members than that of EIP-2612, as the permit of DAI"
    for name, version in _domains(*texts):
        candidate = PermitToken(token, chain_id, name, version, nonce)
        if candidate.separator == separator:
            return candidate
    return "its DOMAIN_SEPARATOR() is not that of its name, its version, the chain id and its address"


def _domains(
    domain: bytes | CallFailed, name: bytes | CallFailed, version: bytes | CallFailed
) -> Iterator[tuple[str, str]]:
    """Yields the names and versions that a token's domain may have: those that it states, else ``name()``
    with ``version()`` or, as most tokens before EIP-5267, "1"."""
    if (stated := _values(_EIP712_DOMAIN, domain)) and stated[0] == _NAMED_DOMAIN:
        yield stated[1], stated[2]
    for own_name in _values(erc20.NAME, name):
        for own_version in (*_values(_VERSION, version), "1"):
            yield own_name, own_version


def _values(method: Function, output: bytes | CallFailed) -> tuple[Any, ...]:
    """The values that a call returned; none when it failed or returned something else."""
    try:
        return method.decode_output(output) if isinstance(output, bytes) else ()
    except ValueError:
        return ()
