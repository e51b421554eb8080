"""What became of a transaction: truly signed and broadcast on the devnet, as built and tampered with."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
import rlp
from eth_account import Account
from hypothesis import given
from hypothesis import strategies as st
from quoteway.errors import InvalidRequest, UpstreamError
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.models import NATIVE, Build, Leg, Quote, SignatureRequest, Token
from quoteway.networks import Endpoint, Network
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedTokens, NodeRelay, RouterSwap, step_of
from quoteway.web.resources.signed_transaction import decode_signed
from quoteway_devnet.accounts import ACCOUNTS

pytestmark = pytest.mark.xdist_group("devnet")

SIGNER = ACCOUNTS[0]
OTHER = ACCOUNTS[1]
FRIEND = "0x00000000000000000000000000000000C0FFEE01"
FEES = {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 0}
TYPES = {
    "legacy": {"gasPrice": 10**11},
    "access-list": {"type": 1, "gasPrice": 10**11, "accessList": []},
    "fee-market": {"type": 2, **FEES},
    "with-list": {"type": 2, **FEES, "accessList": [{"address": FRIEND, "storageKeys": ["0x" + "11" * 32]}]},
}


class Unwrap(SwapProvider):
    """WETH9 to the native coin: the output leaves no log of its own."""

    id, title = "unwrap", "Unwrap"
    WITHDRAW = function("withdraw(uint256 wad)")

    def __init__(self, context, weth, *, promise=0):
        self.networks = frozenset({31337})
        self.context, self.weth, self.promise = context, weth, promise

    def contracts(self, chain_id):
        return {self.weth: "WETH9"}

    async def quote(self, request):
        if request.token_in.address != self.weth or request.token_out.address != NATIVE:
            return None
        return Quote(
            inputs=(Leg(request.token_in, request.amount_in, request.sender),),
            outputs=(Leg(request.token_out, request.amount_in, request.sender, request.amount_in),),
            block=await self.context.chain(31337).head(),
            plan={},
            slippage_bps=request.slippage_bps,
        )

    async def build(self, sealed):
        (given_,) = sealed.inputs
        step = step_of(self.WITHDRAW, [given_.amount], to=self.weth, chain_id=31337)
        return Build((step,), (), sealed.inputs, sealed.outputs)


class Bench:
    """A served gateway over both chains and a wallet that signs."""

    def __init__(self, devnet, api):
        self.devnet, self.api = devnet, api
        self.manifest = devnet.chains["devnet"]

    def token(self, symbol):
        return NATIVE if symbol == "ETH" else self.manifest.token(symbol).address

    async def rpc(self, method, *params, slug="devnet"):
        def call():
            with self.devnet.rpc(slug) as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def action(self, sold="USDC", bought="WETH", amount=10**9, approved=True, **more):
        """The last transaction of an action and its txId; the steps before it are sent."""
        body = {
            "network": "devnet",
            "fromToken": self.token(sold),
            "toToken": self.token(bought),
            "amount": str(amount),
            "address": SIGNER.address,
            **more,
        }
        quote = (await self.api.post("/v2/swaps/quote", body)).body
        answer = await self.api.post(f"/v2/swaps/{quote['quoteId']}/action")
        assert answer.status == 201, answer.body
        action = answer.body
        *before, last = action["transactions"]
        if approved:
            for transaction in before:
                await self.mined(await self.send(transaction))
        return last, action["steps"][-1]["txId"], quote

    async def sign(self, transaction, kind="fee-market", by=SIGNER, slug="devnet", **changes):
        nonce = int(await self.rpc("eth_getTransactionCount", by.address, "latest", slug=slug), 16)
        whole = {**transaction, "value": int(transaction["value"], 16), "gas": 700_000, "nonce": nonce}
        signed = Account.sign_transaction({**whole, **TYPES[kind], **changes}, by.private_key)
        return "0x" + bytes(signed.raw_transaction).hex()

    async def send(self, transaction, kind="fee-market", slug="devnet", **more):
        raw = await self.sign(transaction, kind, slug=slug, **more)
        return await self.rpc("eth_sendRawTransaction", raw, slug=slug)

    async def mined(self, sent, slug="devnet"):
        receipt = None
        for _ in range(1_000):
            receipt = await self.rpc("eth_getTransactionReceipt", sent, slug=slug)
            if receipt is not None:
                break
            await asyncio.sleep(0.005)
        return receipt

    async def report(self, tx_id, sent, contract):
        return contract.check(
            "submitTransactionHash",
            await self.api.post(f"/v2/transactions/{tx_id}/submit-hash", {"hash": sent}),
        )


@pytest.fixture
def bench(fresh_devnet, serve_app):
    """``await bench(*more providers)``."""

    async def make(*more, unwrap=Unwrap):
        chain = fresh_devnet.chains["devnet"]
        networks = [
            Network(
                slug, here.chain_id, slug, head_poll_s=0.2, endpoints=(Endpoint(fresh_devnet.urls[slug]),)
            )
            for slug, here in fresh_devnet.chains.items()
        ]
        networks[0] = replace(networks[0], wrapped_native=chain.contracts["WETH9"])
        tokens = [Token(31337, t.address, t.decimals, t.symbol) for t in chain.tokens]
        router = chain.contracts["UniswapV2Router02"]
        providers = [
            HttpRpc,
            ListedTokens(tokens),
            lambda context: RouterSwap(context, 31337, router),
            lambda context: unwrap(context, chain.contracts["WETH9"]),
            *more,
        ]
        return Bench(fresh_devnet, await serve_app({"fake": FakePlugin(providers, networks=networks)}))

    return make


# --- submit-hash ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
async def test_what_was_built_matches_and_pays_as_quoted(bench, contract, kind):
    here = await bench()
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
async def test_a_tampered_transaction_is_told_from_the_true_one(bench, contract, kind, change, members):
    here = await bench()
    transaction, tx_id, _ = await here.action()
    receipt = await here.mined(sent := await here.send(transaction, kind, **change))
    body = await here.report(tx_id, sent, contract)
    assert body["match"] == "mismatch"
    assert {difference["member"] for difference in body["differences"]} == members
    assert body["status"] == ("confirmed" if receipt["status"] == "0x1" else "reverted")
    assert body["realized"]["vsQuoteBps"] is None


async def test_one_byte_of_calldata_or_another_sender_is_a_mismatch(bench, contract):
    here = await bench()
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


async def test_less_than_quoted_shows_in_basis_points_and_for_whom(bench, contract):
    here = await bench()
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


async def test_native_coins_are_seen_though_they_leave_no_log(bench, contract):
    here = await bench()
    transaction, tx_id, _ = await here.action("WETH", "ETH", 10**18)
    await here.mined(sent := await here.send(transaction))
    realized = (await here.report(tx_id, sent, contract))["realized"]
    changes = {(c["account"], c["token"]): int(c["delta"]) for c in realized["assetChanges"]}
    assert changes[SIGNER.address, NATIVE] == 10**18
    assert (realized["nativeKnown"], realized["vsQuoteBps"]) == (True, 0)


async def test_native_coins_are_seen_behind_others_in_the_block_and_unknown_without_replay(bench, contract):
    here = await bench()
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


async def test_unknown_reverted_and_other_chains_are_told_apart(bench, contract):
    here = await bench()
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


async def test_a_reorganised_transaction_is_no_longer_confirmed(bench, contract):
    here = await bench()
    transaction, tx_id, _ = await here.action("WETH", "ETH", 10**15)
    before = await here.rpc("evm_snapshot")
    await here.mined(sent := await here.send(transaction))
    assert (await here.report(tx_id, sent, contract))["status"] == "confirmed"
    receipt = await here.rpc("eth_getTransactionReceipt", sent)
    await here.rpc("evm_revert", before)
    await here.rpc("anvil_mine", "0x1")
    gone = await here.report(tx_id, sent, contract)
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


async def test_a_filled_in_signature_is_what_was_built_and_nothing_else_is(bench):
    """The commitment leaves the signature's bytes open and no others."""
    from quoteway.engine.transaction_ids import commitment_of
    from quoteway.models import ActionPart, Argument, Capability, DecodedCall, Step
    from quoteway.web.resources.signed_transaction import SignedTransaction

    gateway = (await bench()).api.gateway
    data = bytes(range(100)) + b"\xee" * 65 + bytes(31)
    decoded = DecodedCall("f(bytes)", (Argument("x", "bytes", b""),))
    now = int(gateway.runtime.clock())
    step = Step("call", FRIEND, data, 0, 31337, decoded, "", "")
    made = commitment_of(
        step,
        0,
        part=ActionPart(Capability.SWAP, "x", (), (), 1),
        action_id="0x" + "22" * 32,
        sender=SIGNER.address,
        signatures=(SignatureRequest("permit2", {}, 0, 100),),
        created_at=now,
    )
    sealed = gateway.quote_tokens.seal_transaction(made, issued_at=now)
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
    from quoteway.config.model import Config, LimitsConfig

    rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    uniswap = pytest.importorskip("quoteway_uniswap", reason="needs the quoteway-uniswap distribution")
    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    sections = {"devnet": {"enabled": True, "start": False, **ports}}
    config = Config(limits=LimitsConfig(enabled=False), plugin_sections=sections)
    plugins = {"devnet": quoteway_devnet.plugin, "rpc": rpc, "uniswap": uniswap}
    here = Bench(fresh_devnet, await serve_app(plugins, config=config))
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


