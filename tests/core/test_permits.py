"""EIP-2612 permits in the place of approvals: what is offered, what is refused, and the order of nonces."""

import asyncio
import time
from dataclasses import replace

import pytest
from devnet_gateway import USER
from eth_account.messages import encode_typed_data
from permit_tokens import AMOUNT, OWNER, STRANGER, Chain, deployed, sign
from quoteway.engine.approvals import WalletReader, approval_steps
from quoteway.engine.permits import PermitChoice, with_permits
from quoteway.errors import InvalidRequest, Reason, RpcError
from quoteway.evm import erc20
from quoteway.evm.abi import selector
from quoteway.evm.address import keccak256
from quoteway.evm.erc2612 import PermitToken, read_permit_tokens
from quoteway.evm.reverts import revert_data, revert_reason
from quoteway.evm.signatures import HALF_ORDER
from quoteway.models import Capability, Permit, SignedPermit, Spend, SwapRequest, Token

OFFER = PermitChoice(offered=True)
ORDER = 2 * HALF_ORDER + 1
_USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
_USDC_SEPARATOR = "06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335"
"""``DOMAIN_SEPARATOR()`` of USDC on Ethereum."""


class Swaps:
    """Swaps of a token with permits for USDC through the Uniswap v2 router, which pulls it directly."""

    def __init__(self, here, token):
        self.here, self.token = here, Token(31337, token, 18, "PMT")

    async def quote(self):
        usdc = self.here.token("USDC")
        request = SwapRequest(31337, 31337, self.token, usdc, AMOUNT, USER, USER, 50)
        answer = await self.here.gateway.quoting.quote(Capability.SWAP, request)
        return self.here.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)

    async def act(self, sealed, *signed):
        permits = PermitChoice(signed=signed) if signed else OFFER
        return await self.here.gateway.building.action(sealed, permits=permits)

    async def send(self, step, by=OWNER):
        await asyncio.to_thread(Chain(self.here.devnet).send, step.to, step.data, by.address)

    async def refused(self, sealed, *signed):
        with pytest.raises(InvalidRequest) as error:
            await self.act(sealed, *signed)
        (field,) = error.value.fields
        assert field.path == "permits"
        return field.reason, field.message


@pytest.fixture
async def swaps(open_gateway):
    here = await open_gateway()
    return Swaps(here, await deployed(here.devnet))


def test_the_separator_is_that_of_usdc_and_the_digest_that_of_eip_712():
    token = PermitToken(_USDC, 1, "USD Coin", "2", 0)
    assert token.separator.hex() == _USDC_SEPARATOR
    permit = Permit(_USDC, STRANGER.address, 2**255 + 1, 2**64, 2**40)
    known = encode_typed_data(full_message=token.typed_data(USER, permit))
    assert token.digest(USER, permit) == keccak256(b"\x19" + known.version + known.header + known.body)


async def test_an_offer_is_exact_and_its_permit_takes_the_place_of_the_approval(swaps, router):
    sealed = await swaps.quote()
    offering = await swaps.act(sealed)
    assert [step.kind for step in offering.steps] == ["approval", "swap"]
    (offer,) = offering.permit_offers
    assert offer.permit == Permit(swaps.token.address, router, AMOUNT, 0, sealed.expires_at)
    action = await swaps.act(sealed, sign(offer))
    permit, swap = action.steps
    assert (permit.kind, permit.to, permit.value) == ("permit", swaps.token.address, 0)
    assert permit.approval == offering.steps[0].approval
    assert swap.data == offering.steps[1].data
    assert action.simulation.status == "success"
    assert action.permit_offers == ()
    assert "permit_can_be_sent_by_others" in [notice.code for notice in action.warnings]
    assert "insufficient_allowance" in [issue.code for issue in action.issues]
    again = await swaps.act(sealed, sign(offer))
    assert [step.data for step in again.steps] == [step.data for step in action.steps]
    plain = await swaps.here.gateway.building.action(sealed)
    assert (plain.permit_offers, plain.steps[0].data) == ((), offering.steps[0].data)


