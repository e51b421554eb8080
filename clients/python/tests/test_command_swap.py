"""``quoteway swap``: what a person sees and gets in a file, and what is refused before it is shown."""

import json
from decimal import Decimal

import httpx
import pytest
from bad_gateways import BadServer, answer, refusal
from click.testing import CliRunner
from command_room import on_a_terminal, told
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from quoteway.config.model import ActionKey, ActionsConfig
from quoteway.secrets import Secret
from quoteway.server.cli import main

OTHER = "0x4444444444444444444444444444444444444444"


def swapped(chain, *words, url=None, **options):
    return told("swap", *words, "--network", "devnet", "--url", url or chain.url, **options)


def test_without_an_account_the_price_is_indicative(chain):
    done = swapped(chain, "1.5", "ETH", "USDC")
    assert done.exit_code == 0, done.stderr
    assert "sells          1.5 ETH\n" in done.stdout
    assert "indicative" in done.stdout
    assert "\n`- 100 % of the input: 1.5 WETH\n   `- uniswap-v3 " in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["across", "no_route", "-", "no_route"] in rows
    assert chain.token("USDC") in done.stdout


@pytest.mark.slow
def test_a_divided_route_is_a_tree_on_80_columns(chain, gateway_of, monkeypatch):
    # A quote waits 0.3 s for a split, which a busy machine needs to start the solver's process.
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 20.0)
    ports = {"port": chain.devnet.ports["devnet"], "l2_port": chain.devnet.ports["devnet-l2"]}
    sections = {"devnet": {"enabled": True, "start": False, **ports}, "uniswap": {"solver_processes": 1}}
    words = ("swap", "1000000", "USDC", "ETH", "--network", "devnet", "--from", chain.account.address)
    with gateway_of(chain.devnet, plugin_sections=sections) as url:
        printed = on_a_terminal(*words, "--url", url).splitlines()
    assert max(map(len, printed)) <= 80
    shares = [line for line in printed if " % of the input" in line]
    assert len(shares) > 2
    assert [line[:3] for line in shares] == ["|- "] * (len(shares) - 1) + ["`- "]
    assert any(line.startswith("certificate    at most ") for line in printed)


def test_a_quote_is_compared_and_its_action_written(chain, tmp_path):
    out = tmp_path / "action.json"
    options = ("--from", chain.account.address, "--to", OTHER, "--slippage", "0.3", "--out", out)
    done = swapped(chain, "1500.25", "USDC", "WETH", *options)
    assert done.exit_code == 0, done.stderr
    action = json.loads(out.read_bytes())
    assert action["inputs"][0]["amount"] == "1500250000"
    assert action["outputs"][0]["account"] == OTHER
    assert [step["kind"] for step in action["steps"]] == ["approval", "permit2_approval", "swap"]
    assert f"recipient      {OTHER}" in done.stdout
    assert "(slippage 0.3 %)" in done.stdout
    assert "simulation     success" in done.stdout
    assert "transaction 2  Swap exactly 1,500.25 USDC" in done.stdout
    assert done.stdout.endswith(f"wrote 3 unsigned transactions to {out}\n")


