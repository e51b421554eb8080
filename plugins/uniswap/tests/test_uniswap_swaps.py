"""Quotes executed on the devnet: the recipient gets the quoted amount, to the wei."""

from dataclasses import replace
from itertools import pairwise, product

import pytest
from eth_account import Account
from execution import APPROVE, Reverted, SwapHarness
from quoteway import NATIVE, InvalidRequest, Leg, Reason, UpstreamError
from quoteway.engine.sentences import described
from quoteway.evm import permit2
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_router.amounts import minimum_out
from quoteway_uniswap.candidates import pools_of_pair, sorted_pair
from quoteway_uniswap.flow import SwapHop
from quoteway_uniswap.plans import plan_of

ORDERS_OF_TWO = list(product(["v2", "v3", "v4"], repeat=2))
ORDERS_OF_THREE = list(product(["v2", "v3", "v4"], repeat=3))
PATHS_OF_TWO = [
    ("LINK", "WETH", "USDC"),
    ("USDC", "ETH", "LINK"),
    ("USDC", "USDT", "ETH"),
    ("ETH", "USDT", "USDC"),
]
STRANGER = "0x1111111111111111111111111111111111111111"
ONE = {
    "WETH": 10**18,
    "ETH": 10**18,
    "USDC": 10**6,
    "USDT": 10**6,
    "DAI": 10**18,
    "LINK": 10**18,
    "TAX": 10**18,
}


@pytest.fixture
async def harness(fresh_devnet):
    async with SwapHarness(fresh_devnet) as harness:
        yield harness


def only(kind):
    """Returns a function that gives deployments with pools of this kind only."""

    def change(harness):
        row = harness.network.deployments["uniswap"][0]
        kept = {name: value for name, value in row.items() if name not in ("v2", "v3", "v4") or name == kind}
        return {"uniswap": (kept,)}

    return change


def exact(done):
    assert done.received == done.quoted > 0
    assert done.left == {}


@pytest.mark.parametrize("kind", ["v2", "v3", "v4"])
@pytest.mark.parametrize(
    ("sold", "bought"),
    [("WETH", "USDC"), ("USDC", "WETH"), ("ETH", "USDC"), ("USDC", "ETH"), ("USDT", "USDC")],
)
@pytest.mark.parametrize("recipient", [None, STRANGER])
async def test_one_pool_of_each_kind(fresh_devnet, kind, sold, bought, recipient):
    async with SwapHarness(fresh_devnet) as plain:
        deployments = only(kind)(plain)
    async with SwapHarness(fresh_devnet, deployments=deployments) as harness:
        request = harness.request(sold, bought, 1234 * ONE[sold] // 1000)
        request = replace(request, recipient=recipient or request.sender)
        quote = await harness.quote(request)
        assert [hop.protocol for hop in quote.route[0].hops] == [f"uniswap-{kind}"]
        exact(harness.execute(request, quote, await harness.build(request, quote)))


async def forced(harness, symbols, kinds, amount):
    """Returns a request and a quote through the best pools of the given kinds."""
    deployment = harness.provider._deployments[harness.network.chain_id][0]
    request = harness.request(symbols[0], symbols[-1], amount)
    newest = await harness.quote(request)
    refs, hops, given = [], [], amount
    for (sold, bought), kind in zip(pairwise(symbols), kinds, strict=True):
        ends = [
            harness.network.wrapped_native if s == "ETH" else harness.tokens[s].address
            for s in (sold, bought)
        ]
        refs = [ref for ref in pools_of_pair(deployment, *sorted_pair(*ends)) if ref.kind == kind]
        pools = await harness.state.states.load(newest.block, refs)
        best = None
        for pool in pools:
            sides = [harness.network.wrapped_native if t == NATIVE else t for t in (pool.token0, pool.token1)]
            forward = sides[0] == ends[0]
            swapped = pool.exact_in(forward, given)
            if swapped is not None and (best is None or swapped[0] > best[0]):
                ref = next(ref for ref in refs if ref.id == pool.id)
                token_in, token_out = (pool.token0, pool.token1) if forward else (pool.token1, pool.token0)
                fee = 0 if kind == "v2" else ref.fee
                best = swapped[0], SwapHop(kind, token_in, token_out, fee, ref.tick_spacing)
        given = best[0]
        hops.append(best[1])
    output = Leg(request.token_out, given, request.recipient, amount_min=given)
    return request, replace(newest, outputs=(output,), plan=plan_of(deployment, hops))


@pytest.mark.parametrize("kinds", ORDERS_OF_TWO, ids="-".join)
@pytest.mark.parametrize("symbols", PATHS_OF_TWO)
async def test_two_kinds_in_every_order(harness, symbols, kinds):
    request, quote = await forced(harness, symbols, kinds, 3 * ONE[symbols[0]])
    exact(harness.execute(request, quote, await harness.build(request, quote)))


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ORDERS_OF_THREE, ids="-".join)
@pytest.mark.parametrize("symbols", [("LINK", "WETH", "USDC", "USDT"), ("USDC", "USDT", "ETH", "LINK")])
async def test_three_kinds_in_every_order(harness, symbols, kinds):
    request, quote = await forced(harness, symbols, kinds, 7 * ONE[symbols[0]])
    exact(harness.execute(request, quote, await harness.build(request, quote)))


