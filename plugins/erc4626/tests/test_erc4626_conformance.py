"""The conformance suite of the product, on this plugin."""

from dataclasses import replace

import pytest
import quoteway_devnet.plugin
import quoteway_erc4626
from quoteway import NATIVE, Capability, VaultRequest
from quoteway.testing.conformance import VaultConformance
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS

quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")

pytestmark = pytest.mark.xdist_group("devnet")

WALLET = ACCOUNTS[2].address


class TestVaults(VaultConformance):
    provider_id = "erc4626"

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
        sections = {"devnet": {"enabled": True, "start": False, **ports}}
        plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "erc4626": quoteway_erc4626}
        return await make_gateway(plugins, plugin_sections=sections)

    @pytest.fixture
    async def cases(self, fresh_devnet, gateway):
        """All four operations on each vault, of which the wallet has shares already."""
        found = []
        for vault in fresh_devnet.chains["devnet"].vaults:
            if vault.kind != "plain":
                continue
            vault_id = f"31337:{vault.address}"
            deposit = VaultRequest(vault_id, 31337, "deposit", vault.asset, 1_000_003, WALLET, WALLET, 50)
            await execute(fresh_devnet, gateway, await gateway.spine.direct(Capability.VAULT, deposit))
            entry = await gateway.registry.get(Capability.VAULT, self.provider_id).vault(vault_id)
            unit = 10 ** (entry.share.decimals - entry.asset.decimals)
            shares = replace(deposit, asset=vault.address, amount=700_001 * unit)
            found += [
                deposit,
                replace(shares, action="mint"),
                replace(deposit, action="withdraw", amount=300_001),
                replace(shares, action="redeem", amount=100_003 * unit),
                replace(shares, action="redeem", amount=None),
            ]
        return found

    @pytest.fixture
    def unknown(self):
        vault_id = "31337:0x1111111111111111111111111111111111111111"
        return VaultRequest(vault_id, 31337, "deposit", NATIVE, 10**9, WALLET, WALLET, 50)
