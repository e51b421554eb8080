"""Vaults of every kind on the devnet, and a served gateway."""

from __future__ import annotations

import contextlib
import importlib.util
from dataclasses import dataclass

import quoteway_erc4626
from quoteway.evm.abi import encode_call
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.networks import devnet_networks

ODDITY = "(bool,bool,bool,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256)"
MEMBERS = (
    "convert_reverts",
    "preview_reverts",
    "paused",
    "cap",
    "liquid",
    "entry_fee_bps",
    "exit_fee_bps",
    "hidden_entry_bps",
    "hidden_exit_bps",
    "hidden_gift_bps",
    "per_second",
)
HAS_MANAGED = importlib.util.find_spec("quoteway_managedvault") is not None


def plugins(devnet, **more):
    """Returns the chains, this plugin, and managedvault where it is installed."""
    found = {
        "chains": FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports)),
        "erc4626": quoteway_erc4626,
    }
    if HAS_MANAGED:
        import quoteway_managedvault

        found["managedvault"] = quoteway_managedvault
    return found | more


def send(devnet, sender, to, signature, *values, value=0):
    """Sends a transaction from any account; fails when it reverts."""
    with devnet.rpc() as rpc:
        rpc("anvil_impersonateAccount", sender)
        data = "0x" + encode_call(signature, values).hex()
        transaction = {"from": sender, "to": to, "data": data, "gas": hex(5_000_000), "value": hex(value)}
        receipt = rpc.send(transaction)
        assert receipt["status"] == "0x1", signature
        return receipt


def odd_vault(devnet, asset, **oddity):
    """Deploys an ``OddVault`` with a first deposit of 10^9 base units."""
    vault = devnet.deploy("OddVault", "(address)", asset)
    depositor = ACCOUNTS[8].address
    send(devnet, depositor, asset, "approve(address,uint256)", vault, 10**9)
    send(devnet, depositor, vault, "deposit(uint256,address)", 10**9, depositor)
    become(devnet, vault, **oddity)
    return vault


def become(devnet, vault, **oddity):
    """Changes the behaviour of an ``OddVault``; members not named are reset."""
    assert set(oddity) <= set(MEMBERS)
    values = tuple(oddity.get(name, False if index < 3 else 0) for index, name in enumerate(MEMBERS))
    send(devnet, ACCOUNTS[8].address, vault, f"become({ODDITY})", values)


@dataclass
class VaultHarness:
    """A served gateway, with the devnet's vaults by name."""

    devnet: object
    api: object

    @property
    def manifest(self):
        return self.devnet.chains["devnet"]

    @property
    def vaults(self):
        return {vault.id: vault for vault in self.manifest.vaults}

    def path(self, vault, tail="quote"):
        address = self.vaults[vault].address if vault in self.vaults else vault
        return f"/v2/vaults/31337:{address}/{tail}"

    def body(self, vault, action="deposit", amount=10**6, asset=None, **more):
        address = self.vaults[vault].address if vault in self.vaults else vault
        usdc = self.manifest.token("USDC").address
        amount = amount if isinstance(amount, str) else str(amount)
        named = {None: usdc, "share": address}.get(asset, asset)
        return {"action": action, "amount": amount, "asset": named, "address": ACCOUNTS[0].address, **more}

    async def quote(self, vault, **order):
        return await self.api.post(self.path(vault), self.body(vault, **order))

    async def action(self, vault, **order):
        return await self.api.post(self.path(vault, "action"), self.body(vault, **order))

    def send_steps(self, action):
        """Sends an Action object's transactions as they came over the wire."""
        with self.devnet.rpc() as rpc:
            for transaction in action["transactions"]:
                rpc("anvil_impersonateAccount", action["from"])
                members = {name: transaction[name] for name in ("to", "data", "value")}
                sent = {"from": action["from"], "gas": hex(8_000_000), **members}
                assert rpc.send(sent)["status"] == "0x1"

    def balance(self, token, account):
        with self.devnet.rpc() as rpc:
            data = "0x" + encode_call("balanceOf(address)", [account]).hex()
            return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    async def catch_up(self):
        """Reads the newest head, which lists and series wait for; quotes and actions read it themselves."""
        await self.api.gateway.runtime.chains[31337].head(fresh=True)


@contextlib.asynccontextmanager
async def serve_vaults(devnet, **more):
    """Serves a gateway over the devnet during the block."""
    async with served(plugins(devnet, **more)) as api:
        yield VaultHarness(devnet, api)
