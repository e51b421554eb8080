"""Look-alikes of public networks. The uniswap plugin's tests trade on them."""

import pytest
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.packages import prepare
from quoteway_devnet.public_chains import public_chain
from quoteway_devnet.transactions import DEPLOYER, Transactions

V3_FACTORY = "0x1F98431c8aD98523631AE4a59f267346ea31F984"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"


@pytest.fixture
def transactions():
    tools = prepare()
    with Anvil.launch(tools.anvil, 1, free_port()) as anvil, anvil.rpc() as rpc:
        yield Transactions(rpc, tools.bytecode)


def test_a_contract_at_a_chosen_address_is_as_if_created_there(transactions):
    transactions.construct_at(V3_FACTORY, "UniswapV3Factory")
    assert transactions.read(V3_FACTORY, "owner() returns (address)") == (DEPLOYER,)
    declaration = "createPool(address,address,uint24) returns (address)"
    pool = transactions.read(V3_FACTORY, declaration, USDC, WETH, 500)
    assert pool == ("0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640",)
    assert transactions.rpc("eth_getTransactionCount", V3_FACTORY, "latest") == "0x1"


def test_code_that_no_chain_accepts_is_refused(transactions, monkeypatch):
    monkeypatch.setattr("quoteway_devnet.transactions._MAX_CODE_BYTES", 1_000)
    with pytest.raises(RuntimeError, match="UniswapV3Factory has 24535 bytes, at most 1000 fit"):
        transactions.construct_at(V3_FACTORY, "UniswapV3Factory")


@pytest.mark.parametrize(("chain_id", "version"), [(5, "2.0"), (1, "2.1.2")])
def test_an_unknown_network_or_router_is_named(chain_id, version):
    with (
        pytest.raises(DevnetError, match=f"No look-alike of chain {chain_id} with router {version}"),
        public_chain("other", chain_id, {"router_version": version}),
    ):
        pass
