"""Tokens with EIP-2612 permits on the devnet, in pools with USDC, and an owner who signs permits."""

import asyncio

from eth_account import Account
from quoteway.evm.abi import encode, encode_call
from quoteway.evm.address import checksum
from quoteway.models import SignedPermit
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.transactions import own_init_code

OWNER, STRANGER = ACCOUNTS[0], ACCOUNTS[1]
USER = OWNER.address
AMOUNT = 10**18
ODDITIES = ("OtherDomain", "PermitOfDai", "DoesNothing", "Refuses")
_POOLED = {"USDC": 10**12, "own": 10**24}
_DEADLINE = 2**40
_LIQUIDITY = "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)"


def sign(offer, by=OWNER):
    """A permit that was offered, with the signature of an account."""
    return SignedPermit(offer.permit, signature_of(offer.typed_data, by))


def signature_of(typed_data, by=OWNER):
    return bytes(Account.sign_typed_data(by.private_key, full_message=dict(typed_data)).signature)


class Chain:
    """Transactions of unlocked accounts on the devnet."""

    def __init__(self, devnet):
        self.devnet, self.contracts = devnet, devnet.chains["devnet"].contracts

    def send(self, to, data, sender=USER, status="0x1"):
        with self.devnet.rpc() as rpc:
            call = {"from": sender, "data": "0x" + data.hex(), "gas": hex(6_000_000)}
            receipt = rpc.send(call | ({} if to is None else {"to": to}))
        assert receipt["status"] == status, receipt
        return receipt

    def token(self, oddity=None):
        """Deploys a token of OpenZeppelin with permits, or an odd one, in a Uniswap v2 pool with USDC."""
        types, values = ["string", "string", "uint8"], ["Permit Token", "PMT", 18]
        name = "PermitToken"
        if oddity is not None:
            name, types, values = "OddPermitToken", [*types, "uint8"], [*values, ODDITIES.index(oddity)]
        made = self.send(None, own_init_code(name) + encode(types, values))
        token, usdc = checksum(made["contractAddress"]), self.devnet.chains["devnet"].token("USDC").address
        router = self.contracts["UniswapV2Router02"]
        amounts = {token: _POOLED["own"], usdc: _POOLED["USDC"]}
        for each, amount in amounts.items():
            self.send(each, encode_call("mint(address,uint256)", [USER, 2 * amount]))
            self.send(each, encode_call("approve(address,uint256)", [router, amount]))
        ends = [token, usdc, amounts[token], amounts[usdc], 0, 0, USER, _DEADLINE]
        self.send(router, encode_call(_LIQUIDITY, ends))
        return token

    def call(self, to, signature, *args):
        with self.devnet.rpc() as rpc:
            data = "0x" + encode_call(signature, list(args)).hex()
            return int(rpc("eth_call", {"to": to, "data": data}, "latest"), 16)

    def allowance(self, token, spender, owner=USER):
        return self.call(token, "allowance(address,address)", owner, spender)


async def deployed(devnet, oddity=None):
    return await asyncio.to_thread(Chain(devnet).token, oddity)


def with_permits(devnet, symbol):
    """Gives a token of the devnet the code of OpenZeppelin's with permits, and its holders what they had."""
    chain, manifest = Chain(devnet), devnet.chains["devnet"]
    row = manifest.token(symbol)
    holders = [USER, *(vault.address for vault in manifest.vaults), *chain.contracts.values()]
    balances = {each: chain.call(row.address, "balanceOf(address)", each) for each in dict.fromkeys(holders)}
    values = [symbol, symbol, row.decimals]
    made = chain.send(None, own_init_code("PermitToken") + encode(["string", "string", "uint8"], values))
    with devnet.rpc() as rpc:
        rpc("anvil_setCode", row.address, rpc("eth_getCode", made["contractAddress"], "latest"))
        short = symbol.encode().ljust(31, b"\0") + bytes([2 * len(symbol)])
        for slot in (3, 4):  # its name and symbol
            rpc("anvil_setStorageAt", row.address, f"0x{slot:064x}", "0x" + short.hex())
    for holder, balance in balances.items():
        if balance:
            chain.send(row.address, encode_call("mint(address,uint256)", [holder, balance]))
