"""The example of ``ShareVaults``: vaults with other names than EIP-4626, quoted and executed to the wei."""

import sys
from pathlib import Path

import pytest
from quoteway import Capability, GatewayError, ShareVaults, VaultRequest
from quoteway.config.model import CallsConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.registry import digest_of
from quoteway.testing.conformance import VaultConformance
from quoteway.testing.execution import execute
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.networks import devnet_networks

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
WALLET = ACCOUNTS[4].address


class Place:
    """A Yearn-like vault of USDC with shares of the wallet, worth more than they cost."""

    def __init__(self, devnet):
        self.devnet = devnet
        self.usdc = devnet.chains["devnet"].token("USDC").address
        self.address = devnet.deploy("YearnLikeVault", "(address)", self.usdc)
        self.id = f"31337:{self.address}"
        self.send(self.usdc, "approve(address,uint256)", self.address, 10**9)
        self.send(self.address, "deposit(uint256,address)", 10**9, WALLET)
        self.earn(123_456_789)

    def earn(self, amount):
        self.send(self.usdc, "transfer(address,uint256)", self.address, amount)

    def send(self, to, signature, *values):
        data = "0x" + encode_call(signature, values).hex()
        with self.devnet.rpc("devnet") as rpc:
            receipt = rpc.send({"from": WALLET, "to": to, "data": data, "gas": hex(1_000_000)})
        assert receipt["status"] == "0x1", signature

    def request(self, action, asset, amount, **more):
        members = {"sender": WALLET, "recipient": WALLET, "slippage_bps": 50} | more
        return VaultRequest(self.id, 31337, action, asset, amount, **members)


@pytest.fixture
def vault(fresh_devnet):
    return Place(fresh_devnet)


@pytest.fixture
def make(vault, make_gateway):
    async def gateway(kind=None):
        import yearn_vaults

        described = [(kind or yearn_vaults.YearnVaults)(None, {31337: [vault.address]}).describe()]
        chains = FakePlugin([HttpRpc], networks=devnet_networks(vault.devnet.ports))
        mine = yearn_vaults if kind is None else FakePlugin([lambda c: kind(c, {31337: [vault.address]})])
        return await make_gateway(
            {"chains": chains, "yearn-vaults": mine},
            calls=CallsConfig((digest_of(described),)),
            plugin_sections={"yearn-vaults": {"vaults": {"devnet": [vault.address]}}} if kind is None else {},
        )

    return gateway


class TestYearnVaults(VaultConformance):
    provider_id = "yearn-vaults"

    @pytest.fixture
    async def gateway(self, make):
        return await make()

    @pytest.fixture
    def cases(self, vault):
        return [
            vault.request("deposit", vault.usdc, 987_654_321),
            vault.request("redeem", vault.address, 98_765),
            vault.request("redeem", vault.address, None),
        ]

    @pytest.fixture
    def unknown(self, vault):
        return VaultRequest(f"31337:{vault.usdc}", 31337, "deposit", vault.usdc, 1, WALLET, WALLET, 50)


async def test_yield_between_quote_and_action_is_in_the_action(make, vault):
    gateway = await make()
    answer = await gateway.quoting.quote(Capability.VAULT, vault.request("redeem", vault.address, 10**8))
    vault.earn(1_000_003)
    await gateway.runtime.chain(31337).head(fresh=True)
    action = await gateway.building.action(answer.sealed)
    done = await execute(vault.devnet, action)
    paid = done.deltas[WALLET, vault.usdc]
    assert paid == action.outputs[0].amount > answer.quote.outputs[0].amount


async def test_what_the_vault_cannot_do_is_refused_with_the_member(make, vault):
    gateway = await make()
    stranger = ACCOUNTS[7].address
    for reason, request in (
        ("unsupported_action", vault.request("withdraw", vault.usdc, 10**6)),
        ("unsupported_action", vault.request("mint", vault.address, 10**6)),
        ("unsupported_token", vault.request("deposit", vault.address, 10**6)),
        ("unsupported_token", vault.request("redeem", vault.usdc, 10**6)),
        ("invalid_format", vault.request("deposit", vault.usdc, None)),
        ("amount_too_low", vault.request("deposit", vault.usdc, 1)),
        ("amount_too_low", vault.request("redeem", vault.address, None, sender=stranger, recipient=stranger)),
        ("conflict", vault.request("deposit", vault.usdc, 10**6, recipient=vault.address)),
    ):
        with pytest.raises(GatewayError) as refusal:
            await gateway.quoting.quote(Capability.VAULT, request)
        assert refusal.value.reason == reason, request


async def test_a_preview_that_promises_more_than_the_vault_pays_is_refused(make, vault):
    import yearn_vaults

    class Lying(yearn_vaults.YearnVaults):
        preview_redeem = "totalAssets() returns (uint256)"

        def _preview_data(self, order):
            return encode_call("totalAssets()", [])

    gateway = await make(Lying)
    answer = await gateway.quoting.quote(Capability.VAULT, vault.request("redeem", vault.address, 10**6))
    with pytest.raises(GatewayError) as refusal:
        await gateway.building.action(answer.sealed)
    assert refusal.value.reason in ("quote_mismatch", "unsafe_answer", "price_moved")


async def test_an_address_that_is_no_vault_is_left_out(make, vault, make_gateway, caplog):
    class Plain(ShareVaults):
        id, title, protocol = "plain", "Plain vaults", "plain"

    chain = vault.devnet.chains["devnet"]
    plain = next(each for each in chain.vaults if each.kind == "plain").address
    rows = {31337: [plain, vault.address, vault.usdc]}
    gateway = await make_gateway(
        {
            "chains": FakePlugin([HttpRpc], networks=devnet_networks(vault.devnet.ports)),
            "plain": FakePlugin([lambda context: Plain(context, rows)]),
        }
    )
    provider = gateway.registry.get(Capability.VAULT, "plain")
    assert [each.address for each in await provider.vaults(None)] == [plain]
    assert f"vault {vault.usdc} is left out" in caplog.text
    # The functions of EIP-4626 need no pin: the core knows them.
    request = VaultRequest(f"31337:{plain}", 31337, "deposit", vault.usdc, 10**6, WALLET, WALLET, 50)
    answer = await gateway.quoting.quote(Capability.VAULT, request)
    done = await execute(vault.devnet, await gateway.building.action(answer.sealed))
    assert done.deltas[WALLET, plain] == answer.quote.outputs[0].amount > 0


def test_an_argument_without_a_role_is_named(vault):
    from dataclasses import replace

    class Odd(ShareVaults):
        redeem_call = replace(
            ShareVaults.redeem_call, declaration="redeem(uint256 shares, address receiver, uint256 loss)"
        )

    with pytest.raises(ValueError, match="loss has no role"):
        Odd(None, {}).arguments(Odd.redeem_call, 1, vault.request("redeem", vault.address, 1))
