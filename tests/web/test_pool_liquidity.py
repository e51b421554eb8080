"""How a pool's liquidity lies over its price: what a provider tells of it, and what is refused of it."""

from dataclasses import replace

import pytest
from quoteway import Block, InitialisedTick, PoolLiquidity, hookimpl

BLOCK = Block(7, "0x" + "11" * 32, 1_700_000_000)


class TellingPools:
    """A plugin with the fake pools and an answer to how their liquidity lies."""

    def __init__(self, weth, pools, answer):
        self.weth, self.pools, self.answer = weth, pools, answer

    @hookimpl
    def quoteway_pool_providers(self, context):
        async def liquidity(provider, pool_id):
            return self.answer(pool_id)

        telling = type("Telling", (self.pools,), {"liquidity": liquidity})
        return [telling(context, self.weth, [31337])]


@pytest.fixture
def telling(serve_app, fake_plugin, fake_classes):
    async def serve(answer):
        fake_plugin.kinds = ()
        plugin = TellingPools(fake_plugin.weth, fake_classes["pool"], answer)
        api = await serve_app({"fakes": fake_plugin, "telling": plugin})
        return api, f"/v2/pools/31337:{fake_plugin.weth}/liquidity"

    return serve


def ticks_of(*pairs):
    return tuple(InitialisedTick(*pair) for pair in pairs)


def told(pool_id):
    ticks = ticks_of((-120, 5), (0, 10**30), (60, -(10**30) - 5))
    return PoolLiquidity(pool_id, 60, 1 << 96, 0, 10**30 + 5, ticks, (-15_360, 15_359), BLOCK)


async def test_ticks_are_shown_with_whole_numbers_in_text(telling, contract):
    api, path = await telling(told)
    answer = await api.get(path)
    assert answer.status == 200, answer.body
    found = contract.check("getPoolLiquidity", answer)
    assert answer.headers["Cache-Control"] == "no-store"
    assert found["ticks"][1:] == [
        {"tick": 0, "liquidityNet": str(10**30)},
        {"tick": 60, "liquidityNet": str(-(10**30) - 5)},
    ]
    assert (found["tick"], found["tickSpacing"], found["liquidity"]) == (0, 60, str(10**30 + 5))
    assert found["known"] == {"from": -15_360, "to": 15_359}
    assert found["block"]["number"] == 7


@pytest.mark.parametrize(
    "changes",
    [
        {"pool_id": "31337:0x1"},
        {"ticks": ticks_of((60, 1), (0, 1))},
        {"ticks": ticks_of((0, 1), (0, 1))},
        {"ticks": ticks_of((0, "1"))},
        {"ticks": ticks_of((30_000, 1))},
        {"tick_spacing": 0},
        {"tick": 20_000},
        {"liquidity": 1.5},
        {"known": (0,)},
        {"block": None},
    ],
    ids=range(10),
)
async def test_an_odd_answer_is_refused(telling, refused, changes):
    api, path = await telling(lambda pool_id: replace(told(pool_id), **changes))
    refused(await api.get(path), 502, "upstream_error", "unsafe_answer")


async def test_a_provider_that_cannot_tell_and_an_unknown_pool(telling, refused):
    api, path = await telling(lambda pool_id: None)
    refused(await api.get(path), 503, "provider_unavailable")
    refused(await api.get(path.replace("/31337:0x", "/31337:0xff")), 404, "not_found")
    refused(await api.get(path + "?wallet=1"), 422, "validation_error")
