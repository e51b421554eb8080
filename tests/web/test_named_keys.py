"""API keys with a name, a tier and an end: what they get, when they end, and what is said of them."""

import asyncio
import datetime
import hashlib
import json
import logging
import tomllib
from dataclasses import replace

import pytest
from click.testing import CliRunner
from quoteway.config.keys import AuthConfig, NamedKey
from quoteway.config.limits import LimitsConfig, TierConfig
from quoteway.config.loading import load_config, redacted
from quoteway.errors import ConfigError
from quoteway.networks import Network
from quoteway.secrets import Secret
from quoteway.server import machine_checks
from quoteway.server.cli import main
from quoteway.testing.fakes import FakePlugin, MemoryRpc
from quoteway.web.http.limits import Limiter

CANARY = "canary-key-0123456789abcdef"
OTHER = "other-key-fedcba9876543210"
SIGNING = '[quotes]\nkeys = [{id = "k1", secret = {env = "SIGNING"}}]\n'
ENVIRON = {"SIGNING": "5a1f0e9c7b3d8264aa90c1fe37d5b8c2", "OTHER": OTHER, "CANARY": CANARY}
CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'


def digest(key=CANARY):
    return hashlib.sha256(key.encode()).hexdigest()


def ends_in(seconds):
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)


def seven():
    return FakePlugin([MemoryRpc({7})], networks=[Network("seven", 7, "Seven")])


def bearer(key=CANARY):
    return {"Authorization": f"Bearer {key}"}


def with_keys(config, *keys, **limits):
    return replace(config, auth=AuthConfig(keys=keys), limits=LimitsConfig(**limits))


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "quoteway.toml"

    def loaded(text):
        path.write_text(SIGNING + text)
        return load_config(path, ENVIRON)

    return loaded


async def test_each_tier_has_limits_of_its_own(serve_app, make_config):
    keys = (
        NamedKey("wallet", sha256=digest(), tier="partner"),
        NamedKey("desk", key=Secret(OTHER)),
        Secret("third-key-00112233445566"),
    )
    tiers = {"partner": TierConfig(catalog="7/hour")}
    api = await serve_app(config=with_keys(make_config(), *keys, catalog="2/hour", tiers=tiers))
    for key, policy in ((CANARY, 7), (OTHER, 2), ("third-key-00112233445566", 2)):
        answers = [await api.get("/v2/networks", headers=bearer(key)) for _ in range(policy + 1)]
        assert [answer.status for answer in answers] == [200] * policy + [429]
        assert answers[0].headers["RateLimit-Policy"] == f'"catalog";q={policy};w=3600'
    assert (await api.get("/v2/swaps/quote/x", headers=bearer())).headers["RateLimit-Policy"] == (
        '"quotes";q=60;w=60'
    ), "what a tier does not name is as for all"


async def test_a_key_that_expired_is_refused_on_every_path(serve_app, make_config, refused):
    keys = (NamedKey("wallet", sha256=digest(), expires=ends_in(-1)), NamedKey("desk", sha256=digest(OTHER)))
    api = await serve_app(
        {"node": seven()},
        config=with_keys(make_config(), *keys),
    )
    answer = await api.get("/v2/networks", headers=bearer())
    refused(answer, 401, "unauthorized")
    moment = keys[0].expires.isoformat(timespec="seconds")
    assert (
        answer.body["error"]["message"]
        == f"This API key expired at {moment}. Ask the operator for a new one."
    )
    refused(await api.post("/v2/rpc/7", json.loads(CHAIN_ID), headers=bearer()), 401, "unauthorized")
    assert (await api.get("/v2/networks", headers=bearer(OTHER))).status == 200
    statuses = {(await api.get("/v2/networks", headers=bearer())).status for _ in range(15)}
    assert 429 in statuses, "it counts as a wrong one"


