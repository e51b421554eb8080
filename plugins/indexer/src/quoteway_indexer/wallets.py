"""The past of wallets, read from an index: tokens, transfers, position tokens, and events of transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from quoteway import (
    Address,
    EventSource,
    HourPrice,
    IndexReach,
    KnownEvent,
    OwnedNfts,
    PositionFlows,
    ReceivedToken,
    TokenHours,
    TokenTransfer,
    WalletHistory,
    WalletTokens,
    WalletTransfers,
)
from quoteway.evm.address import address_bytes, checksum

from quoteway_indexer.pool_changes import untouched
from quoteway_indexer.position_flows import PositionReader
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Condition, Reader, Row, Select, Sum, Value
from quoteway_indexer.transfer_sources import SOURCE

MOST_TOKENS = 2_000
MOST_NFTS = 20_000
_JUDGED = 1_000
"""Tokens that the wallet never sent of which is read how many accounts got them."""
_JUDGED_TRANSFERS = 5_000
_MOST_EVENTS = 500
_SUBJECTS = {
    "swap": "pool",
    "token_swap": "pool",
    "liquidity": "pool",
    "token_liquidity": "pool",
    "collected": "pool",
    "flash": "pool",
    "vault_flow": "vault",
    "bridge_event": "bridge",
}
"""The facts that ``known_events`` tells, and the column with what each is about."""


class IndexedWallets(WalletHistory):
    """Answers from the rows of an index. ``sources`` are those that the index process reads."""

    def __init__(self, reader: Reader, sources: Callable[[], Sequence[EventSource]]) -> None:
        self._reader = reader
        self._sources = sources
        self._positions = PositionReader(reader)

    async def wallet_tokens(self, chain_id: int, wallet: Address) -> WalletTokens | None:
        """See ``WalletHistory``."""
        source = self._transfers_of(chain_id, wallet)
        reach = await self._reach(chain_id, source)
        if source is None or reach is None:
            return None
        account, here = address_bytes(wallet), Condition("chain_id", "=", chain_id)
        received, sent, flows = await asyncio.gather(
            self._reader.fetch(Sum("transfer", ("token",), (), (here, Condition("recipient", "=", account)))),
            self._reader.fetch(Sum("transfer", ("token",), (), (here, Condition("sender", "=", account)))),
            self._reader.fetch(Sum("vault_flow", ("vault",), (), (here, Condition("owner", "=", account)))),
        )
        times_sent = {cast(bytes, token): cast(int, times) for token, times in sent}
        times = {cast(bytes, token): cast(int, count) for token, count in received}
        kept = sorted(times, key=lambda token: (token not in times_sent, token))[:MOST_TOKENS]
        vaults = {vault for vault, _ in flows}
        unsent = [token for token in kept if token not in times_sent][:_JUDGED]
        pairs, given = await asyncio.gather(
            self._pairs(here, kept),
            self._given(here, account, unsent, len(times)) if not source.accounts else _nothing(),
        )
        return WalletTokens(
            reach,
            tuple(
                ReceivedToken(
                    _address(token),
                    times[token],
                    times_sent.get(token, 0),
                    given.get(token, 0),
                    "pair" if token in pairs else "vault" if token in vaults else "token",
                )
                for token in kept
            ),
            len(times) - len(kept),
        )

    async def wallet_transfers(
        self,
        chain_id: int,
        wallet: Address,
        *,
        before: tuple[int, int] | None = None,
        since_block: int = 0,
        limit: int = 1_000,
    ) -> WalletTransfers | None:
        """See ``WalletHistory``."""
        source = self._transfers_of(chain_id, wallet)
        reach = await self._reach(chain_id, source)
        if reach is None:
            return None
        common = (Condition("chain_id", "=", chain_id), Condition("block", ">=", since_block))
        parts: list[tuple[Condition, ...]] = [common]
        if before is not None:  # rows of the same block that are older, and those of older blocks
            block, log_index = before
            parts = [
                (*common, Condition("block", "=", block), Condition("log_index", "<", log_index)),
                (*common, Condition("block", "<", block)),
            ]
        account = address_bytes(wallet)
        columns = (
            *("block", "log_index", "timestamp", "transaction_hash"),
            *("token", "sender", "recipient", "amount"),
        )
        answers = await asyncio.gather(
            *(
                self._reader.fetch(
                    Select(
                        "transfer",
                        columns,
                        (*part, Condition(end, "=", account)),
                        ("-block", "-log_index"),
                        limit + 1,
                    )
                )
                for part in parts
                for end in ("sender", "recipient")
            )
        )
        rows = {(row[0], row[1]): row for answer in answers for row in answer}
        newest = sorted(rows.values(), key=lambda row: row[:2], reverse=True)
        return WalletTransfers(reach, tuple(map(_transfer, newest[:limit])), len(newest) > limit)

    async def owned_nfts(self, chain_id: int, collection: Address, wallet: Address) -> OwnedNfts | None:
        """See ``WalletHistory``."""
        reach = await self._reach(chain_id, self._source_of(chain_id, collection))
        if reach is None:
            return None
        account = address_bytes(wallet)
        here = (
            Condition("chain_id", "=", chain_id),
            Condition("collection", "=", address_bytes(collection)),
        )
        came, went = await asyncio.gather(
            *(
                self._reader.fetch(
                    Select(
                        "nft_transfer",
                        ("token_id", "block", "log_index"),
                        (*here, Condition(end, "=", account)),
                        ("-block", "-log_index"),
                        MOST_NFTS,
                    )
                )
                for end in ("recipient", "sender")
            )
        )
        last: dict[int, tuple[tuple[int, int], bool]] = {}
        for rows, is_owner in ((went, False), (came, True)):
            for token_id, block, log_index in cast(list[tuple[int, int, int]], rows):
                place = block, log_index
                # A transfer to oneself is in both, and leaves the token where it was.
                if token_id not in last or last[token_id][0] <= place:
                    last[token_id] = place, is_owner
        owned = sorted(token_id for token_id, (_, is_owner) in last.items() if is_owner)
        return OwnedNfts(reach, tuple(owned), tuple(sorted(last.keys() - set(owned))))

    async def position_flows(
        self, chain_id: int, contract: Address, token_id: int | None, owner: Address
    ) -> PositionFlows | None:
        """See ``WalletHistory``."""
        if token_id is None:
            vaults = [each for each in self._of(chain_id) if _names(each, "vault_flow")]
            flows = await self._positions.vault_flows(chain_id, contract, owner)
            if flows.flows:
                reach = await self._reach(chain_id, *vaults)
            else:
                pools = [each for each in self._of(chain_id) if _names(each, "share_transfer")]
                reach = await self._reach(chain_id, *pools)
                flows = await self._positions.pair_flows(chain_id, contract, owner)
        else:
            source = self._source_of(chain_id, contract)
            if source is None or _names(source, "position_flow"):
                reach = await self._reach(chain_id, source)
                flows = await self._positions.manager_flows(chain_id, contract, token_id)
            else:  # a v4 manager: the pools log what its positions do
                pools = [each for each in self._of(chain_id) if _names(each, "liquidity")]
                reach = await self._reach(chain_id, source, *pools)
                flows = await self._positions.salted_flows(chain_id, contract, token_id)
        return None if reach is None else PositionFlows(reach, flows.flows, flows.more)

    async def hour_prices(
        self, chain_id: int, tokens: Sequence[Address], start: int, end: int
    ) -> Sequence[TokenHours] | None:
        """See ``WalletHistory``."""
        if not tokens:
            return ()
        where = (
            Condition("chain_id", "=", chain_id),
            Condition("token", "in", tuple(map(address_bytes, tokens))),
            Condition("hour", ">=", start),
            Condition("hour", "<=", end),
        )
        rows = await self._reader.fetch(
            Select("token_hour", ("token", "hour", "close_usd"), where, ("hour",))
        )
        # Tens of thousands: on the event loop nothing would be answered meanwhile.
        return await asyncio.to_thread(
            _token_hours, tokens, cast(list[tuple[bytes, int, float | None]], rows)
        )

    async def known_events(
        self, chain_id: int, transactions: Sequence[tuple[int, str]]
    ) -> Sequence[KnownEvent] | None:
        """See ``WalletHistory``."""
        if not self._of(chain_id):
            return None
        if not transactions:
            return ()
        where = (
            Condition("chain_id", "=", chain_id),
            Condition("block", "in", tuple({block for block, _ in transactions})),
            Condition("transaction_hash", "in", tuple({bytes.fromhex(each[2:]) for _, each in transactions})),
        )
        answers = await asyncio.gather(
            *(
                self._reader.fetch(
                    Select(
                        table,
                        ("transaction_hash", "source", subject),
                        where,
                        ("block", "log_index"),
                        _MOST_EVENTS,
                    )
                )
                for table, subject in _SUBJECTS.items()
            )
        )
        found = dict.fromkeys(
            KnownEvent(_hex(row[0]), table, str(row[1]), _subject(row[2]))
            for table, rows in zip(_SUBJECTS, answers, strict=True)
            for row in rows
        )
        return tuple(found)[:_MOST_EVENTS]

    async def pools_untouched(
        self, chain_id: int, after_block: int, until_block: int, transaction_hash: str
    ) -> bool | None:
        """See ``WalletHistory``."""
        pools = [each for each in self._of(chain_id) if _names(each, "swap") or _names(each, "token_swap")]
        reach = await self._reach(chain_id, *pools)
        if reach is None or reach.first > after_block + 1 or reach.last < until_block:
            return None
        swapped = bytes.fromhex(transaction_hash[2:])
        return await untouched(self._reader, chain_id, after_block, until_block, swapped)

    # --- what is read -----------------------------------------------------------------------------------

    def _of(self, chain_id: int) -> list[EventSource]:
        return [source for source in self._sources() if source.chain_id == chain_id]

    def _transfers_of(self, chain_id: int, wallet: Address) -> EventSource | None:
        """Returns the source that has a wallet's transfers, None when its transfers are not indexed."""
        source = next((each for each in self._of(chain_id) if each.id == SOURCE), None)
        if source is None or (source.accounts and wallet not in source.accounts):
            return None
        return source

    def _source_of(self, chain_id: int, contract: Address) -> EventSource | None:
        return next((each for each in self._of(chain_id) if contract in each.addresses), None)

    async def _reach(self, chain_id: int, *sources: EventSource | None) -> IndexReach | None:
        """Returns the newest blocks that were read of all sources; None when there are none."""
        if not sources or None in sources:
            return None
        spans = await self._reader.spans(chain_id)
        first, last, from_start = 0, None, True
        for source in cast(tuple[EventSource, ...], sources):
            version = version_of(source)
            mine = [each for each in spans if each.source == source.id and each.version == version]
            if not mine:
                return None
            newest = max(mine, key=lambda each: each.last)
            first = max(first, newest.first)
            last = newest.last if last is None else min(last, newest.last)
            from_start = from_start and newest.first <= source.first_block
        assert last is not None
        return IndexReach(min(first, last + 1), last, from_start)

    async def _pairs(self, here: Condition, tokens: Sequence[bytes]) -> set[Value]:
        if not tokens:
            return set()
        query = Select("pool_created", ("pool", "token0"), (here, Condition("pool", "in", tuple(tokens))))
        # A pool of several tokens may be a token as well, and is no pair.
        return {pool for pool, token0 in await self._reader.fetch(query) if token0 is not None}

    async def _given(
        self, here: Condition, account: bytes, tokens: Sequence[bytes], received: int
    ) -> dict[bytes, int]:
        """Returns of each token how many transfers of it the transaction had that gave it last.

        ``received`` is how many tokens the account received.
        """
        if not tokens:
            return {}
        # A long list of tokens costs far more than the rows that it would leave out.
        of_tokens = () if len(tokens) == received else (Condition("token", "in", tuple(tokens)),)
        receipts = await self._reader.fetch(
            Select(
                "transfer",
                ("token", "block", "transaction_hash"),
                (here, Condition("recipient", "=", account), *of_tokens),
                ("-block", "-log_index"),
                _JUDGED_TRANSFERS,
            )
        )
        last: dict[Value, Row] = {}
        for row in receipts:
            last.setdefault(row[0], row)
        where = (
            here,
            Condition("block", "in", tuple({row[1] for row in last.values()})),
            Condition("transaction_hash", "in", tuple({row[2] for row in last.values()})),
        )
        counted = await self._reader.fetch(Sum("transfer", ("token", "transaction_hash"), (), where))
        given = {(token, transaction): times for token, transaction, times in counted}
        return {
            cast(bytes, token): cast(int, given.get((token, transaction), 0))
            for token, _, transaction in last.values()
        }


