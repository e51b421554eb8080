"""Attack: a Universal Router program with a minimum of 1 and the quoted one as bytes behind its arguments.

The router decodes the arguments that it needs and ignores the rest. The same holds for a program that is
encoded for another version of the router, which reads other words as amount and minimum. Of the minimum of a
``SWEEP`` it ignores all but the lowest 160 bits.
"""

import pytest
import pytest_asyncio
from cheating import nothing_to_sign, wanted
from direct_client import OTHER, client_of
from quoteway import NATIVE, Build, Spend, Step, SwapProvider
from quoteway.evm import permit2
from quoteway.evm.abi import encode, function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.router_commands import ADDRESS_THIS, EXECUTE, OPEN_DELTA, Program, dialect
from quoteway.testing.fakes import FakePlugin, swap_quote

pytestmark = pytest.mark.asyncio(loop_scope="module")
AMOUNT, GOT = 10**9, 28 * 10**16
SWEEP = 0x04


class Swaps(SwapProvider):
    """Quotes USDC for WETH; ``data_of(sold, bought, minimum, deadline)`` is what it has the router do."""

    id, title = "swaps", "Swaps"
    networks = frozenset({31337})
    data_of = None

    def __init__(self, context, router):
        self.context, self.router = context, router

    def contracts(self, chain_id):
        return {self.router: "Router"}

    def spenders(self, chain_id):
        return (self.router, permit2.ADDRESS)

    def spends(self, token):
        return (Spend(token, AMOUNT, permit2.ADDRESS, self.router),)

    async def quote(self, request):
        block = await self.context.chain(31337).head()
        return swap_quote(request, GOT, block, spends=self.spends(request.token_in.address), is_estimate=True)

    async def build(self, sealed):
        request, (got,) = sealed.request, sealed.outputs
        until = sealed.created_at + 1200
        data = self.data_of(request.token_in.address, got.token.address, got.account, got.amount_min, until)
        step = Step(self.router, data, 0, 31337)
        return Build((step,), self.spends(request.token_in.address), sealed.inputs, sealed.outputs)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(devnet):
    made = []

    def swaps(context):
        made.append(Swaps(context, devnet.chains["devnet"].contracts["UniversalRouter"]))
        return made[0]

    async with client_of(devnet, 0.0, plugins={"beside": FakePlugin([swaps])}) as client:
        (client.swaps,) = made
        yield client


def universal(minimum=None, recipient=None, behind=b"", version="2.1", v4=False, taken_by=None, swept=None):
    """``execute`` with one v3 swap, or one v4 swap of two hops. ``swept``: then a sweep with this minimum."""

    def data_of(sold, bought, user, least, deadline):
        words, enforced = dialect(version), least if minimum is None else minimum
        program, payee = Program(words.command), recipient or user
        if v4:
            actions = Program(words.action)
            path = [(NATIVE, 500, 10, NATIVE, b""), (bought, 500, 10, NATIVE, b"")]
            limits = ((),) if words.hop_limits else ()
            actions.add("SETTLE", sold, AMOUNT, True)
            actions.add("SWAP_EXACT_IN", (sold, path, *limits, AMOUNT, enforced))
            actions.add("TAKE", bought, taken_by or payee, OPEN_DELTA)
            program.add("V4_SWAP", actions.bytes, actions.inputs)
        else:
            path = address_bytes(sold) + (500).to_bytes(3) + address_bytes(bought)
            prices = ((),) if words.min_hop_price else ()
            program.add("V3_SWAP_EXACT_IN", payee, AMOUNT, enforced, path, True, *prices)
        if swept:
            program.bytes += bytes([SWEEP])
            program.inputs.append(encode(("address", "address", "uint256"), (bought, user, swept)))
        if behind:
            program.inputs[-1] += least.to_bytes(32) if behind == "minimum" else behind
        return function(EXECUTE).encode([program.bytes, program.inputs, deadline])

    return data_of


async def attempt(client, **lie):
    client.swaps.data_of = universal(**lie)
    answer = await client.api.post("/v2/swaps/quote", wanted(client, provider="swaps"))
    if answer.status != 200:
        return answer
    return await client.api.post(f"/v2/swaps/{answer.body['quoteId']}/action")


async def test_the_honest_program_passes(client):
    answer = await attempt(client)
    assert (answer.status, answer.body["simulation"]["status"]) == (201, "success")


LIES = [
    ({"minimum": 1, "behind": "minimum"}, "cannot be read"),
    ({"behind": bytes(32)}, "cannot be read"),
    ({"minimum": 1}, "enforces a minimum of 1 of"),
    ({"recipient": OTHER}, "another account"),
    # What stays in the router belongs to whoever comes next.
    ({"recipient": ADDRESS_THIS}, "may leave"),
    ({"recipient": ADDRESS_THIS, "minimum": 0, "swept": 1}, "enforces a minimum of 1 of"),
    ({"recipient": ADDRESS_THIS, "minimum": 0, "swept": 1 << 160}, "cannot be read"),
    ({"version": "2.0", "v4": True}, "cannot be read"),
    ({"version": "2.1.1"}, "cannot be read"),
    ({"v4": True, "taken_by": OTHER}, "another account"),
]


@pytest.mark.parametrize(("lie", "finding"), LIES)
async def test_a_program_that_does_not_pay_what_was_quoted(client, lie, finding):
    nothing_to_sign(await attempt(client, **lie), "unsafe_answer", finding)
