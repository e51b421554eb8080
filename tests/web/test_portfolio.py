"""A wallet's balances on the devnet: read together at one block, isolated, valued where a price is known."""

import time
from dataclasses import replace

import pytest
from portfolio_gateway import WALLET, address
from quoteway.evm.holdings import TokenBalance, scan_balances
from quoteway.models import NATIVE, Token
from quoteway.web.resources.wallet_reads import fair_shares

# Four bytes of calldata (decimals) give 6; more (balanceOf) gives the last two bytes of its own address.
STUB = "0x36600414601457" + "61ffff301660005260206000f3" + "5b600660005260206000f3"
REVERTS = "0x60006000fd"
BURNS = "0x5b600056"
SHORT = "0x60106000f3"
LONG = "0x6120006000f3"  # 8 kB of zeros where a word belongs
HUGE = "0x3660041460125760001960005260206000f35b604d60005260206000f3"  # 2^256-1 of a token with 77 decimals
UNITLESS = "0x36600414601157600560005260206000f35b60006000fd"  # decimals() reverts


def rows(body):
    return {row["token"]["address"]: row for row in body["data"]}


async def test_balances_are_the_chains_own_at_one_block(serve_app, portfolio, contract):
    weth, usdc = portfolio.token("WETH").address, portfolio.token("USDC").address
    api = await portfolio.serve(serve_app, usd={weth: 3500.0})
    answer = await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={weth},{usdc}")
    body = contract.check("getPortfolioBalances", answer)
    assert answer.headers["Cache-Control"] == "no-store"
    found = rows(body)
    assert list(found) == [NATIVE, weth, usdc]
    with portfolio.devnet.rpc() as rpc:
        tag = hex(body["asOf"][0]["block"])
        assert found[NATIVE]["amount"] == str(int(rpc("eth_getBalance", WALLET, tag), 16))
        for token in (weth, usdc):
            data = "0x70a08231" + WALLET[2:].lower().zfill(64)
            assert found[token]["amount"] == str(int(rpc("eth_call", {"to": token, "data": data}, tag), 16))
    assert found[usdc]["token"]["symbol"] == "USDC"
    assert found[usdc]["amountFormatted"] == "100000000"
    # Wrapped and native coin have one price; the token without one has no value and adds none.
    assert found[NATIVE]["token"]["priceUsd"] == found[weth]["token"]["priceUsd"] == 3500.0
    assert found[NATIVE]["valueUsd"] == int(found[NATIVE]["amount"]) / 10**18 * 3500.0
    assert found[usdc]["valueUsd"] is found[usdc]["token"]["priceUsd"] is None
    assert body["totalUsd"] == found[NATIVE]["valueUsd"] + found[weth]["valueUsd"]
    assert body["partial"] == []


async def test_native_is_included_unless_declined_and_where_it_is_listed(serve_app, portfolio):
    api = await portfolio.serve(serve_app)
    usdc = portfolio.token("USDC").address
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet"
    for query, expected in (
        (f"&tokens={usdc}", True),
        (f"&tokens={usdc}&includeNative=false", False),
        (f"&tokens={usdc},{NATIVE}&includeNative=false", True),
        (f"&tokens={usdc},native&includeNative=false", True),
        ("&includeNative=false", False),
    ):
        assert (NATIVE in rows((await api.get(path + query)).body)) is expected, query


async def test_without_tokens_those_of_the_catalog_that_are_held_are_shown(serve_app, portfolio):
    api = await portfolio.serve(serve_app)
    everywhere = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}")).body
    assert {row["chainId"] for row in everywhere["data"]} == {31337, 31338}
    assert {row["chainId"] for row in everywhere["asOf"]} == {31337, 31338}
    stranger = (await api.get(f"/v2/portfolio/balances?wallet={address(1)}&network=devnet")).body
    assert [(row["token"]["isNative"], row["amount"]) for row in stranger["data"]] == [(True, "0")]
    usdc = portfolio.token("USDC").address
    path = f"/v2/portfolio/balances?wallet={address(1)}&network=devnet&includeNative=false&tokens={usdc}"
    assert (await api.get(path)).body["data"][0]["amount"] == "0"