# --- submit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
async def test_a_true_signed_transaction_is_validated_and_then_there_is_no_relay(bench, refused, kind):
    here = await bench()
    transaction, tx_id, _ = await here.action()
    path = f"/v2/transactions/{tx_id}/submit"
    answer = await here.api.post(path, {"signedPayload": await here.sign(transaction, kind)})
    refused(answer, 503, "provider_unavailable", "relay_unsupported")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("change", "members"),
    [
        ({"to": FRIEND}, ["to"]),
        ({"value": 1}, ["value"]),
        ({"data": "0xdeadbeef"}, ["data"]),
        ({"chainId": 31338}, ["chainId"]),
        ({"chainId": 1, "to": FRIEND, "value": 9, "data": "0x"}, ["chainId", "to", "value", "data"]),
        ({"by": OTHER}, ["from"]),
    ],
)
async def test_a_tampered_signed_transaction_is_refused_relay_or_not(bench, refused, kind, change, members):
    for more in ((), (NodeRelay,)):
        here = await bench(*more)
        transaction, tx_id, _ = await here.action()
        payload = {"signedPayload": await here.sign(transaction, kind, **change)}
        sent_before = await here.rpc("eth_getTransactionCount", SIGNER.address, "pending")
        answer = await here.api.post(f"/v2/transactions/{tx_id}/submit", payload)
        details = refused(answer, 422, "validation_error", "conflict")
        assert [difference["member"] for difference in details["differences"]] == members
        assert details["fields"][0]["path"] == "signedPayload"
        assert await here.rpc("eth_getTransactionCount", SIGNER.address, "pending") == sent_before


