"""Reads a wallet's balances on one network, all at one block, and names unreadable tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quoteway.evm import erc20
from quoteway.evm.balance_scan import TOKENS_PER_CALL, TokenBalance, scan_balances
from quoteway.evm.chain import Chain
from quoteway.models import Address, Block, Token

NAMED_PER_CALL = 64


@dataclass(frozen=True, slots=True)
class Holding:
    """``amount`` in base units of ``token``."""

    token: Token
    amount: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """``unreadable``: tokens whose balance is not known, with the reason. ``found``: tokens that ``facts``
    did not have."""

    block: Block
    native: int
    tokens: tuple[Holding, ...]
    unreadable: tuple[tuple[Address, str], ...]
    found: tuple[Token, ...]


async def read_holdings(
    chain: Chain, wallet: Address, tokens: Sequence[Address], facts: Mapping[Address, Token]
) -> Holdings:
    """Reads the wallet's native coin and ``tokens``, at most 1,000 in two calls.

    ``facts`` are the tokens known already. Of others the decimals are read with the balances, and symbols and
    names in the second call when it is free. Raises ``UpstreamError`` when no node answers.
    """
    block = await chain.head()
    unknown = [token for token in tokens if token not in facts]
    asked = unknown[:NAMED_PER_CALL] if len(tokens) <= TOKENS_PER_CALL else []
    scan, named = await asyncio.gather(
        scan_balances(chain, wallet, tokens, block), erc20.names(chain, asked, block)
    )
    names = dict(zip(asked, named, strict=True))
    held: list[Holding] = []
    unreadable: list[tuple[Address, str]] = []
    found: list[Token] = []
    for address, row in zip(tokens, scan.tokens, strict=True):
        if not isinstance(row, TokenBalance):
            unreadable.append((address, row))
            continue
        token = facts.get(address)
        if token is None:
            if row.decimals is None:
                unreadable.append((address, "no_token"))
                continue
            symbol, name = names.get(address, (None, None))
            token = Token(chain.network.chain_id, address, row.decimals, symbol, name)
            if address in names:
                found.append(token)
        elif row.decimals not in (None, token.decimals):
            token = replace(token, decimals=row.decimals)
        held.append(Holding(token, row.amount))
    return Holdings(block, scan.native, tuple(held), tuple(unreadable), tuple(found))
