"""Attack: calls through the JSON-RPC proxy that keep the node busy, with code and gas of the caller's choice.

One request gets the gas of one call, whatever it states, leaves out or spells in another way.
"""

import pytest
from quoteway.evm.methods import MAX_CALL_GAS, MAX_SIMULATED_CALLS
from quoteway.testing.fakes import FakePlugin, HttpRpc

networks = pytest.importorskip("quoteway_devnet.networks", reason="needs the quoteway-devnet distribution")

TARGET = "0x00000000000000000000000000000000000b0b00"
RETURNS_ITS_GAS = {TARGET: {"code": "0x5a60005260206000f3"}}
"""GAS, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN."""
BURNS_ITS_GAS = {TARGET: {"code": "0x5b600056"}}
"""JUMPDEST, PUSH1 0, JUMP."""
HALF, TOO_MUCH = hex(MAX_CALL_GAS // 2), hex(MAX_CALL_GAS + 1)


@pytest.fixture
async def ask(devnet, serve_app):
    plugin = FakePlugin([HttpRpc], networks=networks.devnet_networks(devnet.ports))
    api = await serve_app({"fake": plugin})

    async def ask(method, *params):
        return await api.post(
            "/v2/rpc/31337", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        )

    return ask


def simulation(*calls, code=RETURNS_ITS_GAS, **more):
    return {"blockStateCalls": [{"stateOverrides": code, "calls": list(calls), **more}]}


@pytest.mark.parametrize("gas", [{}, {"gas": None}, {"gas": hex(MAX_CALL_GAS)}], ids=str)
async def test_one_call_gets_at_most_its_limit(ask, gas):
    answer = await ask("eth_call", {"to": TARGET, **gas}, "latest", RETURNS_ITS_GAS)
    assert MAX_CALL_GAS // 2 < int(answer.body["result"], 16) <= MAX_CALL_GAS


async def test_an_estimate_stops_at_the_limit(ask):
    answer = await ask("eth_estimateGas", {"to": TARGET}, "latest", BURNS_ITS_GAS)
    assert str(MAX_CALL_GAS) in answer.body["error"]["message"]


@pytest.mark.parametrize("stated", [None, HALF])
async def test_the_calls_of_a_simulation_share_one_limit(ask, stated):
    calls = [{"to": TARGET}] * (MAX_SIMULATED_CALLS - 1)
    first = {"to": TARGET} if stated is None else {"to": TARGET, "gas": stated}
    answer = await ask("eth_simulateV1", simulation(first, *calls), "latest")
    (block,) = answer.body["result"]
    seen = [int(call["returnData"], 16) for call in block["calls"]]
    assert len(seen) == MAX_SIMULATED_CALLS
    assert 0 < sum(seen) <= MAX_CALL_GAS


def refused_simulation(*calls, **more):
    return "eth_simulateV1", simulation(*calls, **more), "latest"


REFUSED = {
    "more gas": ("eth_call", {"to": TARGET, "gas": TOO_MUCH}),
    "more gas in all": refused_simulation({"gas": HALF}, {"gas": hex(MAX_CALL_GAS // 2 + 1)}),
    "gas as a number": ("eth_call", {"to": TARGET, "gas": 10**12}),
    "gas in another spelling": ("eth_call", {"to": TARGET, "gas": "0x5208", "GAS": TOO_MUCH}),
    "gas in another spelling alone": ("eth_estimateGas", {"to": TARGET, "Gas": TOO_MUCH}),
    "gas in another spelling, simulated": refused_simulation({"to": TARGET, "gAS": TOO_MUCH}),
    "calls in another spelling": refused_simulation(Calls=[{"to": TARGET}] * 1_000),
    # Go takes it for an s.
    "calls with a long s": ("eth_simulateV1", {"blockStateCalls": [{"call\u017f": [{}] * 1_000}]}),
    "blocks in another spelling": ("eth_simulateV1", {"blockStateCalls": [], "BlockStateCalls": [{}] * 65}),
    "too many calls": refused_simulation(*[{"to": TARGET}] * (MAX_SIMULATED_CALLS + 1)),
    "too many blocks": ("eth_simulateV1", {"blockStateCalls": [{}] * (MAX_SIMULATED_CALLS + 1)}),
    "calldata in another spelling": ("eth_call", {"to": TARGET, "Data": "0x"}),
    "logs in another spelling": ("eth_getLogs", {"fromBlock": "0x0", "toBlock": "0x1", "TOBLOCK": "0xfffff"}),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_above_a_limit_reaches_no_node(ask, case):
    answer = await ask(*REFUSED[case])
    assert (answer.status, answer.body["error"]["code"]) == (200, -32602)
    assert answer.body["error"]["message"].startswith("params[0]")


async def test_a_node_that_was_kept_busy_answers_the_next(ask):
    burning = simulation(*[{"to": TARGET}] * MAX_SIMULATED_CALLS, code=BURNS_ITS_GAS)
    (block,) = (await ask("eth_simulateV1", burning, "latest")).body["result"]
    assert {call["status"] for call in block["calls"]} == {"0x0"}
    assert (await ask("eth_blockNumber")).status == 200
