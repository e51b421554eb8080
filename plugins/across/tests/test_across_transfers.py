"""Transfers on the devnet's two chains, measured in balances."""

from dataclasses import replace

import pytest
from eth_account import Account
from quoteway import NATIVE, Capability, InvalidRequest, Reason, UpstreamError
from quoteway.evm.abi import encode_call
from quoteway_across.spoke_pool import DEPOSIT, read_deposit, word_of
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.bridge import RELAYER
from quoteway_devnet.rpc import RpcError
from transfers import KEEPER, RECIPIENT, SENDER, execute_random_transfers


@pytest.mark.slow
async def test_random_transfers_arrive_to_the_wei(harness):
    """``python transfers.py`` runs hundreds."""
    report = await execute_random_transfers(harness, 24, seed=20_261_121)
    assert report.done == 24
    assert not report.wrong


@pytest.mark.parametrize("capability", [Capability.BRIDGE, Capability.SWAP])
@pytest.mark.parametrize("sold", ["USDC", "USDT", "ETH", "WETH"])
async def test_the_action_matches_the_quote_and_is_deterministic(harness, capability, sold):
    amount = 10**9 if sold.startswith("US") else 10**18
    request = harness.request(sold, amount, "ETH" if sold == "WETH" else sold)
    quoted = await harness.quote(request, capability)
    action = await harness.action(quoted, capability)
    pool = harness.devnet.chains["devnet"].contracts["SpokePool"]
    *allow, deposit = action.steps
    assert [(step.kind, step.approval.spender, step.approval.required) for step in allow] == (
        [] if sold == "ETH" else [("approval", pool, amount)]
    )
    assert (deposit.to, deposit.value) == (pool, amount if sold == "ETH" else 0)
    said = dict(zip(DEPOSIT.names, DEPOSIT.decode(deposit.data), strict=True))
    weth = harness.token("WETH").address
    (got,) = quoted.quote.outputs
    assert said == {
        "depositor": SENDER,
        "recipient": RECIPIENT,
        "inputToken": weth if sold in ("ETH", "WETH") else request.token_in.address,
        "outputToken": weth if sold in ("ETH", "WETH") else request.token_out.address,
        "inputAmount": amount,
        "outputAmount": got.amount,
        "destinationChainId": 31338,
        "exclusiveRelayer": NATIVE,
        "quoteTimestamp": said["quoteTimestamp"],
        "fillDeadline": quoted.quote.terms.fill_deadline,
        "exclusivityParameter": 0,
        "message": b"",
    }
    assert got.amount == got.amount_min < amount
    (fee,) = quoted.quote.fees
    assert fee.amount == amount - got.amount
    assert quoted.quote.terms.refund.token == said["inputToken"]
    assert action.terms.destination_chain_id == 31338
    assert action.deadline < said["fillDeadline"]
    assert action.simulation.status == "success"
    assert (await harness.action(quoted, capability)).steps == action.steps


async def test_tokens_without_a_counterpart_have_no_route(harness):
    for sold, got in (("USDC", "DAI"), ("USDC", "ETH"), ("TAX", "USDC"), ("MKR", "DAI")):
        for capability in (Capability.BRIDGE, Capability.SWAP):
            with pytest.raises(UpstreamError) as refusal:
                await harness.quote(harness.request(sold, 10**18, got), capability)
            assert refusal.value.reason is Reason.NO_ROUTE


async def test_amounts_out_of_bounds_have_their_reason(harness):
    for amount, reason in ((1, Reason.AMOUNT_TOO_LOW), (10**18, Reason.AMOUNT_TOO_HIGH)):
        with pytest.raises(UpstreamError) as refusal:
            await harness.quote(harness.request("USDC", amount))
        assert refusal.value.reason is reason


async def test_without_liquidity_there_is_no_quote(harness, relayer):
    relayer.behave(liquid=False)
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request())
    assert refusal.value.reason is Reason.AMOUNT_TOO_HIGH
    relayer.behave(liquid=True)
    await harness.quote(harness.request())


