"""Some random swaps; ``python exactness.py`` and ``python trials.py`` run thousands."""

import pytest
from exactness import execute_random_swaps
from trials import try_random_swaps


@pytest.mark.slow
async def test_random_swaps_give_what_was_quoted(devnet):
    report = await execute_random_swaps(160, seed=20_261_121, devnet=devnet)
    assert not report.reverted
    assert not report.wrong
    assert len(report.swaps) == 160
    kinds = {kind for path in report.paths for kind in path.split("-")}
    assert kinds >= {"v2", "v3", "v4"}


@pytest.mark.slow
@pytest.mark.parametrize("slug", ["devnet", "devnet-l2"])
async def test_random_swaps_in_and_out_and_split_give_what_was_quoted(devnet, slug):
    report = await try_random_swaps(400, seed=20_261_123, devnet=devnet, slug=slug)
    assert not report.wrong
    assert set(report.tried) == {"exact in", "exact out", "flow"}
    assert max(report.legs) >= 5
