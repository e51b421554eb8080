"""Swaps that were handed out are looked for on the chain as long as they may be mined, and no longer."""

from types import SimpleNamespace

import pytest
from cachetools import TLRUCache
from quoteway.engine import fills
from quoteway.engine.fills import Fills
from quoteway.engine.quote_tokens import KeyRing, Sealer, commitment_of
from quoteway.models import Block, Capability, Leg, SignatureRequest, Step, Token

NOW = 1_000
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SOLD, BOUGHT = (Token(7, "0x" + digit * 40, decimals) for digit, decimals in (("1", 6), ("2", 18)))


SPENDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def action(deadline, identity="action", step=None, tx_id="the id of its transaction", signatures=()):
    step = step or Step(SPENDER, b"data", 0, 7)
    return SimpleNamespace(
        action_id=identity,
        chain_id=7,
        sender=USER,
        inputs=(Leg(SOLD, 2_500_000, USER),),
        outputs=(Leg(BOUGHT, 10**18, USER),),
        steps=(SimpleNamespace(tx_id=tx_id, index=0, to=step.to, value=step.value, data=step.data),),
        signatures=signatures,
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


class Passing(TLRUCache):
    """Its time passes as soon as its keys were listed."""

    time_s = 0.0

    def __init__(self):
        super().__init__(fills.MOST_PROMISES, fills._kept_until, timer=lambda: self.time_s)

    def __iter__(self):
        yield from list(super().__iter__())
        self.time_s = 10_000.0


async def test_an_action_whose_time_passes_while_a_round_begins_does_not_end_it():
    kept = Fills(SimpleNamespace(now=lambda: NOW), None, None)
    kept._promises = Passing()
    kept.issued(SimpleNamespace(capability=Capability.SWAP, parts=(), provider="one"), action(NOW + 1_200))
    await kept._round()
    assert kept.waiting == 0
    await kept.close()


class CountingSealer(Sealer):
    opened = 0

    def open_transaction(self, token):
        self.opened += 1
        return super().open_transaction(token)


class Node:
    """One transaction, and a receipt that says it was reverted."""

    def __init__(self, data):
        self.found = {"from": USER.lower(), "to": SPENDER.lower(), "value": "0x0", "input": "0x" + data.hex()}

    async def request(self, method, params, *, shared):
        return self.found if method == "eth_getTransactionByHash" else {"status": "0x0"}


class ManyActions:
    """One wallet that was handed out ``fills.MOST_PROMISES`` swaps, and a transaction on the chain."""

    def __init__(self, signatures=()):
        self.sealer = CountingSealer(KeyRing([("key", b"k" * 32)]), issuer="here", clock=lambda: NOW)
        self.node = Node(b"")
        self.fills = Fills(SimpleNamespace(now=lambda: NOW, chain=lambda _: self.node), None, self.sealer)
        sealed = SimpleNamespace(capability=Capability.SWAP, parts=(), provider="one")
        for number in range(fills.MOST_PROMISES):
            step = Step(SPENDER, number.to_bytes(4) + bytes(65) + b"end", 0, 7)
            commitment = commitment_of(step, 0, None, str(number), USER, signatures, NOW)
            given = action(None, str(number), step, self.sealer.seal_transaction(commitment), signatures)
            self.fills.issued(sealed, given)
        self.kept = []

    async def found(self, data, monkeypatch):
        """Returns the actions that a transaction with this calldata stands for."""
        self.node.found["input"] = "0x" + data.hex()

        async def settlement(chain, commitment, found, receipt, *, matches):
            return None

        async def keep(promise, identity, tx_hash, settled, found_by):
            self.kept.append((identity, found_by))

        monkeypatch.setattr(fills, "settlement", settlement)
        monkeypatch.setattr(self.fills, "_keep", keep)
        await self.fills._compare(7, "0x" + data.hex(), list(self.fills._promises.items()))
        await self.fills.close()
        return self.kept


async def test_a_transaction_of_a_wallet_with_many_actions_opens_one_of_their_ids(monkeypatch):
    many = ManyActions()
    assert await many.found((77).to_bytes(4) + bytes(65) + b"end", monkeypatch) == [("77", "index")]
    assert many.sealer.opened == 1


async def test_a_transaction_of_no_action_opens_none_of_their_ids(monkeypatch):
    many = ManyActions()
    assert await many.found(b"a transfer of the same wallet", monkeypatch) == []
    assert many.sealer.opened == 0


async def test_an_action_is_found_with_the_signature_that_its_wallet_put_in(monkeypatch):
    many = ManyActions((SignatureRequest("permit2", {}, 0, 4),))
    assert await many.found((78).to_bytes(4) + b"s" * 65 + b"end", monkeypatch) == [("78", "index")]
    assert await many.found((79).to_bytes(4) + b"s" * 65 + b"END", monkeypatch) == [("78", "index")]
    assert many.sealer.opened == 1
