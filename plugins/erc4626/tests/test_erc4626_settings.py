"""The listed vaults: rows of networks and of the configuration."""

import logging
import tomllib
from pathlib import Path

import pytest
from quoteway import ConfigError, Context, Network, Networks
from quoteway.config.model import Config
from quoteway.evm.address import checksum
from quoteway.host.runtime import Runtime
from quoteway_erc4626.provider import Erc4626Provider
from quoteway_erc4626.public_vaults import ROWS
from quoteway_erc4626.settings import Erc4626Settings

README = Path(__file__).parents[1] / "README.md"
SDAI = "0x83F20F44975D03b1b09e64809B757c47f942BEeA"
SUSDS = "0xa3931d71877C0E7a3148CB7Eb4463524FEc27fbD"
ONE, TWO = "0x" + "1" * 40, "0x" + "2" * 40


def provider(section, **deployments):
    runtime = Runtime(Config())
    rows = {family: tuple(rows) for family, rows in deployments.items()}
    runtime.networks = Networks(
        [Network("ethereum", 1, "Ethereum", deployments=rows), Network("base", 8453, "Base")]
    )
    settings = Erc4626Settings().load(section)
    return Erc4626Provider(Context("erc4626", settings, logging.getLogger("erc4626"), runtime))


def test_the_readmes_example_loads():
    example = README.read_text().split("```toml\n")[1].split("```")[0]
    found = provider(tomllib.loads(example)["plugin"]["erc4626"])
    assert list(found.contracts(1)) == [SDAI, SUSDS]
    assert list(found.spenders(8453)) == [ONE]
    assert found.networks == {1, 8453}


def test_the_configuration_adds_to_the_networks_rows():
    found = provider({"vaults": [f"eip155:1:{TWO}"]}, erc4626=[{"vault": ONE}])
    assert list(found.contracts(1)) == [SDAI, SUSDS, ONE, TWO]
    closed = provider({"ask_chain": False}, erc4626=[{"vault": ONE}])
    assert closed.networks == {1}


def test_public_vaults_have_their_checksums():
    for rows in ROWS.values():
        for row in rows:
            assert checksum(row["vault"]) == row["vault"]


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("atlantis:" + ONE, "network 'atlantis' is unknown; known: ethereum, base"),
        ("ethereum:0x12", "40 hexadecimal digits"),
        (ONE, "network '' is unknown"),
        (7, "a vault is"),
        ({"network": "base"}, "has no vault"),
        ({"network": "base", "vault": ONE, "asset": TWO}, "unknown member 'asset'"),
        ({"network": "base", "vault": 5}, "vault 5"),
    ],
)
def test_a_wrong_row_says_what_is_wrong(item, says):
    with pytest.raises(ConfigError, match=says):
        provider({"vaults": [item]})


async def test_only_listed_vaults_when_asked_so():
    closed = provider({"ask_chain": False, "vaults": [f"ethereum:{ONE}"]})
    assert await closed.vault(f"1:{TWO}") is None
    assert await closed.vault(f"8453:{ONE}") is None
    assert await closed.vault("1:rubbish") is None
