"""Attack: one byte of the target, value, chain id or calldata is another one than at the time of the quote.

The quote is rehearsed with honest bytes; those of its action differ in one byte, anywhere. A byte that makes
the minimum larger does no harm; no other one may pass.
"""

import pytest
from cheating import nothing_to_sign, wanted, with_step
from quoteway import Capability
from quoteway.evm.address import checksum

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def honest_quote(client, **more):
    """A quote, and the calldata of its honest action."""
    client.cheat.honest()
    quote = await client.ask("/v2/swaps/quote", wanted(client, **more))
    return quote, bytes.fromhex((await client.act(quote))["transactions"][-1]["data"][2:])


async def act(client, quote, **changes):
    """The answer to the action whose build has this change in its transaction."""
    client.cheat.build_lie = lambda sealed, build: with_step(build, **changes)
    return await client.api.post(f"/v2/swaps/{quote['quoteId']}/action")


def flip(data, place, mask):
    return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


def passes_with_a_larger_minimum(answer, least, place):
    """Whether the action was given; if so, its minimum is larger and nothing else has changed."""
    if answer.status != 201:
        assert set(answer.body) == {"error"}
        assert answer.body["error"]["details"]["reason"] in ("unsafe_answer", "reverted"), place
        return False
    assert answer.body["simulation"]["status"] == "success"
    assert place in least
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("mask", "stride"), [(0x01, 1), (0x80, 8)])
async def test_every_byte_of_the_calldata(client, mask, stride):
    quote, honest = await honest_quote(client)
    least = range(4 + 32, 4 + 64)  # the second argument
    passed = []
    for place in range(0, len(honest), stride):
        data = flip(honest, place, mask)
        if passes_with_a_larger_minimum(await act(client, quote, data=data), least, place):
            passed.append(data)
    assert all(data > honest for data in passed)


async def test_every_byte_of_the_target_the_value_and_the_chain_id(client):
    quote, _ = await honest_quote(client)
    router = bytes.fromhex(client.cheat.router[2:])
    targets = [checksum("0x" + flip(router, place, 1).hex()) for place in range(20)]
    client.cheat.named = dict.fromkeys(targets, "Router")
    changes = [
        *({"to": to} for to in targets),
        *({"value": 1 << 8 * place} for place in range(32)),
        *({"chain_id": 31337 ^ 1 << 8 * place} for place in range(8)),
    ]
    for change in changes:
        answer = await act(client, quote, **change)
        # Once the gateway has looked for these addresses, it explains each refusal by their missing code.
        assert answer.body["error"]["details"]["reason"] in ("unsafe_answer", "contract_missing"), change
        nothing_to_sign(answer, None)


@pytest.mark.slow
async def test_every_fourth_byte_of_a_program_of_the_universal_router(client, monkeypatch):
    quote, honest = await honest_quote(client, provider="uniswap")
    at = honest.index(int(quote["toAmountMin"]).to_bytes(32))
    provider = client.api.gateway.registry.get(Capability.SWAP, "uniswap")
    build, place = provider.build, 0

    async def changed(sealed):
        return with_step(await build(sealed), data=flip(honest, place, 1))

    monkeypatch.setattr(provider, "build", changed)
    for place in range(0, len(honest), 4):
        answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action")
        if passes_with_a_larger_minimum(answer, range(at, at + 32), place):
            assert flip(honest, place, 1) > honest


async def test_the_same_bytes_as_quoted_pass(client):
    quote, honest = await honest_quote(client)
    assert bytes.fromhex((await client.act(quote))["transactions"][-1]["data"][2:]) == honest
