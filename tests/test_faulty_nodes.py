"""Clients of a gateway with one healthy node of three: no call fails, whatever the other two do.

``python -m bench faults`` does it for every fault with 1,000 calls each.
"""

import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
faulty_flows = pytest.importorskip("faulty_flows", reason="needs the plugins that it serves")

ONE_OF_EACH_KIND = (
    *("blackhole", "no such host", "reset in the body", "header drip", "slow 2 s", "flapping", "401"),
    *("429 with Retry-After", "HTML", "-32603", "header not found", "tail of 5 %, 2 s"),
)
TIMES = {"rpc": 60, "swap": 4, "catalog": 6, "portfolio": 4}


async def assert_no_flow_fails(devnet, fault):
    async with faulty_flows.flows_over(devnet, fault, fault, None) as flows:
        for name, times in TIMES.items():
            outcomes = await getattr(flows, name)(times)
            print(f"{fault}: {name} p50 {outcomes.percentile(0.5) * 1e3:.0f} ms, "
                  f"longest {max(outcomes.took_s) * 1e3:.0f} ms")  # fmt: skip
            assert outcomes.errors == [], (fault, name)


async def test_no_flow_fails_where_two_of_three_nodes_hang(fresh_devnet):
    await assert_no_flow_fails(fresh_devnet, "hang")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ONE_OF_EACH_KIND)
async def test_no_flow_fails_where_two_of_three_nodes_are_faulty(fresh_devnet, fault):
    await assert_no_flow_fails(fresh_devnet, fault)
