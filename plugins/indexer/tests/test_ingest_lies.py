"""Nodes that lie or lag: nothing wrong is written, and the index goes on when they tell the truth again."""

import asyncio
import contextlib

import pytest
from generated_node import SOURCE, GeneratedNode
from index_chain import Index, chain_at
from limited_index import transfers_of

HEAD = 150
FOREIGN = "0x" + "77" * 32


@contextlib.asynccontextmanager
async def index_of(node, path):
    async with node.running() as proxy, chain_at(proxy.address) as chain:
        index = Index(chain, (SOURCE,), path)
        try:
            yield index
        finally:
            await index.close()


class Lie:
    """Tells something else of the first answers to a method that ``change`` changes."""

    def __init__(self, method, change, times=3):
        self.method, self.change, self.left, self.told = method, change, times, 0

    def __call__(self, method, params, result):
        if method == self.method and self.left:
            changed = self.change(params, result)
            if changed != result:
                self.left -= 1
                self.told += 1
                return changed
        return result


def with_foreign_hash(_, logs):
    """Logs of a block, or of the newest block of a range, that the chain does not have."""
    return [
        {**log, "blockHash": FOREIGN} if log["blockHash"] == logs[-1]["blockHash"] else log for log in logs
    ]


def in_another_block(_, logs):
    return [{**log, "blockNumber": hex(HEAD + 5)} for log in logs]


def twice(_, logs):
    return logs * 2


def no_block(params, block):
    return block if params[0] == "latest" else None


def without_hash(params, block):
    return block if params[0] == "latest" else {**block, "hash": None}


@pytest.mark.parametrize(
    "lie",
    [
        ("eth_getLogs", with_foreign_hash),
        ("eth_getLogs", in_another_block),
        ("eth_getLogs", twice),
        ("eth_getLogs", lambda _, logs: None),
        ("eth_getBlockByNumber", no_block),
        ("eth_getBlockByNumber", without_hash),
    ],
    ids=lambda lie: f"{lie[0]}-{lie[1].__name__}",
)
async def test_nothing_of_a_lie_is_written(tmp_path, lie):
    node = GeneratedNode(HEAD)
    node.lie = told = Lie(*lie)
    async with index_of(node, tmp_path / "index.duckdb") as index:
        await index.once()
        assert transfers_of(index) == node.rows()
        blocks = index.store.blocks(SOURCE.chain_id, 0, HEAD)
    assert told.told == 3
    assert all(block.hash == node.digest(block.number) for block in blocks)


async def test_a_head_that_goes_back_takes_nothing_away_and_is_caught_up_with(tmp_path):
    node = GeneratedNode(HEAD)
    async with index_of(node, tmp_path / "index.duckdb") as index:
        await index.once()
        expected = node.rows()
        node.head = HEAD - 20
        async with index.running():
            asked = node.calls.total()
            async with asyncio.timeout(20):
                while node.calls.total() < asked + 12:
                    await asyncio.sleep(0.01)
            node.head = HEAD + 10
            await index.reaches("0x" + node.digest(HEAD + 10).hex())
        assert transfers_of(index) == node.rows()
    assert node.rows()[: len(expected)] == expected


async def test_a_reorganisation_between_two_answers_ends_as_the_new_chain(tmp_path):
    """The node changes its chain after it gave the header of the head, before it gives the logs."""
    node = GeneratedNode(HEAD)
    changed = []

    def reorganise_once(method, params, result):
        if method == "eth_getLogs" and not changed:
            changed.append(True)
            node.reorganise(12, HEAD + 1)
        return result

    node.lie = reorganise_once
    async with index_of(node, tmp_path / "index.duckdb") as index:
        await index.once()
        assert transfers_of(index) == node.rows()
    assert changed
