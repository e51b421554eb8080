"""Attack: a real Across deposit that pays a thief, with the words of an honest one beside it.

A bridge plugin builds a deposit for the devnet's real SpokePool. What the quote promises (recipient, token,
minimum, chain id) stands in the ``message`` of the deposit, where the contract ignores it. The action must be
refused; the honest deposit of the same plugin must pass.
"""

from dataclasses import dataclass, replace

import pytest
import pytest_asyncio
from cheating import nothing_to_sign
from direct_client import USER, client_of
from quoteway import (
    NATIVE,
    BridgeProvider,
    Build,
    Leg,
    Quote,
    Spend,
    Step,
    TransferTerms,
)
from quoteway.evm.abi import function
from quoteway.testing.fakes import FakePlugin

pytestmark = pytest.mark.asyncio(loop_scope="module")
FRIEND = "0x3333333333333333333333333333333333333333"
THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
AMOUNT, MINIMUM = 10**9, 999 * 10**6
# across-protocol/contracts, SpokePool.sol: the form with addresses and the form with 32-byte accounts.
SHORT = function(
    "depositV3(address depositor, address recipient, address inputToken, address outputToken, "
    "uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, address exclusiveRelayer, "
    "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
)
WIDE = function(
    "deposit(bytes32 depositor, bytes32 recipient, bytes32 inputToken, bytes32 outputToken, "
    "uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, bytes32 exclusiveRelayer, "
    "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
)


@dataclass
class Attack:
    """The deposit that the plugin builds."""

    form: object = SHORT
    recipient: str | None = None
    """Who is paid; None: the recipient of the quote."""
    output: int = MINIMUM
    words_in_message: bool = False
    contract: str = "SpokePool"
    """The contract that the deposit goes to, by its name on the devnet."""


class Deposits(BridgeProvider):
    """Quotes a transfer of one token honestly and builds the deposit of its ``attack``."""

    id, title = "deposits", "Deposits"
    networks = frozenset({31337, 31338})
    attack = Attack()

    def __init__(self, context, contracts):
        self.context, self.known = context, contracts

    @property
    def pool(self):
        return self.known[self.attack.contract]

    def contracts(self, chain_id):
        return {self.pool: "SpokePool"}

    def spenders(self, chain_id):
        return (self.pool,)

    async def routes(self, from_chain_id, to_chain_id):
        return ()

    async def quote(self, request):
        return Quote(
            inputs=(Leg(request.token_in, AMOUNT, request.sender),),
            outputs=(Leg(request.token_out, MINIMUM, request.recipient, amount_min=MINIMUM),),
            block=await self.context.chain(31337).head(),
            plan={},
            spends=(Spend(request.token_in.address, AMOUNT, self.pool),),
            terms=TransferTerms(estimated_seconds=12),
        )

    async def build(self, sealed):
        (given,), (got,), attack = sealed.inputs, sealed.outputs, self.attack
        now = (await self.context.chain(31337).head()).timestamp
        needed = [int(got.account, 16), int(got.token.address, 16), MINIMUM, got.token.chain_id]
        message = b"".join(word.to_bytes(32) for word in needed) if attack.words_in_message else b""
        accounts = [given.account, attack.recipient or got.account, given.token.address, got.token.address]
        relayer = NATIVE
        if attack.form is WIDE:
            accounts = [bytes.fromhex(account[2:]).rjust(32, b"\0") for account in accounts]
            relayer = bytes(32)
        times = [now, now + 3600, 0]
        args = [*accounts, AMOUNT, attack.output, got.token.chain_id, relayer, *times, message]
        step = Step(self.pool, attack.form.encode(args), 0, 31337)
        spends = (Spend(given.token.address, AMOUNT, self.pool),)
        return Build((step,), spends, sealed.inputs, sealed.outputs)


class Modest(Deposits):
    """Promises less, and keeps it."""

    id, title = "modest", "Modest"
    attack = Attack(output=MINIMUM - 10**6)

    async def quote(self, request):
        quote = await super().quote(request)
        legs = tuple(
            replace(leg, amount=self.attack.output, amount_min=self.attack.output) for leg in quote.outputs
        )
        return replace(quote, outputs=legs)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(devnet):
    made = []

    def made_of(cls):
        def make(context):
            made.append(cls(context, devnet.chains["devnet"].contracts))
            return made[-1]

        return make

    plugins = {"beside": FakePlugin([made_of(Deposits), made_of(Modest)])}
    async with client_of(devnet, 0.0, plugins=plugins) as client:
        client.deposits = made[0]
        yield client


async def quoted(client, attack, recipient=USER, **more):
    """The answer to the quote of a transfer whose bridge makes this attack."""
    client.deposits.attack = attack
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "amount": str(AMOUNT)}
    body |= {"fromToken": client.token("USDC"), "toToken": client.token("USDC", "devnet-l2")}
    return await client.api.post("/v2/bridges/quote", body | {"address": USER, "toAddress": recipient} | more)


async def act(client, attack, recipient):
    """The answer to the action of a quoted transfer whose bridge makes this attack, or to its quote."""
    answer = await quoted(client, attack, recipient, provider="deposits")
    if answer.status != 200:
        return answer
    return await client.api.post(f"/v2/bridges/{answer.body['quoteId']}/action")


@pytest.mark.parametrize("form", [SHORT, WIDE], ids=["depositV3", "deposit"])
@pytest.mark.parametrize("recipient", [USER, FRIEND])
async def test_the_honest_deposit_passes(client, form, recipient):
    answer = await act(client, Attack(form), recipient)
    assert (answer.status, answer.body["simulation"]["status"]) == (201, "success")


@pytest.mark.parametrize("form", [SHORT, WIDE], ids=["depositV3", "deposit"])
@pytest.mark.parametrize("recipient", [USER, FRIEND])
@pytest.mark.parametrize(
    ("lie", "finding"),
    [
        ({"recipient": THIEF, "output": 1, "words_in_message": True}, "message is not empty"),
        ({"words_in_message": True}, "message is not empty"),
        ({"recipient": THIEF}, "another account"),
        ({"output": 1}, "less than quoted"),
        ({"output": MINIMUM - 1}, "less than quoted"),
        # The ABI of the SpokePool at another address.
        ({"contract": "UniswapV2Router02"}, "nothing describes the function"),
        ({"contract": "WETH9"}, "nothing describes the function"),
    ],
)
async def test_a_deposit_that_does_not_pay_what_was_quoted(client, form, recipient, lie, finding):
    """The core reads the arguments by the contract, and no word elsewhere stands in for one."""
    answer = await act(client, Attack(form, **lie), recipient)
    nothing_to_sign(answer, "unsafe_answer", finding)


async def test_a_promise_that_the_calldata_does_not_enforce_loses_and_is_named(client):
    answer = await quoted(client, Attack())
    assert (answer.status, answer.body["provider"]) == (200, "deposits")
    answer = await quoted(client, Attack(output=1))
    assert (answer.status, answer.body["provider"]) == (200, "modest")
    attempts = {row["provider"]: (row["outcome"], row["reason"]) for row in answer.body["attempts"]}
    assert attempts["deposits"] == ("failed", "unsafe_answer")
    assert attempts["modest"] == ("quoted", None)
    assert (await client.api.post(f"/v2/bridges/{answer.body['quoteId']}/action")).status == 201
