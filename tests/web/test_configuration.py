"""The configuration: where it comes from, what is refused and how, and that secrets never show."""

import json

import pytest
from quoteway.config_loading import load_config, redacted
from quoteway.credentials import Secret, SecretField
from quoteway.errors import ConfigError

KEYS = '[quotes]\nkeys = [{id = "k1", secret = {env = "KEY"}}]\n'
ENV = {"KEY": "k" * 40}


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
    assert config.plugin_sections["lifi"]["api_key"] == Secret("k" * 40)
    assert config.worker == 3


def test_secrets_come_from_files_beside_the_configuration(load, tmp_path):
    (tmp_path / "key.txt").write_text("f" * 32 + "\n")
    config = load('[quotes]\nkeys = [{id = "a", secret = {file = "key.txt"}}]\n')
    assert config.quotes.keys[0].secret.reveal() == "f" * 32


WRONG = [
    ("[server]\nprot = 1", "server.prot: unknown key. Did you mean 'port'?"),
    ("[servers]", "[servers] is no section. Did you mean 'server'?"),
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
    ('[networks.Ethereum]\nrpc = ["https://x.example"]', "[networks.Ethereum] is no network name"),
    ('[networks.ethereum]\nrpc = ["ftp://canary"]', "networks.ethereum.rpc.0"),
    ('[networks.ethereum]\nrpc = ["https://host:canary"]', "rpc.0.url: expected a URL with a host and port"),
    ('[networks.ethereum]\nrpc = ["https://[canary/"]', "rpc.0.url: expected a URL with a host and port"),
    (
        '[networks.ethereum]\nrpcs = ["https://x.example"]',
        "networks.ethereum.rpcs: unknown key. Did you mean 'rpc'?",
    ),
    ("[providers.x]\nenable = false", "providers.x.enable: unknown key. Did you mean 'enabled'?"),
    ("server = 1", "server must be a table"),
    ("plugin = 1", "[plugin] must hold tables"),
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
        load("[server]\nprot = 1\n[limits]\nrpc = 'x'\n[quotes]\nlifetime_s = 5\n")
    for part in ("server.prot", "limits.rpc", "quotes.lifetime_s"):
        assert part in str(caught.value)


def test_a_configured_deployment_needs_a_signing_key_of_its_own(load):
    with pytest.raises(ConfigError, match="openssl rand"):
        load("[server]\nport = 1\n")
    with pytest.raises(ConfigError, match="shorter than 32 bytes"):
        load(KEYS, {"KEY": "short"})
    two = '[quotes]\nkeys = [{id = "a", secret = {env = "KEY"}}, {id = "a", secret = {env = "KEY"}}]\n'
    with pytest.raises(ConfigError, match="unique"):
        load(two)


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
        "KEY": "canary1" * 8,
        "AUTH": "canary2",
        "URL": "https://u:canary3@b.example/x",
        "STORE": "redis://:canary6@h",
    }
    config = load(text, environ)
    shown = json.dumps(redacted(config))
    assert "canary" not in shown + repr(config)
    for kept in ("https://rpc.example/***", "https://b.example/*** (main)", "fast", "NOT_SET"):
        assert kept in shown
    assert config.auth.keys[0].reveal() == "canary2"


def test_secret_field_takes_references_only(monkeypatch):
    from marshmallow import ValidationError

    monkeypatch.setenv("SOME_SECRET", "value")
    assert SecretField().deserialize({"env": "SOME_SECRET"}).reveal() == "value"
    for wrong in ("plain", {"env": "NOT_SET_ANYWHERE"}, {"env": 5}, {"env": "A", "file": "b"}, 5):
        with pytest.raises(ValidationError):
            SecretField().deserialize(wrong)
    assert str(Secret("x")) == "***"
    assert Secret("x") == Secret("x") != Secret("y")
