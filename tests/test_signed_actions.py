"""Actions of the real contracts, signed over HTTP and verified offline with ``quoteway verify-action``."""

import asyncio
import copy
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from action_keys import pem, signer_of  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from direct_client import USER, client_of  # noqa: E402
from quoteway.config.model import ActionKey, ActionsConfig  # noqa: E402
from quoteway.engine.action_signatures import signed_claims  # noqa: E402
from quoteway.evm import permit2  # noqa: E402
from quoteway.secrets import Secret  # noqa: E402
from quoteway.server.cli import main  # noqa: E402
from quoteway.server.verify_action import verify  # noqa: E402

AMOUNT = 10**9
LATER_S = 10_000.0


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


@pytest.fixture
async def client(fresh_devnet, relayer, key):
    actions = ActionsConfig((ActionKey("k1", Secret(pem(key))),))
    async with client_of(fresh_devnet, 0.0, relayer.port, actions=actions) as client:
        yield client


@pytest.fixture
async def swap(client):
    return await client.act(await client.quote_swap(amount=AMOUNT))


@pytest.fixture
def desk(key, tmp_path):
    """``desk(answer)`` gives (exit status, lines) of the command, with the public half of the key."""
    (tmp_path / "jwks.json").write_text(json.dumps(signer_of(("k1", pem(key))).key_set))

    def checked(answer, *options):
        (tmp_path / "action.json").write_text(answer if isinstance(answer, str) else json.dumps(answer))
        files = str(tmp_path / "action.json"), "--keys", str(tmp_path / "jwks.json")
        result = CliRunner().invoke(main, ["verify-action", *files, *options])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output.splitlines()

    checked.folder = tmp_path
    return checked


async def requests(client):
    """An action of every kind that the plugins here have."""
    usdc, weth = client.token("USDC"), client.token("WETH")
    yield await client.act(await client.quote_swap(amount=AMOUNT))
    yield await client.act(await client.quote_swap("ETH", "USDC", 10**18))
    yield await client.act(await client.quote_swap(amount=AMOUNT, approvalMode="permit2-signature"))
    there = {"fromChain": "devnet", "toChain": "devnet-l2", "toToken": client.token("USDC", "devnet-l2")}
    for sold, amount in ((weth, 10**18), (usdc, 10**9)):
        body = {"fromToken": sold, "amount": str(amount), "address": USER, **there}
        quote = await client.ask("/v2/swaps/quote", body)
        yield await client.act(quote)
    for kind, pair in (("v2", "WETH/USDC"), ("v3", "WETH/USDC"), ("v4", "USDC/USDT")):
        pool = client.pool(kind, pair)
        pooled = {"action": "add", "address": USER, "asset": usdc, "amount": str(AMOUNT)}
        yield await client.ask(f"/v2/pools/31337:{pool.id}/action", pooled)
    (vault, *_) = (await client.api.get("/v2/vaults?network=devnet")).body["data"]
    deposit = {"action": "deposit", "address": USER, "asset": vault["asset"]["address"], "amount": "1000"}
    yield await client.ask(f"/v2/vaults/{vault['id']}/action", deposit)
    await client.approve(weth, permit2.ADDRESS, 5)
    body = {"network": "devnet", "address": USER, "approvals": [{"token": weth, "spender": permit2.ADDRESS}]}
    yield await client.ask("/v2/portfolio/approvals/revoke", body)


