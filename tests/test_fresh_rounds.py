"""A slice of ``python -m bench fresh``: rounds without a pause, one wallet after another and in parallel."""

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import client_of  # noqa: E402
from fresh_rounds import SteadyNode, market  # noqa: E402


@pytest.mark.slow
async def test_rounds_without_a_pause_do_what_they_say(fresh_devnet):
    node = SteadyNode(fresh_devnet.urls["devnet"])
    async with (
        client_of(fresh_devnet, 0.0, node=node) as client,
        market(client.api.url, fresh_devnet, node) as rounds,
    ):
        alone = await rounds.one_after_another(20)
        together = await rounds.in_parallel(20)
    assert alone.faults == []
    assert together.faults == []
    assert (alone.rounds, together.rounds) == (20, 20)
    assert alone.paths.total() >= 15, f"too few were executed: {alone.refused}"
