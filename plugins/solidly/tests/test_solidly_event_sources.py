"""What an index keeps of the pools' events is what ``eth_abi`` decodes of their logs, to the base unit."""

from types import SimpleNamespace

import pytest
from quoteway import Network
from quoteway.networks import Networks
from quoteway_solidly.event_sources import event_sources
from solidly_exchange import OWN

declared = pytest.importorskip("declared_facts", reason="needs the quoteway-indexer distribution")
raw = declared.raw


def sources_of(*rows):
    networks = Networks([Network("devnet", 31337, "Devnet", wrapped_native="0x" + "11" * 20)])
    return event_sources(SimpleNamespace(networks=networks, settings={"deployments": rows}))


def of(table, log, **own):
    return [(table, {"pool": raw(log["address"]), **own})]


EVENTS = {
    "PoolCreated(address,address,bool,address,uint256)": (
        ["address", "address", "bool"],
        ["address", "uint256"],
        lambda log, token0, token1, stable, pool, count: [
            ("contract_created", {"factory": raw(log["address"]), "contract": raw(pool)}),
            (
                "pool_created",
                {
                    "pool": raw(pool),
                    "token0": raw(token0),
                    "token1": raw(token1),
                    "is_stable": int(stable),
                },
            ),
        ],
    ),
    "Swap(address,address,uint256,uint256,uint256,uint256)": (
        ["address", "address"],
        ["uint256"] * 4,
        lambda log, sender, to, in0, in1, out0, out1: of(
            "swap",
            log,
            sender=raw(sender),
            recipient=raw(to),
            amount0=in0 - out0,
            amount1=in1 - out1,
            in0=in0,
            in1=in1,
        ),
    ),
    "Fees(address,uint256,uint256)": (
        ["address"],
        ["uint256", "uint256"],
        lambda log, sender, amount0, amount1: of(
            "fee", log, sender=raw(sender), amount0=amount0, amount1=amount1
        ),
    ),
    "Mint(address,uint256,uint256)": (
        ["address"],
        ["uint256", "uint256"],
        lambda log, sender, amount0, amount1: of(
            "liquidity", log, owner=raw(sender), amount0=amount0, amount1=amount1
        ),
    ),
    "Burn(address,address,uint256,uint256)": (
        ["address", "address"],
        ["uint256", "uint256"],
        lambda log, sender, to, amount0, amount1: of(
            "liquidity", log, owner=raw(to), amount0=-amount0, amount1=-amount1
        ),
    ),
    "Sync(uint256,uint256)": (
        [],
        ["uint256", "uint256"],
        lambda log, reserve0, reserve1: of("reserves", log, reserve0=reserve0, reserve1=reserve1),
    ),
    "Claim(address,address,uint256,uint256)": (
        ["address", "address"],
        ["uint256", "uint256"],
        lambda log, sender, recipient, amount0, amount1: of(
            "collected", log, owner=raw(sender), recipient=raw(recipient), amount0=amount0, amount1=amount1
        ),
    ),
}


def test_each_factory_is_a_source():
    row = {"name": "aerodrome", "network": "devnet", "base_tokens": [], "router": "0x" + "33" * 20}
    rows = [
        row | {"factory": "0x" + "44" * 20},
        row | {"name": "velodrome", "factory": "0x" + "55" * 20},
    ]
    first, second = sources_of(*rows)
    assert (first.id, second.id, first.chain_id, first.family) == (
        "aerodrome",
        "velodrome",
        31337,
        "solidly",
    )
    assert first.addresses == first.children.factories == ("0x" + "44" * 20,)
    assert sources_of() == ()


@pytest.mark.slow
async def test_the_facts_are_those_of_the_logs(exchange, make_gateway, tmp_path):
    (source,) = sources_of(exchange.row())
    gateway = await exchange.gateway(make_gateway)
    for sold, bought, dollars in (
        ("DAI", "USDC", 700),
        ("ETH", "DAI", 12_345),  # through two pools
        ("USDC", "ETH", 9_000),
        ("MKR", "USDC", 4_000),
    ):
        request = exchange.request(sold, bought, exchange.units(sold, dollars), routing=OWN)
        await exchange.executed(gateway, request)
    with exchange.devnet.rpc("devnet") as rpc:
        pools = [row["pool"] for row in facts(rpc, tmp_path / "before.duckdb", source)["pool_created"]]
    for at, pool in enumerate(pools):
        exchange.remove("0x" + pool.hex(), 10**3 + at, 10**4 + at)
    exchange.claim("0x" + pools[0].hex())
    exchange.add("USDC", "DAI", 10_000, True, 5)
    with exchange.devnet.rpc("devnet") as rpc:
        found = facts(rpc, tmp_path / "index.duckdb", source)
        contracts = [exchange.address, *("0x" + pool.hex() for pool in pools)]
        expected = declared.Logs(rpc, source, EVENTS).expected(contracts)
    for row in expected["contract_created"]:
        row["source"] = f"{source.id} contracts"
    assert found == expected
    assert sorted(row["is_stable"] for row in found["pool_created"]) == [0, 0, 0, 1]
    assert len(found["swap"]) == len(found["fee"]) == 5
    # What the pools gained and paid by the facts is what they say that they have.
    for pool in pools:
        for side in ("0", "1"):
            held = sum(
                sign * row[f"amount{side}"]
                for table, sign in (("liquidity", 1), ("swap", 1), ("fee", -1))
                for row in found[table]
                if row["pool"] == pool
            )
            last = [row for row in found["reserves"] if row["pool"] == pool][-1]
            assert held == last[f"reserve{side}"]


def facts(rpc, path, source):
    return declared.facts_of(path, rpc, [source])
