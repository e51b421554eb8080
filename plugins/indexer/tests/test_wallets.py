"""What an index tells of wallets, from rows that a test writes."""

import random
from collections import Counter

import pytest
from index_rows import CHAIN, facts, row
from quoteway import EventSource
from quoteway.evm.address import checksum
from quoteway_indexer import reading
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, Span
from quoteway_indexer.stores import postgres_reading
from quoteway_indexer.transfer_sources import SOURCE
from small_index import WalletIndex

TRANSFERS = EventSource(SOURCE, CHAIN, 1, ())
MANAGER = checksum("0x" + "ee" * 20)
NFTS = EventSource("dex-v3-positions", CHAIN, 1, (), (MANAGER,))
WALLET, OTHER = (checksum("0x" + digits * 20) for digits in ("11", "22"))


def raw(address):
    return bytes.fromhex(address[2:])


def token(number):
    return checksum(f"0x{0xABC << 144 | number:040x}")


def span(source, first, last, later=0):
    return Span(source.id, version_of(source) + later, first, last)


def moved(block, name, sender, recipient, amount=1, **more):
    ends = {"token": raw(name), "sender": raw(sender), "recipient": raw(recipient), "amount": amount}
    return {"block": block, **ends, **more}


def keep(store, *transfers, first=0, last=1_000, **commit):
    """Commits transfers, each at its place in the list, and what was read."""
    rows = [{"log_index": index, **each} for index, each in enumerate(transfers)]
    made = {"transfer": facts("transfer", *rows)} if rows else {}
    spans = (span(TRANSFERS, first, last), span(NFTS, first, last))
    store.commit(Commit(CHAIN, facts=made | commit.pop("facts", {}), read=spans, **commit))


@pytest.fixture
def index(store):
    return WalletIndex(store, [TRANSFERS, NFTS])


async def test_tokens_are_those_received_with_what_was_sent_first(store, index):
    a, b, c = token(1), token(2), token(3)
    keep(
        store,
        moved(5, a, OTHER, WALLET),
        moved(6, c, OTHER, WALLET),
        moved(7, c, OTHER, WALLET),
        moved(8, c, WALLET, OTHER),
        moved(9, b, WALLET, OTHER),  # sent, never received
    )
    found = await index.wallet_tokens(CHAIN, WALLET)
    assert [(each.token, each.received, each.sent) for each in found.received] == [(c, 2, 1), (a, 1, 0)]
    assert (found.reach.first, found.reach.last, found.reach.from_start) == (0, 1_000, True)
    assert (await index.wallet_tokens(CHAIN, token(9))).received == ()


async def test_what_is_not_read_is_told_and_a_chain_without_source_has_no_answer(store, index):
    assert await index.wallet_tokens(CHAIN, WALLET) is None
    store.commit(Commit(CHAIN, read=(span(TRANSFERS, 0, 10), span(TRANSFERS, 50, 80))))
    reach = (await index.wallet_tokens(CHAIN, WALLET)).reach
    assert (reach.first, reach.last, reach.from_start) == (50, 80, False)
    assert await index.wallet_tokens(CHAIN + 1, WALLET) is None
    assert await WalletIndex(store, [NFTS]).wallet_transfers(CHAIN, WALLET) is None


async def test_rows_of_another_version_do_not_count(store, index):
    store.commit(Commit(CHAIN, read=(span(TRANSFERS, 0, 10, later=1),)))
    assert await index.wallet_tokens(CHAIN, WALLET) is None


async def test_an_index_of_chosen_wallets_answers_for_these_alone(store):
    chosen = EventSource(SOURCE, CHAIN, 1, (), accounts=(WALLET,))
    keep(store, moved(5, token(1), OTHER, WALLET))
    store.commit(Commit(CHAIN, read=(span(chosen, 0, 1_000),)))
    index = WalletIndex(store, [chosen])
    assert len((await index.wallet_tokens(CHAIN, WALLET)).received) == 1
    assert await index.wallet_tokens(CHAIN, OTHER) is None


async def test_pairs_vaults_and_gifts_to_many_are_told_apart(store, index):
    pair, vault, gift, plain = (token(number) for number in range(1, 5))
    gifts = [moved(7, gift, OTHER, token(100 + n), transaction_hash=b"g" * 32) for n in range(60)]
    flow = {"block": 9, "vault": raw(vault), "owner": raw(WALLET), "shares": 1, "assets": 1, "log_index": 900}
    keep(
        store,
        *gifts,
        moved(7, gift, OTHER, WALLET, transaction_hash=b"g" * 32),
        moved(7, gift, OTHER, token(99), transaction_hash=b"h" * 32),
        *(moved(8, each, OTHER, WALLET) for each in (pair, vault, plain)),
        facts={
            "pool_created": facts(
                "pool_created", {"block": 1, "pool": raw(pair), "token0": b"\1" * 20, "log_index": 800}
            ),
            "vault_flow": facts("vault_flow", flow),
        },
    )
    found = {each.token: each for each in (await index.wallet_tokens(CHAIN, WALLET)).received}
    assert {name: each.kind for name, each in found.items()} == {
        pair: "pair",
        vault: "vault",
        gift: "token",
        plain: "token",
    }
    assert found[gift].given_to == 61
    assert found[plain].given_to == 1


