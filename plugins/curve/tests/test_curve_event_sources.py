"""What an index keeps of the pools' events is what ``eth_abi`` decodes of their logs, to the base unit."""

import random
from types import SimpleNamespace

import pytest
from quoteway import Network
from quoteway.evm.abi import encode_call
from quoteway.networks import Networks
from quoteway_curve.event_sources import event_sources

declared = pytest.importorskip("declared_facts", reason="needs the quoteway-indexer distribution")
raw = declared.raw
MOST = 2**256 - 1
POOLS = {"three": 3, "ng": 2, "eth": 2, "plain": 2}
"""The pools of the exchange and their numbers of coins; ``ng`` and ``eth`` are of the release NG."""


def sources_of(routers, pools):
    networks = Networks([Network("devnet", 31337, "Devnet", wrapped_native="0x" + "11" * 20)])
    return event_sources(SimpleNamespace(networks=networks, settings={"routers": routers, "pools": pools}))


def swapped(log, buyer, sold, paid, bought, got):
    own = {"pool": raw(log["address"]), "sender": raw(buyer), "place_in": sold, "place_out": bought}
    return [("token_swap", own | {"amount_in": paid, "amount_out": got})]


def changed(sign, has_fees):
    def rows(log, owner, amounts, fees, *rest):
        columns = {"amount": tuple(sign * amount for amount in amounts), "share_supply": rest[-1]}
        if has_fees:
            columns["fee"] = fees
        pool = raw(log["address"])
        return declared.of_items("token_liquidity", pool, owner=raw(owner), **columns)

    return rows


def removed_one(log, owner, place, burned, amount, supply):
    own = {"pool": raw(log["address"]), "owner": raw(owner), "place": place, "share_supply": supply}
    return [("token_liquidity", own | {"amount": -amount})]


def changes(array, always_fees):
    """Returns the events of changes of liquidity with arrays of a type."""
    found = {}
    for name, sign, numbers, has_fees in (
        ("AddLiquidity", 1, 2, always_fees),
        ("RemoveLiquidity", -1, 1, always_fees),
        ("RemoveLiquidityImbalance", -1, 2, True),
    ):
        data = [array, array, *["uint256"] * numbers]
        found[f"{name}(address,{','.join(data)})"] = (["address"], data, changed(sign, has_fees))
    return found


EVENTS = {
    "TokenExchange(address,int128,uint256,int128,uint256)": (
        ["address"],
        ["int128", "uint256", "int128", "uint256"],
        swapped,
    ),
    "RemoveLiquidityOne(address,int128,uint256,uint256,uint256)": (
        ["address"],
        ["int128", "uint256", "uint256", "uint256"],
        removed_one,
    ),
    **changes("uint256[]", always_fees=False),
    **changes("uint256[2]", always_fees=True),
    **changes("uint256[3]", always_fees=True),
}


def test_the_pools_of_a_network_are_one_source():
    router = {"network": "devnet", "address": "0x" + "22" * 20, "release": "1.1"}
    pools = [
        {"network": "devnet", "address": "0x" + digits * 20, "release": release, "coins": []}
        for digits, release in (("33", "3pool"), ("44", "ng"))
    ]
    (source,) = sources_of([router], pools)
    assert (source.id, source.chain_id, source.children) == ("curve-stableswap", 31337, None)
    assert [address.lower() for address in source.addresses] == ["0x" + "33" * 20, "0x" + "44" * 20]
    assert sources_of([], []) == ()


def test_every_event_of_pools_of_any_size_is_decoded_as_by_eth_abi():
    logs = pytest.importorskip("decoded_logs")
    router = {"network": "devnet", "address": "0x" + "22" * 20, "release": "1.1"}
    pool = {"network": "devnet", "address": logs.CONTRACT, "release": "ng", "coins": []}
    (source,) = sources_of([router], [pool])
    choose = random.Random(3)
    provider = bytes(range(20))
    for size in range(2, 9):
        for array, always in (("uint256[]", False), (f"uint256[{size}]", True)):
            for signature, (indexed, data, rows_of) in changes(array, always).items():
                lists = [[choose.randrange(2**255) for _ in range(size)] for _ in range(2)]
                if not always and "Imbalance" not in signature:
                    lists[1] = []  # as pools of NG leave them out
                values = [*lists, *(choose.randrange(2**256) for _ in data[2:])]
                log = logs.log_of(signature, [(indexed[0], provider)], list(zip(data, values, strict=True)))
                facts, skipped = logs.rows(source, [log])
                assert not skipped
                expected = rows_of(log, "0x" + provider.hex(), *map(as_tuple, values))
                found = [
                    {
                        name: row[name] if name in ("place", "pool", "owner") else logs.number(row[name])
                        for name in own
                    }
                    for row, (_, own) in zip(facts["token_liquidity"], expected, strict=True)
                ]
                assert found == [signed(own) for _, own in expected]
                assert all(row["token"] is None for row in facts["token_liquidity"])