@pytest.mark.parametrize("kind", TYPES)
async def test_with_a_relay_it_is_broadcast_once_it_is_what_was_built(bench, contract, kind):
    here = await bench(NodeRelay)
    transaction, tx_id, _ = await here.action()
    payload = {"signedPayload": await here.sign(transaction, kind)}
    answer = await here.api.post(f"/v2/transactions/{tx_id}/submit", payload)
    body = contract.check("submitTransaction", answer)
    assert (answer.status, body["broadcast"], body["verified"]) == (200, True, True)
    await here.mined(body["hash"])
    assert (await here.report(tx_id, body["hash"], contract))["match"] == "match"


async def test_a_relay_that_fails_hangs_or_lies_is_never_a_success(bench, refused):
    class Bad(NodeRelay):
        def __init__(self, context, does):
            super().__init__(context)
            self.does = does

        async def submit(self, chain_id, signed_payload):
            return await self.does()

    async def fails():
        raise UpstreamError("The relay refused it.")

    async def breaks():
        raise RuntimeError("secret")

    async def lies():
        return "0x" + "12" * 32

    for does in (fails, breaks, lies):
        here = await bench(lambda context, does=does: Bad(context, does))
        transaction, tx_id, _ = await here.action()
        payload = {"signedPayload": await here.sign(transaction)}
        answer = await here.api.post(f"/v2/transactions/{tx_id}/submit", payload)
        refused(answer, 502, "upstream_error")
        assert "secret" not in answer.raw.decode()


async def test_bad_submissions(bench, refused):
    here = await bench()
    transaction, tx_id, _ = await here.action(approved=False)
    path = f"/v2/transactions/{tx_id}/submit"
    good = await here.sign(transaction)
    for payload in ({}, {"signedPayload": ""}, {"signedPayload": 5}, {"signedPayload": "0x00"}):
        refused(await here.api.post(path, payload), 422, "validation_error")
    refused(
        await here.api.post(path, data=b"{", headers={"Content-Type": "application/json"}),
        400,
        "invalid_request",
    )
    refused(await here.api.post("/v2/transactions/x/submit", {"signedPayload": good}), 404, "not_found")
    for raw in (good + "00", good[:-2], "0x03" + good[4:], "0x" + "c0" * 70, good[:4] + "00" + good[4:]):
        answer = await here.api.post(path, {"signedPayload": raw})
        refused(answer, 422, "validation_error", "invalid_format")
    path = f"/v2/transactions/{tx_id}/submit-hash"
    for body in ({}, {"hash": "0x12"}, {"hash": "12" * 32}, {"hash": "0x" + "12" * 32, "more": 1}):
        refused(await here.api.post(path, body), 422, "validation_error")


# --- decoding ---------------------------------------------------------------------------------------------


@given(
    st.sampled_from(sorted(TYPES)),
    st.integers(0, 2**255),
    st.binary(max_size=200),
    st.integers(1, 2**31),
    st.booleans(),
)
def test_every_signed_transaction_is_read_as_it_was_signed(kind, value, data, chain_id, has_target):
    transaction = {"value": value, "data": data, "chainId": chain_id, "gas": 21_000, "nonce": 0}
    transaction["to"] = OTHER.address if has_target else ""
    signed = Account.sign_transaction({**transaction, **TYPES[kind]}, SIGNER.private_key)
    raw = bytes(signed.raw_transaction)
    read = decode_signed(raw)
    assert (read.chain_id, read.value, read.data) == (chain_id, value, data)
    assert read.to == (OTHER.address if has_target else None)
    assert (read.signature.r, read.signature.s) == (signed.r, signed.s)
    recovered = Account._recover_hash(
        read.signature.signed_hash, vrs=(27 + read.signature.y_parity, signed.r, signed.s)
    )
    assert recovered == SIGNER.address
    # The signature of the other half of the curve is one that no chain takes (EIP-2).
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high = raw.replace(rlp.encode(signed.s), rlp.encode(order - signed.s))
    if len(high) == len(raw):
        with pytest.raises(InvalidRequest):
            decode_signed(high)


@given(st.binary(max_size=120))
def test_no_bytes_break_the_reader(raw):
    with contextlib.suppress(InvalidRequest):
        decode_signed(raw)
