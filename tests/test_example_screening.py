"""The example of a screening plugin, ``refused_addresses``: it refuses what its file names, and needs it."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from custody import desk_of  # noqa: E402
from direct_client import OTHER  # noqa: E402
from quoteway.engine.gateway import Gateway  # noqa: E402
from quoteway.guard.policy_file import parse_policy  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
POLICY = '[screening]\nplugins = ["refused-addresses"]\n[[rules]]\nname = "anything"\n'


async def test_the_example_refuses_the_addresses_of_its_file(devnet, tmp_path):
    import refused_addresses

    file = tmp_path / "refused.txt"
    file.write_text(f"# from a list\n\n{OTHER.lower()} # somebody\n")
    section = {"refused-addresses": {"file": str(file)}}
    async with desk_of(devnet, {"refused-addresses": refused_addresses}, sections=section) as desk:
        building = desk.api.gateway.building
        building.custody = replace(building.custody, policy=parse_policy(POLICY.encode(), "test"))
        assert (await desk.act(await desk.quote_swap()))["policy"]
        assert await desk.refused(await desk.quote_swap(toAddress=OTHER)) == {
            "screening": ["refused-addresses"]
        }


@pytest.mark.parametrize("content", [None, "0x12", "<html>"])
async def test_the_example_without_a_list_is_not_enabled(make_config, tmp_path, content):
    import refused_addresses

    file = tmp_path / "refused.txt"
    if content is not None:
        file.write_text(content)
    section = {"refused-addresses": {"file": str(file)}}
    config = replace(make_config(), plugin_sections=section)
    gateway = Gateway(config, plugins={"refused-addresses": refused_addresses}, discover=False)
    gateway.load()
    (entry,) = (each for each in gateway.registry.plugins if each.name == "refused-addresses")
    assert entry.reason is not None
    assert "has no list of addresses" in entry.detail
