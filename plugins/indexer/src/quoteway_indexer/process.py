"""The index process: opens the store, indexes every chain, and says how far it is."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import Final

from quoteway import ConfigError, Context, EventSource, Network

from quoteway_indexer.computations import computations_of
from quoteway_indexer.deployment import enabled, networks_of
from quoteway_indexer.ingest.chain_index import ChainIndex
from quoteway_indexer.ingest.notes import ChainNote, encode_note
from quoteway_indexer.ingest.sources import compile_sources
from quoteway_indexer.retention import RETENTION_S, Retention
from quoteway_indexer.store import Store, StoreBusyError, StoreError
from quoteway_indexer.stores import open_store, served
from quoteway_indexer.writing import Writer

LEASE_S: Final = 30.0
NOTE_S: Final = 1.0
_LONGEST_RETRY_S: Final = 30.0
_BUSY_S: Final = 1.0

Report = Callable[[Mapping[str, ChainNote]], None]
"""Shows how far each chain is, by the network's slug."""


class IndexProcess:
    """Indexes the networks of a deployment. ``report`` is called every second."""

    def __init__(self, context: Context, report: Report | None = None) -> None:
        self._context = context
        self._log = context.log
        self._report = report
        self._writer: Writer
        self._retention: Retention
        self._chains: dict[int, ChainIndex] = {}
        self._begun: list[ChainIndex] = []
        # A file of DuckDB is open in one process only: what one that was killed held there is ours.
        is_own = context.settings["store"] == "duckdb"
        self._holder = "duckdb" if is_own else f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"

    async def run(self, *, once: bool = False) -> None:
        """Indexes until it is cancelled, or ``once`` up to the heads. Raises ``ConfigError``."""
        if not enabled(self._context):
            raise ConfigError(
                "there is no index in this deployment: set `enabled = true` in [plugin.indexer], "
                "for the server too"
            )
        networks = networks_of(self._context)
        store = await self._opened()
        self._writer = Writer(store)
        self._retention = Retention(self._context.settings, self._writer, self._log)
        # Modules stay for good; logs come and go by the ten thousand, without cycles.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 50)
        try:
            self._chains = {network.chain_id: self._chain(network) for network in networks}
            with served(store, self._context.settings):
                await self._run_all(once)
        finally:
            try:
                await self._writer.release(self._holder)
            except StoreError as error:
                text = "the leases stay until they expire, in %g s at most: %s"
                self._log.warning(text, LEASE_S, error)
            await self._writer.close()

    async def _opened(self) -> Store:
        """Returns the store, which another process may have at first."""
        told = False
        while True:
            try:
                store = open_store(self._context.settings)
            except StoreBusyError as error:
                if not told:
                    self._log.warning("waiting: %s; it goes on when that one has ended", error)
                told = True
                await asyncio.sleep(_BUSY_S)
            except StoreError as error:
                raise ConfigError(f"[plugin.indexer]: {error}") from None
            else:
                break
        try:
            store.migrate()
        except StoreError as error:
            store.close()
            raise ConfigError(f"[plugin.indexer]: {error}") from None
        return store

    def _chain(self, network: Network) -> ChainIndex:
        context, chain = self._context, self._context.chain(network)
        declared = [each for each in context.event_sources if each.chain_id == network.chain_id]
        starts: Mapping[str, int] = context.settings["start_block"]
        own = {
            each.id: starts.get(f"{each.id}@{network.slug}", starts.get(each.id, each.first_block))
            for each in declared
        }
        sources = compile_sources(declared, own)
        for name, reason in sources.refused.items():
            self._log.error("event source %r of %s is left out: %s", name, network.slug, reason)
        return ChainIndex(
            chain,
            sources,
            self._writer,
            computations_of(context, chain, self._writer),
            self._log,
            finality_blocks=context.settings["finality_blocks"],
        )

    async def _run_all(self, once: bool) -> None:
        chains = [asyncio.create_task(self._run_chain(each, once)) for each in self._chains.values()]
        beside = [asyncio.create_task(self._say()), asyncio.create_task(self._retain())]
        try:
            await asyncio.gather(*chains)
            await self._note()
        finally:
            tasks = [*chains, *beside]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _run_chain(self, chain: ChainIndex, once: bool) -> None:
        """Runs one chain; again after a failure, later each time, but soon after one that ran well before."""
        failures, loop = 0, asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                # The store may fail here too: an index outlives its database.
                await self._leased(chain)
                if await self._index_leased(chain, once):
                    return
            except StoreError as error:
                self._log.error("%s: the index cannot be written: %s", chain.network.slug, error)
            except Exception:  # isolation border: one chain must not end the others
                self._log.exception("%s: indexing failed", chain.network.slug)
            else:
                failures = 0  # another process has the leases now
                await asyncio.sleep(_BUSY_S)
                continue
            failures = 1 if loop.time() - began > _LONGEST_RETRY_S else failures + 1
            await asyncio.sleep(min(_LONGEST_RETRY_S, 0.5 * 2 ** min(failures, 10)))

    async def _index_leased(self, chain: ChainIndex, once: bool) -> bool:
        """Indexes while this process has the leases. Returns whether all is done; else they are lost."""
        running = asyncio.create_task(self._index(chain, once))
        keeping = asyncio.create_task(self._keep_lease(chain))
        try:
            await asyncio.wait([running, keeping], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
                return True
            keeping.result()
            return False
        finally:
            for task in (running, keeping):
                task.cancel()
            await asyncio.wait([running, keeping])

    async def _index(self, chain: ChainIndex, once: bool) -> None:
        await self._retention.begin(*self._kept(chain))
        if chain not in self._begun:
            self._begun.append(chain)
        await chain.run(once=once)

    # --- leases ---------------------------------------------------------------------------------------------

    async def _leased(self, chain: ChainIndex) -> None:
        """Waits until this process may write all sources of a chain."""
        told: str | None = None
        while True:
            taken = await self._take(chain)
            if taken is None:
                return
            if told != taken:
                told = taken
                text = "%s waits: another index process writes %r; it goes on when that one has ended"
                self._log.warning(text, chain.network.slug, taken)
            await asyncio.sleep(LEASE_S / 6)

    async def _take(self, chain: ChainIndex) -> str | None:
        """Takes or extends the leases of a chain. Returns the first source that another process has."""
        for source in chain.sources.all:
            if not await self._writer.lease(chain.network.chain_id, source.id, self._holder, LEASE_S):
                return source.id
        return None

    async def _keep_lease(self, chain: ChainIndex) -> None:
        """Extends the leases until another process has one."""
        while True:
            await asyncio.sleep(LEASE_S / 3)
            taken = await self._take(chain)
            if taken is not None:
                text = "%s stops: another index process took over %r"
                self._log.warning(text, chain.network.slug, taken)
                return

    # --- saying how far it is -------------------------------------------------------------------------------

    async def _say(self) -> None:
        while True:
            try:
                await self._note()
            except StoreError as error:
                self._log.warning("the state of the index cannot be written: %s", error)
            await asyncio.sleep(NOTE_S)

    async def _retain(self) -> None:
        """Deletes rows that are older than the settings keep, now and then."""
        while True:
            try:
                for chain in self._begun:
                    await self._retention.note(*self._kept(chain))
                await self._retention.prune(self._context.now())
            except StoreError as error:
                self._log.warning("old rows stay, what is kept cannot be written: %s", error)
            await asyncio.sleep(RETENTION_S)

    def _kept(self, chain: ChainIndex) -> tuple[int, list[EventSource], int]:
        declared = [each.declared for each in chain.sources.others]
        return chain.network.chain_id, declared, self._context.now()

    async def _note(self) -> None:
        notes = {chain_id: chain.note() for chain_id, chain in self._chains.items()}
        if self._report is not None:
            self._report({self._chains[chain_id].network.slug: note for chain_id, note in notes.items()})
        await self._writer.note({chain_id: encode_note(note) for chain_id, note in notes.items()})
