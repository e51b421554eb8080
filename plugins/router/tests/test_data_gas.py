"""What a rollup charges for data, as gas of the legs."""

import pickle
from dataclasses import dataclass

import pytest
from quoteway import Block
from quoteway_amm import UNISWAP_GAS, Graph, V2Pool
from quoteway_amm.flow import flow_gas
from quoteway_router.data_gas import leg_data_units, with_data_gas
from quoteway_router.searching import Search, best_flow

WRAPPED = "0xw"
BLOCK = Block(7, "0x" + "cd" * 32, 1_800_000_000)


@dataclass(frozen=True)
class Price:
    once_wei: int
    leg_wei: int

    def of_legs(self, legs):
        return self.once_wei + self.leg_wei * legs


def test_the_fee_of_a_leg_is_rounded_up_to_gas():
    model = with_data_gas(UNISWAP_GAS, Price(1_001, 301), 100)
    assert leg_data_units(Price(1_001, 301), 100) == 4
    assert {kind: gas.hop - UNISWAP_GAS.hops[kind].hop for kind, gas in model.hops.items()} == {
        "v2": 4, "v3": 4, "v4": 4,
    }  # fmt: skip
    assert model.transaction - UNISWAP_GAS.transaction == 10
    assert (model.pull, model.wrap, model.hops["v3"].tick) == (20_000, 20_000, 31_000)
    assert pickle.loads(pickle.dumps(model)) == model


@pytest.mark.parametrize(
    ("price", "wei"), [(None, 100), (Price(1, 1), None), (Price(1, 1), 0), (Price(9, 0), 1)]
)
def test_without_a_fee_for_a_leg_or_a_price_of_gas_the_model_stays(price, wei):
    assert with_data_gas(UNISWAP_GAS, price, wei) is UNISWAP_GAS
    assert leg_data_units(price, wei) == 0


@pytest.mark.parametrize(("leg_wei", "hops"), [(0, 2), (10**15, 2), (10**18, 1)])
async def test_a_path_is_as_long_as_its_data_pays_and_tells_the_gas_of_its_execution(leg_wei, hops):
    """Two pools on the way pay a half per cent more than one."""
    deep = 10**26
    pools = [
        V2Pool("0x0", "0xa", WRAPPED, deep, deep * 990 // 1_000),
        V2Pool("0x1", "0xa", "0xb", deep, deep),
        V2Pool("0x2", "0xb", WRAPPED, deep, deep),
    ]
    graph = Graph(pools, WRAPPED)
    price = Price(10**15, leg_wei) if leg_wei else None
    search = Search(1, BLOCK, "0xa", WRAPPED, 10**20, 10**9, 3, None, None, data_price=price)
    flow = (await best_flow(None, graph, graph, search)).split.flow
    assert len(flow.legs) == hops
    assert flow.gas_units == flow_gas(flow.legs, "0xa", WRAPPED, UNISWAP_GAS, WRAPPED)
    assert flow.gas_cost == flow.gas_units * 10**9
