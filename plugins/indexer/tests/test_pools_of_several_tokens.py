"""Facts of pools of several tokens, whose family no series is computed of: what is told, and what is not."""

from types import SimpleNamespace

import pytest
from index_rows import CHAIN, facts
from quoteway import EventRule, EventSource
from quoteway.evm.address import checksum
from quoteway_indexer.computing import Frontier
from quoteway_indexer.metrics import IndexMetrics
from quoteway_indexer.replay.computation import PoolReplay
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, IndexedBlock, Select, Span
from quoteway_indexer.tables import FACTS, ROLLUPS
from quoteway_indexer.transfer_sources import SOURCE
from quoteway_indexer.writing import Writer
from small_index import StoreReader, WalletIndex

WALLET, OTHER, TOKEN_POOL = (checksum("0x" + digits * 20) for digits in ("11", "22", "33"))
POOL, ITS_OWN = b"\x44" * 32, bytes.fromhex(TOKEN_POOL[2:])
ONE, TWO, THREE = (b"\x05" * 20, b"\x06" * 20, b"\x07" * 20)
TRANSFERS = EventSource(SOURCE, CHAIN, 1, ())
SEVERAL = EventSource(
    "several",
    CHAIN,
    1,
    (
        EventRule("Created(bytes32 id)", "pool_created", {"pool": "id"}),
        EventRule("Listed(bytes32 id, address[] tokens)", "pool_token", {"place": "#", "token": "tokens[]"}),
        EventRule("Traded(bytes32 id, uint256 paid)", "token_swap", {"pool": "id", "amount_in": "paid"}),
        EventRule("Joined(int256[] amounts)", "token_liquidity", {"place": "#", "amount": "amounts[]"}),
    ),
    family="of-several-tokens",
)
MINE, OTHERS = b"\x01" * 32, b"\x02" * 32


def swap(block, index, transaction=MINE, pool=POOL):
    ends = {"token_in": ONE, "token_out": THREE, "amount_in": 2**200, "amount_out": 5}
    return {"block": block, "log_index": index, "transaction_hash": transaction, "pool": pool, **ends}


def change(block, index, transaction=OTHERS, pool=POOL, owner=WALLET):
    place = {"block": block, "log_index": index, "transaction_hash": transaction, "pool": pool}
    row = place | {"owner": bytes.fromhex(owner[2:])}
    return [row | {"place": at, "token": token, "amount": 7} for at, token in enumerate((ONE, TWO, THREE))]


def keep(store, swaps=(), changes=(), **more):
    made = {
        "pool_created": [
            {"block": 1, "log_index": at, "pool": pool} for at, pool in enumerate((POOL, ITS_OWN))
        ],
        "token_swap": swaps,
        "token_liquidity": changes,
        **more,
    }
    tables = {name: facts(name, *rows, source=SEVERAL.id) for name, rows in made.items()}
    blocks = [IndexedBlock(number, number.to_bytes(32), b"\0" * 32, 12 * number) for number in (1, 9)]
    spans = [Span(each.id, version_of(each), 0, 100) for each in (SEVERAL, TRANSFERS)]
    store.commit(Commit(CHAIN, facts=tables, blocks=blocks, read=spans))


@pytest.fixture
def index(store):
    return WalletIndex(store, [SEVERAL, TRANSFERS])


async def test_swaps_and_changes_are_named_once_with_their_pool(store, index):
    keep(store, [swap(5, 1), swap(5, 2, pool=ITS_OWN)], change(5, 4, MINE) + change(6, 1))
    found = await index.known_events(CHAIN, [(5, "0x" + MINE.hex())])
    assert [(each.kind, each.source, each.subject) for each in found] == [
        ("token_swap", "several", "0x" + POOL.hex()),
        ("token_swap", "several", TOKEN_POOL),
        ("token_liquidity", "several", "0x" + POOL.hex()),
    ]


@pytest.mark.parametrize(
    ("swaps", "changes", "expected"),
    [
        ([swap(9, 3)], [], True),
        ([swap(9, 3), swap(3, 1, OTHERS)], change(4, 1), True),  # before the quote
        ([swap(9, 3), swap(9, 4, OTHERS)], change(9, 5), True),  # after the swap
        ([swap(9, 3), swap(8, 1, OTHERS, b"\x09" * 32)], [], True),  # another pool
        ([swap(9, 3), swap(9, 2, OTHERS)], [], False),
        ([swap(9, 3), swap(6, 7, OTHERS)], [], False),
        ([swap(9, 3)], change(6, 7), False),
        ([swap(9, 3, OTHERS)], [], None),
    ],
)
async def test_whether_others_changed_a_pool_before_a_swap(store, index, swaps, changes, expected):
    keep(store, swaps, changes)
    assert await index.pools_untouched(CHAIN, 5, 9, "0x" + MINE.hex()) is expected