async def test_what_the_owner_did_not_sign_exactly_is_refused_by_name(swaps, router):
    sealed = await swaps.quote()
    (offer,) = (await swaps.act(sealed)).permit_offers
    good = sign(offer)

    def altered(**members):
        return replace(good, permit=replace(good.permit, **members))

    r, s, v = good.signature[:32], int.from_bytes(good.signature[32:64]), good.signature[64]
    high = r + (ORDER - s).to_bytes(32) + bytes([55 - v])
    cases = {
        "signature is not one of": [
            (Reason.CONFLICT, sign(offer, by=STRANGER)),
            (Reason.CONFLICT, altered(deadline=offer.permit.deadline - 1)),
            (Reason.CONFLICT, replace(good, signature=bytes(64) + b"\x1b")),
        ],
        "must have the lower of the two possible values of s": [
            (Reason.INVALID_FORMAT, replace(good, signature=high)),
        ],
        "must end with v": [(Reason.INVALID_FORMAT, replace(good, signature=good.signature[:64] + b"\x1d"))],
        "must be 65 bytes": [(Reason.INVALID_FORMAT, replace(good, signature=good.signature[:64]))],
        f"value must be exactly {AMOUNT}": [
            (Reason.CONFLICT, altered(value=2**256 - 1)),
            (Reason.CONFLICT, altered(value=AMOUNT - 1)),
        ],
        "nonce must be the next one, which is 0": [(Reason.CONFLICT, altered(nonce=1))],
        "deadline must not be after the quote expires": [
            (Reason.OUT_OF_RANGE, altered(deadline=offer.permit.deadline + 1)),
        ],
        "deadline has passed": [(Reason.OUT_OF_RANGE, altered(deadline=1))],
        "takes nothing of token": [
            (Reason.CONFLICT, altered(spender=STRANGER.address)),
            (Reason.CONFLICT, altered(token=swaps.here.token("USDC").address)),
        ],
    }
    for words, refusals in cases.items():
        for reason, signed in refusals:
            found, message = await swaps.refused(sealed, signed)
            assert (found, words in message) == (reason, True), message
            assert message.startswith("item 1 ")
    parity = replace(good, signature=good.signature[:64] + bytes([v - 27]))
    assert (await swaps.act(sealed, parity)).steps[0].data == (await swaps.act(sealed, good)).steps[0].data


async def test_a_permit_that_others_send_first_leaves_nothing_to_permit(swaps, router):
    here, token = swaps.here, swaps.token
    sealed = await swaps.quote()
    (offer,) = (await swaps.act(sealed)).permit_offers
    first = await swaps.act(sealed, sign(offer))
    await swaps.send(first.steps[0], STRANGER)
    assert await here.allowance(token, router) == AMOUNT
    with pytest.raises(RpcError) as late:
        await here.chain.call(token.address, first.steps[0].data, sender=USER)
    assert "the permit is altered, used already" in revert_reason(revert_data(late.value))
    with_it = await swaps.act(sealed, sign(offer))
    asking = await swaps.act(sealed)
    for action in (with_it, asking):
        assert ([step.kind for step in action.steps], action.permit_offers) == (["swap"], ())
    codes = [notice.code for notice in with_it.warnings]
    assert "permit_not_needed" in codes
    assert "permit_can_be_sent_by_others" not in codes
    usdc = here.token("USDC")
    before = await here.balance(usdc)
    await swaps.send(with_it.steps[0])
    assert await here.balance(usdc) - before == sealed.outputs[0].amount
    # The allowance is used up: the old permit is refused, and what is offered has the next nonce.
    sealed = await swaps.quote()
    reason, message = await swaps.refused(sealed, sign(offer))
    assert (reason, "nonce is used already, the next one is 1" in message) == (Reason.CONFLICT, True)
    (offer,) = (await swaps.act(sealed)).permit_offers
    assert offer.permit.nonce == 1
    for step in (await swaps.act(sealed, sign(offer))).steps:
        await swaps.send(step)
    assert await here.allowance(token, router) == 0


@pytest.mark.parametrize(
    ("oddity", "why"),
    [("OtherDomain", "DOMAIN_SEPARATOR"), ("PermitOfDai", "the permit of DAI")],
)
async def test_a_token_with_another_permit_is_approved_by_a_transaction(open_gateway, router, oddity, why):
    here = await open_gateway()
    swaps = Swaps(here, await deployed(here.devnet, oddity))
    sealed = await swaps.quote()
    offering = await swaps.act(sealed)
    assert [step.kind for step in offering.steps] == ["approval", "swap"]
    assert offering.permit_offers == ()
    (told,) = [notice for notice in offering.warnings if notice.code == "permit_unsupported"]
    assert why in told.message
    permit = Permit(swaps.token.address, router, AMOUNT, 0, sealed.expires_at)
    reason, message = await swaps.refused(sealed, SignedPermit(permit, bytes(65)))
    assert (reason, why in message) == (Reason.UNSUPPORTED_TOKEN, True)


