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
    return (
        found
        | {"status": "confirmed", "blockNumber": 7, "blockHash": HASH}
        | {"confirmations": 1, "realized": None}
        | more
    )


def test_a_transaction_that_reverted_is_told(tmp_path):
    with BadServer(answer(report(status="reverted"))).running() as server:
        found = told("follow", saved(tmp_path), HASH, "--url", server.url)
    assert found.exit_code == 6
    assert found.stdout.startswith("transaction    reverted\n")
    assert b"/v2/transactions/last/submit-hash" in server.requests[0]


def test_what_is_not_over_in_time_is_told(tmp_path):
    unknown = report(status="unknown", match="not_found", blockNumber=None, blockHash=None)
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


# --- live answers -------------------------------------------------------------------------------------------


def stream_of(*events):
    from test_client_stream import COMPLETE, OPEN, event

    return OPEN + b"".join(event(name, data, f"p-{at}") for at, (name, data) in enumerate(events)) + COMPLETE


def test_heads_and_quotes_are_followed_until_they_end(tmp_path):
    from test_client_stream import HEAD, StreamServer

    usdc = {"address": "0x" + "11" * 20, "chainId": 1, "network": "one", "decimals": 6, "isNative": False}
    token = usdc | {"symbol": "USDC", "name": None, "logoUri": None, "priceUsd": None, "listed": True}
    now = {"fromToken": token, "toToken": token, "fromAmount": "1000000", "toAmount": "2500000"}
    better = {"quoteId": "q", "change": "improved", "quote": now}
    failure = {"topic": "heads", "item": "two", "error": {"code": "upstream_error", "message": "Down."}}
    events = [("head", HEAD), ("quote", better), ("failure", failure), ("lost", {"reason": "too_old"})]
    path = tmp_path / "quote.json"
    path.write_text(json.dumps({"quoteId": "saved-id"}))
    with StreamServer(stream_of(*events, ("new", {}))) as server:
        words = ("follow", "--head", "one", "--quote", path, "--quote", "other-id", "--url", server.url)
        found = told(*words)
        as_json_ = told(*words, "--json", "--count", "2")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines() == [
        "head           one 7 0x12 1970-01-01 00:00:00 UTC",
        "quote          improved: 1 USDC for 2.5 USDC",
        "not known      heads two: Down.",
        "lost           events were missed: the present states follow",
    ]
    assert "heads=one&quotes=saved-id%2Cother-id" in server.requests[0]
    lines = [json.loads(line) for line in as_json_.stdout.splitlines()]
    assert lines == [
        {"event": "head", "id": "p-0", "data": HEAD},
        {"event": "quote", "id": "p-1", "data": better},
    ]


def test_live_answers_end_in_time_and_wrong_use_is_told(tmp_path):
    from test_client_stream import HEAD, OPEN, StreamServer, event

    with StreamServer(OPEN + event("head", HEAD, "p-1")) as server:
        began = time.monotonic()
        found = told("follow", "--head", "one", "--url", server.url, "--timeout", "0.5")
    assert (found.exit_code, len(found.stdout.splitlines()) >= 1) == (0, True)
    assert time.monotonic() - began < 60
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    for words in ((), ("x",), ("--head", "one", "x", HASH), ("--quote", bad), ("x", HASH, "--count", "1")):
        found = told("follow", *words, "--url", "http://127.0.0.1:1")
        assert (found.exit_code, found.stdout) == (2, ""), words
    assert told("follow", "--head", "one", "--url", "http://127.0.0.1:1").exit_code == 3
    with StreamServer(stream_of(("head", {"network": HOSTILE, "block": {"number": "x"}}))) as server:
        assert told("follow", "--head", "one", "--url", server.url).exit_code == 3
    hostile = {"network": HOSTILE, "block": {"number": 1, "hash": HOSTILE, "timestamp": 10**18}}
    with StreamServer(stream_of(("head", hostile), ("failure", {"topic": HOSTILE, "item": []}))) as server:
        found = told("follow", "--head", "one", "--url", server.url)
    assert found.exit_code == 0, found.stderr
    assert found.stdout.replace("\n", "").isascii()
    assert found.stdout.replace("\n", "").isprintable()


@pytest.mark.slow
def test_blocks_and_a_quote_of_the_real_gateway_are_followed(chain, tmp_path):
    path = tmp_path / "quote.json"
    with Quoteway(chain.url) as client:
        from quoteway_client.operations.swaps import create_swap_quote

        call = create_swap_quote(**chain.swap())
        path.write_bytes(client.run(client.gateway.answered(call)).content)
    found = told("follow", "--head", "devnet", "--quote", path, "--count", "2", "--url", chain.url)
    assert found.exit_code == 0, found.stderr
    assert sorted(line.split()[0] for line in found.stdout.splitlines()) == ["head", "quote"]
