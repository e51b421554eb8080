"""What an index keeps of the events of v3's Vault is what ``eth_abi`` decodes of its logs."""

import pytest
from balancer_chain import GIVEN_IN, GIVEN_OUT
from balancer_v3_chain import SWAP_FEE_SHARE, YIELD_FEE_SHARE
from balancer_v3_venue import ODD_RATE, v3_venue_on
from balancer_venue import event_sources_of
from chain_state import MAX_UINT256, calldata
from quoteway.evm.abi import event_topic

declared = pytest.importorskip("declared_facts", reason="needs the quoteway-indexer distribution")
raw, raws = declared.raw, declared.raws
TOKEN_CONFIG = "(address,uint8,address,bool)[]"
HOOKS = "(bool,bool,bool,bool,bool,bool,bool,bool,bool,bool,address)"
REGISTERED = [
    TOKEN_CONFIG,
    "uint256",
    "uint32",
    "(address,address,address)",
    HOOKS,
    "(bool,bool,bool,bool)",
]
CHANGE = ["address", "address", "uint8"], ["uint256", "uint256[]", "uint256[]"]


def changed(sign):
    return lambda log, pool, owner, kind, supply, amounts, fees: declared.of_items(
        "token_liquidity",
        raw(pool),
        owner=raw(owner),
        amount=tuple(sign * amount for amount in amounts),
        fee=fees,
        share_supply=supply,
    )


def setting_of(setting):
    return lambda log, pool, value, *more: [
        ("pool_setting", {"pool": raw(pool), "setting": setting, "value": int(value)})
    ]


V3_EVENTS = {
    f"PoolRegistered(address,address,{','.join(REGISTERED)})": (
        ["address", "address"],
        REGISTERED,
        lambda log, pool, factory, config, *more: [
            ("pool_created", {"pool": raw(pool)}),
            *declared.of_items(
                "pool_token",
                raw(pool),
                token=raws(each[0] for each in config),
                pays_yield_fees=tuple(int(each[3]) for each in config),
            ),
        ],
    ),
    "Swap(address,address,address,uint256,uint256,uint256,uint256)": (
        ["address"] * 3,
        ["uint256"] * 4,
        lambda log, pool, sold, bought, paid, got, share, fee: [
            (
                "token_swap",
                {
                    "pool": raw(pool),
                    "token_in": raw(sold),
                    "token_out": raw(bought),
                    "amount_in": paid,
                    "amount_out": got,
                    "fee_in": fee,
                },
            )
        ],
    ),
    **{
        f"{name}(address,{','.join(data)})": (["address"], data, setting_of(setting))
        for setting, name, data in (
            ("swap_fee_share", "InitialPoolAggregateSwapFeePercentage", ["uint256", "bool"]),
            ("swap_fee_share", "AggregateSwapFeePercentageChanged", ["uint256"]),
            ("yield_fee_share", "InitialPoolAggregateYieldFeePercentage", ["uint256", "bool"]),
            ("yield_fee_share", "AggregateYieldFeePercentageChanged", ["uint256"]),
            ("recovery_mode", "PoolRecoveryModeStateChanged", ["bool"]),
        )
    },
    "LiquidityAdded(address,address,uint8,uint256,uint256[],uint256[])": (*CHANGE, changed(1)),
    "LiquidityRemoved(address,address,uint8,uint256,uint256[],uint256[])": (*CHANGE, changed(-1)),
}


@pytest.fixture(scope="module")
def v3(devnet):
    with v3_venue_on(devnet) as made:
        yield made


@pytest.mark.slow
def test_the_facts_of_v3_are_those_of_the_logs(v3, tmp_path):
    three, rate = v3.pools["three"], v3.pools["rate"]
    (source,) = event_sources_of([v3.row()])
    swapped = []
    with v3.sending():
        for pool, kind, sold, bought in (
            (three, GIVEN_IN, 0, 1),
            (three, GIVEN_OUT, 2, 0),
            (rate, GIVEN_IN, 1, 0),
            (rate, GIVEN_OUT, 0, 1),
        ):
            amount = pool.balances[bought if kind == GIVEN_OUT else sold] // 1_000
            swapped.append((pool, sold, bought, *v3.swap(pool, kind, sold, bought, amount)))
        uneven = [three.balances[0] // 7, 0, three.balances[2] // 100]
        add = "addLiquidityUnbalanced(address,uint256[],uint256,bool,bytes)"
        v3._send(v3.router, calldata(add, three.id, uneven, 0, False, b""))
        v3._send(three.id, calldata("approve(address,uint256)", v3.router, MAX_UINT256))
        remove = "removeLiquidityProportional(address,uint256,uint256[],bool,bytes)"
        v3._send(v3.router, calldata(remove, three.id, 10**18, [0] * 3, False, b""))
        for kind in ("Swap", "Yield"):
            name = f"setProtocol{kind}FeePercentage(address,uint256)"
            v3._send(v3.fees, calldata(name, rate.id, 5 * 10**16))
        for way in ("enable", "disable"):
            v3._send(v3.vault, calldata(f"{way}RecoveryMode(address)", rate.id))
    with v3.devnet.rpc("devnet") as rpc:
        found = declared.facts_of(tmp_path / "index.duckdb", rpc, [source])
        expected = declared.Logs(rpc, source, V3_EVENTS).expected([v3.vault, v3.fees])
    assert found == expected
    assert {name: len(rows) for name, rows in found.items()} == {
        "pool_created": 6,
        "pool_token": 2 * 5 + 3,
        "token_swap": 4,
        "token_liquidity": 2 * 5 + 3 + 3 + 3,
        "pool_setting": 2 * 6 + 2 + 2,
    }
    for row, (pool, sold, bought, paid, got) in zip(found["token_swap"], swapped, strict=True):
        assert row["pool"] == raw(pool.id)
        assert (row["token_in"], row["token_out"]) == raws((pool.tokens[sold], pool.tokens[bought]))
        assert (row["amount_in"], row["amount_out"]) == (paid, got)
        # The fee is of the token sold, whichever amount was given.
        assert row["fee_in"] == pytest.approx(paid * pool.swap_fee / 10**18, rel=1e-6, abs=2)
    added = [row for row in found["token_liquidity"] if row["pool"] == raw(three.id)][3:6]
    assert [row["amount"] for row in added] == uneven
    assert added[0]["fee"] > 0
    paying = [row for row in found["pool_token"] if row["pays_yield_fees"]]
    assert [row["pool"] for row in paying] == [raw(rate.id)]
    settings = [
        (row["setting"], row["value"]) for row in found["pool_setting"] if row["pool"] == raw(rate.id)
    ]
    begun = [("swap_fee_share", SWAP_FEE_SHARE), ("yield_fee_share", YIELD_FEE_SHARE)]
    changed_to = [("swap_fee_share", 5 * 10**16), ("yield_fee_share", 5 * 10**16)]
    assert settings == [*begun, *changed_to, ("recovery_mode", 1), ("recovery_mode", 0)]
    assert ODD_RATE in rate.rates


def test_the_topics_of_v3_are_those_of_the_contract():
    from quoteway_indexer.ingest.events import read_event

    router = "0x136f1EFcC3f8f88516B9E94110D56FDBfB1778d1"
    row = {"network": "devnet", "version": 3, "factories": {router: "weighted"}, "batch_router": router}
    (source,) = event_sources_of([row])
    assert {read_event(rule.event).topic for rule in source.rules} == {
        event_topic(text) for text in V3_EVENTS
    }
