"""The vaults of yearn_vaults.py, on a contract that each test deploys on the devnet."""

import json
from pathlib import Path

import pytest
import yearn_vaults
from quoteway import VaultRequest
from quoteway.config.model import CallsConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.registry import digest_of
from quoteway.testing.conformance import VaultConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.networks import devnet_networks

ARTIFACT = json.loads((Path(__file__).parent / "contracts" / "YearnLikeVault.json").read_text())
WALLET = ACCOUNTS[4].address


@pytest.fixture
def vault(fresh_devnet):
    """A new vault of USDC, in which the wallet has shares."""
    usdc = fresh_devnet.token("USDC").address
    address = fresh_devnet.deploy(bytes.fromhex(ARTIFACT["bytecode"].removeprefix("0x")), "(address)", usdc)
    with fresh_devnet.rpc("devnet") as rpc:
        for to, data in (
            (usdc, encode_call("approve(address,uint256)", [address, 10**9])),
            (address, encode_call("deposit(uint256,address)", [10**9, WALLET])),
        ):
            assert rpc.send({"from": WALLET, "to": to, "data": "0x" + data.hex()})["status"] == "0x1"
    return address


class TestYearnVaults(VaultConformance):
    provider_id = "yearn-vaults"

    @pytest.fixture
    async def gateway(self, fresh_devnet, vault, make_gateway):
        described = yearn_vaults.YearnVaults(None, {31337: [vault]}).describe()
        chains = FakePlugin([HttpRpc], networks=devnet_networks(fresh_devnet.ports))
        return await make_gateway(
            {"chains": chains, "yearn-vaults": yearn_vaults},
            calls=CallsConfig(pinned=(digest_of([described]),)),
            plugin_sections={"yearn-vaults": {"vaults": {"devnet": [vault]}}},
        )

    @pytest.fixture
    def cases(self, fresh_devnet, vault):
        usdc = fresh_devnet.token("USDC").address
        return [request_of(vault, "deposit", usdc, 987_654_321), request_of(vault, "redeem", vault, 98_765)]

    @pytest.fixture
    def unknown(self, fresh_devnet):
        usdc = fresh_devnet.token("USDC").address
        return request_of(usdc, "deposit", usdc, 1)  # it is no vault


def request_of(vault, action, asset, amount):
    return VaultRequest(f"31337:{vault}", 31337, action, asset, amount, WALLET, WALLET, slippage_bps=50)
