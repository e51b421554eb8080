"""The WebSocket URL of an endpoint in the configuration: checked, taken from secrets, and shown nowhere."""

import secrets

import pytest
from quoteway.config.loading import load_config, redacted
from quoteway.errors import ConfigError
from quoteway.telemetry.logs import Redactor

CANARY = "canary-5f3a9c-0123456789"


def config_with(tmp_path, ws, **environment):
    path = tmp_path / "quoteway.toml"
    path.write_text(
        '[quotes]\nkeys = [{ id = "k1", secret = { env = "KEY" } }]\n'
        f'[networks.ethereum]\nrpc = [{{ url = "https://node.example", ws = {ws} }}]\n'
    )
    return load_config(path, {"KEY": secrets.token_hex(32), **environment})


def test_a_websocket_url(tmp_path):
    config = config_with(tmp_path, '{ env = "WS" }', WS=f"wss://node.example/v3/{CANARY}")
    (endpoint,) = config.networks["ethereum"].rpc
    assert endpoint.ws == f"wss://node.example/v3/{CANARY}"
    assert CANARY not in repr(config) + str(redacted(config))
    assert CANARY not in Redactor(config)(f"cannot connect to {endpoint.ws}: 401 for /v3/{CANARY}")


@pytest.mark.parametrize("url", ["https://node.example", "wss://", "node.example", "wss://["])
def test_another_url(tmp_path, url):
    with pytest.raises(ConfigError, match=r"networks\.ethereum\.rpc"):
        config_with(tmp_path, f'"{url}"')
