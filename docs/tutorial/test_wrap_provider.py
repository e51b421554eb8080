import pytest
import wrap_provider
from quoteway import NATIVE, Capability, SwapRequest, Token
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.networks import devnet_networks

ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
async def gateway(devnet, make_gateway):
    chains = FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports))
    return await make_gateway({"wrap": wrap_provider, "chains": chains})


async def test_wraps_one_for_one(gateway, devnet):
    weth = devnet.chains["devnet"].token("WETH").address
    request = SwapRequest(
        31337, 31337, Token(31337, NATIVE, 18), Token(31337, weth, 18), 10**18, ALICE, ALICE, slippage_bps=0
    )
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    action = await gateway.building.action(answer.sealed)  # guarded and simulated on the real WETH9
    assert action.simulation.status == "success"
    changes = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    assert changes[ALICE, weth] == 10**18