async def test_a_kept_head_of_a_call_is_refused_once_its_key_ends(serve_app, make_config):
    """The light path remembers the heads of requests: an end must not be remembered with them."""
    ends = ends_in(3)
    plugin = seven()
    api = await serve_app(
        {"node": plugin}, config=with_keys(make_config(), NamedKey("bot", sha256=digest(), expires=ends))
    )
    head = (
        f"POST /v2/rpc/7 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {CANARY}\r\nContent-Length: {len(CHAIN_ID)}\r\n\r\n"
    ).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    statuses = []
    try:
        while not statuses or statuses[-1] != 401:
            writer.write(head + CHAIN_ID)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode()
            statuses.append(int(answer[9:12]))
            length = next(line for line in answer.split("\r\n") if line.lower().startswith("content-length"))
            await reader.readexactly(int(length.partition(":")[2]))
            assert statuses[-1] in (200, 401)
            await asyncio.sleep(0.02)
    finally:
        writer.close()
    assert datetime.datetime.now(datetime.UTC) >= ends
    assert statuses[0] == 200


async def test_the_log_names_the_caller_and_the_error_and_no_address(serve_app, make_config, caplog):
    caplog.set_level(logging.INFO, "quoteway.web")
    config = with_keys(make_config(access_log="all"), NamedKey("wallet", sha256=digest()))
    api = await serve_app({"node": seven()}, config=config)
    await api.get("/v2/networks", headers=bearer())
    await api.post("/v2/swaps/quote", {}, headers=bearer())
    await api.post("/v2/rpc/7", json.loads(CHAIN_ID), headers=bearer())
    await api.post("/v2/rpc/99", json.loads(CHAIN_ID), headers=bearer())
    await api.get("/v2/networks")
    records = [record for record in caplog.records if record.message == "request"]
    told = [tuple(getattr(record, name, None) for name in ("caller", "code", "reason")) for record in records]
    assert told == [
        ("key:wallet", None, None),
        ("key:wallet", "validation_error", "missing"),
        ("key:wallet", None, None),
        ("key:wallet", "provider_unavailable", "capability_disabled"),
        (None, "unauthorized", None),
    ]
    assert CANARY not in caplog.text
    assert not any("127.0.0.1" in str(record.__dict__) for record in records)


