"""Attack: a contract that was read and pinned is a proxy, and its owner upgrades it to code that steals.

The address, its code and the description are still those that the operator has read. Every quote and every
action is simulated on the newest block, so what the new code does is seen before anybody signs.
"""

import pytest
from quoteway.testing.fakes import FakePlugin
from thieves import PROXY, TAKES_ALL, TAKES_NOTHING, TARGET, Elsewhere, Victim, chain_plugin, put, upgrade

LOGIC = "0x00000000000000000000000000000000000a11ce"


@pytest.fixture
async def victim(fresh_devnet, serve_app):
    """Of a gateway whose operator said that the proxy is a v2 router, which it is."""
    real = fresh_devnet.chains["devnet"].contracts["UniswapV2Router02"]
    put(fresh_devnet, PROXY)
    upgrade(fresh_devnet, real)
    kinds = {**fresh_devnet.chains["devnet"].kinds, TARGET: "uniswap.v2-router"}
    fake = FakePlugin([lambda context: Elsewhere(context, real)])
    plugins = {"chain": chain_plugin(fresh_devnet, contracts=kinds), "fake": fake}
    return Victim(fresh_devnet, await serve_app(plugins))


async def test_before_the_upgrade_it_swaps(victim):
    quote = (await victim.quote()).body
    action = await victim.act(quote["quoteId"])
    assert action.status == 201, action.body
    assert action.body["simulation"]["status"] == "success"
    assert action.body["transactions"][-1]["to"] == TARGET


@pytest.mark.parametrize(
    ("code", "finding"),
    [(TAKES_ALL, "its run pays no "), (TAKES_NOTHING, "its run leaves an allowance to ")],
    ids=["takes all", "takes nothing"],
)
async def test_after_the_upgrade_neither_old_nor_new_quotes_become_transactions(
    fresh_devnet, victim, refused, code, finding
):
    before = (await victim.quote()).body
    put(fresh_devnet, code, LOGIC)
    upgrade(fresh_devnet, LOGIC)
    answers = [await victim.act(before["quoteId"]), await victim.quote()]
    for answer in answers:
        details = refused(answer, 502, "upstream_error")
        assert "transactions" not in answer.body, details
    assert finding in answers[1].body["error"]["message"]