def test_nothing_is_written_unless_asked_and_nothing_replaced(chain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert swapped(chain, "1", "ETH", "USDC", "--from", chain.account.address).exit_code == 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept.json").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("kept.json", "dangling"):
        done = swapped(chain, "1", "ETH", "USDC", "--from", chain.account.address, "--out", name)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--force" in done.stderr
    assert (tmp_path / "kept.json").read_text() == "mine"
    forced = ("--from", chain.account.address, "--out", "kept.json", "--force")
    assert swapped(chain, "1", "ETH", "USDC", *forced).exit_code == 0
    assert json.loads((tmp_path / "kept.json").read_text())["kind"] == "swap"
    done = swapped(chain, "1", "ETH", "USDC", "--from", chain.account.address, "--out", "no/such/a.json")
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dangling", "kept.json"]


@pytest.mark.slow
def test_the_file_is_what_verify_action_takes(chain, tmp_path, gateway_of):
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    keys, out = tmp_path / "keys.json", tmp_path / "action.json"
    with gateway_of(chain.devnet, actions=ActionsConfig((ActionKey("one", Secret(pem)),))) as url:
        keys.write_bytes(httpx.get(f"{url}/.well-known/jwks.json").content)
        options = ("--from", chain.account.address, "--out", out)
        assert swapped(chain, "1", "ETH", "USDC", *options, url=url).exit_code == 0
    verified = CliRunner().invoke(main, ["verify-action", str(out), "--keys", str(keys)])
    assert verified.exit_code == 0, verified.output


def test_json_is_the_answer_of_the_api(chain):
    priced = json.loads(swapped(chain, "1", "ETH", "USDC", "--json").stdout)
    assert priced["indicative"] is True
    quoted = json.loads(swapped(chain, "1", "ETH", "USDC", "--json", "--from", chain.account.address).stdout)
    assert quoted["fromAmount"] == str(10**18)
    read = httpx.get(f"{chain.url}/v2/swaps/quote/{quoted['quoteId']}").json()
    assert read["toAmountMin"] == quoted["toAmountMin"]
    assert Decimal(quoted["executionPrice"]) > 0


def test_an_unlisted_token_is_warned_of(chain, permit_token):
    done = swapped(chain, "1", permit_token, "USDC")
    assert done.exit_code == 0, done.stderr
    assert "warning        PMT is listed by no catalog" in done.stdout
    assert "USDC is listed by no catalog" not in done.stdout


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("1.0000001", "7 digits after the point, and the token has 6 decimals"),
        ("1e3", "no decimal number"),
        ("1,000", "no decimal number"),
        ("0", "above 0"),
        ("0.0000000000000", "above 0"),
        ("１", "no decimal number"),
        ("9" * 5000, "AMOUNT"),
    ],
    ids=["too exact", "exponent", "comma", "zero", "zeros", "other digits", "too long"],
)
def test_an_amount_is_decimal_text_that_the_token_can_hold(chain, amount, said):
    done = swapped(chain, amount, "USDC", "WETH")
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--slippage", "0.5"), "need --from"),
        (("--out", "a.json"), "need --from"),
        (("--from", OTHER, "--slippage", "0.001"), "--slippage"),
        (("--from", OTHER, "--slippage", "half"), "--slippage"),
    ],
    ids=["slippage alone", "out alone", "too fine", "no number"],
)
def test_options_that_cannot_be_used(chain, options, said):
    done = swapped(chain, "1", "ETH", "USDC", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_without_a_route_every_attempt_has_its_reason(chain):
    done = swapped(chain, "1", "ETH", "USDC", "--from", "0x1234")
    assert done.exit_code == 1
    assert "validation_error" in done.stderr
    done = swapped(chain, "9" * 40, "USDC", "WETH")
    assert done.exit_code == 1, done.stdout
    assert len(done.stderr.splitlines()) >= 1


def recorded(chain):
    """The answers that a price of 1 ETH for USDC is made of, as the real gateway gives them."""
    prices = httpx.get(f"{chain.url}/v2/prices", params={"network": "devnet", "tokens": "ETH,USDC"}).json()
    query = {"network": "devnet", "fromToken": "ETH", "toToken": "USDC", "amount": str(10**18)}
    return prices, httpx.get(f"{chain.url}/v2/swaps/price", params=query).json()


def decimals(prices, price):
    price["toToken"]["decimals"] = 18


def amounts(prices, price):
    price["fromAmount"] = str(10**19)


def another_token(prices, price):
    price["toToken"]["address"] = OTHER


@pytest.mark.parametrize("change", [decimals, amounts, another_token], ids=lambda change: change.__name__)
def test_an_answer_to_something_else_is_not_shown(chain, change):
    prices, price = recorded(chain)
    change(prices, price)
    with BadServer(answer(prices), answer(price)).running() as server:
        done = swapped(chain, "1", "ETH", "USDC", url=server.url)
    assert (done.exit_code, done.stdout) == (5, "")
    assert "do not use it" in done.stderr


def test_another_token_than_the_typed_address_is_not_shown(chain):
    prices, price = recorded(chain)
    with BadServer(answer(prices), answer(price)).running() as server:
        done = swapped(chain, "1", "ETH", OTHER, url=server.url)
    assert (done.exit_code, done.stdout) == (5, "")


def test_look_alikes_and_hostile_symbols(chain):
    prices, price = recorded(chain)
    hostile = "US\x1b[2J\u202e\nDС"
    for token in (prices["data"][1]["token"], price["toToken"]):
        token["symbol"] = hostile
    profile = httpx.get(f"{chain.url}/v2/tokens/31337:{chain.token('USDC')}").json()
    row = httpx.get(f"{chain.url}/v2/tokens?network=devnet&query=USDC").json()
    ether = json.loads(json.dumps(row).replace("USDC", "eth").replace(chain.token("USDC"), OTHER))
    like = profile | {"lookAlikeOf": "usdc-\x1b[2J", "listed": True}
    told_in_turn = [prices, price, profile, ether, like]
    with BadServer(*map(answer, told_in_turn), refusal(429, "rate_limit_exceeded")).running() as server:
        done = swapped(chain, "1", "ETH", "USDC", url=server.url)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.replace("\n", "").isascii()
    assert done.stdout.replace("\n", "").isprintable()
    assert f"another listed token has the symbol ETH: {OTHER}" in done.stdout
    assert "looks the same as that of the token usdc-\\x1b[2J" in done.stdout
