"""``quoteway follow``: what a person sees of a transaction and of a transfer, until each is over."""

import json
import time

import pytest
from bad_gateways import BadServer, answer, refusal
from command_room import on_a_terminal, told
from quoteway_client import Quoteway
from quoteway_client.acting import act_bridge, act_swap

HASH = "0x" + "ab" * 32
HOSTILE = "US\x1b[2J\u202eDC\r\nquoteway: paid\u0421\u200b\x9b31m"


def saved(tmp_path, **more):
    """A file with what a command needs of an action."""
    action = {"chainId": 1, "steps": [{"txId": "first"}, {"txId": "last"}], "outputs": []} | more
    path = tmp_path / "action.json"
    path.write_text(json.dumps(action))
    return path


def sent(chain, tmp_path, noun, **body):
    """Signs and sends the action of a quote. Returns its file, and what was sent."""
    act = {"swaps": act_swap, "bridges": act_bridge}[noun]
    with Quoteway(chain.url) as client:
        quote = getattr(client, noun).quote(**{"address": chain.account.address} | body)
        answered = client.run(client.gateway.answered(act(quote)))
        done = client.send(answered.model, chain.account, quote=quote, rpc_url=chain.node_url)
    path = tmp_path / "action.json"
    path.write_bytes(answered.content)  # as `swap --out` does
    return path, done


@pytest.mark.slow
def test_a_swap_is_followed_into_its_block(chain, tmp_path):
    path, done = sent(chain, tmp_path, "swaps", **chain.swap())
    words = ("follow", path, done.hash, "--url", chain.url, "--poll", "0.1")
    found = told(*words)
    assert found.exit_code == 0, found.stderr
    lines = found.stdout.splitlines()
    assert "transaction    confirmed" in lines
    assert f"block          {done.transactions[-1].block_number}" in lines
    assert "received       0 % beside the quote" in lines
    as_json_ = told(*words, "--json")
    assert json.loads(as_json_.stdout)["status"] == "confirmed"
    assert max(map(len, on_a_terminal(*words).splitlines())) <= 80


@pytest.mark.slow
def test_a_transfer_is_followed_until_it_has_arrived(chain, tmp_path):
    tokens = {"from_token": chain.token("USDC"), "to_token": chain.token("USDC", "devnet-l2")}
    ends = {"from_chain": "devnet", "to_chain": "devnet-l2"}
    path, done = sent(chain, tmp_path, "bridges", amount=10**8, **tokens, **ends)
    found = told("follow", path, done.hash, "--url", chain.url, "--poll", "0.1", "--timeout", "120")
    assert found.exit_code == 0, (found.stdout, found.stderr)
    assert "transfer       filled" in found.stdout
    assert "\narrived        0x" in found.stdout


@pytest.mark.slow
def test_another_transaction_than_the_one_of_the_action_is_told(chain, tmp_path):
    path, done = sent(chain, tmp_path, "swaps", **chain.swap())
    found = told("follow", path, done.transactions[0].hash, "--url", chain.url)
    assert found.exit_code == 5, found.stdout
    assert "another transaction than the one that was built" in found.stdout
    assert "differs        data: 0x" in found.stdout


def report(**more):
    found = {"txId": "last", "hash": HASH, "chainId": 1, "match": "match", "differences": []}
    return found | {"status": "confirmed", "blockNumber": 7, "confirmations": 1, "realized": None} | more


def test_a_transaction_that_reverted_is_told(tmp_path):
    with BadServer(answer(report(status="reverted"))).running() as server:
        found = told("follow", saved(tmp_path), HASH, "--url", server.url)
    assert found.exit_code == 6
    assert found.stdout.startswith("transaction    reverted\n")
    assert b"/v2/transactions/last/submit-hash" in server.requests[0]


def test_what_is_not_over_in_time_is_told(tmp_path):
    unknown = report(status="unknown", match="not_found", blockNumber=None)
    with BadServer(answer(unknown)).running() as server:
        began = time.monotonic()
        found = told(
            "follow", saved(tmp_path), HASH, "--url", server.url, "--timeout", "0.3", "--poll", "0.1"
        )
    assert found.exit_code == 7
    assert "unknown after 0.3 s: follow it again" in found.stderr
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no JSON",
        b"[]",
        b'{"chainId": 1}',
        b'{"chainId": 1, "steps": []}',
        b"\xff" * 10,
        b" " * 4_194_305,
    ],
    ids=["empty", "text", "list", "no steps", "none", "bytes", "long"],
)
def test_a_file_without_an_action_is_refused(tmp_path, content):
    path = tmp_path / "action.json"
    path.write_bytes(content)
    found = told("follow", path, HASH, "--url", "http://127.0.0.1:1")
    assert (found.exit_code, found.stdout) == (2, "")
    assert len(found.stderr.splitlines()) == 1
    assert told("follow", tmp_path / "none.json", HASH).exit_code == 2


def test_text_of_strangers_about_a_transaction_is_harmless(tmp_path):
    difference = {"member": HOSTILE, "expected": HOSTILE, "actual": None}
    hostile = report(match="mismatch", status=HOSTILE, differences=[difference])
    with BadServer(answer(hostile)).running() as server:
        found = told("follow", saved(tmp_path), HASH, "--url", server.url)
    assert found.exit_code == 5
    assert found.stdout.replace("\n", "").isascii()
    assert found.stdout.replace("\n", "").isprintable()
    with BadServer(refusal(404, "not_found", "unknown_id")).running() as server:
        found = told("follow", saved(tmp_path), HASH, "--url", server.url)
    assert (found.exit_code, found.stdout) == (1, "")
    assert told("follow", saved(tmp_path), HASH, "--url", "http://127.0.0.1:1").exit_code == 3
