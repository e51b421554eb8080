"""A few random vault operations; ``python vault_exactness.py`` runs hundreds."""

import pytest
from quoteway import Capability, VaultRequest
from quoteway.config.model import Config, QuotesConfig
from quoteway.engine.gateway import Gateway
from vault_exactness import USERS, execute_random_operations, plugins


@pytest.mark.slow
async def test_random_operations_move_what_was_quoted(fresh_devnet):
    report = await execute_random_operations(50, seed=20_261_121, devnet=fresh_devnet)
    assert not report.reverted
    assert not report.wrong
    assert len(report.done) == 50
    assert {"deposit", "mint", "withdraw", "redeem"} == {each.operation for each in report.done}
    assert len({each.vault for each in report.done}) >= 4
    assert "unsafe_answer" not in report.refused


async def test_the_minimum_of_an_output_is_at_least_one_unit(fresh_devnet):
    """One unit minus slippage rounds to 0, which would be no minimum."""
    row = next(vault for vault in fresh_devnet.chains["devnet"].vaults if vault.id == "bold-usdc")
    usdc = fresh_devnet.chains["devnet"].token("USDC").address
    gateway = Gateway(
        Config(quotes=QuotesConfig(competition_timeout_s=30.0)), plugins=plugins(fresh_devnet), discover=False
    )
    async with gateway.running():
        for amount in (2, 3):
            request = VaultRequest(
                f"31337:{row.address}", 31337, "deposit", usdc, amount, USERS[0], USERS[0], 50
            )
            answer = await gateway.quoting.quote(Capability.VAULT, request)
            (got,) = answer.quote.outputs
            assert got.amount_min == max(got.amount * 9950 // 10_000, 1)
            assert (await gateway.building.action(answer.sealed)).simulation.status == "success"
        assert {got.amount, got.amount_min} <= {1, 2}
