"""What is kept of JSON takes no more memory than its length."""

import tracemalloc

import orjson
from quoteway.caching import compact
from quoteway.evm.block_feed import FeedBlock


def taken_by(make, count=200):
    """The bytes of memory that each of ``count`` values takes."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [make(number) for number in range(count)]
        return (tracemalloc.get_traced_memory()[0] - before) / len(kept)
    finally:
        tracemalloc.stop()


def test_a_copy_is_equal_and_takes_its_length():
    assert compact(orjson.dumps({"a": 1})) == b'{"a":1}'
    assert taken_by(lambda number: compact(orjson.dumps({"a": number}))) < 150


def test_a_header_of_the_feed_takes_about_its_length():
    answer = {
        "hash": "0x" + "ab" * 32,
        "parentHash": "0x" + "cd" * 32,
        "number": "0x1",
        "timestamp": "0x1",
        "logsBloom": "0x" + "00" * 256,
    }
    length = len(FeedBlock.of(answer).header)
    assert taken_by(lambda number: FeedBlock.of(answer | {"number": hex(number)})) < length + 1_000