async def test_pages_of_transfers_give_each_once_newest_first(store, index):
    choose = random.Random(5)
    accounts = [WALLET, OTHER, token(50)]
    rows = []
    for block in range(1, 40):
        for log_index in range(choose.randint(0, 6)):
            sender, recipient = choose.choice(accounts), choose.choice(accounts)
            amount = choose.choice((0, 1, 2**255))
            rows.append(moved(block, token(1), sender, recipient, amount, log_index=log_index))
    keep(store, *rows)
    expected = [
        (each["block"], each["log_index"], each["amount"])
        for each in reversed(rows)
        if raw(WALLET) in (each["sender"], each["recipient"])
    ]
    seen, before = [], None
    while True:
        page = await index.wallet_transfers(CHAIN, WALLET, before=before, limit=3)
        seen += [(each.block, each.log_index, each.amount) for each in page.transfers]
        if not page.more:
            break
        before = seen[-1][:2]
    assert seen == expected
    assert all(count == 1 for count in Counter(seen).values())
    since = await index.wallet_transfers(CHAIN, WALLET, since_block=20)
    assert [(each.block, each.log_index) for each in since.transfers] == [
        each[:2] for each in expected if each[0] >= 20
    ]


async def test_position_tokens_are_owned_by_whom_they_came_to_last(store, index):
    def nft(block, token_id, sender, recipient):
        ends = {"sender": raw(sender), "recipient": raw(recipient), "token_id": token_id}
        return {"block": block, "collection": raw(MANAGER), **ends}

    zero = checksum("0x" + "00" * 20)
    rows = [
        nft(1, 1, zero, WALLET),
        nft(2, 2**255, zero, WALLET),
        nft(3, 3, zero, OTHER),
        nft(4, 1, WALLET, OTHER),
        nft(5, 2**255, WALLET, WALLET),
        nft(6, 3, OTHER, WALLET),
        nft(7, 4, zero, WALLET),
        nft(8, 4, WALLET, zero),
    ]
    keep(store, facts={"nft_transfer": facts("nft_transfer", *rows)})
    found = await index.owned_nfts(CHAIN, MANAGER, WALLET)
    assert (found.token_ids, found.had) == ((3, 2**255), (1, 4))
    assert await index.owned_nfts(CHAIN, WALLET, WALLET) is None


async def test_prices_are_the_closes_of_the_hours_asked_for(store, index):
    prices = [
        row("token_hour", token=raw(token(1)), hour=hour, close_usd=usd)
        for hour, usd in ((0, 1.0), (3_600, 2.0), (7_200, None), (10_800, 3.0))
    ]
    keep(store, rollups={"token_hour": prices})
    found = await index.hour_prices(CHAIN, [token(1), token(2)], 3_600, 10_800)
    assert {each.token: [(point.hour, point.usd) for point in each.hours] for each in found} == {
        token(1): [(3_600, 2.0), (10_800, 3.0)],
        token(2): [],
    }


async def test_rows_that_are_unpacked_in_a_thread_are_the_same(store, index, monkeypatch):
    prices = [
        row("token_hour", token=raw(token(number)), hour=hour, close_usd=number + hour / 7)
        for number in (1, 2)
        for hour in range(0, 36_000, 3_600)
    ]
    keep(store, rollups={"token_hour": prices})
    asked = CHAIN, [token(2), token(1)], 0, 36_000
    found = await index.hour_prices(*asked)
    assert [len(each.hours) for each in found] == [10, 10]
    for module in (reading, postgres_reading):
        monkeypatch.setattr(module, "ON_THE_LOOP", 0)
    assert await WalletIndex(store, [TRANSFERS, NFTS]).hour_prices(*asked) == found


async def test_events_of_a_transaction_are_named(store, index):
    pool = b"\x44" * 20
    swaps = facts(
        "swap",
        {"block": 3, "pool": pool, "transaction_hash": b"\x01" * 32},
        {"block": 3, "pool": pool, "transaction_hash": b"\x02" * 32},
    )
    keep(store, facts={"swap": swaps})
    (event,) = await index.known_events(CHAIN, [(3, "0x" + "02" * 32), (4, "0x" + "03" * 32)])
    assert (event.kind, event.source, event.subject) == ("swap", "dex", checksum("0x" + pool.hex()))
    assert event.transaction_hash == "0x" + "02" * 32
