"""A rollup's fee for data in the choice of pools: a leg that does not pay for its calldata is left out."""

import asyncio

import pytest
from direct_client import client_of
from op_stack import charge
from quoteway_uniswap.shared import shared_by

CHEAP = {"base_fee": 1, "blob_fee": 1}
DEAR = {"base_fee": 1, "blob_fee": 6 * 10**14}
"""The data of a leg costs a few hundredths of the coin."""
ORDERS = [
    ("ETH", "USDC", "exactIn", 500 * 10**18),
    ("ETH", "USDC", "exactOut", 900_000 * 10**6),
]


async def solvers_ready(client):
    (entry,) = (entry for entry in client.api.gateway.registry.plugins if entry.name == "uniswap")
    async with asyncio.timeout(120):
        while not shared_by(entry.context).splitting.solvers._idle:
            await asyncio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("sold", "bought", "side", "amount"), ORDERS)
async def test_legs_that_do_not_pay_for_their_data_are_left_out(
    fresh_devnet, monkeypatch, sold, bought, side, amount
):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    quotes, leg_wei = {}, {}
    for name, prices in (("cheap", CHEAP), ("dear", DEAR)):
        with fresh_devnet.rpc() as rpc:
            snapshot = rpc("evm_snapshot")
            charge(rpc, **prices)
        settings = {"uniswap": {"solver_processes": 1}}
        async with client_of(fresh_devnet, 0.0, l1_fee="op-stack", settings=settings) as client:
            await solvers_ready(client)
            quote = quotes[name] = await client.quote_swap(sold, bought, amount, side=side)
            gas, runtime = quote["gas"], client.api.gateway.runtime
            assert int(gas["cost"]) == int(gas["units"]) * int(gas["price"]) + int(gas["l1Fee"])
            price = await runtime.data_price(31337, await runtime.chain(31337).head())
            leg_wei[name] = price.of_legs(2) - price.of_legs(1)
        with fresh_devnet.rpc() as rpc:
            rpc("evm_revert", snapshot)
    legs = {name: len(quote["route"]["legs"]) for name, quote in quotes.items()}
    assert 1 <= legs["dear"] < legs["cheap"]
    assert int(quotes["dear"]["gas"]["units"]) < int(quotes["cheap"]["gas"]["units"])
    saved_wei = (legs["cheap"] - legs["dear"]) * leg_wei["dear"]
    if side == "exactIn":
        lost = int(quotes["cheap"]["toAmount"]) - int(quotes["dear"]["toAmount"])
        lost_wei = lost * amount // int(quotes["dear"]["toAmount"])
    else:
        lost_wei = int(quotes["dear"]["fromAmount"]) - int(quotes["cheap"]["fromAmount"])
    assert 0 < lost_wei < saved_wei
