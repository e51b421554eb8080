"""Reads the balances and allowances of a wallet at one block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cachetools import LRUCache

from quoteway.evm import erc20, permit2
from quoteway.evm.chain import Chain
from quoteway.models import NATIVE, Address, Block, Call, NativeBalance, Spend

_Item = tuple[Literal["balance", "allowance", "permit2"], Address, Address]

GrantKey = tuple[Address, Address, Address | None]
"""Token, spender, and the Permit2 spender when ``spender`` is Permit2 (else None)."""


@dataclass(frozen=True, slots=True)
class Permit2Grant:
    """A Permit2 AllowanceTransfer allowance: amount in base units, expiry in Unix seconds, next nonce."""

    amount: int
    expiration: int
    nonce: int


@dataclass(frozen=True, slots=True)
class Wallet:
    """The balances and allowances of a wallet at one block. A value that could not be read has no key."""

    owner: Address
    block: Block
    balances: Mapping[Address, int] = field(default_factory=dict)
    allowances: Mapping[tuple[Address, Address], int] = field(default_factory=dict)
    permit2: Mapping[tuple[Address, Address], Permit2Grant] = field(default_factory=dict)


class WalletReader:
    """Reads wallets with a cache per block. Values not in the cache are read in one round trip."""

    def __init__(self, size: int = 4096) -> None:
        self._known: LRUCache[tuple[int, Block, Address], dict[_Item, bytes]] = LRUCache(size)

    async def read(
        self,
        chain: Chain,
        block: Block,
        owner: Address,
        tokens: Iterable[Address],
        grants: Iterable[GrantKey],
    ) -> Wallet:
        """Returns the balances of ``tokens`` and the allowances of ``grants``. Raises ``UpstreamError``."""
        items = list(dict.fromkeys(_items(tokens, grants)))
        # Keyed by the whole block, not its hash: a provider may combine the hash of one block with the
        # number of another, and some nodes read by number.
        known = self._known.setdefault((chain.network.chain_id, block, owner), {})
        missing = [item for item in items if item not in known]
        if missing:
            answers = await chain.call_many([_read(owner, item) for item in missing], block=block)
            for item, answer in zip(missing, answers, strict=True):
                known[item] = answer if isinstance(answer, bytes) else b""
        return _wallet(owner, block, {item: known[item] for item in items})


def _items(tokens: Iterable[Address], grants: Iterable[GrantKey]) -> Iterable[_Item]:
    for token in tokens:
        yield "balance", token, ""
    for token, spender, puller in grants:
        yield "allowance", token, spender
        if puller is not None:
            yield "permit2", token, puller


def _read(owner: Address, item: _Item) -> Call | NativeBalance:
    kind, token, spender = item
    if kind == "permit2":
        return Call(permit2.ADDRESS, permit2.ALLOWANCE.encode([owner, token, spender]))
    if kind == "allowance":
        return Call(token, erc20.ALLOWANCE.encode([owner, spender]))
    if token == NATIVE:
        return NativeBalance(owner)
    return Call(token, erc20.BALANCE_OF.encode([owner]))


def _wallet(owner: Address, block: Block, answers: Mapping[_Item, bytes]) -> Wallet:
    balances: dict[Address, int] = {}
    allowances: dict[tuple[Address, Address], int] = {}
    grants: dict[tuple[Address, Address], Permit2Grant] = {}
    for (kind, token, spender), answer in answers.items():
        words = [int.from_bytes(answer[i : i + 32]) for i in range(0, len(answer) - 31, 32)]
        if kind == "permit2" and len(words) >= 3:
            grants[token, spender] = Permit2Grant(words[0], words[1], words[2])
        elif kind == "allowance" and words:
            allowances[token, spender] = words[0]
        elif kind == "balance" and words:
            balances[token] = words[0]
    return Wallet(owner, block, balances, allowances, grants)


def grants_of(spends: Iterable[Spend]) -> list[GrantKey]:
    """Returns the allowances that ``spends`` use."""
    return [(spend.token, spend.spender, spend.permit2_spender) for spend in spends]