@pytest.mark.parametrize(
    ("oddity", "why"),
    [
        ("DoesNothing", "gives no allowance for the permit"),
        ("Refuses", "0x" + selector("PermitsArePaused()").hex()),
    ],
)
async def test_a_token_that_does_not_keep_to_the_permit_is_found_by_the_run(open_gateway, oddity, why):
    here = await open_gateway()
    swaps = Swaps(here, await deployed(here.devnet, oddity))
    sealed = await swaps.quote()
    (offer,) = (await swaps.act(sealed)).permit_offers
    reason, message = await swaps.refused(sealed, sign(offer))
    assert (reason, "leave the item out, and the action has an approval" in message) == (
        Reason.UNSUPPORTED_TOKEN,
        True,
    )
    assert why in message


async def test_tokens_without_permits_have_none(swaps):
    here = swaps.here
    block = await here.chain.head(fresh=True)
    pair = next(pool for pool in here.manifest.pools if pool.protocol == "uniswap-v2")
    named = {symbol: here.token(symbol).address for symbol in ("USDC", "WETH")}
    found = await read_permit_tokens(here.chain, USER, [*named.values(), USER, pair.id], block)
    for address in (*named.values(), USER):
        assert found[address] == "it has no permit of EIP-2612"
    # Uniswap's own pairs have permits, and do not tell their version.
    assert (found[pair.id].name, found[pair.id].version) == ("Uniswap V2", "1")


async def test_permits_of_one_token_have_their_nonces_in_the_order_of_the_approvals(swaps, router):
    here, token = swaps.here, swaps.token
    sealed = await swaps.quote()
    block = await here.chain.head(fresh=True)
    spends = [Spend(token.address, 5, router), Spend(token.address, 7, STRANGER.address)]
    grants = [(spend.token, spend.spender, None) for spend in spends]
    wallet = await WalletReader().read(here.chain, block, USER, [], grants)
    steps = [await approval_steps(here.chain, wallet, [each], {token.address: token}, 0) for each in spends]

    async def permits(*signed):
        choice = PermitChoice(True, signed)
        return await with_permits(here.chain, block, sealed, steps, grants, choice)

    offering = await permits()
    assert [(o.permit.spender, o.permit.value, o.permit.nonce) for o in offering.offers] == [
        (router, 5, 0),
        (STRANGER.address, 7, 1),
    ]
    first, second = map(sign, offering.offers)
    for both in ((first, second), (second, first)):
        placed = await permits(*both)
        assert placed.offers == ()
        assert [[step.kind for step in own] for own in placed.approvals] == [["permit"], ["permit"]]
    for (step,) in placed.approvals:
        await swaps.send(step, STRANGER)
    assert await here.allowance(token, router) == 5
    assert await here.read(token, erc20.ALLOWANCE, USER, STRANGER.address) == 7


async def test_an_account_that_no_key_signs_for_is_offered_nothing(swaps, router):
    here, sealed = swaps.here, await swaps.quote()
    for code, offers in (("0x", 1), ("0xef0100" + router[2:], 1), ("0x00", 0)):
        await here.rpc("anvil_setCode", USER, code)
        await here.rpc("evm_mine")
        await here.chain.head(fresh=True)
        action = await swaps.act(sealed)
        assert len(action.permit_offers) == offers, code
        assert ("smart_account" in [issue.code for issue in action.issues]) is (offers == 0)
    assert [step.kind for step in action.steps] == ["approval", "swap"]
    await here.rpc("anvil_setCode", USER, "0x")


async def test_on_a_chain_that_is_ahead_the_deadline_is_by_its_clock(swaps, router):
    here, ahead_s = swaps.here, 300
    # By the clock of this machine: that of a chain which was reverted is behind it.
    await here.rpc("evm_setNextBlockTimestamp", int(time.time()) + ahead_s)
    await here.rpc("evm_mine")
    sealed = await swaps.quote()
    (offer,) = (await swaps.act(sealed)).permit_offers
    ahead = sealed.block.timestamp - sealed.created_at
    assert ahead >= ahead_s - 60
    assert offer.permit.deadline == sealed.expires_at + ahead
    signed = sign(offer)
    for step in (await swaps.act(sealed, signed)).steps:
        await swaps.send(step)
    assert await here.allowance(swaps.token, router) == 0
    # The provider names the quote's block: a later time than that of the head does not count.
    later = replace(sealed, block=replace(sealed.block, timestamp=2**40))
    head = await here.chain.head(fresh=True)
    (offer,) = (await swaps.act(later)).permit_offers
    assert offer.permit.deadline <= sealed.expires_at + (head.timestamp + 60 - sealed.created_at)
    await here.rpc("evm_increaseTime", ahead_s)
    await here.rpc("evm_mine")
    await here.chain.head(fresh=True)
    reason, message = await swaps.refused(sealed, sign(offer))
    assert (reason, "deadline has passed" in message) == (Reason.OUT_OF_RANGE, True)