async def test_a_recipient_that_would_be_paid_another_token_is_refused(harness):
    far = harness.devnet.chains["devnet-l2"].contracts
    contract = far["Multicall3"]
    cases = [
        (harness.request("ETH", 10**18, recipient=contract), "toAddress"),
        (harness.request("ETH", 10**18, "WETH"), "toToken"),
        (harness.request(recipient=far["SpokePool"]), "toAddress"),
        (harness.request(recipient=harness.token("USDC", "devnet-l2").address), "toAddress"),
        (harness.request(recipient=NATIVE), "toAddress"),
    ]
    for request, member in cases:
        with pytest.raises(InvalidRequest) as refusal:
            await harness.quote(request)
        assert refusal.value.fields[0].path == member


async def test_a_refund_address_that_would_lose_the_tokens_is_refused(harness):
    near = harness.devnet.chains["devnet"].contracts
    for sold, lost in (
        ("USDC", near["SpokePool"]),
        ("USDC", harness.token("USDC").address),
        ("ETH", near["WETH9"]),
        ("USDC", NATIVE),
    ):
        amount = 10**9 if sold == "USDC" else 10**18
        with pytest.raises(InvalidRequest) as refusal:
            await harness.quote(harness.request(sold, amount, refund_to=lost))
        assert refusal.value.fields[0].path == "refundAddress"


@pytest.mark.parametrize("capability", [Capability.BRIDGE, Capability.SWAP])
async def test_another_refund_address_is_the_depositor_in_every_answer(harness, capability):
    request = harness.request(refund_to=KEEPER)
    quoted = await harness.quote(request, capability)
    action = await harness.action(quoted, capability)
    said = dict(zip(DEPOSIT.names, DEPOSIT.decode(action.steps[-1].data), strict=True))
    assert (said["depositor"], said["recipient"]) == (KEEPER, RECIPIENT)
    assert quoted.quote.terms.refund.address == KEEPER
    assert action.terms.refund_address == KEEPER
    assert f"or returned to {KEEPER}" in action.steps[-1].intent
    for warnings in (quoted.quote.warnings, action.warnings):
        assert [warning.code for warning in warnings if warning.code != "unlisted_token"] == [
            "refund_address_controls_deposit"
        ]
    assert (await harness.quote(harness.request(refund_to=SENDER), capability)).quote.warnings == ()


async def test_the_depositor_and_not_the_payer_may_redirect_a_deposit(harness, relayer):
    """The contract's rule behind the warning ``refund_address_controls_deposit``."""
    keeper, sender = ACCOUNTS[5], next(one for one in ACCOUNTS if one.address == SENDER)
    relayer.behave(filling=False)
    request = harness.request(refund_to=keeper.address)
    _, sent = await harness.deposit(request)
    receipt = await harness.rpc("devnet", "eth_getTransactionReceipt", sent)
    (log,) = [entry for entry in receipt["logs"] if len(entry["topics"]) == 4]
    deposit = read_deposit(31337, log["topics"], bytes.fromhex(log["data"][2:]))
    details = ("uint256 depositId", "uint256 originChainId", "uint256 updatedOutputAmount")
    details += ("bytes32 updatedRecipient", "bytes updatedMessage")
    message = (deposit.deposit_id, 31337, 1, word_of(KEEPER), b"")
    members = [dict(zip(("type", "name"), member.split(), strict=True)) for member in details]
    domain = {"name": "ACROSS-V2", "version": "1.0.0", "chainId": 31337}
    pool = harness.devnet.chains["devnet"].contracts["SpokePool"]
    speed_up = "speedUpDeposit(bytes32,uint256,uint256,bytes32,bytes,bytes)"

    async def send_elsewhere(signer):
        values = {member["name"]: value for member, value in zip(members, message, strict=True)}
        signed = Account.sign_typed_data(
            signer.private_key, domain, {"UpdateDepositDetails": members}, values
        )
        args = (deposit.depositor, deposit.deposit_id, *message[2:], bytes(signed.signature))
        call = {"from": RECIPIENT, "to": pool, "data": "0x" + encode_call(speed_up, args).hex()}
        return await harness.rpc("devnet", "eth_call", call, "latest")

    assert await send_elsewhere(keeper) == "0x"
    with pytest.raises(RpcError, match="reverted"):
        await send_elsewhere(sender)


