"""Attack: an amount that two readers read differently: signs, exponents, hex, other digits, separators.

An amount is base units in decimal ASCII digits, without leading zeros, from 1 to 2^256 - 1; nothing is made
fit.
"""

import pytest
from cheating import wanted
from direct_client import USER

pytestmark = pytest.mark.asyncio(loop_scope="module")
ODD = [
    "-1", "-0", "0", "", "1.5", "1.0", "1e18", "1E18", "0x10", "0b1", "0o7", "01", "00", "1_000", "1,000",
    "1 000", " 12 ", "12\n", "\t12", "+5", "\uff11\uff12", "\u0663", "\u4e09", "\u00b2", "\u2167", "1\u0000",
    "\u00001", "1\u200b", "\u22121", str(2**256), str(2**256 + 5), str(10**80), "1" * 5000, "NaN", "Infinity",
    "-Infinity", "null", "max", 5, 5.0, 1e18, 10**30, 0, -1, None, True, False, [], ["5"], {},
]  # fmt: skip


def quotes(client):
    """A request of each kind that quotes, without its amount."""
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    asset = {"asset": client.token("USDC"), "address": USER}
    swap = wanted(client)
    bridge = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": client.token("USDC")}
    bridge |= {"toToken": client.token("USDC", "devnet-l2"), "address": USER}
    return {
        "/v2/swaps/quote": swap,
        "/v2/bridges/quote": bridge,
        f"/v2/pools/31337:{client.pool('v2', 'WETH/USDC').id}/quote": {"action": "add", **asset},
        f"/v2/vaults/31337:{vault.address}/quote": {"action": "deposit", **asset},
        f"/v2/vaults/31337:{vault.address}/action": {"action": "deposit", **asset},
    }


@pytest.mark.parametrize("kind", range(5))
async def test_odd_amounts(client, kind):
    path, body = list(quotes(client).items())[kind]
    for amount in ODD:
        if amount == "max" and "vaults" in path:
            continue  # a vault's word for all that the wallet has
        answer = await client.api.post(path, {**body, "amount": amount})
        assert answer.status == 422, (amount, answer.body)
        fields = answer.refused(422, "validation_error")["details"]["fields"]
        assert [field["path"] for field in fields] == ["amount"], amount
        assert set(answer.body) == {"error"}


@pytest.mark.parametrize("raw", ["1e3", "1000.0", "0x3e8", "١", "1_000", "1" + "0" * 400])
async def test_numbers_on_the_wire(client, raw):
    """JSON numbers are no amounts, whatever a reader makes of them."""
    body = '{"network":"devnet","fromToken":"native","toToken":"%s","amount":%s,"address":"%s"}'
    data = (body % (client.token("USDC"), raw, USER)).encode()
    headers = {"Content-Type": "application/json"}
    async with client.api.session.post(
        f"{client.api.url}/v2/swaps/quote", data=data, headers=headers
    ) as answer:
        assert answer.status in (400, 422)
        assert set(await answer.json()) == {"error"}


async def test_the_smallest_and_the_largest_amount_are_read(client):
    """They have no price, or no liquidity: the refusal is not of the amount's form."""
    for amount in ("1", str(2**256 - 1)):
        answer = await client.api.post("/v2/swaps/quote", wanted(client, amount=amount))
        assert answer.status in (200, 502), answer.body
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    assert quote["fromAmount"] == wanted(client)["amount"]
