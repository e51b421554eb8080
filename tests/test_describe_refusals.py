"""``quoteway describe``: what cannot be described is an error in one line."""

import asyncio
import json

import pytest
from described_contracts import FUTURE, SENDER, SWAP, V2, Devnet
from quoteway.testing.faulty_node import FaultyNode, send
from quoteway.testing.node_faults import NODE_FAULTS, SECRET


@pytest.fixture
def here(devnet, tmp_path):
    return Devnet(devnet, tmp_path)


def test_a_transaction_that_reverts_says_why(here):
    for result in (here.swap(deadline=1), here.swap(minimum=10**30), here.swap(path=("USDC", "LDO"))):
        assert (result.exit_code, result.stdout) == (2, "")
        assert "the transaction reverts (" in result.stderr
        assert len(result.stderr.splitlines()) == 1


HASH = "0x" + "12" * 32
CALL = ["--to", SENDER, "--from", SENDER]


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ([], "give --transaction HASH, or --to ADDRESS"),
        (["--to", SENDER, "--data", "0x12345678"], "--from ADDRESS"),
        (["--transaction", "0x12"], "64 hexadecimal digits"),
        (["--transaction", HASH], "no transaction 0x1212"),
        (["--transaction", HASH, "--to", SENDER], "leave them out"),
        (["--to", "0x12", "--data", "0x38ed1739", "--from", SENDER], "--to: an address has 40"),
        (["--to", SENDER, "--data", "0x38ed1739", "--from", "me"], "--from: an address starts with 0x"),
        ([*CALL, "--data", "0xzz"], "--data: give the calldata"),
        ([*CALL, "--data", "0x12345678"], "the function 0x12345678"),
        ([*CALL, "--data", "0x"], "the function 0x of"),
        ([*CALL, "--data", "0x38ed1739"], "the calldata cannot be described"),
        ([*CALL, "--data", "0x38ed1739", "--token", "WETH"], "--token: an address starts with 0x"),
        ([*CALL, "--data", "0x38ed1739", "--action", "steal"], "--action steal: known are add, addStrategy"),
    ],
)
def test_options_that_cannot_be_right_are_named(here, options, finding):
    result = here.describe(V2, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert finding in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_account_without_code_is_no_contract(here):
    assert f"{SENDER} has no code" in here.swap(to=SENDER).stderr


def test_an_unknown_network_is_named(here):
    result = here.describe(V2, "--transaction", "0x" + "12" * 32, network="devnett")
    assert result.exit_code == 2
    assert "devnett" in result.stderr
    assert "devnet" in result.stderr.replace("devnett", "")


def test_the_node_of_another_chain_is_refused(here):
    result = here.describe(
        V2, "--transaction", "0x" + "12" * 32, "--rpc", here.devnet.urls["devnet-l2"], network="devnet"
    )
    assert result.exit_code == 2
    assert "another chain" in result.stderr


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("{}", "is no ABI"),
        ('{"abi": {}}', "is no ABI"),
        ('[{"type": "function", "name": 5}]', "is no ABI"),
        ("\ufeffnot json", "is no JSON"),
        ("[]", "does not have"),
        ('[{"type": "function", "name": "a b", "inputs": [{"type": "uint256, uint"}]}]', "does not have"),
    ],
)
def test_a_file_without_the_function_is_named(here, tmp_path, text, finding):
    (tmp_path / "abi.json").write_text(text)
    result = here.swap(abi=tmp_path / "abi.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert finding in result.stderr
    assert "cannot be read" in here.swap(abi=tmp_path / "none.json").stderr


async def without_simulation(node, request, writer):
    missing = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}}
    if request["method"] == "eth_simulateV1":
        send(writer, json.dumps(missing))
    else:
        await node.forward(request, writer)


@pytest.mark.parametrize("fault", [without_simulation, "HTML", "reset", "not UTF-8", "402", "state pruned"])
async def test_a_node_that_cannot_be_used_is_an_error_in_one_line(devnet, tmp_path, fault):
    here = Devnet(devnet, tmp_path)
    node = FaultyNode(here.url, NODE_FAULTS[fault] if isinstance(fault, str) else fault)
    async with node.running():
        values = 10**9, 1, [here["USDC"], here["WETH"]], SENDER, FUTURE
        options = ["--rpc", node.address]
        result = await asyncio.to_thread(here.call, V2, here.v2, SWAP, *values, options=options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert node.address not in result.stderr
    assert SECRET not in result.stderr
    if fault is without_simulation:
        assert "one with eth_simulateV1" in result.stderr


def test_more_arguments_than_paths_are_refused(here, tmp_path):
    inputs = [{"type": "uint256", "name": f"a{at}"} for at in range(201)]
    (tmp_path / "many.json").write_text(json.dumps([{"type": "function", "name": "swap", "inputs": inputs}]))
    signature = f"swap({','.join(['uint256'] * 201)})"
    assert "over 200 arguments" in here.call(tmp_path / "many.json", here.v2, signature, *range(201)).stderr
