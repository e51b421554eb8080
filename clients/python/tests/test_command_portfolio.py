"""``quoteway portfolio``: exact balances with values and marks, positions, totals, and what is missing."""

import json
import time

import httpx
import pytest
from bad_gateways import BadServer, answer, refusal
from command_room import on_a_terminal, told
from quoteway_client import from_units
from quoteway_client.commands.portfolio_lines import NO_CATALOG

OTHER = "0x4444444444444444444444444444444444444444"
HOSTILE = "US\x1b[2J\u202eDC\r\ntotal: paid\u0421\u200b\x9b31m" + "x" * 10_000


def shown(chain, *words, url=None, wallet=None, **options):
    return told("portfolio", wallet or chain.account.address, *words, "--url", url or chain.url, **options)


def grouped(units, decimals):
    whole, point, fraction = from_units(units, decimals).partition(".")
    return f"{int(whole):,}{point}{fraction}"


def balances_with_prices(chain):
    """The API's balances of the account, once all prices have been read."""
    ends_at = time.monotonic() + 120
    while True:
        query = {"wallet": chain.account.address, "network": "devnet"}
        found = httpx.get(f"{chain.url}/v2/portfolio/balances", params=query, timeout=60).json()
        if all(row["valueUsd"] is not None and row["realisableUsd"] is not None for row in found["data"]):
            return found
        assert time.monotonic() < ends_at, found
        time.sleep(0.2)


def test_balances_are_exact_and_valued(chain):
    found = balances_with_prices(chain)
    done = shown(chain, "--network", "devnet")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"wallet         {chain.account.address}"
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["TOKEN"] == ["TOKEN", "BALANCE", "USD", "SELLS", "FOR"]
    assert rows["ETH"][1] == grouped(chain.balance("ETH"), 18)
    assert rows["WETH"][1] == grouped(chain.balance("WETH"), 18)
    assert rows["USDC"][1:] == [grouped(chain.balance("USDC"), 6), "100,000,000.00", "100,000,000.00"]
    assert any(line.startswith("devnet at block ") for line in lines)
    total = next(line for line in lines if line.startswith("balances "))
    assert total == f"balances       {found['totalUsd']:,.2f} USD"


def test_two_networks_fit_a_terminal_of_80_columns(chain):
    balances_with_prices(chain)
    printed = on_a_terminal("portfolio", chain.account.address, "--url", chain.url)
    assert max(map(len, printed.splitlines())) <= 80
    assert "devnet at block " in printed
    assert "devnet-l2 at block " in printed
    assert grouped(chain.balance("WETH"), 18) in printed


def test_positions_have_amounts_and_value(chain):
    vault = next(row for row in chain.sync.vaults.list(network="devnet") if row.asset.symbol == "USDC")
    terms = {"action": "deposit", "address": chain.account.address, "amount": 10**9}
    quote = chain.sync.vaults.quote(vault.id, asset=chain.token("USDC"), **terms)
    built = chain.sync.vaults.act(quote)
    chain.sync.send(built, chain.account, quote=quote, rpc_url=chain.node_url)
    done = shown(chain, "--network", "devnet")
    assert done.exit_code == 0, done.stderr
    assert f"vault          {vault.id} (devnet, erc4626)\n" in done.stdout
    query = {"wallet": chain.account.address, "network": "devnet"}
    (row,) = httpx.get(f"{chain.url}/v2/portfolio/positions", params=query).json()["data"]
    (held,) = row["amounts"]
    assert f"  holds        {grouped(int(held['amount']), 6)} USDC\n" in done.stdout
    assert f"positions      1, worth {row['valueUsd']:,.2f} USD\n" in done.stdout


def test_json_has_both_answers_of_the_api(chain):
    done = shown(chain, "--network", "devnet", "--json")
    assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout)
    query = {"wallet": chain.account.address, "network": "devnet"}
    asked = httpx.get(f"{chain.url}/v2/portfolio/balances", params=query, timeout=60).json()
    assert printed["balances"].keys() == asked.keys()
    assert [row["amount"] for row in printed["balances"]["data"]] == [row["amount"] for row in asked["data"]]
    (page,) = printed["positions"]
    assert page["nextCursor"] is None


