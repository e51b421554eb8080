import sys
from pathlib import Path

import pytest
from quoteway import NATIVE, SwapRequest, Token
from quoteway.models import Capability

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "tutorial"))
ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
async def gateway(devnet, make_gateway):
    import quoteway_rpc
    import wrap_provider
    from quoteway.config.model import NetworkConfig
    from quoteway.networks import Endpoint

    weth = devnet.chains["devnet"].token("WETH").address
    network = NetworkConfig(rpc=(Endpoint(devnet.urls["devnet"]),), chain_id=31337, wrapped_native=weth)
    return await make_gateway({"wrap": wrap_provider, "rpc": quoteway_rpc}, networks={"devnet": network})


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
