"""A gateway with the plugin on the devnet."""

import pytest
import quoteway_devnet.plugin
import quoteway_uniswap
from quoteway import NATIVE, Token


@pytest.fixture
def uniswap_section():
    """The ``[plugin.uniswap]`` section of the gateway: single paths only, unless a test splits swaps."""
    return {"solver_processes": 0}


@pytest.fixture
async def gateway(fresh_devnet, make_gateway, uniswap_section):
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    sections = {"devnet": {"enabled": True, "start": False, **ports}, "uniswap": uniswap_section}
    plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "uniswap": quoteway_uniswap}
    return await make_gateway(plugins, plugin_sections=sections)


@pytest.fixture
def token(fresh_devnet):
    """``token("USDC")`` is the devnet's token of that symbol, ``ETH`` its native coin."""
    manifest = fresh_devnet.chains["devnet"]

    def token(symbol):
        if symbol == "ETH":
            return Token(31337, NATIVE, 18, "ETH")
        row = manifest.token(symbol)
        return Token(31337, row.address, row.decimals, symbol)

    return token
