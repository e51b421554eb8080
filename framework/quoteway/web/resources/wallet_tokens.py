"""Which tokens of a wallet are read on each network: listed ones, and those that it received by an index.

An index says where to look. Balances are the chain's, and what no catalog lists is outside of totals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from quoteway.errors import GatewayError
from quoteway.evm.chain import RpcChain
from quoteway.models import NATIVE, Address, IndexReach, ReceivedToken, Token, WalletTokens
from quoteway.wallet_history import WalletHistory
from quoteway.web.resources.wallet_reads import TOKEN_LIMIT, fair_shares
from quoteway.web.wire.holdings import (
    Missing,
)

INDEX_UNAVAILABLE, INDEX_INCOMPLETE, INDEX_BEHIND = OF_UNLISTED_TOKENS = (
    *("index_unavailable", "index_incomplete"),
    "index_behind",
)
"""Why unlisted tokens may be missing: the index cannot be read, has not all old blocks, or not the newest."""
MOST_BEHIND = 64
"""Blocks."""


@dataclass(frozen=True, slots=True)
class TokensToRead:
    """The tokens of one wallet that are read on one network.

    ``received`` is what an index knows of them. ``is_cut``: the wallet may have others than ``tokens``.
    ``unsearched`` is why unlisted ones may be missing.
    """

    tokens: Sequence[Address]
    received: Mapping[Address, ReceivedToken] = field(default_factory=dict)
    is_cut: bool = False
    unsearched: str | None = None

    def missing(self, chain_id: int) -> list[Missing]:
        """Returns what ``partial`` names of the network."""
        reasons = (TOKEN_LIMIT if self.is_cut else None, self.unsearched)
        return [Missing(chain_id, None, reason) for reason in reasons if reason is not None]


async def tokens_to_read(
    history: WalletHistory,
    chains: Mapping[int, RpcChain],
    wallet: Address,
    listed: Mapping[int, Mapping[Address, Token]],
) -> dict[int, TokensToRead]:
    """Returns what is read of a wallet where no tokens are asked for: of each network a fair share.

    What the wallet received comes first, listed ones before others.
    """
    answers = await asyncio.gather(*(_ask(history, chain_id, wallet) for chain_id in listed))
    known = dict(zip(listed, answers, strict=True))
    ordered = {chain_id: _ordered(listed[chain_id], known[chain_id]) for chain_id in listed}
    shares = fair_shares({chain_id: len(tokens) for chain_id, tokens in ordered.items()})
    found: dict[int, TokensToRead] = {}
    for chain_id, tokens in ordered.items():
        answer, share = known[chain_id], shares[chain_id]
        if not isinstance(answer, WalletTokens):
            unsearched = INDEX_UNAVAILABLE if isinstance(answer, GatewayError) else None
            found[chain_id] = TokensToRead(tokens[:share], {}, len(tokens) > share, unsearched)
            continue
        received = {each.token: each for each in answer.received}
        # Where every transfer is indexed, a wallet has no token that it never received.
        needed = len(received) if answer.reach.from_start else len(tokens)
        found[chain_id] = TokensToRead(
            tokens[:share],
            received,
            needed > share or answer.left_out > 0,
            _unsearched(answer.reach, chains[chain_id]),
        )
    return found


def named_tokens(tokens: Collection[Address], shares: Mapping[int, int]) -> dict[int, TokensToRead]:
    """Returns what is read where a caller names the tokens."""
    plain = [token for token in tokens if token != NATIVE]
    return {
        chain_id: TokensToRead(plain[:share], {}, len(plain) > share) for chain_id, share in shares.items()
    }


async def _ask(history: WalletHistory, chain_id: int, wallet: Address) -> WalletTokens | GatewayError | None:
    try:
        return await history.wallet_tokens(chain_id, wallet)
    except GatewayError as error:
        return error


def _ordered(listed: Mapping[Address, Token], answer: WalletTokens | GatewayError | None) -> list[Address]:
    received = [each.token for each in answer.received] if isinstance(answer, WalletTokens) else []
    first = sorted(received, key=lambda token: token not in listed)
    return [token for token in dict.fromkeys((*first, *listed)) if token != NATIVE]


def _unsearched(reach: IndexReach, chain: RpcChain) -> str | None:
    if not reach.from_start:
        return INDEX_INCOMPLETE
    head = chain.known_head
    return INDEX_BEHIND if head is not None and head.number - reach.last > MOST_BEHIND else None