@pytest.mark.parametrize("sold", ["USDC", "ETH"])
async def test_a_fill_does_not_depend_on_the_refund_address(harness, sold):
    amount = 10**9 if sold == "USDC" else 10**18
    request = harness.request(sold, amount, refund_to=KEEPER)
    back = harness.token("WETH" if sold == "ETH" else sold)
    kept = await harness.balance(back, KEEPER)
    had = await harness.balance(request.token_out, RECIPIENT)
    quoted, sent = await harness.deposit(request)
    await harness.until(request, sent, "filled")
    assert await harness.balance(request.token_out, RECIPIENT) - had == quoted.quote.outputs[0].amount
    assert await harness.balance(back, KEEPER) == kept


async def test_contracts_are_paid_the_wrapped_coin(harness):
    vault = harness.devnet.chains["devnet-l2"].contracts["Multicall3"]
    request = harness.request("ETH", 10**18, "WETH", recipient=vault)
    quoted, sent = await harness.deposit(request)
    await harness.until(request, sent, "filled")
    assert await harness.balance(request.token_out, vault) == quoted.quote.outputs[0].amount


async def test_the_exclusive_relayer_is_in_the_deposit(harness, relayer):
    relayer.behave(exclusivity_s=60)
    request = harness.request()
    quoted = await harness.quote(request)
    action = await harness.action(quoted)
    said = dict(zip(DEPOSIT.names, DEPOSIT.decode(action.steps[-1].data), strict=True))
    assert said["exclusiveRelayer"] == RELAYER
    assert said["exclusivityParameter"] == said["quoteTimestamp"] + 60
    sent = await harness.send(action)
    await harness.until(request, sent, "filled")
    assert await harness.balance(request.token_out, RECIPIENT) == quoted.quote.outputs[0].amount


@pytest.mark.parametrize("changes", [{"quoted": -3600}, {"fill": -7200}, {"fill": -7140}])
async def test_expired_terms_are_refused(harness, changes):
    sealed = (await harness.quote(harness.request())).sealed
    ((name, by),) = changes.items()
    plan = {**sealed.plan, name: sealed.plan[name] + by}
    with pytest.raises(UpstreamError, match="run out") as refusal:
        await harness.bridge.build(replace(sealed, plan=plan))
    assert refusal.value.reason is Reason.PRICE_MOVED


@pytest.mark.parametrize("ends", [(31337, 31338), (31338, 31337)])
async def test_quotes_are_possible_exactly_within_a_routes_limits(harness, ends):
    slug = "devnet" if ends[0] == 31337 else "devnet-l2"
    routes = await harness.bridge.routes(*ends)
    assert {route.estimated_seconds for route in routes} == {None}
    for route in routes:
        sold, got = route.from_token.symbol, route.to_token.symbol
        if got == "WETH":
            continue  # paid to contracts alone, or as the coin
        low, high = route.min_amount, route.max_amount
        assert 0 < low < high
        for amount, reason in (
            (low - 1, Reason.AMOUNT_TOO_LOW),
            (low, None),
            (high, None),
            (high + 1, Reason.AMOUNT_TOO_HIGH),
        ):
            request = harness.request(sold, amount, got, slug)
            if reason is None:
                assert (await harness.quote(request)).quote.inputs[0].amount == amount
                continue
            with pytest.raises(UpstreamError) as refusal:
                await harness.quote(request)
            assert refusal.value.reason is reason, (sold, amount)


async def test_routes_are_listed_both_ways_and_for_the_coin(harness):
    routes = await harness.bridge.routes(31337, None)
    assert {(route.from_chain_id, route.to_chain_id) for route in routes} == {(31337, 31338)}
    pairs = {(route.from_token.symbol, route.to_token.symbol) for route in routes}
    assert {("USDC", "USDC"), ("ETH", "ETH"), ("WETH", "ETH"), ("ETH", "WETH")} <= pairs
    assert "TAX" not in {symbol for pair in pairs for symbol in pair}
    assert len(await harness.bridge.routes(None, None)) == 2 * len(routes)
    assert await harness.bridge.routes(31337, 31337) == []
