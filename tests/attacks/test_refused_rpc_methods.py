"""Attack: a method that sends, signs or changes the node, spelled so that the gateway reads another one.

Behind the JSON-RPC proxy is a real node with unlocked accounts, and the transaction that is smuggled in is
signed by a funded key: what got through would be mined. The node must never be asked.
"""

import json

import pytest
import pytest_asyncio
from cheating import THIEF
from direct_client import OTHER, USER, client_of
from eth_account import Account
from quoteway_devnet.accounts import ACCOUNTS

pytestmark = pytest.mark.asyncio(loop_scope="module")
SIGNER = ACCOUNTS[5]
CALL = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
JSON = {"Content-Type": "application/json"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(devnet):
    with devnet.restored():
        async with client_of(devnet, 0.0) as client:
            yield client


@pytest.fixture(autouse=True)
def nothing_happens(client):
    """No transaction is mined, and the node is asked for nothing that is not a read."""

    def state():
        with client.devnet.rpc() as rpc:
            accounts = (SIGNER.address, USER, OTHER)
            return [rpc("eth_getTransactionCount", each, "pending") for each in accounts], rpc(
                "eth_blockNumber"
            )

    before = state()
    client.node.asked.clear()
    yield
    assert state() == before
    reads = {
        "eth_blockNumber",
        "eth_call",
        "eth_chainId",
        "eth_getBlockByNumber",
        "eth_getCode",
        "eth_getLogs",
    }
    assert set(client.node.asked) <= reads


@pytest.fixture
def signed():
    """A transaction that any node would mine."""
    fees = {"gas": 21_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 1, "chainId": 31337, "type": 2}
    sent = Account.sign_transaction({"to": THIEF, "value": 10**18, "nonce": 0, **fees}, SIGNER.private_key)
    return "0x" + bytes(sent.raw_transaction).hex()


async def post(client, raw, headers=JSON):
    url = f"{client.api.url}/v2/rpc/31337"
    async with client.api.session.post(url, data=raw, headers=headers) as answer:
        return answer.status, await answer.json()


SPELLINGS = [
    "eth_sendRawTransaction",
    "ETH_SENDRAWTRANSACTION",
    "eth_sendrawtransaction",
    "eth_sendRawTransaction ",
    " eth_sendRawTransaction",
    "eth_sendRawTransaction\n",
    "eth_sendRawTransaction\0",
    "eth_call\0eth_sendRawTransaction",
    "eth_call,eth_sendRawTransaction",
    "eth\u200b_sendRawTransaction",
    "eth\uff3fsendRawTransaction",
    "\u0435th_sendRawTransaction",
    "eth_sendRawTransaction\u202e",
    "",
    "x" * 65,
    "eth_call" + "A" * 100_000,
]


@pytest.mark.parametrize("method", SPELLINGS, ids=lambda text: ascii(text)[:40])
async def test_another_spelling(client, signed, method):
    for encode_ascii in (True, False):  # with and without \u escapes
        body = json.dumps({**CALL, "method": method, "params": [signed]}, ensure_ascii=encode_ascii)
        status, answer = await post(client, body.encode())
        assert status == 200, answer
        assert (answer["id"], answer["error"]["code"]) == (1, -32601)
        assert len(answer["error"]["message"]) < 120
        assert answer["error"]["message"].isascii()
        assert answer["error"]["message"].isprintable()


def whole(method, params):
    return json.dumps({**CALL, "method": method, "params": params})


def bodies(signed):
    send, read = whole("eth_sendRawTransaction", [signed]), whole("eth_blockNumber", [])
    params = f'"params":["{signed}"]'
    return {
        "an escape for the underscore": send.replace("eth_", "eth\\u005f"),
        "every letter an escape": send.replace(
            "eth_sendRawTransaction", "".join(f"\\u{ord(each):04x}" for each in "eth_sendRawTransaction")
        ),
        "the method twice, the refused one last": f'{{"method":"eth_call",{send[1:]}',
        "the method twice in another case": f'{{"METHOD":"eth_sendRawTransaction",{read[1:]}',
        "the method twice with an escape": f'{{"m\\u0065thod":"eth_call",{send[1:]}',
        "the method twice behind a NUL": f'{{"method\\u0000":"eth_sendRawTransaction",{read[1:]}',
        "the method twice with a space": f'{{" method":"eth_sendRawTransaction",{read[1:]}',
        "a batch": f"[{send}]",
        "a batch with two": f"[{send},{send}]",
        "a nested batch": f"[[{send}]]",
        "a method that is a list": read.replace('"eth_blockNumber"', '["eth_sendRawTransaction"]'),
        "a method that is an object": read.replace('"eth_blockNumber"', send),
        "a call in the parameters' place": read.replace("[]", send),
        "a second document": read + send,
        "a second document in a new line": f"{read}\n{send}",
        "a comment": read[:-1] + "/**/," + params + "}",
        "a byte order mark": "\ufeff" + send,
        "a raw NUL": send.replace("eth_send", "eth_\0send"),
        "a trailing NUL": read + "\0" + send,
    }


@pytest.mark.parametrize("case", bodies("0x"))
async def test_a_body_that_two_readers_read_differently(client, signed, case):
    status, answer = await post(client, bodies(signed)[case].encode())
    if status == 200:  # JSON-RPC, so the refusal is too
        for each in answer if isinstance(answer, list) else [answer]:
            assert each["error"]["code"] in (-32600, -32601, -32602), answer
    else:
        assert status == 400, answer
        assert set(answer) == {"error"}


async def test_a_read_beside_a_refused_call_of_a_batch(client, signed):
    """The control: only the read is answered."""
    batch = f"[{whole('eth_blockNumber', [])},{whole('eth_sendRawTransaction', [signed])}]"
    status, (read, refused) = await post(client, batch.encode())
    assert (status, set(read), refused["error"]["code"]) == (200, {"jsonrpc", "id", "result"}, -32601)


async def test_other_encodings_of_the_body(client, signed):
    send = whole("eth_sendRawTransaction", [signed])
    for raw, headers in (
        (send.encode("utf-16"), JSON),
        (send.encode("utf-32"), JSON),
        (send.encode().replace(b"eth_", b"eth\xff_"), JSON),
        (send.encode("utf-16"), {"Content-Type": "application/json; charset=utf-16"}),
        (send.encode("utf-7"), {"Content-Type": "application/json; charset=utf-7"}),
        (send.encode(), {"Content-Type": "text/plain"}),
    ):
        status, answer = await post(client, raw, headers)
        assert status in (400, 415, 422), answer


async def test_a_method_of_a_megabyte(client):
    status, answer = await post(client, whole("A" * 1_000_000, []).encode())
    assert (status, answer["error"]["code"]) == (413, "invalid_request")


METHODS = {
    "eth_sendTransaction": [{"from": USER, "to": THIEF, "value": "0x1"}],
    "eth_sign": [USER, "0x12"],
    "eth_signTransaction": [{"from": USER, "to": THIEF, "value": "0x1"}],
    "eth_signTypedData_v4": [USER, {}],
    "eth_accounts": [],
    "eth_coinbase": [],
    "personal_listAccounts": [],
    "anvil_setBalance": [THIEF, "0xffff"],
    "anvil_impersonateAccount": [USER],
    "hardhat_setCode": [THIEF, "0x00"],
    "evm_mine": [],
    "evm_snapshot": [],
    "debug_traceCall": [{"to": THIEF}, "latest", {}],
    "trace_block": ["latest"],
    "txpool_content": [],
    "admin_peers": [],
    "miner_stop": [],
    "engine_getPayloadV3": ["0x1"],
    "eth_newPendingTransactionFilter": [],
    "eth_subscribe": ["newHeads"],
    "eth_submitWork": [],
    "eth_sendBundle": [{}],
    "wallet_sendCalls": [{}],
    "constructor": [],
    "__class__": [],
}


@pytest.mark.parametrize("method", METHODS)
async def test_a_method_that_is_no_read(client, method):
    status, answer = await post(client, whole(method, METHODS[method]).encode())
    assert status == 200
    assert answer["error"]["code"] == -32601
    assert answer["error"]["data"]["reason"] == "method_not_allowed"
    assert not client.node.asked[method]


async def test_the_node_is_asked_for_what_the_gateway_has_read(client):
    """The control: an escape in an allowed name is the name, and the client's bytes are not passed on."""
    status, answer = await post(client, whole("eth_blockNumber", []).replace("_", "\\u005f").encode())
    assert (status, set(answer)) == (200, {"jsonrpc", "id", "result"})
    assert client.node.asked["eth_blockNumber"] == 1
    twice = whole("eth_blockNumber", []).replace('"method"', '"method":"eth_sendRawTransaction","method"')
    assert (await post(client, twice.encode()))[0] == 200
    assert client.node.asked["eth_blockNumber"] == 2
