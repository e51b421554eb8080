"""The conformance suite of the product, on this plugin."""

import pytest
from quoteway import VaultRequest
from quoteway.testing.conformance import VaultConformance
from quoteway_devnet.accounts import ACCOUNTS
from vault_harness import plugins

WALLET = ACCOUNTS[4].address


class TestVaults(VaultConformance):
    provider_id = "erc4626"

    @pytest.fixture
    def stocked(self, fresh_devnet):
        """The wallet has shares before the gateway reads its first head."""
        for slug, chain in fresh_devnet.chains.items():
            for vault in (vault for vault in chain.vaults if vault.kind == "plain"):
                _give_shares(fresh_devnet, slug, vault)
        return fresh_devnet

    @pytest.fixture
    async def gateway(self, stocked, fresh_devnet, make_gateway):
        return await make_gateway(plugins(fresh_devnet))

    @pytest.fixture
    def cases(self, fresh_devnet):
        found = []
        for slug in ("devnet", "devnet-l2"):
            chain = fresh_devnet.chains[slug]
            for vault in (vault for vault in chain.vaults if vault.kind == "plain"):
                rows = (
                    ("deposit", vault.asset, 123_456_789),
                    ("mint", vault.address, 1_000_001),
                    ("withdraw", vault.asset, 7_654_321),
                    ("redeem", vault.address, 98_765),
                    ("withdraw", vault.asset, None),
                )
                found += [
                    VaultRequest(
                        f"{chain.chain_id}:{vault.address}", chain.chain_id, *row, WALLET, WALLET, 50
                    )
                    for row in rows
                ]
        return found

    @pytest.fixture
    def unknown(self, fresh_devnet):
        chain = fresh_devnet.chains["devnet"]
        usdc = chain.token("USDC").address
        return VaultRequest(f"31337:{usdc}", 31337, "deposit", usdc, 10**6, WALLET, WALLET, 50)


def _give_shares(devnet, slug, vault):
    from quoteway.evm.abi import encode_call

    calls = [
        (vault.asset, encode_call("approve(address,uint256)", [vault.address, 10**9])),
        (vault.address, encode_call("deposit(uint256,address)", [10**9, WALLET])),
    ]
    with devnet.rpc(slug) as rpc:
        for to, data in calls:
            transaction = {"from": WALLET, "to": to, "data": "0x" + data.hex(), "gas": hex(1_000_000)}
            assert rpc.send(transaction)["status"] == "0x1"