def test_an_empty_wallet(chain):
    done = shown(chain, "--network", "devnet", wallet=OTHER)
    assert done.exit_code == 0, done.stderr
    assert "\nETH    0        -    -\n" in done.stdout
    assert done.stdout.endswith("positions      none\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [(("0x1234",), "validation_error"), ((OTHER, "--network", "nowhere"), "unsupported_network")],
    ids=["no account", "no network"],
)
def test_what_cannot_be_read_is_refused_in_one_line(chain, words, said):
    done = told("portfolio", *words, "--url", chain.url)
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert said in line


def test_without_a_wallet_the_usage_is_said():
    done = told("portfolio")
    assert done.exit_code == 2
    assert "ADDRESS" in done.stderr


# --- answers of a server of the test -----------------------------------------------------------------------


def token(symbol, pair="11", **more):
    facts = {"address": "0x" + pair * 20, "chainId": 1, "network": "x", "symbol": symbol, "name": symbol}
    return facts | {"decimals": 18, "isNative": False, "logoUri": None, "priceUsd": None} | more


def balance(symbol, pair="11", **more):
    row = {"network": "x", "chainId": 1, "token": token(symbol, pair), "amount": str(15 * 10**17)}
    row |= {"amountFormatted": "1.5", "valueUsd": 3.0, "realisableUsd": 2.5, "confidence": 1.0}
    row |= {"liquidityUsd": 9.0, "sources": ["uniswap"], "anchored": True, "moved1hPct": 0.0, "warnings": []}
    return row | {"counted": True, "listed": True, "spam": False, "spamReasons": []} | more


def balances(*rows, wallet=OTHER, **more):
    found = {"wallet": wallet, "data": list(rows), "totalUsd": 3.0, "totalComplete": True}
    return found | {"asOf": [{"chainId": 1, "block": 7}], "partial": []} | more


def positions(*rows, **more):
    page = {"data": list(rows), "partial": [], "nextCursor": None, "total": len(rows), "preview": False}
    return page | {"updatedAt": "2026-01-01T00:00:00Z", "asOf": [{"chainId": 1, "block": 7}]} | more


def position(**more):
    leg = {"amountMin": None, "amountMax": None, "amountUsd": None, "account": OTHER}
    held, fees = ([leg | {"token": token("ONE"), "amount": str(units)}] for units in (10**18 + 1, 2 * 10**15))
    row = {"positionId": "12", "poolId": "1:0x" + "33" * 20, "vaultId": None, "owner": OTHER, "kind": "nft"}
    row |= {"liquidity": "5", "share": None, "amounts": held, "uncollectedFees": fees}
    row |= {"range": {"tickLower": -10, "tickUpper": 10}, "inRange": False, "valueUsd": None}
    row |= {"asOfBlock": {"number": 8, "hash": "0x" + "00" * 32, "timestamp": 0}, "provider": "uniswap"}
    return row | {"network": "x", "chainId": 1} | more


def answered(*answers):
    with BadServer(*answers).running() as server:
        return told("portfolio", OTHER, "--url", server.url)


def test_the_marks_of_tokens():
    rows = [
        balance("PLAIN"),
        balance("NOPRICE", valueUsd=None, realisableUsd=None, anchored=False, counted=False),
        balance("HEARD", anchored=False, counted=False),
        balance("MOVED", warnings=[{"code": "price_moved", "message": "It moved."}]),
        balance("FOUND", "22", listed=False, counted=False),
        balance("GIFT", "33", listed=False, counted=False, spam=True, spamReasons=["link"], valueUsd=None),
    ]
    partial = [{"chainId": 1, "token": "0x" + "44" * 20, "reason": "call_failed"}]
    partial += [{"chainId": 2, "token": None, "reason": "rpc_error"}]
    partial += [{"chainId": 1, "token": None, "reason": "something_new"}]
    found = balances(*rows, totalComplete=False, partial=partial)
    failed = [{"provider": "erc4626", "reason": "provider_timeout"}]
    done = answered(answer(found), answer(positions(position(), partial=failed)))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"wallet         {OTHER}",
        "",
        "x at block 7",
        "TOKEN    BALANCE  USD   SELLS FOR  NOTES",
        "PLAIN    1.5      3.00  2.50",
        "HEARD    1.5      3.00  2.50       the price is not confirmed, not counted",
        "MOVED    1.5      3.00  2.50       price_moved",
        "NOPRICE  1.5      -     -          no price is known",
        "",
        NO_CATALOG,
        f"unlisted       1.5 FOUND (x, 0x{'22' * 20}); sells for at least 2.50 USD, not counted",
        f"spam           1.5 GIFT (x, 0x{'33' * 20}); link",
        "",
        f"pool           1:0x{'33' * 20} (x, uniswap), position 12",
        "  holds        1.000000000000000001 ONE",
        "  fees         0.002 ONE",
        "  range        the price of the pool is out of it: the position earns no fees",
        "  value        not known, at block 8",
        "",
        "balances       3.00 USD, not complete: no confirmed price of NOPRICE, HEARD; see what is missing",
        "positions      1, not complete: 1 without a known value",
        f"missing        x, token 0x{'44' * 20}: the token does not tell the balance (call_failed)",
        "missing        chain 2: no node answers (rpc_error)",
        "missing        x: something_new",
        "missing        positions of erc4626: no answer yet, ask again (provider_timeout)",
    ]