async def test_swaps_of_both_kinds_of_pools_are_looked_at(store, index):
    pair = {"block": 9, "log_index": 5, "pool": TWO, "transaction_hash": MINE}
    touched = {"block": 7, "log_index": 1, "pool": TWO, "transaction_hash": OTHERS}
    keep(store, [swap(9, 3)], swap=[pair])
    assert await index.pools_untouched(CHAIN, 5, 9, "0x" + MINE.hex()) is True
    keep(store, [swap(9, 3)], swap=[pair, touched])
    assert await index.pools_untouched(CHAIN, 5, 9, "0x" + MINE.hex()) is False


@pytest.mark.parametrize(
    ("block", "place", "pool", "expected"),
    [
        (7, 1, POOL, False),
        (9, 2, POOL, False),
        (9, 4, POOL, True),  # after the swap
        (5, 1, POOL, True),  # before the quote
        (7, 1, b"\x09" * 32, True),
    ],
)
async def test_a_new_setting_of_a_pool_is_a_change(store, index, block, place, pool, expected):
    logged = {"block": block, "log_index": place, "pool": pool, "transaction_hash": OTHERS}
    keep(store, [swap(9, 3)], pool_setting=[logged | {"setting": "swap_fee_share", "value": 5}])
    assert await index.pools_untouched(CHAIN, 5, 9, "0x" + MINE.hex()) is expected


async def test_a_pool_that_is_a_token_is_no_pair(store, index):
    came = {"block": 5, "log_index": 9, "token": ITS_OWN, "sender": ONE, "amount": 1}
    keep(store, transfer=[came | {"recipient": bytes.fromhex(WALLET[2:])}])
    (found,) = (await index.wallet_tokens(CHAIN, WALLET)).received
    assert (found.token, found.kind) == (TOKEN_POOL, "token")


async def test_no_position_is_made_of_its_facts(store, index):
    keep(store, [swap(5, 1)], change(6, 1, pool=ITS_OWN))
    # Shares of no declared pool are known: there is no answer, which is not an answer without flows.
    assert await index.position_flows(CHAIN, TOKEN_POOL, None, WALLET) is None
    assert await index.position_flows(CHAIN, OTHER, 5, WALLET) is None
    pairs = EventSource("pairs", CHAIN, 1, (EventRule("T(uint256 a)", "share_transfer", {"amount": "a"}),))
    store.commit(Commit(CHAIN, read=[Span(pairs.id, version_of(pairs), 0, 90)]))
    both = WalletIndex(store, [SEVERAL, pairs])
    flows = await both.position_flows(CHAIN, TOKEN_POOL, None, WALLET)
    assert (flows.flows, flows.more, flows.reach.last) == ((), False, 90)


async def test_a_family_that_is_not_known_has_no_hours_and_no_series(store):
    keep(store, [swap(5, 1), swap(9, 3)], change(6, 1))
    before = {name: store.fetch(Select(name, ("block",))) for name in FACTS}
    frontier = Frontier(CHAIN, store.blocks(CHAIN, 9, 9)[0], 9, {SEVERAL.id: 0})
    replay = PoolReplay(CHAIN, [SEVERAL], Writer(store))
    await replay.advance(frontier)
    replay.rewind(3)
    await replay.advance(frontier)
    assert all(store.fetch(Select(name, ("chain_id",))) == [] for name in ROLLUPS)
    assert {name: store.fetch(Select(name, ("block",))) for name in FACTS} == before
    context = SimpleNamespace(event_sources=(SEVERAL,), state={}, now=lambda: 0)
    metrics = IndexMetrics(context, StoreReader(store), frozenset({CHAIN}))
    for pool in ("0x" + POOL.hex(), TOKEN_POOL):
        for metric in ("volume", "fees", "tvl", "apr"):
            assert await metrics.series(f"{CHAIN}:{pool}", metric, 0, 7_200, "hour") is None
