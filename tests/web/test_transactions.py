"""What became of a transaction that was signed and broadcast on the devnet, as built or tampered with."""

import asyncio

import pytest
from eth_account import Account
from quoteway.errors import UpstreamError
from quoteway.evm import erc20
from quoteway.models import NATIVE, SignatureRequest
from signing_client import FRIEND, OTHER, SIGNER, TYPES, SigningClient


@pytest.mark.parametrize("kind", TYPES)
async def test_what_was_built_matches_and_pays_as_quoted(signing_client, contract, kind):
    here = await signing_client()
    transaction, tx_id, quote = await here.action()
    sent = await here.send(transaction, kind)
    receipt = await here.mined(sent)
    body = await here.report(tx_id, sent, contract)
    assert (body["match"], body["differences"], body["status"]) == ("match", [], "confirmed")
    assert body["blockNumber"] == int(receipt["blockNumber"], 16)
    assert body["confirmations"] == 1
    changes = {(c["account"], c["token"]): int(c["delta"]) for c in body["realized"]["assetChanges"]}
    assert changes == {
        (SIGNER.address, here.token("USDC")): -(10**9),
        (SIGNER.address, here.token("WETH")): int(quote["toAmount"]),
    }
    assert body["realized"]["vsQuoteBps"] == 0
    assert body["realized"]["gasUsed"] == str(int(receipt["gasUsed"], 16))
    await here.rpc("anvil_mine", "0x3")
    assert (await here.report(tx_id, sent, contract))["confirmations"] == 4
    assert len(tx_id) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("change", "members"),
    [
        ({"to": FRIEND}, {"to"}),
        ({"value": 1}, {"value"}),
        ({"data": "0x"}, {"data"}),
        ({"to": FRIEND, "value": 7, "data": "0x1234"}, {"to", "value", "data"}),
    ],
)
async def test_a_tampered_transaction_is_told_from_the_true_one(
    signing_client, contract, kind, change, members
):
    here = await signing_client()
    transaction, tx_id, _ = await here.action()
    receipt = await here.mined(sent := await here.send(transaction, kind, **change))
    body = await here.report(tx_id, sent, contract)
    assert body["match"] == "mismatch"
    assert {difference["member"] for difference in body["differences"]} == members
    assert body["status"] == ("confirmed" if receipt["status"] == "0x1" else "reverted")
    assert body["realized"]["vsQuoteBps"] is None


async def test_one_byte_of_calldata_or_another_sender_is_a_mismatch(signing_client, contract):
    here = await signing_client()
    transaction, tx_id, _ = await here.action()
    data = transaction["data"]
    other = f"{data[:-2]}{int(data[-2:], 16) ^ 1:02x}"
    await here.mined(sent := await here.send(transaction, data=other))
    (difference,) = (await here.report(tx_id, sent, contract))["differences"]
    assert difference["member"] == "data"
    assert difference["expected"] != difference["actual"]
    await here.mined(sent := await here.send(transaction, by=OTHER))
    body = await here.report(tx_id, sent, contract)
    assert body["differences"] == [{"member": "from", "expected": SIGNER.address, "actual": OTHER.address}]
    assert body["status"] == "reverted"  # it has approved nothing


async def test_less_than_quoted_shows_in_basis_points_and_for_whom(signing_client, contract):
    here = await signing_client()
    transaction, tx_id, quote = await here.action(toAddress=FRIEND, slippageBps=500)
    # Somebody buys first: the price moves by a little.
    first, _, _ = await here.action(amount=2 * 10**10, slippageBps=500)
    await here.mined(await here.send(first))
    usdc = erc20.APPROVE.encode([here.manifest.contracts["UniswapV2Router02"], 10**9])
    approve = {"to": here.token("USDC"), "data": "0x" + usdc.hex(), "value": "0x0", "chainId": 31337}
    await here.mined(await here.send(approve))
    await here.mined(sent := await here.send(transaction))
    body = await here.report(tx_id, sent, contract)
    assert (body["match"], body["status"]) == ("match", "confirmed")
    changes = {(c["account"], c["token"]): int(c["delta"]) for c in body["realized"]["assetChanges"]}
    got, quoted = changes[FRIEND, here.token("WETH")], int(quote["toAmount"])
    assert int(quote["toAmountMin"]) <= got < quoted
    assert body["realized"]["vsQuoteBps"] == (got - quoted) * 10_000 // quoted < 0


