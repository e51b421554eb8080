"""A slice of the random vault operations; ``python vault_exactness.py`` runs hundreds."""

from vault_exactness import execute_random_operations


async def test_random_operations_move_what_was_quoted(fresh_devnet):
    report = await execute_random_operations(50, seed=20_261_121, devnet=fresh_devnet)
    assert not report.reverted
    assert not report.wrong
    assert len(report.done) == 50
    assert {"deposit", "mint", "withdraw", "redeem"} == {each.operation for each in report.done}
    assert len({each.vault for each in report.done}) >= 4
