"""Swaps by symbols to a recipient by name, through the real protocols: quoted, built and executed."""

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, client_of  # noqa: E402
from ens_contracts import NameService  # noqa: E402
from quoteway.evm.erc20 import BALANCE_OF  # noqa: E402

ALICE = "0x00000000000000000000000000000000000A11CE"
BOB = "0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0"


async def test_a_recipient_by_name_receives_to_the_wei(fresh_devnet):
    with fresh_devnet.rpc() as rpc:
        names = NameService(rpc)
        names.register("alice.eth", ALICE)
        async with client_of(fresh_devnet, 0.0, ens_registry=names.registry) as client:
            weth = client.token("WETH")

            def held(account):
                data = "0x" + BALANCE_OF.encode([account]).hex()
                return int(rpc("eth_call", {"to": weth, "data": data}, "latest"), 16)

            body = {"network": "devnet", "fromToken": "usdc", "toToken": "WETH", "address": USER}
            body |= {"amount": str(10**9), "toAddress": "alice.eth"}
            quote = await client.ask("/v2/swaps/quote", body)
            assert quote["request"]["toAddress"].lower() == ALICE.lower()
            assert quote["request"]["toToken"] == weth
            names.resolve("alice.eth", BOB)  # what the quote sealed counts
            action = await client.act(quote)
            await client.send(*action["transactions"])
            assert (held(ALICE), held(BOB)) == (int(quote["toAmount"]), 0)
            renewed = await client.ask("/v2/swaps/quote", body)
            assert renewed["request"]["toAddress"].lower() == BOB.lower()