@pytest.fixture
def own_config(fresh_devnet, relayer, tmp_path, monkeypatch):
    """The file of a configuration with the devnet's contracts, whose nodes nobody asks."""
    monkeypatch.setenv("DESK", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    ports = f"port = {fresh_devnet.ports['devnet']}\nl2_port = {fresh_devnet.ports['devnet-l2']}"
    path = tmp_path / "quoteway.toml"
    path.write_text(
        '[quotes]\nkeys = [{id = "d", secret = {env = "DESK"}}]\n'
        f"[plugin.devnet]\nenabled = true\nstart = false\n{ports}\nrelayer_port = {relayer.port}\n"
    )
    return path


@pytest.mark.slow
async def test_every_kind_of_action_is_signed_and_verifies(client, desk, own_config):
    seen = set()
    async for action in requests(client):
        options = "--issuer", "quoteway", "--config", str(own_config)
        status, lines = await asyncio.to_thread(desk, action, *options)
        assert status == 0, lines
        assert all(line.startswith("ok") for line in lines if not line.startswith(("transaction", "not"))), (
            lines
        )
        assert sum(line.startswith("ok    calldata") for line in lines) == len(action["transactions"])
        assert [line for line in lines if line.startswith("transaction ")] == [
            f"transaction {step['index']}: {step['clearSigning']['intent']}" for step in action["steps"]
        ]
        seen.update((action["kind"], action["provider"]))
        inner = [step["index"] for step in action["steps"] if "inner" in step["decoded"]]
        for index in inner:
            assert f"ok    meaning {index}: decoded here, it is the same as was signed" in lines
        seen.update("inner" for _ in inner)
    assert seen >= {"swap", "pool", "vault", "revocation", "across", "swap+bridge", "inner"}, seen


async def test_the_signed_swap_executes_and_the_signature_changes_nothing(client, swap, key):
    shown = await client.api.get("/.well-known/jwks.json")
    assert shown.headers["Content-Type"] == "application/jwk-set+json"
    assert (shown.status, shown.body) == (200, signer_of(("k1", pem(key))).key_set)
    signed = signed_claims(swap["jws"], shown.body)["action"]
    assert signed == {name: value for name, value in swap.items() if name != "jws"}
    quote = await client.quote_swap(amount=AMOUNT)
    await client.carry_out(quote, signed)


async def test_the_library_of_the_page_verifies_it(swap, desk, monkeypatch):
    page = (Path(__file__).parents[1] / "docs/how-to/verify-an-action.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert desk(swap)[0] == 0  # has written both files
    monkeypatch.chdir(desk.folder)
    found = {}
    exec(code, found)
    assert found["transactions"] == swap["transactions"]


async def test_what_is_printed_as_json_is_what_was_signed(swap, desk):
    altered = copy.deepcopy(swap)
    altered["transactions"][-1]["to"] = USER
    status, lines = desk(altered, "--json")
    told = json.loads("\n".join(lines))
    assert (status, told["holds"]) == (1, False)
    assert told["action"] == {name: value for name, value in swap.items() if name != "jws"}
    status, lines = desk(swap, "--json")
    assert (status, json.loads("\n".join(lines))["holds"]) == (0, True)


def altered(swap, change):
    swap = copy.deepcopy(swap)
    change(swap)
    return swap


CHANGES = {
    "recipient": lambda swap: swap["outputs"][0].update(account=USER[:-1] + "0"),
    "amount": lambda swap: swap["outputs"][0].update(amount=str(int(swap["outputs"][0]["amount"]) + 1)),
    "calldata": lambda swap: swap["transactions"][-1].update(data=swap["transactions"][-1]["data"] + "00"),
    "value": lambda swap: swap["transactions"][-1].update(value="0x1"),
    "order": lambda swap: swap["transactions"].reverse(),
    "one less": lambda swap: swap["transactions"].pop(),
    "simulation": lambda swap: swap["simulation"].update(status="success", assumptions=["native_balance"]),
    "warning": lambda swap: swap["warnings"].append({"code": "x", "message": "y"}),
    "a member more": lambda swap: swap.update({"\x1b[31mnote": "paid"}),
    "a member less": lambda swap: swap.pop("simulation"),
    "null": lambda swap: swap.update(deadline=None),
}


def test_a_changed_file_is_found(swap, desk):
    for name, change in CHANGES.items():
        changed = altered(swap, change)
        assert changed != swap, name
        status, lines = desk(changed)
        assert status == 1, name
        assert [line for line in lines if line.startswith("WRONG answer")], lines
        assert "\x1b" not in "".join(lines)


def resigned(swap, key, change):
    """A swap that a dishonest gateway with the right key has signed."""
    changed = altered(swap, change)
    claims = signed_claims(swap["jws"], signer_of(("k1", pem(key))).key_set)
    times = type("Times", (), {"created_at": claims["iat"], "expires_at": claims["exp"]})
    signer = signer_of(("k1", pem(key)))
    return changed | {"jws": signer.sign(times, changed)}


def told(swap, index, **members):
    swap["steps"][index]["decoded"].update(members)


UNFIT = {
    "WRONG transactions": lambda swap: swap["transactions"][0].update(to=USER),
    "WRONG transactions: actionId": lambda swap: swap["transactions"][0].update(chainId=1),
    "WRONG walletSendCalls": lambda swap: swap["walletSendCalls"]["calls"][0].update(value="0x1"),
    "WRONG steps": lambda swap: swap["steps"].pop(),
    "WRONG calldata 0": lambda swap: swap["steps"][0]["decoded"]["args"][1].update(value="1"),
    "WRONG calldata 0: transfer": lambda swap: told(swap, 0, signature="transfer(address,uint256)"),
}


def test_a_signature_over_what_does_not_fit_together_is_found(swap, desk, key):
    for finding, change in UNFIT.items():
        status, lines = desk(resigned(swap, key, change))
        assert status == 1, finding
        assert [line for line in lines if line.startswith(finding)], lines


def test_inner_calls_that_are_not_in_the_calldata_are_found(swap, desk, key, own_config):
    command = resigned(
        swap, key, lambda swap: swap["steps"][-1]["decoded"]["inner"][0].update(signature="SWEEP")
    )
    assert desk(command)[0] == 0  # without a configuration they are not looked at
    status, lines = desk(command, "--config", str(own_config))
    assert status == 1
    place = len(swap["steps"]) - 1
    assert [line for line in lines if line.startswith("WRONG")] == [
        f"WRONG meaning {place}: decoded here, it is something else than was signed"
    ]


def test_another_key_or_issuer_is_found(swap, desk):
    forged = swap | {"jws": signer_of(("k1", pem(Ed25519PrivateKey.generate()))).sign(TIMES, swap)}
    assert desk(forged) == (1, ["WRONG signature: the key did not sign these bytes"])
    status, lines = desk(swap, "--issuer", "another.example")
    assert status == 1
    assert [line for line in lines if line.startswith("WRONG")] == [
        "WRONG issuer: quoteway, expected another.example"
    ]


TIMES = type("Times", (), {"created_at": 1, "expires_at": 2**40})


def test_an_action_that_has_expired_is_found(swap, desk, client):
    files = desk.folder / "action.json", desk.folder / "jwks.json"
    assert desk(swap)[0] == 0
    late = verify(*files, clock=lambda: client.api.gateway.runtime.clock() + LATER_S)
    assert [check.subject for check in late.checks if not check.holds] == ["time"]
    assert not late.holds


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "has no signature"),
        ("{}", "has no signature"),
        ('{"jws": null}', "has no signature"),
        ('{"jws": 5}', "has no signature"),
    ],
)
def test_a_file_without_a_signed_action_is_named(desk, text, finding):
    status, lines = desk(text)
    assert status == 2
    assert len(lines) == 1
    assert finding in lines[0]


@pytest.mark.parametrize("jws", ["", "a.b.c", "a" * 100, "e30.e30.e30", "é.é.é", "." * 5])
def test_what_is_no_jws_does_not_hold(desk, jws):
    status, lines = desk({"jws": jws})
    assert status == 1
    assert lines[0].startswith("WRONG signature")


@pytest.mark.parametrize("content", [None, [], "text", 5, {}, {"actionId": 1}, {"transactions": [{}]}])
def test_what_is_signed_but_no_action_is_an_error_in_one_line(desk, key, content):
    signer = signer_of(("k1", pem(key)))
    jws = signer.sign(TIMES, content if isinstance(content, dict) else {"odd": content})
    status, lines = desk({"jws": jws})
    assert status == 2
    assert len(lines) == 1
    assert "no action that this version can read" in lines[0]


async def test_a_deployment_without_a_key_signs_nothing(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        assert (await client.act(await client.quote_swap(amount=AMOUNT)))["jws"] is None
        keys = await client.api.get("/.well-known/jwks.json")
        assert (keys.status, keys.body) == (200, {"keys": []})
