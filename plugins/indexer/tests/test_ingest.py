"""An index that is kept while a chain grows and is reorganised equals one that is made at once."""

import random

import pytest
from index_chain import Index, Traffic, chain_at, clean_contents, head_hash, only_pairs, sources_of
from reorganisations import trials


@pytest.fixture
def traffic(fresh_devnet):
    traffic = Traffic(fresh_devnet, 1)
    yield traffic
    traffic.close()


@pytest.fixture
def declared(fresh_devnet):
    return sources_of(fresh_devnet.chains["devnet"])


@pytest.fixture
async def chain(fresh_devnet):
    async with chain_at(fresh_devnet.urls["devnet"]) as chain:
        yield chain


async def test_history_is_what_the_chain_has(chain, traffic, declared, tmp_path):
    traffic.mine(100, most=2)
    facts, _, spans = await clean_contents(chain, declared, tmp_path / "index")
    height = int(traffic.rpc("eth_blockNumber"), 16)
    logs = traffic.rpc(
        "eth_getLogs",
        {
            "fromBlock": "0x0",
            "toBlock": "latest",
            "topics": ["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"],
        },
    )
    expected = {
        (int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs if len(log["topics"]) == 3
    }
    assert {(row[2], row[3]) for row in facts["transfer"]} == expected
    pairs = {row[7] for row in facts["contract_created"]}
    assert {(row[2], row[3]) for row in facts["share_transfer"]} == {
        (int(log["blockNumber"], 16), int(log["logIndex"], 16))
        for log in logs
        if bytes.fromhex(log["address"][2:]) in pairs
    }
    assert facts["share_transfer"]
    assert {(source, first, last) for source, _, first, last in spans} == {
        (source, 0, height) for source in ("transfers", "pairs", "pairs contracts")
    }


@pytest.mark.parametrize("sources", [sources_of, only_pairs])
async def test_new_blocks_and_reorganisations_end_as_a_clean_index(
    chain, fresh_devnet, traffic, sources, tmp_path
):
    declared = sources(fresh_devnet.chains["devnet"])
    traffic.mine(70, most=1)
    index = Index(chain, declared, tmp_path / "index")
    chance = random.Random(7)
    async with index.running():
        for _ in range(8):
            if chance.random() < 0.5:
                traffic.reorganise(chance.choice([1, 2, 5, 30, 64]))
            traffic.mine(chance.randint(1, 4))
            await index.reaches(head_hash(traffic.rpc))
    kept = index.contents()
    await index.close()
    assert kept == await clean_contents(chain, declared, tmp_path / "clean")


async def test_a_restart_goes_on_where_it_ended(chain, traffic, declared, tmp_path):
    for blocks, depth in ((80, 0), (3, 0), (0, 3), (200, 0), (1, 60)):
        traffic.mine(blocks, most=1)
        if depth:
            traffic.reorganise(depth)
            traffic.mine(1)
        index = Index(chain, declared, tmp_path / "index")
        await index.once()
        kept = index.contents()
        await index.close()
    assert kept == await clean_contents(chain, declared, tmp_path / "clean")


@pytest.mark.slow
async def test_reorganisations_with_a_crash_at_any_statement_end_as_a_clean_index(fresh_devnet, tmp_path):
    assert await trials(fresh_devnet, tmp_path, 20, 11) > 10


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize("settings", ["clickhouse"], indirect=True)
async def test_an_index_of_clickhouse_ends_as_a_clean_one_of_duckdb_too(fresh_devnet, settings, tmp_path):
    assert await trials(fresh_devnet, tmp_path, 4, 11, settings=settings, statements=20) > 1