async def test_native_coins_are_seen_though_they_leave_no_log(signing_client, contract):
    here = await signing_client()
    transaction, tx_id, _ = await here.action("WETH", "ETH", 10**18)
    await here.mined(sent := await here.send(transaction))
    realized = (await here.report(tx_id, sent, contract))["realized"]
    changes = {(c["account"], c["token"]): int(c["delta"]) for c in realized["assetChanges"]}
    assert changes[SIGNER.address, NATIVE] == 10**18
    assert (realized["nativeKnown"], realized["vsQuoteBps"]) == (True, 0)


async def test_native_coins_are_seen_behind_others_in_the_block_and_unknown_without_replay(
    signing_client, contract
):
    here = await signing_client()
    transaction, tx_id, _ = await here.action("WETH", "ETH", 10**18)
    await here.rpc("evm_setAutomine", False)
    try:
        await here.send({"to": FRIEND, "value": "0x5", "chainId": 31337}, by=OTHER)
        sent = await here.send(transaction)
        pending = await here.report(tx_id, sent, contract)
        assert (pending["match"], pending["status"], pending["realized"]) == ("match", "pending", None)
        await here.rpc("evm_mine")
    finally:
        await here.rpc("evm_setAutomine", True)
    receipt = await here.mined(sent)
    assert receipt["transactionIndex"] in ("0x0", "0x1")
    assert (await here.report(tx_id, sent, contract))["realized"]["vsQuoteBps"] == 0

    chain = here.api.gateway.runtime.chains[31337]

    async def refuses(*args, **kwargs):
        raise UpstreamError("No node has that state.")

    chain.simulate = refuses
    realized = (await here.report(tx_id, sent, contract))["realized"]
    assert (realized["nativeKnown"], realized["vsQuoteBps"]) == (False, None)


async def test_unknown_reverted_and_other_chains_are_told_apart(signing_client, contract):
    here = await signing_client()
    transaction, tx_id, _ = await here.action(approved=False)
    unknown = await here.report(tx_id, "0x" + "12" * 32, contract)
    assert (unknown["match"], unknown["status"], unknown["realized"]) == ("not_found", "unknown", None)
    # Without the approval it reverts, and it is the transaction all the same.
    await here.mined(sent := await here.send(transaction))
    body = await here.report(tx_id, sent, contract)
    assert (body["match"], body["status"]) == ("match", "reverted")
    assert body["realized"]["assetChanges"] == []
    # Sent to the wrong network: found there, and the chain is what differs.
    await here.mined(sent := await here.send(transaction, slug="devnet-l2", chainId=31338), slug="devnet-l2")
    body = await here.report(tx_id, sent, contract)
    assert body["match"] == "mismatch"
    assert body["differences"][0] == {"member": "chainId", "expected": "31337", "actual": "31338"}


async def test_a_reorganised_transaction_is_no_longer_confirmed(signing_client, contract):
    here = await signing_client()
    transaction, tx_id, _ = await here.action("WETH", "ETH", 10**15)
    before = await here.rpc("evm_snapshot")
    await here.mined(sent := await here.send(transaction))
    assert (await here.report(tx_id, sent, contract))["status"] == "confirmed"
    receipt = await here.rpc("eth_getTransactionReceipt", sent)
    await here.rpc("evm_revert", before)
    await here.rpc("anvil_mine", "0x1")
    # Until the new head is seen, the gateway knows of the old one.
    async with asyncio.timeout(20):
        while (gone := await here.report(tx_id, sent, contract))["status"] == "confirmed":
            await asyncio.sleep(0.05)
    assert (gone["match"], gone["status"]) == ("not_found", "unknown")
    # A node that still serves the receipt of the block that was replaced is not believed.
    await here.mined(again := await here.send(transaction))
    chain = here.api.gateway.runtime.chains[31337]
    honest = chain.request

    async def stale(method, params=(), **more):
        if method == "eth_getTransactionReceipt":
            return {**(await honest(method, [again])), "blockHash": receipt["blockHash"]}
        return await honest(method, params, **more)

    chain.request = stale
    body = await here.report(tx_id, again, contract)
    assert (body["status"], body["realized"], body["blockNumber"]) == ("unknown", None, None)


