"""Managed vaults on the devnet: calls from any account, and a served gateway."""

from __future__ import annotations

import contextlib

import quoteway_erc4626
import quoteway_managedvault
from eth_utils import keccak
from quoteway.evm.abi import encode_call, function
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.networks import devnet_networks
from quoteway_devnet.rpc import RpcError

OWNER, BOT, USER, THIEF = (account.address for account in ACCOUNTS[:4])
MAX = 2**256 - 1
ZERO = "0x0000000000000000000000000000000000000000"
DEPLOY = "deploy(address,address,address,address,bytes32)"


def selector(error):
    """Returns the selector of a custom error, as 0x hex."""
    return "0x" + keccak(text=error)[:4].hex()


class ManagedChain:
    """The devnet's chain with its USDC, its factory and its two plain vaults."""

    def __init__(self, devnet):
        self.devnet = devnet
        manifest = devnet.chains["devnet"]
        self.usdc = manifest.token("USDC").address
        self.weth = manifest.token("WETH").address
        self.factory = manifest.contracts["ManagedVaultFactory"]
        self.steady, self.bold, self.managed = (vault.address for vault in manifest.vaults)

    def read(self, to, signature, outputs, *values, sender=USER):
        with self.devnet.rpc() as rpc:
            call = function(f"{signature} returns {outputs}")
            request = {"from": sender, "to": to, "data": "0x" + call.encode(values).hex()}
            (value,) = call.decode_output(bytes.fromhex(rpc("eth_call", request, "latest")[2:]))
            return value

    def send(self, sender, to, signature, *values):
        """Sends a transaction from any account. Returns None, or the selector of the error it reverts
        with."""
        data = "0x" + encode_call(signature, values).hex()
        with self.devnet.rpc() as rpc:
            try:
                rpc("eth_call", {"from": sender, "to": to, "data": data}, "latest")
            except RpcError as error:
                return (error.data or "0x")[:10]
            rpc("anvil_impersonateAccount", sender)
            rpc("anvil_setBalance", sender, hex(10**20))
            transaction = {"from": sender, "to": to, "data": data, "gas": hex(8_000_000)}
            assert rpc.send(transaction)["status"] == "0x1", signature
            return None

    def deploy(self, bot=BOT, strategy=None, asset=None, salt=b"\7" * 32, owner=OWNER):
        """Deploys a managed vault and returns its address."""
        arguments = (asset or self.usdc, owner, bot, strategy or self.steady, salt)
        predict = "predict(address,address,address,address,bytes32)"
        vault = self.read(self.factory, predict, "(address)", *arguments)
        assert self.send(THIEF, self.factory, DEPLOY, *arguments) is None
        return vault

    def deposit(self, vault, assets, user=USER, asset=None):
        assert self.send(user, asset or self.usdc, "approve(address,uint256)", vault, assets) is None
        return self.send(user, vault, "deposit(uint256,address)", assets, user)

    def rebalance(self, vault, source, target, assets, least=0, sender=BOT):
        signature = "rebalance(address,address,uint256,uint256)"
        return self.send(sender, vault, signature, source, target, assets, least)

    def balance(self, token, account):
        return self.read(token, "balanceOf(address)", "(uint256)", account)

    def total(self, vault):
        return self.read(vault, "totalAssets()", "(uint256)")

    def lose(self, strategy, assets):
        """Makes a strategy lose assets."""
        nowhere = "0x000000000000000000000000000000000000dEaD"
        assert self.send(strategy, self.usdc, "transfer(address,uint256)", nowhere, assets) is None


def plugins(devnet):
    """Returns the chains and both vault plugins."""
    return {
        "chains": FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports)),
        "erc4626": quoteway_erc4626,
        "managedvault": quoteway_managedvault,
    }


@contextlib.asynccontextmanager
async def serve_vaults(devnet):
    """Serves a gateway with both vault plugins; yields its client."""
    async with served(plugins(devnet)) as api:
        yield api
