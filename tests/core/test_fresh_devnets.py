"""The state of a restored devnet stays readable, however often it was restored."""

import pytest


@pytest.mark.parametrize("time", range(25))
def test_the_newest_block_is_readable_after_later_ones(fresh_devnet, time):
    for slug in fresh_devnet.chains:
        with fresh_devnet.rpc(slug) as rpc:
            newest = rpc("eth_getBlockByNumber", "latest", False)
            rpc("anvil_mine", "0x7")
            for block in ({"blockHash": newest["hash"]}, newest["number"]):
                assert rpc("eth_getBalance", "0x" + "11" * 20, block) == "0x0"
                assert rpc("eth_call", {"to": "0x" + "11" * 20}, block) == "0x"
