"""Logs for tests of decoding, encoded by ``eth_abi``, and the facts that rules make of them."""

from eth_abi import encode
from eth_utils import keccak
from hypothesis import strategies as st
from quoteway import EventSource
from quoteway_indexer.ingest.decoding import compile_source, decode
from quoteway_indexer.ingest.logs import read_logs

CONTRACT = "0x" + "ab" * 20


def source_of(*rules, **members):
    return EventSource("test", 1, 1, rules, **members)


def signed(width):
    return st.one_of(
        st.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1),
        st.sampled_from([-1, 0, -(1 << (width - 1))]),
    )


def unsigned(width):
    return st.one_of(st.integers(0, (1 << width) - 1), st.sampled_from([0, (1 << width) - 1]))


def log_of(signature, indexed, data, *, number=7, index=0, contract=CONTRACT):
    topics = [keccak(text=signature)] + [encode([kind], [value]) for kind, value in indexed]
    return {
        "address": contract,
        "topics": ["0x" + topic.hex() for topic in topics],
        "data": "0x" + encode([kind for kind, _ in data], [value for _, value in data]).hex(),
        "blockNumber": hex(number),
        "blockHash": "0x" + keccak(text=f"block {number}").hex(),
        "transactionHash": "0x" + keccak(text=f"transaction {number} {index}").hex(),
        "transactionIndex": "0x0",
        "logIndex": hex(index),
        "removed": False,
    }


def rows(source, logs, contracts=None):
    batch = read_logs(logs, 0, 1 << 40)
    decoded = decode(
        [compile_source(source)], batch, dict.fromkeys(batch.numbers, 1_000), lambda _: contracts
    )
    return {name: table.to_pylist() for name, table in decoded.facts.items()}, decoded.skipped


def number(value):
    return None if value is None else int.from_bytes(value, signed=True)
