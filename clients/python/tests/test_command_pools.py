"""``quoteway pools``: what a person sees of lists of pools, of refusals and of hostile answers."""

import json
import time

import httpx
import pytest
from bad_gateways import BadServer, answer, refusal
from command_room import on_a_terminal, told

HOSTILE = "US\x1b[2J\u202eDC\r\nquoteway: paid\u0421\u200b\x9b31m"
ADDRESS = "0x" + "11" * 20


@pytest.fixture
def listed(chain):
    """Waits until the pools are read, and valued: both are done in the background after the start."""
    ends_at = time.monotonic() + 120
    while True:
        rows = httpx.get(f"{chain.url}/v2/pools", params={"network": "devnet", "limit": 200}).json()["data"]
        if any(row["tvlUsd"] for row in rows):
            return rows
        assert time.monotonic() < ends_at
        time.sleep(0.2)


def test_pools_of_a_token_have_their_fee_and_value(chain, listed):
    done = told("pools", "USDC", "--network", "devnet", "--url", chain.url, "--limit", "200")
    assert done.exit_code == 0, done.stderr
    headings, *rows = done.stdout.splitlines()
    assert headings.split("  ")[0] == "PAIR"
    expected = [row for row in listed if chain.token("USDC") in {token["address"] for token in row["tokens"]}]
    assert len(rows) == len(expected) > 2
    for row in expected:
        (line,) = (line for line in rows if row["id"] in line)
        assert row["pair"] in line
        assert row["protocol"] in line


def test_the_protocol_the_order_and_the_number_are_chosen(chain, listed):
    words = ("pools", "--network", "devnet", "--protocol", "uniswap-v3", "--url", chain.url, "--limit", "1")
    done = told(*words)
    assert done.exit_code == 0, done.stderr
    _, row, note = done.stdout.splitlines()
    assert "uniswap-v3" in row
    assert note.startswith("the first 1 ")
    assert told(*words, "--sort", "volume").exit_code == 0
    for wrong in (("--sort", "size"), ("--limit", "0"), ("--limit", "many")):
        assert told("pools", *wrong, "--url", chain.url).exit_code == 2


def test_a_terminal_of_80_columns_is_enough(chain, listed):
    printed = on_a_terminal("pools", "USDC", "--network", "devnet", "--url", chain.url)
    assert max(map(len, printed.splitlines())) <= 80
    assert "uniswap-v3" in printed


def test_the_json_of_pools_is_the_answer_of_the_api(chain, listed):
    done = told("pools", "USDC", "--network", "devnet", "--url", chain.url, "--json")
    assert {row["id"] for row in json.loads(done.stdout)["data"]} <= {row["id"] for row in listed}
    assert done.stdout.startswith('{"data":[{"id":"31337:')


def test_what_cannot_be_listed_is_refused_in_one_line(chain):
    for words in (("--network", "nowhere"), ("--protocol", "uniswap-v9")):
        done = told("pools", *words, "--url", chain.url)
        assert (done.exit_code, done.stdout) == (1, ""), words
        assert len(done.stderr.splitlines()) == 1
    assert told("pools", "--url", "http://127.0.0.1:1").exit_code == 3
    done = told("pools", "NOPE", "--network", "devnet", "--url", chain.url)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "no pool is listed")


def page_of(**more):
    token = {"address": ADDRESS, "chainId": 1, "network": "x", "symbol": HOSTILE, "name": HOSTILE}
    token |= {"decimals": 18, "isNative": False, "logoUri": None, "priceUsd": None}
    row = {"id": f"1:{HOSTILE}", "network": HOSTILE, "chainId": 1, "protocol": HOSTILE, "kind": "v3"}
    row |= {"address": ADDRESS, "pair": HOSTILE, "tokens": [token, token], "feeBps": None, "tvlUsd": None}
    row |= {"apr": None, "volume24hUsd": 1e300, "fees24hUsd": None, "hooks": ADDRESS, "actions": []}
    row |= {"preview": True, "source": HOSTILE, "updatedAt": "2026-11-28T00:00:00Z"}
    page = {"data": [row], "partial": [{"provider": HOSTILE, "reason": HOSTILE}], "nextCursor": None}
    return page | {"total": 1, "preview": False, "updatedAt": "2026-11-28T00:00:00Z"} | more


def test_names_of_pools_by_strangers_are_harmless():
    with BadServer(answer(page_of())).running() as server:
        done = told("pools", "--url", server.url)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.replace("\n", "").isascii()
    assert done.stdout.replace("\n", "").isprintable()
    _, row, missing = done.stdout.splitlines()
    assert "\\x1b[2J\\u202e" in row
    assert row.endswith(", uses hooks, a preview")
    assert missing.startswith("missing        pools of US")


def test_an_empty_list_and_a_gateway_that_fails_are_told():
    with BadServer(answer(page_of(data=[], partial=[], total=0))).running() as server:
        done = told("pools", "--url", server.url)
    assert (done.exit_code, done.stdout) == (0, "no pool is listed\n")
    with BadServer(refusal(503, "provider_unavailable", "capability_disabled")).running() as server:
        done = told("pools", "--url", server.url)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "capability_disabled" in done.stderr
