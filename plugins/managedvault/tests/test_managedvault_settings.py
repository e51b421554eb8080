"""The rows of factories and their strategies."""

import logging
import tomllib
from pathlib import Path

import pytest
from quoteway import ConfigError, Context, Network, Networks
from quoteway.config.model import Config
from quoteway.host.runtime import Runtime
from quoteway_managedvault.deployments import deployments_of
from quoteway_managedvault.settings import ManagedVaultSettings

README = Path(__file__).parents[1] / "README.md"
ONE, TWO = "0x" + "1" * 40, "0x" + "2" * 40


def deployments(section):
    runtime = Runtime(Config())
    runtime.networks = Networks([Network("base", 8453, "Base")])
    settings = ManagedVaultSettings().load(section)
    return deployments_of(Context("managedvault", settings, logging.getLogger("managedvault"), runtime))


def test_the_readmes_example_loads():
    example = README.read_text().split("```toml\n")[1].split("```")[0]
    found = deployments(tomllib.loads(example)["plugin"]["managedvault"])[8453]
    assert found.factory == TWO
    assert found.strategy("some-usdc") == found.strategy(ONE) == ONE
    assert found.strategy("other") is None
    assert found.strategy(TWO) is None


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"network": "atlantis", "factory": ONE}, "network 'atlantis' is unknown; known: base"),
        ({"network": "base"}, "factory is missing"),
        ({"network": "base", "factory": "0x12"}, "40 hexadecimal digits"),
        ({"network": "base", "factory": ONE, "owner": TWO}, "unknown member 'owner'"),
        ({"network": "base", "factory": ONE, "strategies": [{"id": "x"}]}, "vault is missing"),
        ({"network": "base", "factory": ONE, "strategies": [{"id": "X Y", "vault": TWO}]}, "lowercase"),
    ],
)
def test_a_wrong_row_says_what_is_wrong(row, says):
    with pytest.raises(ConfigError, match=says):
        deployments({"deployments": [row]})
