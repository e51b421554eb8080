"""What an index keeps of the Vault's events is what ``eth_abi`` decodes of its logs, to the base unit."""

import pytest
from balancer_chain import GIVEN_IN, GIVEN_OUT
from balancer_venue import PERCENT, Managed, event_sources_of
from chain_state import MAX_UINT256, calldata
from eth_abi import encode
from quoteway.evm.abi import event_topic
from quoteway_balancer.deployments import VAULT, VAULT_V3
from quoteway_devnet.transactions import DEPLOYER

declared = pytest.importorskip("declared_facts", reason="needs the quoteway-indexer distribution")
raw, raws = declared.raw, declared.raws
EXACT_TOKENS_IN, EXACT_SHARES_IN = 1, 1
"""Kinds of a join and of an exit of a weighted pool."""
CONTROLLER = "0xa731C23D7c95436Baaae9D52782f966E1ed07cc8"
ORDER = "(address[],uint256[],bytes,bool)"


def test_each_row_of_a_vault_is_a_source():
    factories = {"0x8E9aa87E45e92bad84D5F8DD1bff34Fb92637dE9": "weighted"}
    router = "0x136f1EFcC3f8f88516B9E94110D56FDBfB1778d1"
    rows = [
        {"network": "ethereum", "factories": factories, "since_block": 12_272_146},
        {
            "network": "ethereum",
            "version": 3,
            "factories": factories,
            "batch_router": router,
            "fee_controllers": [CONTROLLER],
        },
    ]
    v2, v3 = event_sources_of(rows, "ethereum", 1)
    assert (v2.id, v2.chain_id, v2.addresses, v2.first_block) == ("balancer-v2", 1, (VAULT,), 12_272_146)
    assert (v3.id, v3.chain_id, v3.addresses, v3.first_block) == ("balancer-v3", 1, (VAULT_V3, CONTROLLER), 0)
    assert v2.children is v3.children is None
    assert {v2.family, v3.family} == {"balancer-v2", "balancer-v3"}
    assert event_sources_of([]) == ()


V2_EVENTS = {
    "PoolRegistered(bytes32,address,uint8)": (
        ["bytes32", "address"],
        ["uint8"],
        lambda log, pool, address, kind: [("pool_created", {"pool": pool})],
    ),
    "TokensRegistered(bytes32,address[],address[])": (
        ["bytes32"],
        ["address[]", "address[]"],
        lambda log, pool, tokens, managers: declared.of_items("pool_token", pool, token=raws(tokens)),
    ),
    "Swap(bytes32,address,address,uint256,uint256)": (
        ["bytes32", "address", "address"],
        ["uint256", "uint256"],
        lambda log, pool, sold, bought, paid, got: [
            (
                "token_swap",
                {
                    "pool": pool,
                    "token_in": raw(sold),
                    "token_out": raw(bought),
                    "amount_in": paid,
                    "amount_out": got,
                },
            )
        ],
    ),
    "PoolBalanceChanged(bytes32,address,address[],int256[],uint256[])": (
        ["bytes32", "address"],
        ["address[]", "int256[]", "uint256[]"],
        lambda log, pool, owner, tokens, deltas, fees: declared.of_items(
            "token_liquidity",
            pool,
            owner=raw(owner),
            token=raws(tokens),
            amount=deltas,
            protocol_fee=fees,
        ),
    ),
    "PoolBalanceManaged(bytes32,address,address,int256,int256)": (
        ["bytes32", "address", "address"],
        ["int256", "int256"],
        lambda log, pool, manager, token, cash, managed: [
            (
                "token_liquidity",
                {
                    "pool": pool,
                    "place": 0,
                    "owner": raw(manager),
                    "token": raw(token),
                    "amount": cash + managed,
                },
            )
        ],
    ),
}


def charge_protocol_fees(venue):
    """Makes the Vault keep a fifth of the fees, which pools of the first release pay at the next change."""
    (collector,) = venue.state.call(venue.vault, "getProtocolFeesCollector()", returns=["address"])
    (authorizer,) = venue.state.call(venue.vault, "getAuthorizer()", returns=["address"])
    set_fee = calldata("setSwapFeePercentage(uint256)", 20 * PERCENT)
    (role,) = venue.state.call(collector, "getActionId(bytes4)", set_fee[:4], returns=["bytes32"])
    venue._send(authorizer, calldata("grantRole(bytes32,address)", role, DEPLOYER))
    venue._send(collector, set_fee)


