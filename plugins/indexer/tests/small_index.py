"""A small index in DuckDB that a test fills from a chain at once, and a provider that answers from it."""

from __future__ import annotations

from quoteway import MetricsProvider
from quoteway_indexer.ingest.decoding import decode
from quoteway_indexer.ingest.logs import read_logs
from quoteway_indexer.ingest.sources import compile_sources, filter_of
from quoteway_indexer.store import Commit, IndexedBlock, Reader, Span
from quoteway_indexer.wallets import IndexedWallets


class StoreReader(Reader):
    """Reads a store of this process."""

    def __init__(self, store):
        self._store = store
        self.queries = 0

    async def fetch(self, query):
        self.queries += 1
        return self._store.fetch(query)

    async def spans(self, chain_id):
        return self._store.spans(chain_id)

    async def revision(self):
        return 0

    async def notes(self):
        return {}


class WalletIndex(IndexedWallets, MetricsProvider):
    """Answers about wallets; has no series."""

    id = "index"
    title = "A small index"

    def __init__(self, store, sources):
        self.reader = StoreReader(store)
        super().__init__(self.reader, lambda: sources)
        self.networks = frozenset(source.chain_id for source in sources)

    async def series(self, resource_id, metric, start, end, interval):
        return None


def fill(store, rpc, sources):
    """Reads all logs of the sources of one chain into a store, and returns the last block."""
    compiled = compile_sources(sources)
    assert not compiled.refused, compiled.refused
    last = int(rpc("eth_blockNumber"), 16)
    chain_id = sources[0].chain_id
    facts = {}
    times = {}
    for passes in (compiled.finders, compiled.others):
        if not passes:
            continue
        wanted = {"fromBlock": "0x0", "toBlock": hex(last), **filter_of(passes)}
        batch = read_logs(rpc("eth_getLogs", wanted), 0, last)
        new = sorted(set(batch.blocks) - times.keys())
        headers = rpc.batch([("eth_getBlockByNumber", [hex(number), False]) for number in new])
        times |= {number: int(header["timestamp"], 16) for number, header in zip(new, headers, strict=True)}
        known = {each.id: each.contracts for each in compiled.all}
        decoded = decode([each.decoder for each in passes], batch, times, known.__getitem__)
        facts |= decoded.facts
        for finder in compiled.finders if passes is compiled.finders else ():
            created = decoded.facts.get("contract_created")
            rows = created.to_pylist() if created is not None else []
            found = {"0x" + row["contract"].hex() for row in rows if row["source"] == finder.id}
            for made in finder.makes:
                made.contracts.update(found)
    known = [IndexedBlock(number, number.to_bytes(32), b"\0" * 32, time) for number, time in times.items()]
    spans = [Span(each.id, each.version, each.declared.first_block, last) for each in compiled.all]
    store.commit(Commit(chain_id, facts=facts, blocks=known, read=spans))
    return last
