"""Ids of tokens that name their chain: CAIP-19, and ``{chainId}:{address}`` as the API shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from quoteway.evm.address import parse_address
from quoteway.models import NATIVE, Address

ETHER = "ETH"
"""The symbol of the coin that has the number 60 in SLIP-44."""

CHAIN = "[1-9][0-9]{0,15}"
ADDRESS = "0x[0-9a-fA-F]{40}"
PATTERN = f"eip155:{CHAIN}/(erc20:{ADDRESS}|slip44:60)|{CHAIN}:{ADDRESS}"
"""Of all ids that ``parse_asset_id`` takes, without anchors."""

_FORM = re.compile(f"(?:eip155:({CHAIN})/(?:erc20:({ADDRESS})|slip44:60)|({CHAIN}):({ADDRESS}))", re.ASCII)


@dataclass(frozen=True, slots=True)
class AssetId:
    """A token of a chain. ``NATIVE`` stands for Ether: no other coin has the number 60 in SLIP-44."""

    chain_id: int
    address: Address


def parse_asset_id(text: str) -> AssetId | None:
    """Reads ``eip155:{chainId}/erc20:{address}``, ``eip155:{chainId}/slip44:60`` or ``{chainId}:{address}``.

    None for another text. Raises ``ValueError`` for a wrong EIP-55 checksum.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    chain, token, other_chain, other_token = found.groups()
    address = token or other_token
    return AssetId(int(chain or other_chain), parse_address(address) if address else NATIVE)
