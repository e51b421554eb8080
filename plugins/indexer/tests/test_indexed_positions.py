"""Positions that an index finds, against the contracts: found, their amounts, and what went in and out."""

import pytest
from indexed_positions import compare_positions

NFT_VERBS = ("open", "increase", "decrease", "collect", "give", "trade")


@pytest.mark.slow
async def test_random_positions_are_found_and_equal_their_contracts_to_the_unit(fresh_devnet, tmp_path):
    compared = await compare_positions(fresh_devnet, tmp_path, 20, seed=2, most_blocks=50)
    assert compared.wrong == []
    assert compared.positions == 20
    assert set(compared.flows_compared) >= {"v2", "v3", "v4"}
    assert set(compared.made) >= {f"{kind} {what}" for kind in ("v3", "v4") for what in NFT_VERBS}
    assert compared.refused, "the node answered every range"
    print(compared.made, compared.seconds, compared.log_requests)