async def test_bad_tokens_cost_their_own_line(serve_app, portfolio, contract):
    bad = {address(n): code for n, code in enumerate((REVERTS, BURNS, SHORT, UNITLESS, "0x"), 0x100)}
    odd = {address(0x200): HUGE, address(0x201): LONG}
    for at, code in (bad | odd).items():
        if code != "0x":
            portfolio.put(code, at)
    usdc = portfolio.token("USDC").address
    api = await portfolio.serve(serve_app)
    asked = [*bad, usdc, *odd]
    answer = await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={','.join(asked)}")
    body = contract.check("getPortfolioBalances", answer)
    assert {row["token"]: row["reason"] for row in body["partial"]} == dict(
        zip(bad, ("call_failed", "call_failed", "short_answer", "no_token", "no_token"), strict=True)
    )
    found = rows(body)
    assert found[usdc]["amount"] == "100000000000000"
    huge = found[address(0x200)]
    assert (huge["amount"], huge["token"]["decimals"]) == (str(2**256 - 1), 77)
    assert huge["amountFormatted"].startswith("1.15792")
    assert (found[address(0x201)]["amount"], found[address(0x201)]["token"]["decimals"]) == ("0", 0)


async def test_a_hundred_gas_burners_are_read_around(portfolio, serve_app):
    """What one call's gas does not suffice for is asked for in the next."""
    burners = [address(0x1000 + n) for n in range(100)]
    portfolio.put(BURNS, *burners)
    api = await portfolio.serve(serve_app)
    chain = api.gateway.runtime.chains[31337]
    usdc = portfolio.token("USDC").address
    scan = await scan_balances(chain, WALLET, [*burners, usdc], await chain.head())
    assert scan.tokens[:100] == ("call_failed",) * 100
    assert scan.tokens[100] == TokenBalance(100_000_000 * 10**6, 6)


@pytest.mark.slow
async def test_a_thousand_balances_in_two_calls(portfolio, serve_app, make_config):
    stubs = [address(0x2000 + n) for n in range(1000)]
    portfolio.put(STUB, *stubs)
    api = await portfolio.serve(serve_app, config=make_config(max_line_bytes=65_536))
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={','.join(stubs)}"
    took, worked = [], []
    for _ in range(15):
        portfolio.rpc.seen.clear()
        started, busy = time.perf_counter(), time.process_time()
        answer = await api.get(path)
        took.append(time.perf_counter() - started)
        worked.append(time.process_time() - busy)
        assert len(portfolio.rpc.seen) <= 2
        assert {row["token"]["address"]: row["amount"] for row in answer.body["data"][1:]} == {
            stub: str(int(stub[-4:], 16)) for stub in stubs
        }
    assert all(row["token"]["decimals"] == 6 for row in answer.body["data"][1:])
    p50, cpu = (sorted(times)[7] * 1000 for times in (took, worked))
    print(f"1,000 balances: p50 {p50:.1f} ms, of which {cpu:.1f} ms are work of client and server")


async def test_a_long_catalog_is_cut_and_says_so(portfolio, serve_app):
    stubs = [address(0x2000 + n) for n in range(1100)]
    portfolio.put(STUB, *stubs)
    listed = [Token(31337, stub, 6, f"S{n}") for n, stub in enumerate(stubs)]
    api = await portfolio.serve(serve_app, listed=listed)
    body = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}")).body
    assert {"chainId": 31337, "token": None, "reason": "token_limit"} in body["partial"]
    one = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet")).body
    assert one["partial"] == [{"chainId": 31337, "token": None, "reason": "token_limit"}]
    assert len(one["data"]) == 1001
    assert one["data"][1]["token"]["symbol"] == "S0"


