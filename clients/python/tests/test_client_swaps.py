"""Quote, action, signatures and receipts on the devnet, to the wei, with both clients."""

import asyncio

import pytest
from quoteway_client import NotExecutable, check_action, sign_permits

CASES = {
    "token": ("USDC", "WETH", 10**9),
    "coin": ("native", "USDC", 10**18),
    "to the coin": ("WETH", "native", 10**17),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_swap_pays_what_was_quoted_to_the_wei(chain, kind, case):
    sold, bought, amount = CASES[case]
    name = {"native": "ETH"}.get(bought, bought)
    before = chain.balance(name)
    request = chain.swap(sold, bought, amount)
    if kind == "async":
        quote = await chain.client.swaps.quote(**request)
        action = await chain.client.swaps.act(quote)
        sent = await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
    else:

        def trade():
            quote = chain.sync.swaps.quote(**request)
            action = chain.sync.swaps.act(quote)
            return quote, chain.sync.send(action, chain.account, quote=quote, rpc_url=chain.node_url)

        quote, sent = await asyncio.to_thread(trade)
    fees = sum(each.fee_wei for each in sent.transactions) if name == "ETH" else 0
    assert chain.balance(name) - before == quote.to_amount - fees
    assert len(sent.transactions) == len(sent.action.transactions)
    report = await chain.client.transactions.submit_hash(sent.tx_id, hash=sent.hash)
    assert (report.match, report.status) == ("match", "confirmed")
    assert report.realized.vs_quote_bps == 0


@pytest.mark.slow
async def test_an_exact_output_pays_exactly_that(chain):
    bought = 5 * 10**8
    before = chain.balance("USDC")
    quote = await chain.client.swaps.quote(**chain.swap("WETH", "USDC", bought, side="exactOut"))
    action = await chain.client.swaps.act(quote)
    sold = chain.balance("WETH")
    await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
    assert chain.balance("USDC") - before == bought
    assert sold - chain.balance("WETH") == quote.from_amount <= quote.from_amount_max


@pytest.mark.slow
async def test_a_permit2_signature_stands_in_the_calldata_that_is_sent(chain):
    quote = await chain.client.swaps.quote(**chain.swap(approval_mode="permit2-signature"))
    action = await chain.client.swaps.act(quote)
    assert len(action.signatures) == 1
    before = chain.balance("WETH")
    sent = await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
    assert [step.kind for step in action.steps] == ["approval", "swap"]
    assert len(sent.transactions) == 2
    assert chain.balance("WETH") - before == quote.to_amount


@pytest.mark.slow
async def test_liquidity_is_added_and_removed(chain):
    found = []
    async with asyncio.timeout(60):
        while not found:  # the list is read in the background after the start
            rows = chain.client.pools.list(network="devnet", protocol="uniswap-v2")
            found = [row async for row in rows if "USDC" in row.pair and "WETH" in row.pair]
    pair = found[0]
    address = chain.account.address
    for action, amount in (("add", 10**9), ("remove", "max")):
        quote = await chain.client.pools.quote(
            pair.id, action=action, address=address, amount=amount, asset=chain.token("USDC")
        )
        built = await chain.client.pools.act(quote)
        before = chain.balance("USDC")
        await chain.client.send(built, chain.account, quote=quote, rpc_url=chain.node_url)
        moved = chain.balance("USDC") - before
        paid = quote.inputs if action == "add" else quote.outputs
        (leg,) = (each for each in paid if each.token.symbol == "USDC")
        assert abs(moved) == leg.amount


@pytest.mark.slow
async def test_a_vault_takes_a_deposit_and_pays_it_back(chain):
    vaults = [row async for row in chain.client.vaults.list(network="devnet")]
    vault = next(row for row in vaults if row.asset.symbol == "USDC")
    for kind, amount in (("deposit", 10**9), ("withdraw", 10**8)):
        quote = await chain.client.vaults.quote(
            vault.id, action=kind, address=chain.account.address, amount=amount, asset=chain.token("USDC")
        )
        action = await chain.client.vaults.act(quote)
        before = chain.balance("USDC")
        await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
        assert abs(chain.balance("USDC") - before) == amount


@pytest.mark.slow
async def test_a_transfer_is_followed_until_it_arrives(chain):
    quote = await chain.client.bridges.quote(
        from_chain="devnet",
        to_chain="devnet-l2",
        from_token=chain.token("USDC"),
        to_token=chain.token("USDC", "devnet-l2"),
        amount=10**8,
        address=chain.account.address,
    )
    before = chain.balance("USDC", slug="devnet-l2")
    action = await chain.client.bridges.act(quote)
    sent = await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
    tracked = await chain.client.follow(sent, timeout_s=60, poll_s=0.2)
    assert tracked.status == "filled"
    assert chain.balance("USDC", slug="devnet-l2") - before == quote.outputs[0].amount


@pytest.mark.slow
async def test_signed_permits_take_the_place_of_approvals(chain, permit_token):
    quote = await chain.client.swaps.quote(**chain.swap(amount=10**18) | {"from_token": permit_token})
    offering = await chain.client.swaps.act(quote, offer_permits=True)
    permits = sign_permits(offering, quote, chain.account)
    action = await chain.client.swaps.act(quote, permits=permits)
    assert [step.kind for step in action.steps] == ["permit", "permit2_approval", "swap"]
    before = chain.balance("WETH")
    await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
    assert chain.balance("WETH") - before == quote.to_amount


@pytest.mark.slow
async def test_a_wallet_without_the_tokens_signs_nothing(chain):
    from eth_account import Account

    poor = Account.create()
    quote = await chain.client.swaps.quote(**chain.swap(address=poor.address))
    action = await chain.client.swaps.act(quote)
    with pytest.raises(NotExecutable, match="lacks what the action pays"):
        await chain.client.send(action, poor, quote=quote, rpc_url=chain.node_url)
    with chain.devnet.rpc() as rpc:
        assert rpc("eth_getTransactionCount", poor.address, "pending") == "0x0"


OTHERS = {
    "plain": {},
    "recipient": {"to_address": "0x4444444444444444444444444444444444444444"},
    "fee": {"fee_bps": 25, "fee_recipient": "0x5555555555555555555555555555555555555555"},
}


@pytest.mark.slow
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("pair", [("USDC", "WETH"), ("WETH", "USDC"), ("native", "USDC"), ("DAI", "native")])
async def test_no_honest_action_is_refused(chain, pair, others):
    amount = 10**9 if pair[0] == "USDC" else 10**18
    for protocol in ("uniswap-v2", "uniswap-v3", "uniswap-v4"):
        request = chain.swap(*pair, amount, protocols=[protocol], **OTHERS[others])
        quote = await chain.client.swaps.quote(**request)
        check_action(await chain.client.swaps.act(quote), quote)
