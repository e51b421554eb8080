"""What an index keeps of logs by the sources that a plugin declares, and what ``eth_abi`` decodes of them.

For the tests of plugins, which take it from here when this distribution is installed.
"""

from eth_abi import decode
from eth_utils import keccak
from quoteway_indexer.store import Select
from quoteway_indexer.stores.duckdb import DuckDBStore
from quoteway_indexer.tables import FACTS, PLACE
from small_index import fill


def facts_of(path, rpc, sources):
    """Returns the rows of facts by table, as an index in a file of DuckDB has them: each as a mapping."""
    store = DuckDBStore(path, memory_mb=256)
    try:
        store.migrate()
        fill(store, rpc, sources)
        found = {}
        for table in FACTS.values():
            names = tuple(column.name for column in table.columns)
            rows = store.fetch(Select(table.name, names, order=table.key))
            if rows:
                found[table.name] = [dict(zip(names, row, strict=True)) for row in rows]
        return found
    finally:
        store.close()


class Logs:
    """The logs of contracts, and the rows that are expected of them.

    ``events`` are by signature of their canonical types: which types are indexed, which are in the data, and
    a function of all values that gives (table, own columns) for each row. Values of indexed types come first.
    """

    def __init__(self, rpc, source, events):
        self.rpc, self.source = rpc, source
        self.events = {keccak(text=signature): rest for signature, rest in events.items()}
        self.seen = dict.fromkeys(self.events, 0)
        self.times = {}

    def expected(self, addresses):
        """Returns the rows by table, in the order of their keys."""
        wanted = {"fromBlock": "0x0", "toBlock": "latest", "address": list(addresses)}
        found = {}
        for log in self.rpc("eth_getLogs", wanted):
            topics = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
            if topics[0] not in self.events:
                continue
            self.seen[topics[0]] += 1
            indexed, data, rows_of = self.events[topics[0]]
            values = [decode([kind], topic)[0] for kind, topic in zip(indexed, topics[1:], strict=True)]
            values += decode(data, bytes.fromhex(log["data"][2:]))
            for table, own in rows_of(log, *values):
                found.setdefault(table, []).append(self._row(log, table, own))
        for table, rows in found.items():
            rows.sort(key=lambda row, key=FACTS[table].key: [row[name] for name in key])
        assert all(self.seen.values()), "an event never happened"
        return found

    def _row(self, log, table, own):
        number = log["blockNumber"]
        if number not in self.times:
            block = self.rpc("eth_getBlockByNumber", number, False)
            self.times[number] = int(block["timestamp"], 16)
        place = (
            self.source.chain_id,
            self.source.id,
            int(number, 16),
            int(log["logIndex"], 16),
            self.times[number],
            bytes.fromhex(log["transactionHash"][2:]),
        )
        names = [column.name for column in FACTS[table].columns]
        assert names[: len(place)] == [column.name for column in PLACE]
        assert set(own) <= set(names[len(place) :])
        return dict.fromkeys(names) | dict(zip(names, place, strict=False)) | own


def raw(address):
    """Returns the bytes of an address."""
    return bytes.fromhex(address[2:])


def raws(addresses):
    """Returns the bytes of each address."""
    return tuple(map(raw, addresses))


def of_items(table, pool, **columns):
    """Returns a row of each item: columns with a tuple have a value of each, others one for all."""
    count = len(next(value for value in columns.values() if isinstance(value, tuple)))
    return [
        (
            table,
            {"pool": pool, "place": place}
            | {name: value[place] if isinstance(value, tuple) else value for name, value in columns.items()},
        )
        for place in range(count)
    ]
