"""The facts of a vault that never change, read from the chain once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cachetools import LRUCache
from quoteway import Address, Context, NotFound, Token
from quoteway.evm import erc20
from quoteway.evm.address import address_bytes, checksum
from quoteway.evm.chain import Call

from quoteway_erc4626.interface import ASSET, LIMITS, READ_GAS, TOTAL_ASSETS

_MAX_KNOWN = 4096


@dataclass(frozen=True, slots=True)
class VaultFacts:
    """A vault's address and tokens. ``listed``: its provider's catalog contains it."""

    chain_id: int
    address: Address
    asset: Token
    share: Token
    protocol: str = "erc4626"
    strategy: str = ""
    listed: bool = False

    @property
    def id(self) -> str:
        return f"{self.chain_id}:{self.address}"

    @property
    def name(self) -> str:
        return self.share.name or self.share.symbol or self.address


class VaultBook:
    """Vaults by chain and address, each checked on the chain at its first use."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: LRUCache[tuple[int, Address], VaultFacts] = LRUCache(_MAX_KNOWN)

    async def find(self, chain_id: int, address: Address) -> VaultFacts | None:
        """Returns the vault; None when there is no contract. Raises ``NotFound`` saying why it is not a
        vault."""
        known = self._known.get((chain_id, address))
        if known is None:
            known = await self._probe(chain_id, address)
            if known is not None:
                self._known[chain_id, address] = known
        return known

    async def _probe(self, chain_id: int, address: Address) -> VaultFacts | None:
        chain = self._context.chain(chain_id)
        held, assets, limit = await chain.call_many(
            [
                Call(address, ASSET.encode([]), gas=READ_GAS),
                Call(address, TOTAL_ASSETS.encode([]), gas=READ_GAS),
                Call(address, LIMITS["deposit"].encode([address]), gas=READ_GAS),
            ]
        )
        if held == assets == limit == b"":  # the answer of an account without code
            return None
        word = erc20.word(held)
        if word is None or word == 0 or word >> 160:
            raise _no_vault(address, "asset() gives no address")
        if erc20.word(assets) is None:
            raise _no_vault(address, "totalAssets() gives no number")
        if erc20.word(limit) is None:
            raise _no_vault(address, "maxDeposit(address) gives no number")
        asset = await self._context.token(chain_id, checksum(f"0x{word:040x}"))
        if asset is None:
            raise _no_vault(address, "its asset() is not an ERC-20 token")
        share = await self._context.token(chain_id, address)
        if share is None:
            raise _no_vault(address, "its shares are not an ERC-20 token")
        return VaultFacts(chain_id, address, asset, share)


def listed(facts: VaultFacts, protocol: str, strategy: str) -> VaultFacts:
    """Returns the facts of a listed vault with its names for the catalog."""
    return replace(facts, protocol=protocol, strategy=strategy, listed=True)


def address_of(vault_id: str) -> tuple[int, Address]:
    """Returns chain id and address of ``{chainId}:{address}``. Raises ``ValueError``."""
    chain_id, _, address = vault_id.partition(":")
    address_bytes(address)
    return int(chain_id), checksum(address)


def _no_vault(address: Address, finding: str) -> NotFound:
    return NotFound(f"{address} is no ERC-4626 vault: {finding}.")
