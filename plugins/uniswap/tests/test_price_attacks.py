import pytest
from price_attacks import ATTACKS, run_price_attacks


@pytest.mark.slow
async def test_no_attack_counts_for_more_than_it_pays_and_honest_prices_are_right():
    report = await run_price_attacks(attacks=len(ATTACKS), controls=2, seed=5)
    assert report.wrong == []
    assert (report.attacks, len(report.kinds), report.controls) == (len(ATTACKS), len(ATTACKS), 2)
    assert report.prices > 30
    assert sum(kind.holdings for kind in report.kinds.values()) > 8
