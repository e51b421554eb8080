"""Permit2's init code, rebuilt from the runtime code that its npm source package carries.

The packaged runtime (``DeployPermit2.sol``) comes from another address on chain 31337, and its immutables
hold that address's domain separator: set as code on chain 31337 it returns a wrong DOMAIN_SEPARATOR() and
refuses every signature. Therefore the two immutables are zeroed and the constructor that sets them is
prepended. The canonical CREATE2 address proves that the result is Permit2's init code.
"""

import re

from quoteway.evm.address import keccak256

from quoteway_devnet.errors import DevnetError

ADDRESS = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
SALT = bytes.fromhex("d3af2663da51c10215000000").rjust(32, b"\0")
"""Uniswap/permit2, script/DeployPermit2.s.sol."""

INIT_CODE_HASH = bytes.fromhex("e2be1e05eedf35dacd66c65c862f8150ff9ab4b6b24b9bbe62be71b6b16cf0f8")

_CACHED_CHAIN_ID_AT = 0x1B21
_CACHED_DOMAIN_SEPARATOR_AT = 0x1B47

# What solc 0.8.17 (viaIR, 1,000,000 runs, bytecodeHash none) emits for EIP712.sol's constructor: hash the
# domain (name hash, chain id, own address), copy the runtime, store separator and chain id in it, return it.
_CONSTRUCTOR = bytes.fromhex(
    "60c0346100bb574660a052602081017f8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a8"
    "6681527f9ac997416e8ff9d2ff6bebeb7149f65cdae5e32e2b90440b566bb3044041d36a6040830152466060830152"
    "3060808301526080825260a082019180831060018060401b038411176100a557826040525190206080526123c09081"
    f"6100c182396080518161{_CACHED_DOMAIN_SEPARATOR_AT:04x}015260a0518161{_CACHED_CHAIN_ID_AT:04x}"
    "0152f35b634e487b7160e01b600052604160045260246000fd5b600080fdfe"
)


def init_code(deploy_permit2_source: str) -> bytes:
    """Rebuild the init code from the text of ``DeployPermit2.sol``.

    Raises DevnetError when the result is not Permit2's published init code.
    """
    match = re.search(r'hex"([0-9a-f]+)"', deploy_permit2_source)
    runtime = bytearray.fromhex(match[1] if match else "")
    for offset in (_CACHED_CHAIN_ID_AT, _CACHED_DOMAIN_SEPARATOR_AT):
        runtime[offset : offset + 32] = bytes(32)
    code = _CONSTRUCTOR + bytes(runtime)
    if keccak256(code) != INIT_CODE_HASH:
        raise DevnetError("The Permit2 source package holds other code than expected; report this as a bug.")
    return code
