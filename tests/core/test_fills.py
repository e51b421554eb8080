"""Swaps that were handed out are looked for on the chain as long as they may be mined, and no longer."""

from types import SimpleNamespace

import pytest
from cachetools import TLRUCache
from quoteway.engine import fills
from quoteway.engine.fills import Fills
from quoteway.models import Block, Capability, Leg, Token

NOW = 1_000
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SOLD, BOUGHT = (Token(7, "0x" + digit * 40, decimals) for digit, decimals in (("1", 6), ("2", 18)))


def action(deadline, identity="action"):
    return SimpleNamespace(
        action_id=identity,
        chain_id=7,
        sender=USER,
        inputs=(Leg(SOLD, 2_500_000, USER),),
        outputs=(Leg(BOUGHT, 10**18, USER),),
        steps=(SimpleNamespace(tx_id="the id of its transaction"),),
        block=Block(5, "0x" + "ab" * 32, NOW),
        deadline=deadline,
    )


@pytest.mark.parametrize(
    ("deadline", "kept_s"), [(NOW + 1_200, 1_800.0), (None, 3_600.0), (NOW + 86_400, 3_600.0)]
)
async def test_an_action_is_kept_until_it_cannot_be_found_any_more(deadline, kept_s):
    clock = [0.0]
    kept = Fills(SimpleNamespace(now=lambda: NOW), None, None)
    kept._promises = TLRUCache(fills.MOST_PROMISES, fills._kept_until, timer=lambda: clock[0])
    kept.issued(SimpleNamespace(capability=Capability.SWAP, parts=(), provider="one"), action(deadline))
    (promise,) = kept._promises.values()
    assert (promise.sold, promise.sold_units, promise.bought) == (SOLD.address, 2.5, BOUGHT.address)
    clock[0] = kept_s - 1
    assert kept.waiting == 1
    clock[0] = kept_s + 1
    kept._promises.expire()
    assert kept.waiting == 0
    await kept.close()
