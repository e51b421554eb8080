import sys
from pathlib import Path

import pytest
from quoteway import NATIVE, Endpoint, Network, SwapRequest, Token
from quoteway.testing.conformance import SwapConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "tutorial"))
ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


class TestWrap(SwapConformance):
    provider_id = "wrap"

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        import wrap_provider

        weth = fresh_devnet.chains["devnet"].token("WETH").address
        endpoint = Endpoint(fresh_devnet.urls["devnet"])
        network = Network("devnet", 31337, "Devnet", wrapped_native=weth, endpoints=(endpoint,))
        return await make_gateway({"wrap": wrap_provider, "chain": FakePlugin([HttpRpc], networks=[network])})

    @pytest.fixture
    def cases(self, fresh_devnet):
        weth = fresh_devnet.chains["devnet"].token("WETH").address
        ends = Token(31337, NATIVE, 18), Token(31337, weth, 18)
        return [SwapRequest(31337, 31337, *ends, amount, ALICE, ALICE, 0) for amount in (1, 10**18)]

    @pytest.fixture
    def unknown(self, cases, fresh_devnet):
        usdc = fresh_devnet.chains["devnet"].token("USDC").address
        return SwapRequest(31337, 31337, Token(31337, usdc, 6), cases[0].token_out, 1, ALICE, ALICE, 0)
