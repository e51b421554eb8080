"""The configuration: where it comes from, what is refused and how, and that secrets never show."""

import json
import secrets

import pytest
from quoteway.config.loading import load_config, redacted
from quoteway.errors import ConfigError
from quoteway.secrets import Secret, SecretField

KEYS = '[quotes]\nkeys = [{id = "k1", secret = {env = "KEY"}}]\n'
KEY = "4f1c9a07e2d85b36c0a7914ed3f8625b"
ENV = {"KEY": KEY}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a file of this text (None: no file) with this environment."""
    monkeypatch.chdir(tmp_path)

    def load(text=None, environ=ENV):
        if text is None:
            return load_config(environ=environ)
        file = tmp_path / "quoteway.toml"
        file.write_text(text)
        return load_config(environ=environ)

    return load


def test_without_a_file_the_embedded_default_runs(load):
    config = load()
    assert config.embedded is True
    assert (config.server.host, config.server.port, config.server.workers) == ("127.0.0.1", 8080, 1)
    assert config.quotes.keys == ()


SIGNED = {"QUOTEWAY_QUOTES__KEYS": '[{id = "k1", secret = {env = "KEY"}}]', "KEY": KEY}
API_KEYS = {"QUOTEWAY_AUTH__KEYS": '[{env = "KEY"}]', "KEY": KEY}


@pytest.mark.parametrize(
    "environ",
    [
        {"QUOTEWAY_NETWORKS__ETHEREUM__RPC": "https://rpc.example"},
        {"QUOTEWAY_SERVER__HOST": "0.0.0.0"},
        {"QUOTEWAY_SERVER__HOST": "192.0.2.1"},
        {"QUOTEWAY_SERVER__HOST": "api.example.org"},
        {"QUOTEWAY_SERVER__HOST": "::"},
        API_KEYS,
    ],
    ids=str,
)
def test_the_environment_alone_makes_a_deployment(load, environ):
    with pytest.raises(ConfigError) as caught:
        load(None, environ)
    for part in ("environment: quotes.keys is missing", "openssl rand -hex 32", "QUOTEWAY_QUOTES__KEYS="):
        assert part in str(caught.value)
    config = load(None, environ | SIGNED)
    assert config.embedded is False
    assert config.plugins.startup_timeout_s == 30.0
    assert redacted(config)["path"] == "(environment)"


def test_a_signing_key_alone_makes_a_deployment(load):
    assert load(None, SIGNED).embedded is False


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_a_host_of_this_machine_makes_none(load, host):
    config = load(None, {"QUOTEWAY_SERVER__HOST": host, "QUOTEWAY_SERVER__PORT": "9000"})
    assert config.embedded is True


def test_a_host_of_the_command_line_counts_as_any_other(load):
    with pytest.raises(ConfigError, match=r"server\.host 0\.0\.0\.0"):
        load_config(environ={}, server={"host": "0.0.0.0"})
    assert load_config(environ=SIGNED, server={"host": "0.0.0.0"}).server.host == "0.0.0.0"
    environ = {"QUOTEWAY_SERVER__HOST": "0.0.0.0"}
    assert load_config(environ=environ, server={"host": "127.0.0.1"}).embedded is True


def test_workers_of_an_embedded_run_share_its_key(load):
    config = load(None, {"QUOTEWAY_WORKER": "1", "QUOTEWAY_RUN_KEY": KEY})
    assert (config.embedded, config.run_key) == (True, Secret(KEY))
    assert load(None, {"QUOTEWAY_RUN_KEY": KEY}).run_key is None


def test_the_file_is_found_in_order(load, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(KEYS + "[server]\nport = 1\n")
    third = tmp_path / "third.toml"
    third.write_text(KEYS + "[server]\nport = 3\n")
    assert load(KEYS + "[server]\nport = 2\n").server.port == 2
    environ = {**ENV, "QUOTEWAY_CONFIG": str(other)}
    assert load(KEYS, environ).server.port == 1
    assert load_config(third, environ).server.port == 3
    with pytest.raises(ConfigError, match="no such configuration file"):
        load(KEYS, {**ENV, "QUOTEWAY_CONFIG": "nowhere.toml"})


def test_the_environment_lies_over_the_file(load):
    environ = {
        **ENV,
        "QUOTEWAY_SERVER__PORT": "9000",
        "QUOTEWAY_SERVER__CORS_ORIGINS": "https://a.example, https://b.example",
        "QUOTEWAY_PLUGINS__LOAD": "rpc,uniswap",
        "QUOTEWAY_NETWORKS__DEVNET_L2__RPC": "https://x.example/k",
        "QUOTEWAY_PROVIDERS__FAKE_SWAPS__ENABLED": "false",
        "QUOTEWAY_PLUGIN__LIFI__API_KEY": '{env = "KEY"}',
        "QUOTEWAY_WORKER": "3",
    }
    config = load(KEYS + "[server]\nport = 1\n", environ)
    assert config.server.port == 9000
    assert config.server.cors_origins == ("https://a.example", "https://b.example")
    assert config.plugins.load == ("rpc", "uniswap")
    assert config.networks["devnet-l2"].rpc[0].url == "https://x.example/k"
    assert config.providers["fake-swaps"].enabled is False
    assert config.plugin_sections["lifi"]["api_key"] == Secret(KEY)
    assert config.worker == 3


def test_secrets_come_from_files_beside_the_configuration(load, tmp_path):
    (tmp_path / "key.txt").write_text(KEY + "\n")
    config = load('[quotes]\nkeys = [{id = "a", secret = {file = "key.txt"}}]\n')
    assert config.quotes.keys[0].secret.reveal() == KEY


@pytest.mark.parametrize(("text", "limit"), [("", 1_500), ("= 0", 0), ("= 300", 300), ('= "off"', None)])
def test_the_limit_of_price_impact_can_be_switched_off(load, text, limit):
    member = f"acknowledge_price_impact_bps {text}" if text else ""
    assert load(KEYS + member).quotes.acknowledge_price_impact_bps == limit


@pytest.mark.parametrize("text", ['"none"', "10001", "-1", "1.5"])
def test_a_limit_of_price_impact_that_is_none(load, text):
    with pytest.raises(ConfigError, match="acknowledge_price_impact_bps"):
        load(KEYS + f"acknowledge_price_impact_bps = {text}")


WRONG = [
    ("[server]\nprot = 1", "server.prot: unknown key. Did you mean 'port'?"),
    ("[servers]", "servers: unknown key. Did you mean 'server'?"),
    ('[server]\nport = "80"', "server.port: Not a valid integer"),
    ("[server]\nport = 70000", "server.port"),
    ('[server]\ncors_origins = ["https://a.example/path"]', "server.cors_origins.0: expected an origin"),
    (
        '[server]\ntrusted_proxies = ["10.0.0.300"]',
        "server.trusted_proxies.0: expected an IP address or network",
    ),
    ('[limits]\nquotes = "many"', 'limits.quotes: expected a rate such as "60/minute"'),
    ('[limits]\nstore = "redis://:canary@host"', "limits.store: this URL holds a password"),
    ('[limits]\nstore = "ftp://host"', "limits.store: expected"),
    ('[auth]\nkeys = ["canary"]', "auth.keys.0: secrets come by reference only"),
    ('[auth]\nkeys = [{env = "NOT_SET"}]', "environment variable NOT_SET is not set: export it"),
    ('[auth]\nkeys = [{file = "nowhere"}]', "file nowhere cannot be read"),
    ('[plugins]\nload = "some,"\nx = 1', "plugins.x: unknown key"),
    ("[plugins]\nload = 5", 'plugins.load: expected "all" or a list'),
    (
        '[networks.Ethereum]\nrpc = ["https://x.example"]',
        "networks.Ethereum: no network name",
    ),
    ('[networks.ethereum]\nrpc = ["ftp://canary"]', "networks.ethereum.rpc.0"),
    ('[networks.ethereum]\nrpc = ["https://host:canary"]', "rpc.0.url: expected a URL with a host and port"),
    ('[networks.ethereum]\nrpc = ["https://[canary/"]', "rpc.0.url: expected a URL with a host and port"),
    (
        '[networks.ethereum]\nrpc = [{url = "https://x.example", tier = -1}]',
        "networks.ethereum.rpc.0.tier",
    ),
    (
        '[networks.ethereum]\nrpc = [{url = "https://x.example", tier = true}]',
        "networks.ethereum.rpc.0.tier",
    ),
    (
        '[networks.ethereum]\nrpc = [{url = "https://x.example", cordoned = "two\\nlines"}]',
        "networks.ethereum.rpc.0.cordoned: expected true, false, or the reason",
    ),
    (
        '[networks.ethereum]\nrpcs = ["https://x.example"]',
        "networks.ethereum.rpcs: unknown key. Did you mean 'rpc'?",
    ),
    ("[providers.x]\nenable = false", "providers.x.enable: unknown key. Did you mean 'enabled'?"),
    ("server = 1", "server: expected a table"),
    ("plugin = 1", "plugin: expected tables, each with a name"),
    ("plugin.fake = 1", "plugin.fake: expected a table"),
    ("networks.base = 1", "networks.base: expected a table"),
    ("x = ", "not valid TOML"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG, ids=lambda value: value[:30])
def test_what_is_wrong_is_said_with_its_remedy(load, text, sentence):
    with pytest.raises(ConfigError) as caught:
        load(text + "\n" + KEYS if text.startswith("[") else text + "\n")
    assert sentence in str(caught.value)
    assert "canary" not in str(caught.value)


def test_every_mistake_is_told_at_once(load):
    with pytest.raises(ConfigError) as caught:
        load("serve = 1\n[server]\nprot = 1\n[limits]\nrpc = 'x'\n[quotes]\nlifetime_s = 5\n")
    for part in ("server.prot", "limits.rpc", "quotes.lifetime_s", "serve: unknown key"):
        assert part in str(caught.value)


def test_a_configured_deployment_needs_a_signing_key_of_its_own(load):
    with pytest.raises(ConfigError, match="openssl rand"):
        load("[server]\nport = 1\n")
    with pytest.raises(ConfigError, match="shorter than 32 bytes"):
        load(KEYS, {"KEY": "short"})
    two = '[quotes]\nkeys = [{id = "a", secret = {env = "KEY"}}, {id = "a", secret = {env = "KEY"}}]\n'
    with pytest.raises(ConfigError, match="unique"):
        load(two)


WEAK = [
    ("a" * 64, "easy to guess"),
    ("ab" * 32, "easy to guess"),
    ("password" * 8, "easy to guess"),
    ("canary1" * 8, "easy to guess"),
    ("0123456789abcdef" * 4, "easy to guess"),
    ("abcdefghijklmnopqrstuvwxyz012345", "easy to guess"),
    ("0" * 63 + "1", "easy to guess"),
    ("x", "shorter than"),
]


@pytest.mark.parametrize(("key", "sentence"), WEAK, ids=lambda value: value[:12])
@pytest.mark.parametrize("member", ["quotes.keys.0.secret", "auth.keys.0"])
def test_a_weak_key_is_refused_and_not_shown(load, member, key, sentence):
    text = KEYS if member.startswith("quotes") else KEYS + '[auth]\nkeys = [{env = "AUTH"}]\n'
    environ = {"KEY": key} if member.startswith("quotes") else {**ENV, "AUTH": key}
    with pytest.raises(ConfigError, match="openssl rand -hex 32") as caught:
        load(text, environ)
    assert f"{member}: this key is {sentence}" in str(caught.value)
    assert len(key) == 1 or key not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("make", [secrets.token_hex, secrets.token_urlsafe])
def test_random_keys_are_strong(load, make):
    for _ in range(200):
        config = load(KEYS + '[auth]\nkeys = [{env = "AUTH"}]\n', {"KEY": make(32), "AUTH": make(16)})
        assert config.auth.keys


def test_a_variable_with_one_underscore_is_a_typo(load):
    with pytest.raises(ConfigError, match="Did you mean QUOTEWAY_SERVER__PORT"):
        load(None, {"QUOTEWAY_SERVER_PORT": "1"})


@pytest.mark.parametrize("url", ["https://host:canary/", "https://[canary/"])
def test_a_plugin_s_url_that_cannot_be_read_is_not_shown(load, url):
    config = load(KEYS + f'[plugin.fake]\nbase_url = "{url}"\n')
    assert redacted(config)["plugin"] == {"fake": {"base_url": "***"}}


def test_nothing_shows_a_secret(load):
    text = (
        KEYS
        + '[auth]\nkeys = [{env = "AUTH"}]\n[limits]\nstore = {env = "STORE"}\n'
        + '[networks.ethereum]\nrpc = ["https://rpc.example/v3/canary0", {url = {env = "URL"}, '
        + 'name = "main"}, {url = "https://c.example", headers = {Authorization = {env = "AUTH"}}}]\n'
        + '[plugin.lifi]\napi_key = {env = "AUTH"}\npassword = "canary4"\nurl = "https://x.example/canary5"\n'
        + 'missing = {env = "NOT_SET"}\nmode = "fast"\n'
    )
    environ = {
        **ENV,
        "KEY": "canary1-4f1c9a07e2d85b36c0a7914ed3f8625b",
        "AUTH": "canary2-9b2e64d17fa0583c",
        "URL": "https://u:canary3@b.example/x",
        "STORE": "redis://:canary6@h",
    }
    config = load(text, environ)
    shown = json.dumps(redacted(config))
    assert "canary" not in shown + repr(config)
    for kept in ("https://rpc.example/***", "https://b.example/*** (main)", "fast", "NOT_SET"):
        assert kept in shown
    assert config.auth.keys[0].reveal() == "canary2-9b2e64d17fa0583c"


def test_secret_field_takes_references_only(monkeypatch):
    from marshmallow import ValidationError

    monkeypatch.setenv("SOME_SECRET", "value")
    assert SecretField().deserialize({"env": "SOME_SECRET"}).reveal() == "value"
    for wrong in ("plain", {"env": "NOT_SET_ANYWHERE"}, {"env": 5}, {"env": "A", "file": "b"}, 5):
        with pytest.raises(ValidationError):
            SecretField().deserialize(wrong)
    assert str(Secret("x")) == "***"
    assert Secret("x") == Secret("x") != Secret("y")


@pytest.mark.parametrize(
    "url",
    [
        "http://rpc.example",
        "https://user:secret@rpc.example",
        "https://token@rpc.example",
        "https://",
        "https://rpc.example/#part",
        "https://rpc.example/\u202e",
        "https://rpc.example/a b",
        "https://rpc.example:port",
        "javascript:alert(1)",
        "rpc.example",
        "",
        "https://rpc.example/" + "a" * 2_048,
    ],
)
def test_a_private_submission_url_is_https_and_has_no_credential(load, url):
    with pytest.raises(ConfigError, match="private_submission") as caught:
        load(f"{KEYS}[networks.ethereum]\nprivate_submission = {json.dumps(url)}\n")
    assert "secret" not in str(caught.value)


def test_a_private_submission_url_is_read(load):
    url = "https://rpc.example/fast?refund=90"
    config = load(f'{KEYS}[networks.ethereum]\nprivate_submission = "{url}"\n')
    assert config.networks["ethereum"].private_submission == url


def test_an_endpoint_may_be_a_fallback_or_cordoned(load):
    text = """[networks.ethereum]
rpc = [
  "https://a.example",
  {url = "https://b.example/canary", name = "paid", tier = 1},
  {url = "https://c.example", cordoned = true},
  {url = "https://d.example", cordoned = "moves on Monday"},
  {url = "https://e.example", cordoned = false},
]
"""
    config = load(KEYS + text)
    endpoints = config.networks["ethereum"].rpc
    assert [endpoint.tier for endpoint in endpoints] == [0, 1, 0, 0, 0]
    expected = ["", "", "by the configuration", "moves on Monday", ""]
    assert [endpoint.cordoned for endpoint in endpoints] == expected
    shown = redacted(config)["networks"]["ethereum"]["rpc"]
    assert shown[1:4] == [
        "https://b.example/*** (paid, tier 1)",
        "https://c.example (cordoned: by the configuration)",
        "https://d.example (cordoned: moves on Monday)",
    ]