async def test_a_filled_in_signature_is_what_was_built_and_nothing_else_is(signing_client):
    """The commitment leaves the signature's bytes open and no others."""
    from quoteway.engine.quote_tokens import commitment_of
    from quoteway.models import ActionPart, Capability, Step
    from quoteway.web.resources.transactions import SignedTransaction

    gateway = (await signing_client()).api.gateway
    data = bytes(range(100)) + b"\xee" * 65 + bytes(31)
    now = int(gateway.runtime.clock())
    step = Step(FRIEND, data, 0, 31337)
    made = commitment_of(
        step,
        0,
        part=ActionPart(Capability.SWAP, "x", (), (), 1),
        action_id="0x" + "22" * 32,
        sender=SIGNER.address,
        signatures=(SignatureRequest("permit2", {}, 0, 100),),
        created_at=now,
    )
    sealed = gateway.quote_tokens.seal_transaction(made)
    commitment = gateway.quote_tokens.open_transaction(sealed)
    assert commitment.blanks == ((100, 65),)
    filled = data[:100] + bytes(range(65)) + data[165:]
    assert SignedTransaction(31337, FRIEND, 0, filled, SIGNER.address).differences(commitment) == []
    for at in (99, 165):
        wrong = bytearray(filled)
        wrong[at] ^= 1
        (found,) = SignedTransaction(31337, FRIEND, 0, bytes(wrong)).differences(commitment)
        assert found.member == "data"


async def test_a_swap_with_a_real_permit2_signature_in_it_matches(fresh_devnet, serve_app, contract):
    """The wallet signs typed data and puts the signature into the calldata, as the action says."""
    import quoteway_devnet.plugin
    from quoteway.config.model import Config, LimitsConfig, QuotesConfig

    rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    uniswap = pytest.importorskip("quoteway_uniswap", reason="needs the quoteway-uniswap distribution")
    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    sections = {"devnet": {"enabled": True, "start": False, **ports}}
    quotes = QuotesConfig(competition_timeout_s=30.0)
    config = Config(limits=LimitsConfig(enabled=False), quotes=quotes, plugin_sections=sections)
    plugins = {"devnet": quoteway_devnet.plugin, "rpc": rpc, "uniswap": uniswap}
    here = SigningClient(fresh_devnet, await serve_app(plugins, config=config))
    body = {
        "network": "devnet",
        "fromToken": here.token("USDC"),
        "toToken": "native",
        "amount": str(10**9),
        "address": SIGNER.address,
        "approvalMode": "permit2-signature",
    }
    quote = (await here.api.post("/v2/swaps/quote", body)).body
    action = (await here.api.post(f"/v2/swaps/{quote['quoteId']}/action")).body
    (request,) = action["signatures"]
    place = request["appliesTo"]
    *before, last = action["transactions"]
    assert place["transaction"] == len(before)
    for transaction in before:
        await here.mined(await here.send(transaction))
    signature = Account.sign_typed_data(SIGNER.private_key, full_message=request["typedData"]).signature
    data = bytearray.fromhex(last["data"][2:])
    data[place["offset"] : place["offset"] + place["length"]] = signature
    receipt = await here.mined(sent := await here.send(last, data="0x" + data.hex(), gas=1_000_000))
    assert receipt["status"] == "0x1"
    report = await here.report(action["steps"][-1]["txId"], sent, contract)
    assert (report["match"], report["differences"]) == ("match", [])
    realized = report["realized"]
    assert (realized["nativeKnown"], realized["vsQuoteBps"]) == (True, 0)
    changes = {(c["account"], c["token"]): c["delta"] for c in realized["assetChanges"]}
    assert changes[SIGNER.address, NATIVE] == quote["toAmount"]
    data[-1] ^= 1
    other = await here.send(last, data="0x" + data.hex(), gas=1_000_000)
    await here.mined(other)
    report = await here.report(action["steps"][-1]["txId"], other, contract)
    assert [difference["member"] for difference in report["differences"]] == ["data"]
