"""The conformance suite of the product, on this plugin."""

import pytest
from eth_utils import to_checksum_address
from managed_harness import BOT, OWNER, USER, ManagedChain, plugins
from quoteway import DeployRequest, ManageRequest, VaultRequest
from quoteway.testing.conformance import VaultConformance


class TestManagedVaults(VaultConformance):
    provider_id = "managedvault"

    @pytest.fixture
    def stocked(self, fresh_devnet):
        """The user has shares before the gateway reads its first head."""
        chain = ManagedChain(fresh_devnet)
        assert chain.deposit(chain.managed, 10**9) is None
        return fresh_devnet

    @pytest.fixture
    async def gateway(self, stocked, fresh_devnet, make_gateway):
        return await make_gateway(plugins(fresh_devnet))

    @pytest.fixture
    def cases(self, fresh_devnet):
        chain = ManagedChain(fresh_devnet)
        vault, usdc = (to_checksum_address(each) for each in (chain.managed, chain.usdc))

        def order(action, asset, amount):
            return VaultRequest(f"31337:{vault}", 31337, action, asset, amount, USER, USER, 50)

        def manage(action, sender, **more):
            return ManageRequest(f"31337:{vault}", 31337, action, sender, slippage_bps=50, **more)

        return [
            order("deposit", usdc, 123_456_789),
            order("mint", vault, 10**12 + 1),
            order("withdraw", usdc, 7_654_321),
            order("redeem", vault, 10**11 + 7),
            order("withdraw", usdc, None),
            manage("rebalance", BOT, strategy="bold-usdc"),
            manage("setCap", OWNER, amount=10**13),
            manage("pause", BOT),
            DeployRequest(31337, usdc, OWNER, "steady-usdc", BOT),
        ]

    @pytest.fixture
    def unknown(self, fresh_devnet):
        chain = ManagedChain(fresh_devnet)
        steady, usdc = (to_checksum_address(each) for each in (chain.steady, chain.usdc))
        return VaultRequest(f"31337:{steady}", 31337, "deposit", usdc, 10**6, USER, USER, 50)