async def _nothing() -> dict[bytes, int]:
    return {}


def _names(source: EventSource, fact: str) -> bool:
    return any(rule.fact == fact for rule in source.rules)


def _transfer(row: Iterable[Value]) -> TokenTransfer:
    block, log_index, timestamp, transaction, token, sender, recipient, amount = row
    return TokenTransfer(
        _address(token),
        _address(sender),
        _address(recipient),
        cast(int, amount),
        cast(int, block),
        cast(int, log_index),
        cast(int, timestamp),
        _hex(transaction),
    )


def _token_hours(
    tokens: Sequence[Address], rows: Iterable[tuple[bytes, int, float | None]]
) -> tuple[TokenHours, ...]:
    hours: dict[bytes, list[HourPrice]] = {address_bytes(token): [] for token in tokens}
    for token, hour, usd in rows:
        if usd is not None:
            hours[token].append(HourPrice(hour, usd))
    return tuple(TokenHours(token, tuple(hours[address_bytes(token)])) for token in tokens)


def _address(value: Value) -> Address:
    return checksum(_hex(value))


def _hex(value: Value) -> str:
    return "0x" + cast(bytes, value).hex()


def _subject(value: Value) -> str:
    if not isinstance(value, bytes):
        return str(value)
    return _address(value) if len(value) == 20 else _hex(value)
