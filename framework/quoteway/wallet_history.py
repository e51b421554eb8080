"""The past of wallets, from an index of events.

An index says where to look. What a wallet has, and what a transaction did, is read from the chain.
"""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import models

MOST_TOKENS = 2_000
"""The most tokens in an answer."""
MOST_TRANSFERS = 2_000
"""The most transfers, and the most flows of a position, in an answer."""


class WalletHistory:
    """Answers about wallets from an index. A method returns None where a chain has no index of the kind.

    Every method raises ``UpstreamError`` when the index cannot be read.
    """

    async def wallet_tokens(self, chain_id: int, wallet: models.Address) -> models.WalletTokens | None:
        """Returns the ERC-20 tokens that a wallet ever received, at most ``MOST_TOKENS``."""
        return None

    async def wallet_transfers(
        self,
        chain_id: int,
        wallet: models.Address,
        *,
        before: tuple[int, int] | None = None,
        since_block: int = 0,
        limit: int = 1_000,
    ) -> models.WalletTransfers | None:
        """Returns ERC-20 transfers from and to a wallet, newest first.

        ``before`` is the block and log index that all are older than.
        """
        return None

    async def owned_nfts(
        self, chain_id: int, collection: models.Address, wallet: models.Address
    ) -> models.OwnedNfts | None:
        """Returns the tokens of an NFT contract that a wallet owns, such as those of a position manager."""
        return None

    async def position_flows(
        self, chain_id: int, contract: models.Address, token_id: int | None, owner: models.Address
    ) -> models.PositionFlows | None:
        """Returns what a position took in and paid out.

        ``contract`` is a position manager with ``token_id`` the position's, or a pair or vault, whose shares
        ``owner`` has.
        """
        return None

    async def hour_prices(
        self, chain_id: int, tokens: Sequence[models.Address], start: int, end: int
    ) -> Sequence[models.TokenHours] | None:
        """Returns the prices of tokens in the hours that begin in ``start`` to ``end`` (Unix seconds).

        Asked for as many tokens as have 50,000 hours together, or for one where the span has more.
        """
        return None

    async def known_events(
        self, chain_id: int, transactions: Sequence[tuple[int, str]]
    ) -> Sequence[models.KnownEvent] | None:
        """Returns the events of known protocols in transactions, which are given by block and hash."""
        return None

    async def pools_untouched(
        self, chain_id: int, after_block: int, until_block: int, transaction_hash: str
    ) -> bool | None:
        """Returns whether no other transaction changed a pool that a given one swapped in, before it.

        Only blocks after ``after_block`` count, up to ``until_block``, which has the transaction. None where
        the index has no swap of the transaction, or not all events since then.
        """
        return None