def change(venue, pool, way, data):
    """Joins or exits a pool with the given data, whatever it takes or pays."""
    limit = MAX_UINT256 if way == "join" else 0
    order = (list(pool.tokens), [limit] * len(pool.tokens), data, False)
    signature = f"{way}Pool(bytes32,address,address,{ORDER})"
    venue._send(venue.vault, calldata(signature, bytes.fromhex(pool.id[2:]), DEPLOYER, DEPLOYER, order))


def test_the_facts_of_v2_are_those_of_the_logs(venue, tmp_path):
    first, three, stable = (venue.pools[name] for name in ("first", "three", "three stable"))
    (source,) = event_sources_of([venue.row()])
    with venue.sending():
        charge_protocol_fees(venue)
        swapped = []
        for pool, kind, sold, bought in (
            (first, GIVEN_IN, 0, 1),
            (three, GIVEN_IN, 2, 0),
            (three, GIVEN_OUT, 1, 2),
            (stable, GIVEN_OUT, 0, 2),
            (stable, GIVEN_IN, 1, 0),
        ):
            amount = pool.balances[bought if kind == GIVEN_OUT else sold] // 1_000
            moved = venue.swap(pool, kind, sold, bought, amount)
            swapped.append((pool.id, pool.tokens[sold], pool.tokens[bought], *moved))
        joined = [balance // 10 for balance in three.balances]
        change(
            venue, three, "join", encode(["uint256", "uint256[]", "uint256"], [EXACT_TOKENS_IN, joined, 0])
        )
        for pool in (three, first):
            change(venue, pool, "exit", encode(["uint256", "uint256"], [EXACT_SHARES_IN, 10**18]))
        managed = Managed(venue)
        for amount in (7 * 10**18, 10**18):
            managed.update(venue, managed.tokens[1], amount)
    with venue.devnet.rpc("devnet") as rpc:
        found = declared.facts_of(tmp_path / "index.duckdb", rpc, [source])
        expected = declared.Logs(rpc, source, V2_EVENTS).expected([venue.vault])
    assert found == expected
    assert {name: len(rows) for name, rows in found.items()} == {
        "pool_created": 7 + 1,
        "pool_token": 2 + 3 + 2 + 2 + 2 + 4 + 3 + 2,
        "token_swap": 5,
        "token_liquidity": 2 + 3 + 2 + 2 + 2 + 4 + 3 + 3 + 3 + 2 + 2,
    }
    # The amounts are those by which the Vault's balances of the pools moved.
    assert [
        (row["pool"], row["token_in"], row["token_out"], row["amount_in"], row["amount_out"])
        for row in found["token_swap"]
    ] == [(raw(pool), raw(sold), raw(bought), paid, got) for pool, sold, bought, paid, got in swapped]
    for pool in (three, first):
        assert balances_by_facts(found, raw(pool.id)) == [
            (raw(token), balance) for token, balance in zip(pool.tokens, venue.balances(pool), strict=True)
        ]
    assert [row["amount"] for row in found["token_liquidity"][-2:]] == [7 * 10**18, -6 * 10**18]
    protocol = [row["protocol_fee"] for row in found["token_liquidity"] if row["pool"] == raw(first.id)]
    assert any(protocol)


def balances_by_facts(found, pool):
    """Returns what a pool has of each token, by its facts alone."""
    held = {row["token"]: 0 for row in found["pool_token"] if row["pool"] == pool}
    for row in found["token_liquidity"]:
        if row["pool"] == pool:
            held[row["token"]] += row["amount"] - row["protocol_fee"]
    for row in found["token_swap"]:
        if row["pool"] == pool:
            held[row["token_in"]] += row["amount_in"]
            held[row["token_out"]] -= row["amount_out"]
    return list(held.items())


def test_the_topics_are_those_of_the_contract():
    from quoteway_indexer.ingest.events import read_event

    (source,) = event_sources_of([{"network": "devnet", "factories": {VAULT: "weighted"}}])
    assert {read_event(rule.event).topic for rule in source.rules} == {
        event_topic(text) for text in V2_EVENTS
    }
