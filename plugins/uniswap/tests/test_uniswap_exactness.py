"""Some random swaps; ``python exactness.py`` runs thousands."""

import pytest
from exactness import execute_random_swaps


@pytest.mark.slow
async def test_random_swaps_give_what_was_quoted(devnet):
    report = await execute_random_swaps(160, seed=20_261_121, devnet=devnet)
    assert not report.reverted
    assert not report.wrong
    assert len(report.swaps) == 160
    kinds = {kind for path in report.paths for kind in path.split("-")}
    assert kinds >= {"v2", "v3", "v4"}
