"""A gateway over the devnet with one provider, and what tests ask of the chain beside it."""

import asyncio
import time

from quoteway.evm import erc20
from quoteway.models import Capability, SwapRequest, Token

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
THIEF = "0x1111111111111111111111111111111111111111"


class DevnetGateway:
    """A gateway over the devnet with one provider, and what tests ask of the chain beside it."""

    def __init__(self, devnet, gateway):
        self.devnet = devnet
        self.manifest = devnet.chains["devnet"]
        self.gateway = gateway
        self.chain = gateway.runtime.chains[31337]

    def token(self, symbol):
        row = self.manifest.token(symbol)
        return Token(31337, row.address, row.decimals, row.symbol)

    def request(self, sold="USDC", got="WETH", amount=10**9, **more):
        values = {"sender": USER, "recipient": USER, "slippage_bps": 50, **more}
        return SwapRequest(31337, 31337, self.token(sold), self.token(got), amount, **values)

    async def rpc(self, method, *params):
        def call():
            with self.devnet.rpc("devnet") as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def send(self, to, data, value=0, sender=USER):
        """Sends from one of anvil's unlocked accounts; the receipt."""
        transaction = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value)}

        def mined():
            with self.devnet.rpc("devnet") as rpc:
                identity = rpc("eth_sendTransaction", transaction)
                while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
                    time.sleep(0.005)
                return receipt

        receipt = await asyncio.to_thread(mined)
        assert receipt["status"] == "0x1", receipt
        return receipt

    async def read(self, token, function, *args):
        block = await self.chain.head(fresh=True)
        output = await self.chain.call(token.address, function.encode(list(args)), block=block)
        (value,) = function.decode_output(output)
        return value

    async def balance(self, token, account=USER):
        return await self.read(token, erc20.BALANCE_OF, account)

    async def allowance(self, token, spender):
        return await self.read(token, erc20.ALLOWANCE, USER, spender)

    async def approve(self, token, spender, amount):
        await self.send(token.address, erc20.APPROVE.encode([spender, amount]))

    async def action(self, request=None):
        answer = await self.gateway.quoting.quote(Capability.SWAP, request or self.request())
        return await self.gateway.building.action(
            self.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
        )
