"""Attack: the executor's calldata differs in one byte from what its quote was simulated with."""

from dataclasses import replace

import pytest
import pytest_asyncio
from balancer_venue import RECIPIENT, body_of, serve
from quoteway_balancer.executor import BalancerVault

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]
STRIDE = 3


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(venue):
    async with serve(venue) as api:
        yield api


@pytest.mark.parametrize(
    ("sold", "bought", "hops"),
    [("MKR", "WETH", 1), ("ETH", "MKR", 1), ("MKR", "USDT", 3), ("LINK", "ETH", 1)],
)
async def test_no_changed_byte_of_the_calldata_harms(api, venue, monkeypatch, sold, bought, hops):
    amount = venue.amount(sold, 1_000)
    body = body_of(venue, sold, bought, amount, toAddress=RECIPIENT, maxHops=hops)
    quote = (await api.post("/v2/swaps/quote", body)).body
    path = f"/v2/swaps/{quote['quoteId']}/action"
    honest = (await api.post(path)).body
    (data,) = [bytes.fromhex(step["data"][2:]) for step in honest["transactions"][-1:]]
    encode, changed, passed = BalancerVault.encode, [], []

    async def corrupt(self, order):
        step = await encode(self, order)
        place = changed[-1]
        return replace(step, data=step.data[:place] + bytes([step.data[place] ^ 1]) + step.data[place + 1 :])

    monkeypatch.setattr(BalancerVault, "encode", corrupt)
    for place in range(0, len(data), STRIDE):
        changed.append(place)
        answer = await api.post(path)
        if answer.status != 201:
            assert answer.body["error"]["details"]["reason"] in ("unsafe_answer", "reverted"), place
            continue
        passed.append(place)
        (change,) = [
            each for each in answer.body["simulation"]["assetChanges"] if each["account"] == RECIPIENT
        ]
        # A larger minimum, which the swap still pays.
        assert change["delta"] == quote["toAmount"]
        assert int(answer.body["outputs"][0]["amountMin"]) >= int(quote["toAmountMin"])
    assert len(passed) < 40
    monkeypatch.undo()
    assert (await api.post(path)).body["transactions"] == honest["transactions"]