@pytest.mark.parametrize(
    ("sold", "bought", "amount"),
    [
        ("USDC", "ETH", 1),
        ("USDC", "USDT", 2),
        ("WETH", "USDC", 10**9),
        ("WETH", "USDC", 9_000 * 10**18),
        ("USDC", "WBTC", 25_000_000 * 10**6),
        ("PEPE", "EURC", 10**30),
        ("GHO", "EURC", 100_000 * 10**18),
    ],
)
async def test_very_small_and_very_large_amounts(harness, sold, bought, amount):
    exact(await harness.swap(harness.request(sold, bought, amount)))


@pytest.mark.parametrize(("sold", "bought"), [("ETH", "WETH"), ("WETH", "ETH")])
@pytest.mark.parametrize("recipient", [None, STRANGER])
async def test_wrapping_is_one_to_one(harness, sold, bought, recipient):
    request = harness.request(sold, bought, 123_456_789)
    request = replace(request, recipient=recipient or request.sender)
    quote = await harness.quote(request)
    assert quote.outputs[0].amount == quote.outputs[0].amount_min == 123_456_789
    exact(harness.execute(request, quote, await harness.build(request, quote)))


@pytest.mark.parametrize(
    ("sold", "bought"),
    [("TAX", "USDC"), ("USDC", "TAX"), ("TAX", "ETH"), ("ETH", "TAX"), ("TAX", "LINK"), ("MKR", "TAX")],
)
@pytest.mark.parametrize("amount", [10**18, 10**15 + 7])
async def test_a_token_that_taxes_transfers(harness, sold, bought, amount):
    amount = amount // 10**12 if sold == "USDC" else amount
    request = harness.request(sold, bought, amount)
    quote = await harness.quote(request)
    assert {hop.protocol for hop in quote.route[0].hops} == {"uniswap-v2"}
    assert [(i.code, i.token, i.actual) for i in quote.issues if i.code == "transfer_tax"] == [
        ("transfer_tax", harness.tokens["TAX"].address, 100)
    ]
    exact(harness.execute(request, quote, await harness.build(request, quote)))


async def test_the_minimum_is_enforced_on_what_arrives(harness):
    for sold, bought in (("WETH", "USDC"), ("USDC", "ETH"), ("ETH", "TAX"), ("USDC", "EURC")):
        request = harness.request(sold, bought, ONE[sold])
        quote = await harness.quote(request)
        sealed = harness.seal(request, quote)
        more = replace(quote.outputs[0], amount_min=quote.outputs[0].amount + 1)
        build = await harness.provider.build(replace(sealed, outputs=(more,)))
        with pytest.raises(Reverted):
            harness.execute(request, quote, build)


async def test_a_transaction_after_the_deadline_reverts(harness):
    request = harness.request("WETH", "USDC", 10**18)
    quote = await harness.quote(request)
    build = await harness.build(request, quote)
    harness.rpc("evm_setNextBlockTimestamp", build.deadline + 1)
    with pytest.raises(Reverted):
        harness.execute(request, replace(quote), build)


async def test_the_deadline_of_a_quiet_chain_counts_from_the_quote(harness):
    request = harness.request("WETH", "USDC", 10**18)
    quote = await harness.quote(request)
    later = quote.block.timestamp + 100_000
    build = await harness.provider.build(replace(harness.seal(request, quote), created_at=later))
    assert build.deadline == later + 1200


async def test_building_twice_gives_the_same_bytes(harness):
    request = harness.request("LINK", "ETH", 10**18)
    sealed = harness.seal(request, await harness.quote(request))
    assert await harness.provider.build(sealed) == await harness.provider.build(sealed)


async def test_a_signed_permit_replaces_the_permit2_transaction(harness):
    account = ACCOUNTS[3]
    for _ in range(2):  # the second permit needs the next nonce
        request = harness.request("USDT", "LINK", 250 * 10**6, permit2_signature=True)
        request = replace(request, sender=account.address, recipient=account.address)
        quote = await harness.quote(request)
        build = await harness.build(request, quote)
        (signature,) = build.signatures
        assert signature.kind == "permit2-permit-single"
        assert build.spends[0].permit2_signed
        (step,) = build.steps
        start, end = signature.offset, signature.offset + signature.length
        assert step.data[start:end] == bytes(65)
        snapshot = harness.rpc("evm_snapshot")
        with pytest.raises(Reverted):
            harness.execute(request, quote, build)
        harness.rewind(snapshot)
        signed = Account.sign_typed_data(
            account.private_key, full_message=dict(build.signatures[0].typed_data)
        )
        exact(
            harness.execute(
                request, quote, build, step.data[:start] + bytes(signed.signature) + step.data[end:]
            )
        )


