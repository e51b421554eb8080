"""Requests of every read method of the execution API, through the gateway and at the node directly.

``exchanges/<method>.json`` has them, written from the specification (github.com/ethereum/execution-apis): the
answers must have the same result, or an error of the same code. ``{names}`` stand for values of the chain.
"""

import json
from pathlib import Path

import pytest
import pytest_asyncio
from quoteway.evm.methods import METHODS
from quoteway_devnet.accounts import ACCOUNTS

in_one_loop = pytest.mark.asyncio(loop_scope="module")

FOLDER = Path(__file__).parent / "exchanges"
FILES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
REFUSED = FILES.pop("refused")
CASES = [(method, case) for method, cases in FILES.items() for case in cases]
OWNER = ACCOUNTS[3].address

STRICTER = {
    ("eth_blockNumber", "a parameter too many"): -32602,
    ("eth_getBlockByNumber", "no parameters"): -32602,
    ("eth_feeHistory", "above the limit"): -32602,
    ("eth_simulateV1", "no payload"): -32602,
    ("eth_call", "no transaction"): -32602,
    ("web3_sha3", "odd digits"): -32602,
    ("web3_sha3", "no hex"): -32602,
}
"""What the policy refuses before any node is asked, with its code."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(devnet):
    from rpc_gateway import serve_rpc

    async with serve_rpc(devnet) as api:
        yield api


@pytest.fixture(scope="module")
def names(devnet):
    """A block with one transaction, whose log is a deposit to WETH9."""
    weth = devnet.chains["devnet"].contracts["WETH9"]
    with devnet.rpc() as rpc:
        sent = {"from": OWNER, "to": weth, "data": "0xd0e30db0", "value": "0x5"}
        rpc("anvil_impersonateAccount", OWNER)
        transaction = rpc("eth_sendTransaction", sent)
        receipt = None
        while receipt is None:
            receipt = rpc("eth_getTransactionReceipt", transaction)
        rpc("evm_mine")
    return {
        "weth": weth,
        "owner": OWNER,
        "owner_word": OWNER[2:].lower(),
        "block": receipt["blockNumber"],
        "block_hash": receipt["blockHash"],
        "transaction": transaction,
        "deposit_topic": receipt["logs"][0]["topics"][0],
    }


def filled(value, names):
    text = json.dumps(value)
    for name, known in names.items():
        text = text.replace(f"{{{name}}}", known)
    return json.loads(text)


async def ask(session, url, method, params, case_id):
    body = {"jsonrpc": "2.0", "id": case_id, "method": method, "params": params}
    async with session.post(url, json=body) as answer:
        return answer.status, await answer.json()


def test_every_read_method_has_exchanges():
    assert set(FILES) == set(METHODS)


@in_one_loop
@pytest.mark.parametrize(
    ("method", "case"), CASES, ids=lambda value: value if isinstance(value, str) else value["name"]
)
async def test_the_same_as_at_the_node(served, devnet, names, method, case):
    params, case_id = filled(case["params"], names), f"{method} {case['name']}"
    url = f"{served.url}/v2/rpc/31337"
    status, through = await ask(served.session, url, method, params, case_id)
    assert (status, through["jsonrpc"], through["id"]) == (200, "2.0", case_id)
    stricter = STRICTER.get((method, case["name"]))
    if stricter is not None:
        assert through["error"]["code"] == stricter
        return
    _, direct = await ask(served.session, devnet.urls["devnet"], method, params, case_id)
    if "error" in direct:
        assert through["error"]["code"] == direct["error"]["code"], (through, direct)
        if "data" in direct["error"]:
            assert through["error"]["data"] == direct["error"]["data"]
    else:
        assert through["result"] == direct["result"]


@in_one_loop
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["method"])
async def test_refused_by_policy(served, names, case):
    params = filled(case["params"], names)
    status, answer = await ask(served.session, f"{served.url}/v2/rpc/31337", case["method"], params, 1)
    assert (status, answer["error"]["code"]) == (200, -32601)


@in_one_loop
async def test_all_of_them_in_batches(served, names):
    url = f"{served.url}/v2/rpc/31337"
    calls = [
        {"jsonrpc": "2.0", "id": n, "method": method, "params": filled(case["params"], names)}
        for n, (method, case) in enumerate(CASES)
    ]
    for first in range(0, len(calls), 100):
        batch = calls[first : first + 100]
        async with served.session.post(url, json=batch) as answer:
            together = await answer.json()
        assert [each["id"] for each in together] == [each["id"] for each in batch]
        for call, answered in zip(batch, together, strict=True):
            _, alone = await ask(served.session, url, call["method"], call["params"], call["id"])
            assert answered.get("result") == alone.get("result")
            assert answered.get("error", {}).get("code") == alone.get("error", {}).get("code")
