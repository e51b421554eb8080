"""Balances whose block a reorganisation takes back while they are read: nodes may keep nothing of it."""

import asyncio

import pytest
from portfolio_gateway import WALLET

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

PATH = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet"


class Interrupted:
    """What happens before the first call at a block."""

    def __init__(self, portfolio, monkeypatch, happens):
        self.hashes, self._happens = [], happens
        self._forward = portfolio.rpc.forward
        monkeypatch.setattr(portfolio.rpc, "forward", self.forward)

    async def forward(self, network, method, params, *, timeout_s):
        if method == "eth_call" and isinstance(params[1], dict):
            self.hashes.append(params[1]["blockHash"])
            if len(self.hashes) == 1:
                await asyncio.to_thread(self._happens)
        return await self._forward(network, method, params, timeout_s=timeout_s)


async def test_balances_are_read_at_the_newest_block_when_theirs_is_taken_back(
    serve_app, portfolio, monkeypatch
):
    api = await portfolio.serve(serve_app)

    def reorganise():
        with portfolio.devnet.rpc() as rpc:
            rpc("anvil_reorg", 1, [])
            rpc("evm_mine")

    read = Interrupted(portfolio, monkeypatch, reorganise)
    answer = await api.get(PATH)
    assert answer.status == 200, answer.body
    (at,) = answer.body["asOf"]
    with portfolio.devnet.rpc() as rpc:
        block = rpc("eth_getBlockByNumber", hex(at["block"]), False)
        assert rpc("eth_getBlockByHash", read.hashes[0], False) is None
    assert block["hash"] in read.hashes


async def test_a_failure_without_a_reorganisation_is_told(serve_app, portfolio, monkeypatch, refused):
    api = await portfolio.serve(serve_app)
    read = Interrupted(portfolio, monkeypatch, lambda: portfolio.rpc.refused.add("eth_call"))
    refused(await api.get(PATH), 502, "upstream_error")
    assert len(set(read.hashes)) == 1
