"""The conformance suite of the product, on this plugin."""

import pytest
import quoteway_devnet.plugin
import quoteway_erc4626
from quoteway import NATIVE, VaultRequest
from quoteway.testing.conformance import VaultConformance
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
    def cases(self, fresh_devnet):
        plain = [vault for vault in fresh_devnet.chains["devnet"].vaults if vault.kind == "plain"]
        return [
            VaultRequest(f"31337:{vault.address}", 31337, action, asset, 1_000_003, WALLET, WALLET, 50)
            for vault in plain
            for action, asset in (("deposit", vault.asset), ("mint", vault.address))
        ]

    @pytest.fixture
    def unknown(self):
        vault_id = "31337:0x1111111111111111111111111111111111111111"
        return VaultRequest(vault_id, 31337, "deposit", NATIVE, 10**9, WALLET, WALLET, 50)
