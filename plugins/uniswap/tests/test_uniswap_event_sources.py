"""Event sources: one for each factory, with the topics of the contracts and columns that the tables have."""

import re
from types import SimpleNamespace

import pytest
from quoteway import Network
from quoteway.evm.abi import event_topic
from quoteway.networks import Networks
from quoteway_uniswap import creations, pool_activity, pool_events
from quoteway_uniswap.event_sources import event_sources

ETHEREUM, BNB = Network("ethereum", 1, "Ethereum"), Network("bnb", 56, "BNB")
TOPICS = {
    "v2": {
        creations.PAIR_CREATED,
        pool_activity._V2_SWAP,
        pool_events.V2_SYNC,
        event_topic("Mint(address,uint256,uint256)"),
        event_topic("Burn(address,uint256,uint256,address)"),
        "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",  # ERC-20 Transfer
    },
    "v3": {
        creations.POOL_CREATED,
        *pool_activity._V3_TOPICS,
        pool_events.PANCAKE_SWAP,
        pool_events.PANCAKE_PROTOCOL,
        event_topic("Collect(address,address,int24,int24,uint128,uint128)"),
        event_topic("CollectProtocol(address,address,uint128,uint128)"),
    },
    "v4": set(pool_activity._V4_TOPICS),
}


def sources_of(*networks, deployments=()):
    context = SimpleNamespace(networks=Networks(networks), settings={"deployments": list(deployments)})
    return event_sources(context)


def topic_of(event):
    name, parameters = re.fullmatch(r"(\w+)\((.*)\)", event).groups()
    return event_topic(f"{name}({','.join(each.split()[0] for each in parameters.split(', '))})")


def names_of(event):
    return {each.split()[-1] for each in event[event.index("(") + 1 : -1].split(", ")}


def test_every_factory_of_the_public_rows_is_a_source():
    found = {(source.chain_id, source.id): source for source in sources_of(ETHEREUM, BNB)}
    uniswap = {"uniswap-v2", "uniswap-v3", "uniswap-v4"}
    assert {each for chain, each in found if chain == 1} == {
        *uniswap,
        "sushiswap-v2",
        "pancakeswap-v2",
        "pancakeswap-v3",
    }
    assert {each for chain, each in found if chain == 56} == {*uniswap, "pancakeswap-v2", "pancakeswap-v3"}
    v3, v4 = found[1, "uniswap-v3"], found[1, "uniswap-v4"]
    assert v3.addresses == v3.children.factories == ("0x1F98431c8aD98523631AE4a59f267346ea31F984",)
    assert (v4.children, v4.first_block) == (None, 21688329)
    assert dict(found[56, "pancakeswap-v2"].parameters) == {
        "fee_numerator": 9975,
        "fee_denominator": 10000,
        "protocol_share": 8,
        "protocol_parts": 25,
    }


@pytest.mark.parametrize("kind", TOPICS)
def test_the_rules_have_the_topics_of_the_contracts(kind):
    (source,) = [each for each in sources_of(ETHEREUM) if each.id == f"uniswap-{kind}"]
    assert {topic_of(rule.event) for rule in source.rules} == TOPICS[kind]
    if source.children is not None:
        assert source.children.parameter in names_of(source.children.event)
        assert topic_of(source.children.event) in TOPICS[kind]


def test_the_rules_fill_columns_of_the_tables_from_their_parameters():
    tables = pytest.importorskip("quoteway_indexer.tables", reason="needs the quoteway-indexer distribution")
    rules = [rule for source in sources_of(ETHEREUM, BNB) for rule in source.rules]
    assert len(rules) > 20
    for rule in rules:
        for column, value in rule.columns.items():
            assert tables.FACTS[rule.fact].column(column)
            assert set(re.findall(r"[A-Za-z_]\w*", value)) <= names_of(rule.event), (rule.event, value)


def test_of_two_rows_with_one_factory_the_first_counts():
    (row,) = [source for source in sources_of(ETHEREUM) if source.id == "uniswap-v2"]
    second = {
        "network": "ethereum",
        "protocol": "second",
        "router": "0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af",
        "router_version": "2.0",
        "wrapped_native": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        "v2": {"factory": row.addresses[0]},
    }
    assert {source.id for source in sources_of(ETHEREUM, deployments=[second])} == {
        source.id for source in sources_of(ETHEREUM)
    }