def test_a_swap_with_coins_under_a_meta_pool_tells_who_swapped_alone():
    logs = pytest.importorskip("decoded_logs")
    router = {"network": "devnet", "address": "0x" + "22" * 20, "release": "1.1"}
    pool = {"network": "devnet", "address": logs.CONTRACT, "release": "ng", "coins": []}
    (source,) = sources_of([router], [pool])
    data = [("int128", 0), ("uint256", 10**20), ("int128", 3), ("uint256", 10**8)]
    signature = "TokenExchangeUnderlying(address,int128,uint256,int128,uint256)"
    log = logs.log_of(signature, [("address", bytes(range(20)))], data)
    facts, skipped = logs.rows(source, [log])
    assert not skipped
    (row,) = facts["token_swap"]
    assert (row["pool"], row["sender"]) == (raw(log["address"]), bytes(range(20)))
    for name in ("place_in", "place_out", "amount_in", "amount_out", "token_in", "token_out"):
        assert row[name] is None


def as_tuple(value):
    return tuple(value) if isinstance(value, list) else value


def signed(own):
    """Returns unsigned columns as they are read with a sign."""
    return {
        name: value - 2**256 if isinstance(value, int) and value >= 2**255 else value
        for name, value in own.items()
    }


@pytest.mark.slow
def test_the_facts_are_those_of_the_logs(exchange, tmp_path):
    (source,) = sources_of(exchange.section()["routers"], exchange.rows)
    choose = random.Random(11)
    coins = {row["address"]: row["coins"] for row in exchange.rows}
    swaps = []
    for name, count in POOLS.items():
        pool = exchange.pools[name]
        for coin in coins[pool]:
            exchange.approve(coin, pool, MOST)
        held = [exchange.held(coin, pool) for coin in coins[pool]]
        for _ in range(3):
            sold, bought = choose.sample(range(count), 2)
            paid = held[sold] // choose.randint(20, 5_000)
            before = exchange.held(coins[pool][bought], exchange.owner)
            call = "exchange(int128,int128,uint256,uint256)"
            exchange.send(pool, encode_call(call, [sold, bought, paid, 0]))
            got = exchange.held(coins[pool][bought], exchange.owner) - before
            swaps.append((raw(pool), sold, bought, paid, got))
        uneven = [amount // choose.randint(10, 900) for amount in held]
        exchange.send(pool, encode_call("add(uint256[])", [uneven]))
        exchange.send(pool, encode_call("remove(uint256)", [10**16]))
        exchange.send(pool, encode_call("removeImbalance(uint256[])", [[0, *uneven[1:]]]))
        if name in ("ng", "eth"):
            exchange.send(pool, encode_call("removeOne(int128,uint256)", [1, uneven[1] // 3]))
    with exchange.devnet.rpc("devnet") as rpc:
        found = declared.facts_of(tmp_path / "index.duckdb", rpc, [source])
        expected = declared.Logs(rpc, source, EVENTS).expected(source.addresses)
    assert found == expected
    assert found.keys() == {"token_swap", "token_liquidity"}
    names = ("pool", "place_in", "place_out", "amount_in", "amount_out")
    assert [tuple(row[name] for name in names) for row in found["token_swap"]] == swaps
    # The pools have no other way to gain and pay: their balances are the sums of the facts.
    for pool, addresses in coins.items():
        assert sums(found, raw(pool), len(addresses)) == [exchange.held(coin, pool) for coin in addresses]


def sums(found, pool, count):
    held = [0] * count
    for row in found["token_liquidity"]:
        if row["pool"] == pool:
            held[row["place"]] += row["amount"]
    for row in found["token_swap"]:
        if row["pool"] == pool:
            held[row["place_in"]] += row["amount_in"]
            held[row["place_out"]] -= row["amount_out"]
    return held