def test_networks_with_short_lists_leave_their_share_to_the_others():
    assert fair_shares({1: 5, 2: 2000, 3: 100}) == {1: 5, 2: 895, 3: 100}
    assert fair_shares({1: 2000, 2: 2000}) == {1: 500, 2: 500}
    assert fair_shares({1: 0}) == {1: 0}


async def test_unlisted_tokens_are_named_in_the_same_round_and_remembered(portfolio, serve_app):
    api = await portfolio.serve(serve_app, listed=("WETH",))
    usdc = portfolio.token("USDC").address
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={usdc}"
    for calls in (2, 1):
        portfolio.rpc.seen.clear()
        assert rows((await api.get(path)).body)[usdc]["token"]["symbol"] == "USDC"
        assert len(portfolio.rpc.seen) == calls


async def test_the_contract_has_the_last_word_on_decimals(portfolio, serve_app):
    wrong = replace(portfolio.token("USDC"), decimals=18)
    api = await portfolio.serve(serve_app, listed=(wrong,))
    body = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet")).body
    assert rows(body)[wrong.address]["amountFormatted"] == "100000000"


async def test_a_network_that_fails_is_named_and_the_others_are_served(
    portfolio, serve_app, contract, refused
):
    api = await portfolio.serve(serve_app)
    await api.gateway.runtime.chains[31338].close()
    portfolio.rpc.dead.add("devnet-l2")
    answer = await api.get(f"/v2/portfolio/balances?wallet={WALLET}")
    body = contract.check("getPortfolioBalances", answer)
    assert answer.status == 200
    assert [row["chainId"] for row in body["partial"]] == [31338]
    assert {row["chainId"] for row in body["data"]} == {31337}
    # Nothing read at all is no empty wallet.
    refused(await api.get(f"/v2/portfolio/balances?wallet={WALLET}&network=devnet-l2"), 502, "upstream_error")


async def test_an_address_without_network_is_named_only_when_it_is_a_token_nowhere(portfolio, serve_app):
    api = await portfolio.serve(serve_app)
    only_here, nowhere = address(0x300), address(0x301)
    portfolio.put(STUB, only_here)
    await api.gateway.runtime.chains[31337].head(fresh=True)
    body = (await api.get(f"/v2/portfolio/balances?wallet={WALLET}&tokens={only_here},{nowhere}")).body
    assert only_here in rows(body)
    assert {row["token"] for row in body["partial"]} == {nowhere}


@pytest.mark.parametrize(
    ("query", "member"),
    [
        ("", "wallet"),
        ("wallet=0x12", "wallet"),
        (f"wallet={NATIVE}", "wallet"),
        (f"wallet={WALLET[:-1]}7", "wallet"),
        (f"wallet={WALLET}&network=nowhere", "network"),
        (f"wallet={WALLET}&tokens=0x12", "tokens"),
        (f"wallet={WALLET}&tokens={WALLET},", "tokens"),
        (f"wallet={WALLET}&includeNative=1", "includeNative"),
        (f"wallet={WALLET}&token={WALLET}", "token"),
        (f"wallet={WALLET}&wallet={WALLET}", "wallet"),
    ],
)
async def test_bad_balance_requests_name_the_member(api, refused, query, member):
    details = refused(await api.get(f"/v2/portfolio/balances?{query}"), 422, "validation_error")
    assert [field["path"] for field in details["fields"]] == [member]


async def test_too_many_tokens_are_refused(serve_app, portfolio, make_config, refused):
    api = await portfolio.serve(serve_app, config=make_config(max_line_bytes=65_536))
    path = f"/v2/portfolio/balances?wallet={WALLET}&tokens="
    many = ",".join(address(n) for n in range(1, 1002))
    details = refused(await api.get(f"{path}{many}&network=devnet"), 422, "validation_error")
    assert details["fields"][0]["reason"] == "out_of_range"
    half = ",".join(address(n) for n in range(1, 502))
    refused(await api.get(path + half), 422, "validation_error", "out_of_range")
    short = await portfolio.serve(serve_app)
    refused(await short.get(f"{path}{many}&network=devnet"), 400, "invalid_request")
