"""``quoteway price``: what a person sees of prices, of refusals and of hostile answers."""

import json

import httpx
import pytest
from bad_gateways import BadServer, answer, refusal
from command_room import on_a_terminal, told


def test_prices_have_their_source_and_age(chain):
    done = told("price", "ETH", "USDC", "--network", "devnet", "--url", chain.url)
    assert done.exit_code == 0, done.stderr
    headings, ether, dollar = done.stdout.splitlines()
    assert headings.split() == ["TOKEN", "ADDRESS", "USD", "AGE", "SOURCES"]
    assert "uniswap" in ether
    assert chain.token("USDC") in dollar
    assert " 1.00 " in dollar


def test_a_terminal_of_80_columns_is_enough(chain):
    printed = on_a_terminal("price", "ETH", "USDC", "--network", "devnet", "--url", chain.url)
    assert max(map(len, printed.splitlines())) <= 80
    assert chain.token("USDC") in printed


def test_json_is_the_answer_of_the_api(chain):
    done = told("price", "ETH", "USDC", "--network", "devnet", "--url", chain.url, "--json")
    asked = httpx.get(f"{chain.url}/v2/prices", params={"network": "devnet", "tokens": "ETH,USDC"}).json()
    told_rows = json.loads(done.stdout)["data"]
    assert [row["token"] for row in told_rows] == [row["token"] for row in asked["data"]]
    assert done.stdout.startswith('{"data":[{"network":"devnet"')


def test_an_unknown_symbol_is_refused_in_one_line(chain):
    done = told("price", "NOPE", "--network", "devnet", "--url", chain.url)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert "unsupported_token" in line
    assert done.stdout == ""


def test_what_is_no_token_is_named(chain):
    done = told("price", "0x" + "11" * 20, "--network", "devnet", "--url", chain.url)
    assert done.exit_code == 0
    assert "not shown (no_token)" in done.stdout


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("http://127.0.0.1:1", 3, "Check --url"),
        ("ftp://gateway.example", 2, "must be an address"),
        ("http://user:secret@gateway.example", 2, "without user and password"),
    ],
    ids=["nobody listens", "no HTTP", "password"],
)
def test_an_address_that_cannot_be_asked(url, code, said):
    done = told("price", "ETH", "--network", "devnet", "--url", url)
    assert (done.exit_code, "secret" in done.stderr) == (code, False)
    assert said in done.stderr


def test_a_bad_key_is_not_shown():
    done = told("price", "ETH", "--network", "x", QUOTEWAY_API_KEY="sécret")
    assert done.exit_code == 2
    assert "QUOTEWAY_API_KEY" in done.stderr
    assert "cret" not in done.stderr


def test_the_key_of_the_environment_is_sent():
    with BadServer(refusal(401, "unauthorized", "unknown_key")).running() as server:
        done = told("price", "ETH", "--network", "x", "--url", server.url, QUOTEWAY_API_KEY="k-1")
    assert done.exit_code == 1
    assert b"Authorization: Bearer k-1" in server.requests[0].replace(b"authorization", b"Authorization")
    assert "unauthorized, unknown_key" in done.stderr


HOSTILE = "US\x1b[2J\u202eDC\r\nquoteway: paid\u0421\u200b\x9b31m"


def hostile_prices():
    token = {"address": "0x" + "11" * 20, "chainId": 1, "network": "x", "symbol": HOSTILE, "name": HOSTILE}
    token |= {"decimals": 18, "isNative": False, "logoUri": None, "priceUsd": None}
    row = {"network": "x", "chainId": 1, "token": token, "priceUsd": 1e300, "confidence": None}
    row |= {"liquidityUsd": None, "sources": [HOSTILE], "anchored": False, "moved1hPct": None}
    row |= {"warnings": [{"code": HOSTILE, "message": HOSTILE}], "asOfBlock": None}
    return {"data": [row], "partial": [{"chainId": 1, "token": HOSTILE, "reason": HOSTILE}]}


def test_text_of_strangers_is_harmless():
    with BadServer(answer(hostile_prices())).running() as server:
        done = told("price", "ETH", "--network", "x", "--url", server.url)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.replace("\n", "").isascii()
    assert done.stdout.replace("\n", "").isprintable()
    assert len(done.stdout.splitlines()) == 4
    assert "\\x1b[2J\\u202e" in done.stdout


def test_text_of_a_refusal_is_harmless():
    body = {"error": {"code": "upstream_error", "message": HOSTILE, "requestId": "r", "details": {}}}
    body["error"]["details"] = {"reason": HOSTILE, "attempts": [{"provider": HOSTILE, "outcome": HOSTILE}, 1]}
    with BadServer(answer(body, 502)).running() as server:
        done = told("price", "ETH", "--network", "x", "--url", server.url)
    assert done.exit_code == 1
    assert done.stderr.replace("\n", "").isprintable()
    assert len(done.stderr.splitlines()) == 2


NAMED = (("11", "A"), ("22", None))


def test_an_ambiguous_symbol_lists_the_candidates():
    rows = [
        {"address": "0x" + pair * 20, "id": "a", "name": name} for pair, name in (("11", "A"), ("22", None))
    ]
    field = {"path": "tokens", "reason": "ambiguous_token", "message": "Two tokens.", "candidates": rows}
    with BadServer(refusal(422, "validation_error", fields=[field])).running() as server:
        done = told("price", "DAI", "--network", "x", "--url", server.url)
    assert done.exit_code == 4
    first, *listed = done.stderr.splitlines()
    assert "Two tokens." in first
    assert listed == [f"  0x{'11' * 20}  A", f"  0x{'22' * 20}"]


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"data": 1}'], ids=["page", "list", "other"])
def test_what_is_no_gateway_is_said(content):
    with BadServer(answer(content)).running() as server:
        done = told("price", "ETH", "--network", "x", "--url", server.url)
    assert done.exit_code == 3
    assert len(done.stderr.splitlines()) == 1
