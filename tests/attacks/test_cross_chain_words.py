"""Attack: a real Across deposit that pays a thief, with the words of an honest one beside it.

A bridge plugin builds a deposit for the devnet's real SpokePool. What the quote promises (recipient, token,
minimum, chain id) stands in the ``message`` of the deposit, where the contract ignores it. The action must be
refused; the honest deposit of the same plugin must pass.
"""

from dataclasses import dataclass

import pytest
from quoteway import (
    NATIVE,
    Arrival,
    BridgeProvider,
    Build,
    Capability,
    Endpoint,
    Leg,
    Network,
    Quote,
    Spend,
    Step,
    SwapRequest,
    Token,
    TransferTerms,
    UpstreamError,
)
from quoteway.evm.abi import function, opaque_call
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS

USER = ACCOUNTS[3].address
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
TRUE_PLACES = Arrival(0, chain_id=(6,), recipient=(1,), token=(3,), amount_min=(5,), refund=(0,))


@dataclass
class Attack:
    """The deposit that the plugin builds."""

    form: object = SHORT
    recipient: str | None = None
    """Who is paid; None: the recipient of the quote."""
    output: int = MINIMUM
    words_in_message: bool = False
    opaque: bool = False
    places: Arrival | None = TRUE_PLACES


class Deposits(BridgeProvider):
    """Quotes a transfer of one token honestly and builds the deposit of its ``Attack``."""

    id, title = "deposits", "Deposits"

    def __init__(self, context, pool, attack):
        self.context, self.pool, self.attack = context, pool, attack
        self.networks = frozenset({31337, 31338})

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
        data = attack.form.encode(args)
        decoded = opaque_call(data) if attack.opaque else attack.form.describe(args)
        step = Step("deposit", self.pool, data, 0, 31337, decoded, "Deposit", "Send")
        arrivals = () if attack.places is None else (attack.places,)
        spends = (Spend(given.token.address, AMOUNT, self.pool),)
        return Build((step,), spends, sealed.inputs, sealed.outputs, arrivals=arrivals)


async def act(devnet, make_gateway, attack, recipient):
    """The action of a quoted transfer on a running gateway whose only bridge makes this attack."""
    networks, ends = [], []
    for slug, chain in devnet.chains.items():
        endpoint = Endpoint(devnet.urls[slug])
        facts = {"head_poll_s": 0.2, "wrapped_native": chain.contracts["WETH9"]}
        networks.append(Network(slug, chain.chain_id, slug, endpoints=(endpoint,), **facts))
        row = chain.token("USDC")
        ends.append(Token(chain.chain_id, row.address, row.decimals, "USDC"))
    pool = devnet.chains["devnet"].contracts["SpokePool"]
    toys = [HttpRpc, lambda context: Deposits(context, pool, attack)]
    gateway = await make_gateway({"toy": FakePlugin(toys, networks=networks)})
    request = SwapRequest(31337, 31338, *ends, AMOUNT, USER, recipient, 50)
    answer = await gateway.quoting.quote(Capability.BRIDGE, request)
    sealed = gateway.quote_tokens.open(Capability.BRIDGE, answer.sealed.token)
    return await gateway.building.action(sealed)


async def refused(devnet, make_gateway, attack, recipient, finding):
    with pytest.raises(UpstreamError) as refusal:
        await act(devnet, make_gateway, attack, recipient)
    assert refusal.value.reason == "unsafe_answer"
    assert finding in refusal.value.message


@pytest.mark.parametrize("form", [SHORT, WIDE], ids=["depositV3", "deposit"])
@pytest.mark.parametrize("recipient", [USER, FRIEND])
async def test_the_honest_deposit_passes(fresh_devnet, make_gateway, form, recipient):
    action = await act(fresh_devnet, make_gateway, Attack(form), recipient)
    assert action.simulation.status == "success"


# --- S1: calldata that nobody reads -------------------------------------------------------------------------

UNREADABLE = "calldata for another chain cannot be decoded"


@pytest.mark.parametrize("recipient", [USER, FRIEND])
async def test_undecoded_deposit_to_a_thief_with_the_required_words_in_its_message(
    fresh_devnet, make_gateway, recipient
):
    attack = Attack(WIDE, THIEF, output=1, words_in_message=True, opaque=True, places=None)
    await refused(fresh_devnet, make_gateway, attack, recipient, UNREADABLE)


async def test_undecoded_deposit_is_refused_even_when_it_is_honest(fresh_devnet, make_gateway):
    """Nobody can tell it from the theft."""
    attack = Attack(WIDE, opaque=True, places=None)
    await refused(fresh_devnet, make_gateway, attack, FRIEND, UNREADABLE)


# --- S4: calldata that is read at the wrong places ----------------------------------------------------------


@pytest.mark.parametrize("form", [SHORT, WIDE], ids=["depositV3", "deposit"])
async def test_deposit_to_a_thief_whose_depositor_is_declared_as_the_recipient(
    fresh_devnet, make_gateway, form
):
    lie = Arrival(0, chain_id=(6,), recipient=(0,), token=(3,), amount_min=(4,), refund=(0,))
    attack = Attack(form, THIEF, output=1, words_in_message=True, places=lie)
    await refused(
        fresh_devnet, make_gateway, attack, USER, "other places in its calldata than this function has"
    )


@pytest.mark.parametrize(
    "lie",
    [
        Arrival(0, chain_id=(6,), recipient=(0,), token=(3,), amount_min=(5,)),
        Arrival(0, chain_id=(6,), recipient=(1,), token=(3,), amount_min=(4,)),
    ],
    ids=["recipient", "amount_min"],
)
async def test_one_wrong_place_is_enough_to_be_refused(fresh_devnet, make_gateway, lie):
    attack = Attack(SHORT, USER, words_in_message=True, places=lie)
    await refused(
        fresh_devnet, make_gateway, attack, USER, "other places in its calldata than this function has"
    )
