"""A client that signs and broadcasts what a gateway builds on the devnet."""

import asyncio

from eth_account import Account
from quoteway.evm.abi import function
from quoteway.models import NATIVE, Build, Leg, Quote
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import step_of
from quoteway_devnet.accounts import ACCOUNTS

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


class SigningClient:
    """A client with keys of a gateway that serves both chains: it signs, sends and reports transactions."""

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
