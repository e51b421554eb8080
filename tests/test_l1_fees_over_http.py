"""The fee for data on a rollup's parent chain, in quotes and actions, as the chain's contract charges it."""

import asyncio

import pytest
from direct_client import USER, client_of
from op_stack import ORACLE, charge, fee_of
from quoteway.evm.l1_fee import unsigned
from quoteway.models import Step

SWAPS = [("USDC", "WETH", 10**9), ("ETH", "USDC", 10**18), ("CRV", "EURC", 10**21)]
"""The last one through several pools."""


@pytest.fixture
def rollup(fresh_devnet):
    with fresh_devnet.rpc() as rpc:
        charge(rpc)
        yield rpc


def charged(rpc, transactions):
    """What the chain's contract charges for transactions of a wallet whose other fields are as long."""
    steps = [
        Step(each["to"], bytes.fromhex(each["data"][2:]), int(each["value"], 16), each["chainId"])
        for each in transactions
    ]
    return sum(fee_of(rpc, unsigned(step)) for step in steps)


@pytest.mark.slow
async def test_quotes_and_actions_tell_what_the_chain_charges_for_their_bytes(fresh_devnet, rollup):
    async with client_of(fresh_devnet, 0.0, l1_fee="op-stack") as client:
        for sold, got, amount in SWAPS:
            quote = await client.quote_swap(sold, got, amount)
            action = await client.act(quote)
            own = [
                transaction
                for transaction, step in zip(action["transactions"], action["steps"], strict=True)
                if step["kind"] == "swap"
            ]
            fee = int(quote["gas"]["l1Fee"])
            assert fee == await asyncio.to_thread(charged, rollup, own) > 0
            assert int(action["l1Fee"]) == await asyncio.to_thread(charged, rollup, action["transactions"])
            units, price = int(quote["gas"]["units"]), int(quote["gas"]["price"])
            assert int(quote["gas"]["cost"]) == units * price + fee
            await client.send(*action["transactions"])
            pair = f"fromToken={client.token(sold)}&toToken={client.token(got)}"
            indicated = await client.api.get(f"/v2/swaps/price?network=devnet&amount={amount}&{pair}")
            estimate = int(indicated.body["gas"]["l1Fee"])
            assert abs(estimate - fee) * 2 < fee, (estimate, fee)


async def test_a_chain_that_charges_nothing_for_data_has_no_such_fee(devnet):
    async with client_of(devnet, 0.0) as client:
        quote = await client.quote_swap()
        assert quote["gas"]["l1Fee"] is None
        assert (await client.act(quote))["l1Fee"] is None


@pytest.mark.slow
async def test_a_missing_oracle_costs_the_fee_alone(fresh_devnet):
    async with client_of(fresh_devnet, 0.0, l1_fee="op-stack") as client:
        quote = await client.quote_swap()
        assert quote["gas"]["l1Fee"] is None
        assert int(quote["gas"]["cost"]) > 0


@pytest.mark.slow
async def test_the_prices_are_asked_for_once_a_block(fresh_devnet, rollup):
    def asked():
        return sum(ORACLE[2:].lower() in str(body).lower() for body in client.node.bodies)

    async with client_of(fresh_devnet, 0.0, l1_fee="op-stack") as client:
        for blocks in (1, 2):
            await asyncio.gather(*(client.quote_swap(amount=10**9 + more) for more in range(3)))
            await client.act(await client.quote_swap())
            assert asked() == blocks
            await client.approve(client.token("USDC"), USER, 1)  # mines a block