async def test_no_signature_when_the_allowance_suffices(harness):
    request = harness.request("USDC", "DAI", 10**6, permit2_signature=True)
    grant = permit2.APPROVE.encode([request.token_in.address, harness.router, 10**6, 2**48 - 1])
    harness.rpc("evm_setAutomine", True)
    transaction = {
        "from": request.sender,
        "to": permit2.ADDRESS,
        "data": "0x" + grant.hex(),
        "gas": "0x30d40",
    }
    harness.rpc("eth_sendTransaction", transaction)
    harness.rpc("evm_mine")
    harness.rpc("evm_setAutomine", False)
    quote = await harness.quote(request)
    build = await harness.build(request, quote)
    assert build.signatures == ()
    assert not build.spends[0].permit2_signed


async def test_intent_and_decoded_call_describe_the_transaction(harness):
    request = harness.request("ETH", "USDC", 15 * 10**17, recipient=STRANGER)
    quote = await harness.quote(request)
    sealed = harness.seal(request, quote)
    build = await harness.provider.build(sealed)
    (step,) = build.steps
    (reading,) = harness.check(harness.provider, sealed, build)
    intent = described(step, reading, request, build, None).intent
    assert intent.startswith("Swap exactly 1.5 ETH for at least 5,")
    usdc = f'"USDC" ({harness.manifest.token("USDC").address})'
    assert f"{usdc}, sent to {STRANGER}, before 20" in intent
    assert step.value == 15 * 10**17
    assert step.to in harness.provider.contracts(31337)
    assert reading.decoded.signature == "execute(bytes,bytes[],uint256)"
    names = [call.signature.split("(")[0] for call in reading.decoded.inner]
    assert names[-1].endswith("_SWAP_EXACT_IN") or names[-1] == "V4_SWAP"
    last = {argument.name: argument.value for argument in reading.decoded.inner[-1].args}
    if "amountOutMin" in last:
        assert last["amountOutMin"] == minimum_out(quote.outputs[0].amount, 50)
        assert last["recipient"] == STRANGER


async def test_hooked_pools_are_never_used_and_named_in_a_warning(harness):
    # The hooked pool is deeper and cheaper than all others.
    request = harness.request("ETH", "USDC", 10**18)
    quote = await harness.quote(request)
    hooked = next(pool for pool in harness.manifest.pools if pool.hooks != NATIVE)
    assert hooked.id not in {hop.pool for hop in quote.route[0].hops}
    assert "hooked_pool_skipped" in {warning.code for warning in quote.warnings}


async def test_a_pair_with_only_a_hooked_pool(fresh_devnet):
    async with SwapHarness(fresh_devnet) as plain:
        row = dict(plain.network.deployments["uniswap"][0])
        row["v4"] = {**row["v4"], "fees": ()}
        row = {name: value for name, value in row.items() if name not in ("v2", "v3")}
    async with SwapHarness(fresh_devnet, deployments={"uniswap": (row,)}) as harness:
        with pytest.raises(UpstreamError, match="hooks") as refusal:
            await harness.quote(harness.request("ETH", "USDC", 10**18))
        assert refusal.value.reason is Reason.NO_ROUTE
        assert await harness.quote(harness.request("DAI", "USDC", 10**18)) is None


@pytest.mark.parametrize(
    ("sold", "bought", "amount", "reason"),
    [
        ("PEPE", "USDC", 1, Reason.AMOUNT_TOO_LOW),
        ("MKR", "USDC", 10**45, Reason.INSUFFICIENT_LIQUIDITY),
        ("TAX", "USDC", 1, Reason.AMOUNT_TOO_LOW),
    ],
)
async def test_refusals_name_their_reason(harness, sold, bought, amount, reason):
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request(sold, bought, amount))
    assert refusal.value.reason is reason


async def test_parameters_that_would_lose_tokens_are_refused(harness):
    request = harness.request("ETH", "USDC", 10**18)
    for changed in (
        replace(request, recipient=harness.router),
        replace(request, recipient="0x0000000000000000000000000000000000000002"),
        replace(request, amount_in=2**160),
        replace(request, token_out=request.token_in),
    ):
        with pytest.raises(InvalidRequest):
            await harness.provider.quote(changed)


async def test_other_chains_and_pairs_without_pools_have_no_route(harness):
    request = harness.request("ETH", "USDC", 10**18)
    assert await harness.provider.quote(replace(request, chain_id=1, to_chain_id=1)) is None
    assert await harness.provider.quote(replace(request, to_chain_id=31338)) is None
    nobody = replace(request.token_out, address="0x2222222222222222222222222222222222222222")
    assert await harness.quote(replace(request, token_out=nobody)) is None


async def test_usdt_like_allowances_are_used_up_exactly(harness):
    request = harness.request("USDT", "ETH", 77 * 10**6)
    for _ in range(2):  # the second approval reverts unless the first allowance is used up
        exact(await harness.swap(request))
    assert APPROVE.encode([harness.permit2, 0])[:4] == bytes.fromhex("095ea7b3")
