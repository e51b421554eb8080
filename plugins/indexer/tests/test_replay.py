"""Hours of pools, kept and computed at once, equal an independent replay and what the contracts have."""

import pytest
from history_trial import HistoryTrial

KINDS = {
    f"{version} {kind}"
    for version, kinds in (
        ("v2", ("swap", "mint", "burn")),
        ("v3", ("swap", "mint", "burn", "collect", "flash", "fee switch")),
        ("v4", ("swap", "liquidity", "donation", "fee switch")),
    )
    for kind in kinds
}


@pytest.mark.parametrize(
    ("operations", "days", "per_block", "most_pools"),
    [(240, 0.7, 4, 2), pytest.param(600, 1.2, 6, 1000, marks=pytest.mark.slow)],
)
async def test_hours_of_pools_are_exact(fresh_devnet, tmp_path, operations, days, per_block, most_pools):
    running = HistoryTrial(fresh_devnet, tmp_path, 3, most_pools)
    trial = await running.run(operations, days, per_block=per_block)
    assert not trial.wrong
    assert trial.events.keys() >= KINDS
    assert trial.buckets > 50
    assert trial.edges > trial.buckets
