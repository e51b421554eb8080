"""A devnet with approvals per test module."""

import pytest
from chain_state import MAX_UINT48, MAX_UINT160, MAX_UINT256, ChainState, calldata


@pytest.fixture(scope="module")
def devnet():
    chains = pytest.importorskip("quoteway_devnet.chains")
    with chains.Devnet.running() as running:
        yield running


@pytest.fixture(scope="module")
def chain(devnet):
    accounts = pytest.importorskip("quoteway_devnet.accounts")
    manifest = devnet.chains["devnet"]
    state = ChainState(devnet.ports["devnet"], manifest, accounts.ACCOUNTS[0].address)
    contracts = manifest.contracts
    for token in manifest.tokens:
        for spender in ("SwapRouter02", "NonfungiblePositionManager", "Permit2", "UniswapV2Router02"):
            state.send(token.address, calldata("approve(address,uint256)", contracts[spender], MAX_UINT256))
        for spender in ("UniversalRouter", "PositionManager"):
            grant = calldata(
                "approve(address,address,uint160,uint48)",
                token.address,
                contracts[spender],
                MAX_UINT160,
                MAX_UINT48,
            )
            state.send(contracts["Permit2"], grant)
    return state