def test_a_table_of_a_key_is_read(load):
    config = load(
        f'[[auth.keys]]\nname = "wallet"\nsha256 = "{digest()}"\ntier = "partner"\n'
        'expires = 2027-01-31T00:00:00Z\n[[auth.keys]]\nenv = "OTHER"\n'
        '[[auth.keys]]\nname = "desk"\nkey = {env = "CANARY"}\nexpires = "2027-01-31T01:00:00+01:00"\n'
        '[limits.tiers.partner]\nquotes = "600/minute"\n'.replace("CANARY", "SIGNING")
    )
    wallet, plain, desk = config.auth.keys
    moment = datetime.datetime(2027, 1, 31, tzinfo=datetime.UTC)
    assert wallet == NamedKey("wallet", digest(), None, "partner", moment)
    assert plain.reveal() == OTHER
    assert (desk.key.reveal(), desk.expires) == (ENVIRON["SIGNING"], moment)
    assert config.limits.tiers["partner"] == TierConfig(quotes="600/minute")
    shown = json.dumps(redacted(config))
    assert OTHER not in shown
    assert ENVIRON["SIGNING"] not in shown
    assert "2027-01-31T00:00:00+00:00" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "wallet"', "auth.keys.0.sha256: give either sha256 or key"),
        (f'name = "wallet"\nsha256 = "{digest()}"\nkey = {{env = "OTHER"}}', "give either sha256 or key"),
        (f'sha256 = "{digest()}"\ntier = "a"', "auth.keys.0.name: Missing data"),
        (f'name = "0"\nsha256 = "{digest()}"', "no name of a key"),
        (f'name = "{"a" * 33}"\nsha256 = "{digest()}"', "no name of a key"),
        ('name = "wallet"\nsha256 = "9F"', "expected a SHA-256 digest"),
        (f'name = "wallet"\nsha256 = "{digest()}"\ntier = "partnr"', "Did you mean 'partner'?"),
        (f'name = "wallet"\nsha256 = "{digest()}"\nexpires = 2027-01-31T00:00:00', "with its offset"),
        (f'name = "wallet"\nsha256 = "{digest()}"\nexpires = 2027-01-31', "with its offset"),
        (f'name = "wallet"\nsha256 = "{digest()}"\nexpires = "soon"', "with its offset"),
        (f'name = "wallet"\nkey = "{OTHER}"', "secrets come by reference only"),
        (f'name = "wallet"\nsha256 = "{digest()}"\nexpire = 1', "Did you mean 'expires'?"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(load, text, said):
    with pytest.raises(ConfigError) as refusal:
        load(f'[[auth.keys]]\n{text}\n[limits.tiers.partner]\nquotes = "600/minute"\n')
    assert said in str(refusal.value)
    assert OTHER not in str(refusal.value)


def test_two_keys_of_one_name_or_value_are_refused(load):
    one = f'[[auth.keys]]\nname = "wallet"\nsha256 = "{digest()}"\n'
    with pytest.raises(ConfigError, match="every name must be unique"):
        load(one + one.replace(digest(), digest(OTHER)))
    with pytest.raises(ConfigError, match="two of the keys are the same one"):
        load(one + one.replace("wallet", "desk"))
    with pytest.raises(ConfigError, match="two of the keys are the same one"):
        load(one.replace(digest(), digest(OTHER)) + '[[auth.keys]]\nenv = "OTHER"\n')


def test_a_new_key_is_served_by_the_table_that_is_printed_with_it(load, tmp_path, monkeypatch):
    done = CliRunner().invoke(main, ["keys", "new", "wallet", "--tier", "partner", "--days", "30"])
    assert done.exit_code == 0, done.output
    key = done.stdout.strip()
    assert key.startswith("qw_")
    text = done.stderr[done.stderr.index("[[auth.keys]]") :]
    (named,) = load(text + '\n[limits.tiers.partner]\nquotes = "600/minute"\n').auth.keys
    assert (named.name, named.tier, named.sha256) == ("wallet", "partner", digest(key))
    assert 29 < (named.expires - ends_in(0)).total_seconds() / 86_400 <= 30
    assert key not in done.stderr
    again = CliRunner().invoke(main, ["keys", "new", "wallet"])
    assert again.stdout.strip() != key
    assert "expires" not in tomllib.loads(again.stderr[again.stderr.index("[[") :])["auth"]["keys"][0]


@pytest.mark.parametrize(
    "words",
    [["Wallet"], ["0"], ['a"b'], ["wallet", "--tier", "a b"], ["wallet", "--days", "0"], []],
)
def test_a_wrong_name_makes_no_key(words):
    done = CliRunner().invoke(main, ["keys", "new", *words])
    assert (done.exit_code, done.stdout) == (2, "")


def test_expired_keys_are_named_by_the_list_and_the_doctor(load, tmp_path, monkeypatch):
    rows = (("old", -60), ("soon", 86_400), ("late", 40 * 86_400))
    text = "".join(
        f'[[auth.keys]]\nname = "{name}"\nsha256 = "{digest(name)}"\n'
        f"expires = {ends_in(left_s):%Y-%m-%dT%H:%M:%SZ}\n"
        for name, left_s in rows
    )
    config = load(text)
    found = {finding.subject: finding for finding in machine_checks.api_keys(config)}
    assert found.keys() == {"API key old", "API key soon"}
    assert all(finding.mark == "warn" for finding in found.values())
    assert "its requests are refused" in found["API key old"].text
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(main, ["keys", "list", "--config", str(tmp_path / "quoteway.toml")])
    assert done.exit_code == 1, done.output
    old, soon, late = done.stdout.splitlines()
    assert old.startswith("0  old  no tier  expired at ")
    assert soon.startswith("1  soon  no tier  until ")
    assert late.startswith("2  late  no tier  until ")


async def test_names_in_the_store_begin_with_the_prefix():
    limiter = Limiter(LimitsConfig(prefix="desk-1"))
    await limiter.take("quotes", "key:wallet")
    assert list(limiter._storage.full_at) == ["desk-1/bucket/quotes/key:wallet"]
