import asyncio
import os
import socket
import subprocess
import sys

import pytest
from ports import answers, closes
from quoteway.config.loading import load_config
from quoteway.config.model import Config, PluginsConfig, ServerConfig
from quoteway.engine.gateway import Gateway
from quoteway.host.states import NotEnabled
from quoteway_devnet import plugin
from quoteway_devnet.anvil import free_port
from quoteway_devnet.manifest import chain_manifests
from quoteway_devnet.networks import devnet_networks
from quoteway_devnet.rpc import Rpc


def gateway(section=None, **config):
    config = Config(
        plugins=PluginsConfig(load=("devnet",)),
        plugin_sections={"devnet": {"port": 0, "l2_port": 0} if section is None else section},
        **config,
    )
    return Gateway(config, plugins={"devnet": plugin}, discover=False)


def entry(gateway):
    return next(entry for entry in gateway.registry.plugins if entry.name == "devnet")


def networks(gateway):
    """Those the plugin declares; the gateway keeps the ones that an RPC plugin serves."""
    return {n.chain_id: n for _, answer in gateway.registry.plugins.ask("quoteway_networks") for n in answer}


@pytest.mark.slow
async def test_the_gateway_runs_the_chains_it_names():
    one = gateway()
    async with one.running():
        assert entry(one).reason is None
        declared = networks(one)
        assert set(declared) == {31337, 31338}
        for chain_id, network in declared.items():
            port = int(network.endpoints[0].url.rpartition(":")[2])
            with Rpc(port) as rpc:
                assert int(rpc("eth_chainId"), 16) == chain_id
                assert len(rpc("eth_getCode", network.wrapped_native, "latest")) > 100
    assert await asyncio.to_thread(closes, port)


@pytest.mark.slow
async def test_another_worker_waits_for_the_first():
    ports = {"port": free_port(), "l2_port": free_port()}
    second = gateway(ports, worker=1)
    await second.start()
    await asyncio.sleep(0.3)
    assert not second.ready
    async with gateway(ports).running():
        await asyncio.wait_for(second.started(), 120)
        assert entry(second).reason is None
        await second.stop()
        assert answers(ports["port"]), "leaving a worker must not stop the chains"


@pytest.mark.slow
async def test_with_a_configuration_file_it_runs_only_when_asked():
    section = {"port": free_port(), "l2_port": free_port()}
    quiet = gateway(section, embedded=False)
    async with quiet.running():
        assert networks(quiet) == {}
        assert not answers(section["port"])
    asked = gateway(section | {"enabled": True}, embedded=False)
    async with asked.running():
        assert set(networks(asked)) == {31337, 31338}
        assert answers(section["port"])


def test_it_does_not_run_beside_a_deployment_by_environment():
    key = {"KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
    signed = {"QUOTEWAY_QUOTES__KEYS": '[{id = "a", secret = {env = "KEY"}}]', **key}
    named = {"QUOTEWAY_PLUGINS__LOAD": "devnet", "QUOTEWAY_SERVER__HOST": "0.0.0.0"}
    for environ, expected in (({}, {31337, 31338}), (named | signed, set())):
        one = Gateway(load_config(environ=environ), plugins={"devnet": plugin}, discover=False)
        one.registry.plugins.load()
        assert set(networks(one)) == expected


async def test_a_taken_port_is_the_plugins_reason():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        broken = gateway({"port": port, "l2_port": free_port()})
        async with broken.running():
            assert entry(broken).reason is NotEnabled.STARTUP_FAILED
            assert f"Port {port}" in entry(broken).detail


async def test_any_free_port_is_refused_to_several_workers():
    several = gateway(server=ServerConfig(workers=2))
    several.registry.plugins.load()
    assert networks(several) == {}
    assert entry(several).reason is NotEnabled.CONFIG_INVALID
    assert "name the ports" in entry(several).detail


@pytest.mark.parametrize("section", [{"port": -1}, {"port": "8545"}, {"ports": 1}, {"enabled": "yes"}])
async def test_bad_settings_are_refused(section):
    refused = gateway(section)
    refused.registry.plugins.load()
    assert entry(refused).reason is NotEnabled.CONFIG_INVALID
    assert next(iter(section)) in entry(refused).detail


def test_deployment_rows_point_at_the_contracts():
    for network in devnet_networks({"devnet": 1, "devnet-l2": 2}):
        chain = chain_manifests()[network.slug]
        (row,) = network.deployments["uniswap"]
        assert row["router"] == chain.contracts["UniversalRouter"]
        assert row["v2"]["factory"] == chain.contracts["UniswapV2Factory"]
        assert row["v3"]["factory"] == chain.contracts["UniswapV3Factory"]
        assert row["v4"]["pool_manager"] == chain.contracts["PoolManager"]
        assert len(row["v4_known_pools"]) == (network.slug == "devnet")
        assert set(row["base_tokens"]) <= {token.address for token in chain.tokens}
        assert network.token_lists[0].endswith("tokenlist.json")


def test_the_plugin_module_is_light():
    code = (
        "import sys, quoteway_devnet.plugin, quoteway_devnet.networks as n;"
        "n.devnet_networks({'devnet': 1, 'devnet-l2': 2});"
        "own = ('quoteway_devnet.anvil', 'quoteway_devnet.packages');"
        "heavy = ('eth_abi', 'eth_account', 'web3', 'rich', *own);"
        "print([m for m in heavy if m in sys.modules])"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.slow
def test_a_taken_port_ends_the_embedded_server_with_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        environ = {
            **os.environ,
            "QUOTEWAY_SERVER__PORT": "0",
            "QUOTEWAY_PLUGIN__DEVNET__PORT": str(port),
            "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": "0",
        }
        serve = [sys.executable, "-m", "quoteway", "serve"]
        run = subprocess.run(serve, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300)
    assert run.returncode == 2
    assert f"Port {port}" in run.stderr.splitlines()[-1]
    assert "choose another port" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr
