"""Resolves names of the Ethereum Name Service (EIP-137) to addresses, from the contracts of one chain.

Only what the chain itself says counts: no gateway of CCIP-Read (EIP-3668) is asked, and no resolver answers
for a name that has none of its own (ENSIP-10). A name of ``.eth`` counts while it is registered: its records
stay in the registry after it has expired, until somebody else registers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from quoteway.context import Chain
from quoteway.errors import FieldError, Reason
from quoteway.evm.abi import function
from quoteway.evm.address import checksum, keccak256
from quoteway.evm.erc20 import word
from quoteway.models import NATIVE, Address, Call, CallFailed, Read

RESOLVER = function("resolver(bytes32 node) returns (address)")
OWNER = function("owner(bytes32 node) returns (address)")
ADDR = function("addr(bytes32 node) returns (address)")
SUPPORTS_INTERFACE = function("supportsInterface(bytes4 interfaceId) returns (bool)")
NAME_EXPIRES = function("nameExpires(uint256 id) returns (uint256)")

_REGISTRY = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"
REGISTRIES: Mapping[int, Address] = {1: _REGISTRY, 11155111: _REGISTRY}
"""``ENSRegistryWithFallback`` by chain id, of Ethereum and Sepolia (docs.ens.domains, "Deployments")."""

MAX_NAME_CHARS = 255
EXTENDED_RESOLVER: Final = bytes.fromhex("9061b923")
"""The ERC-165 id of ``resolve(bytes,bytes)`` (ENSIP-10)."""
OFFCHAIN_LOOKUP: Final = bytes.fromhex("556f1830")
"""The selector of the error ``OffchainLookup`` (EIP-3668)."""

# ENSIP-15 lets these pass as they are: digits, small letters, hyphens but not as the third and fourth sign
# together, and underscores at the beginning. Other scripts and emoji need its tables, which take 90 MB and
# 1.3 s to load (ens-normalize 3.0.10), and what they allow still looks like other names to people.
_LABEL = re.compile(r"(?!..--)_*[a-z0-9-]+", re.ASCII)


def is_normal(name: str) -> bool:
    """Whether a name has two labels or more of ASCII signs in the normal form of ENSIP-15."""
    labels = name.split(".")
    return len(labels) > 1 and len(name) <= MAX_NAME_CHARS and all(map(_LABEL.fullmatch, labels))


def namehash(name: str) -> bytes:
    """The node of a name (EIP-137)."""
    node = bytes(32)
    for label in reversed(name.split(".")):
        node = keccak256(node + keccak256(label.encode()))
    return node


async def resolve(chain: Chain, names: Iterable[str]) -> dict[str, Address | FieldError]:
    """Returns the address of each name, or why it has none, at the head of the chain. Two batched reads.

    ``names`` are in normal form, and the network has an ``ens_registry``. Raises ``UpstreamError`` when the
    chain cannot be read.
    """
    asked = list(dict.fromkeys(names))
    assert chain.network.ens_registry is not None
    registry = checksum(chain.network.ens_registry)
    block = await chain.head()
    roots: list[Read] = [Call(registry, OWNER.encode([namehash("eth")]))]
    roots += (Call(registry, RESOLVER.encode([namehash(name)])) for name in asked)
    registrar, *resolvers = map(_address, await chain.call_many(roots, block=block))
    reads: list[Read] = []
    for name, resolver in zip(asked, resolvers, strict=True):
        label = keccak256(name.split(".")[-2].encode())
        reads += (
            Call(resolver, ADDR.encode([namehash(name)])),
            Call(resolver, SUPPORTS_INTERFACE.encode([EXTENDED_RESOLVER])),
            Call(registrar, NAME_EXPIRES.encode([int.from_bytes(label)])),
        )
    answers = iter(await chain.call_many(reads, block=block))
    found: dict[str, Address | FieldError] = {}
    for name, resolver, *read in zip(asked, resolvers, answers, answers, answers, strict=True):
        addr, extended, expires = read
        refusal = _refusal(name, resolver, addr, word(extended), word(expires) or 0, block.timestamp)
        found[name] = FieldError("", Reason.UNRESOLVED_NAME, refusal) if refusal else _address(addr)
    return found


def _refusal(
    name: str,
    resolver: Address,
    addr: bytes | CallFailed,
    extended: int | None,
    expires_at: int,
    now: int,
) -> str | None:
    """Returns why a name has no address; None when it has one."""
    if name.endswith(".eth") and expires_at <= now:
        return "is a name that has expired" if expires_at else "is a name that nobody has registered"
    if resolver == NATIVE:
        return (
            "is a name without a resolver of its own: names that a resolver of a parent answers for are not "
            "resolved. Give the address"
        )
    if extended or (isinstance(addr, CallFailed) and addr.output.startswith(OFFCHAIN_LOOKUP)):
        return "is a name that is kept off the chain, where it is not looked up: give the address"
    return "is a name without an address" if _address(addr) == NATIVE else None


def _address(output: bytes | CallFailed) -> Address:
    """Returns the address in an output; the zero address where it has none."""
    whole = isinstance(output, bytes) and len(output) == 32 and not any(output[:12])
    return checksum("0x" + output[12:].hex()) if whole and isinstance(output, bytes) else NATIVE
