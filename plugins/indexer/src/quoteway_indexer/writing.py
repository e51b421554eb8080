"""The store of the index process, for coroutines: every call runs in one thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from quoteway_indexer.store import Commit, IndexedBlock, Query, Row, Span, Store

T = TypeVar("T")


class Writer:
    """A store of this process. Calls are done one after another, in the order in which they were made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index-store")

    async def run(self, call: Callable[..., T], *arguments: Any) -> T:
        """Returns what a function returns in the thread of the store.

        A caller that is cancelled waits until the function has ended: a commit is never half known.
        """
        work = asyncio.get_running_loop().run_in_executor(self._thread, partial(call, *arguments))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    async def commit(self, commit: Commit) -> None:
        """See ``Store.commit``."""
        await self.run(self._store.commit, commit)

    async def fetch(self, query: Query) -> list[Row]:
        """See ``Store.fetch``."""
        return await self.run(self._store.fetch, query)

    async def spans(self, chain_id: int) -> list[Span]:
        """See ``Store.spans``."""
        return await self.run(self._store.spans, chain_id)

    async def blocks(self, chain_id: int, first: int, last: int) -> list[IndexedBlock]:
        """See ``Store.blocks``."""
        return await self.run(self._store.blocks, chain_id, first, last)

    async def drop_source(self, chain_id: int, source: str) -> None:
        """See ``Store.drop_source``."""
        await self.run(self._store.drop_source, chain_id, source)

    async def drop_rollup(self, chain_id: int, table: str) -> int:
        """See ``Store.drop_rollup``."""
        return await self.run(self._store.drop_rollup, chain_id, table)

    async def lease(self, chain_id: int, source: str, holder: str, ttl_s: float) -> bool:
        """See ``Store.lease``."""
        return await self.run(self._store.lease, chain_id, source, holder, ttl_s)

    async def release(self, holder: str) -> None:
        """See ``Store.release``."""
        await self.run(self._store.release, holder)

    async def prune(self, table: str, before: int) -> int:
        """See ``Store.prune``."""
        return await self.run(self._store.prune, table, before)

    async def note(self, notes: Mapping[int, str]) -> None:
        """See ``Store.note``; by chain id."""
        for chain_id, text in notes.items():
            await self.run(self._store.note, chain_id, text)

    async def close(self) -> None:
        """Closes the store after the calls that were made."""
        await self.run(self._store.close)
        self._thread.shutdown()