def test_text_of_strangers_is_harmless(monkeypatch):
    notice = [{"code": HOSTILE, "message": HOSTILE}]
    rows = [
        balance(HOSTILE, warnings=notice, network=HOSTILE, amount=str(2**256 - 1)),
        balance(HOSTILE, "22", listed=False, network=HOSTILE, amount=str(2**256 - 1), warnings=notice),
        balance(HOSTILE, "33", listed=False, spam=True, spamReasons=[HOSTILE], network=HOSTILE),
    ]
    found = balances(*rows, partial=[{"chainId": 1, "token": HOSTILE, "reason": HOSTILE}], totalUsd=1e300)
    held = position(poolId=HOSTILE, positionId=HOSTILE, provider=HOSTILE, network=HOSTILE)
    page = positions(held, position(vaultId=HOSTILE), partial=[{"provider": HOSTILE, "reason": HOSTILE}])
    done = answered(answer(found), answer(page))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.replace("\n", "").isascii()
    assert done.stdout.replace("\n", "").isprintable()
    assert max(map(len, done.stdout.splitlines())) < 1_000
    assert not any(line.startswith("total: paid") for line in done.stdout.splitlines())
    with BadServer(answer(found), answer(page)).running() as server:
        printed = on_a_terminal("portfolio", OTHER, "--url", server.url)
    assert max(map(len, printed.splitlines())) <= 80
    assert printed.replace("\r\n", "").isprintable()


def test_many_spam_tokens_do_not_hide_the_rest():
    spam = [balance("GIFT", listed=False, spam=True, spamReasons=["mass_gift"]) for _ in range(500)]
    done = answered(answer(balances(balance("PLAIN"), *spam)), answer(positions()))
    assert len(done.stdout.splitlines()) < 30
    assert "spam           490 more tokens: --json has them\n" in done.stdout


def test_providers_without_positions_are_said():
    off = refusal(503, "provider_unavailable", "capability_disabled")
    done = answered(answer(balances(balance("PLAIN"))), off)
    assert done.exit_code == 0
    assert done.stdout.endswith("balances       3.00 USD\npositions      not known: No.\n")
    with BadServer(answer(balances()), off).running() as server:
        done = told("portfolio", OTHER, "--url", server.url, "--json")
    assert json.loads(done.stdout)["positions"] is None


def test_balances_of_another_wallet_are_not_shown():
    done = answered(answer(balances(balance("PLAIN"), wallet="0x" + "55" * 20)))
    assert (done.exit_code, done.stdout) == (5, "")
    assert "do not use it" in done.stderr


def test_all_pages_of_positions_are_read_and_an_endless_list_is_not():
    last = positions(position(positionId="13"))
    done = answered(answer(balances()), answer(positions(position(), nextCursor="a")), answer(last))
    assert "position 12\n" in done.stdout
    assert "position 13\n" in done.stdout
    again = [answer(positions(position(), nextCursor=f"c{number}")) for number in range(101)]
    done = answered(answer(balances()), *again)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "more than 100 pages" in done.stderr


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (answer(b"<html>", 502), 3),
        (refusal(502, "upstream_error", "rpc_error"), 1),
        (answer(balances(), length=10**6), 3),
        (answer(balances(balance("BIG", amount="9" * 5_000))), 3),
        (answer(balances(balance("NEG", amount="x"))), 3),
    ],
    ids=["proxy", "refusal", "cut", "too long a number", "no number"],
)
def test_a_bad_answer_is_one_line(reply, code):
    with BadServer(reply).running() as server:
        done = told("portfolio", OTHER, "--url", server.url, QUOTEWAY_API_KEY="secret-key")
    assert (done.exit_code, done.stdout) == (code, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert "secret-key" not in line
