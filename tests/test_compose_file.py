"""deploy/compose.yaml: what it names exists, its parts are hardened and apart, its configuration is accepted.

Docker is not needed: ``tests/image.py`` carries out the steps of the image, and
``test_gateways_of_compose.py`` runs two gateways and the index with the shipped files.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from compose_file import COMPOSE, CONFIG, DEPLOY, GATEWAYS, SECRETS, SERVICES, configured
from quoteway.config.loading import load_config
from quoteway.engine.gateway import Gateway

STORES = ("valkey", "postgres")
OURS = "quoteway:local"


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_names_exists(name):
    service = SERVICES[name]
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
    for volume in service.get("volumes", ()):
        source = volume.partition(":")[0]
        if source.startswith("./"):
            assert (DEPLOY / source).exists(), source
            assert volume.endswith(":ro"), "what is of this tree is not written to"
        else:
            assert source in COMPOSE["volumes"]
    for other, how in service.get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            # The image of the gateways has a health check of its own.
            assert SERVICES[other].get("healthcheck") or SERVICES[other]["image"] == OURS


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_right_that_it_does_not_need(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    if service["image"] != OURS:
        assert re.fullmatch(r"[a-z/]+:v?[0-9]+\.[0-9.]+(-[a-z]+)?", service["image"]), "of one version"
        assert int(service["user"].partition(":")[0]) > 0
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), "for this machine alone"


def test_who_need_not_talk_cannot():
    def share(one, other):
        return set(SERVICES[one]["networks"]) & set(SERVICES[other]["networks"])

    for store in STORES:
        assert all(COMPOSE["networks"][network]["internal"] for network in SERVICES[store]["networks"])
        assert {name for name in SERVICES if name != store and share(store, name)} <= {*GATEWAYS, "index"}
    for outside in ("nginx", "prometheus", "grafana"):
        assert not any(share(outside, store) for store in STORES)
    assert all(share("nginx", gateway) and share("prometheus", gateway) for gateway in GATEWAYS)


def test_nginx_prometheus_and_grafana_ask_services_that_are_there():
    config = load_shipped()
    upstreams = re.findall(r"^ *server ([\w.-]+):(\d+) ", (DEPLOY / "nginx.conf").read_text(), re.MULTILINE)
    assert upstreams == [(gateway, str(config.server.port)) for gateway in GATEWAYS]
    (job,) = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    assert job["static_configs"] == [
        {"targets": [f"{gateway}:{config.server.metrics_port}" for gateway in GATEWAYS]}
    ]
    provisioning = DEPLOY / "grafana/provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources/prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (folder,) = yaml.safe_load((provisioning / "dashboards/quoteway.yml").read_text())["providers"]
    mounted = [each.split(":")[1] for each in SERVICES["grafana"]["volumes"]]
    assert f"{folder['options']['path']}/quoteway.json" in mounted
    address = SERVICES["nginx"]["networks"]["edge"]["ipv4_address"]
    assert config.server.trusted_proxies == (f"{address}/32",), "nginx alone says who the caller is"
    fixed = {SERVICES[name]["networks"]["edge"]["ipv4_address"] for name in (*GATEWAYS, "nginx")}
    assert len(fixed) == 3


def test_requests_under_way_are_answered_before_docker_kills():
    server = load_shipped().server
    grace_s = int(SERVICES["gateway-1"]["stop_grace_period"].removesuffix("s"))
    assert grace_s >= server.drain_s + 2 * server.shutdown_timeout_s + 9


def load_shipped(folder=None):
    """Returns the configuration as a gateway loads it, with its secrets in ``folder``."""
    with tempfile.TemporaryDirectory() as temporary:
        path = configured(Path(folder or temporary))
        return load_config(path, {"QUOTEWAY_SERVER__PORT": "8080"})  # as the image sets it


def test_the_gateways_take_the_configuration_and_have_its_secrets(tmp_path):
    named = set(re.findall(r'file = "/run/secrets/(\w+)"', CONFIG.read_text()))
    assert named == set(SECRETS) == set(SERVICES["gateway-1"]["secrets"])
    for service in (*GATEWAYS, "index"):
        assert SERVICES[service]["secrets"] == SERVICES["gateway-1"]["secrets"]
        assert "./compose/quoteway.toml:/etc/quoteway/quoteway.toml:ro" in SERVICES[service]["volumes"]
    config = load_shipped(tmp_path)
    assert not config.embedded
    assert not any(value in CONFIG.read_text() for value in SECRETS.values())
    gateway = Gateway(config)
    gateway.load()
    (indexer,) = (entry for entry in gateway.registry.plugins if entry.name == "indexer")
    assert indexer.reason is None, indexer
    assert config.limits.store == "valkey://valkey:6379/0"
    assert "valkey" in SERVICES["gateway-1"]["depends_on"]


def test_the_page_makes_every_secret_and_they_fit_together(tmp_path):
    """The commands of docs/how-to/deploy-with-containers.md, as they stand there."""
    page = (DEPLOY.parent / "docs/how-to/deploy-with-containers.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    (commands,) = (block for block in blocks if "mkdir -p deploy/compose/secrets" in block)
    shell = ["sh", "-eu", "-c", commands]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = {path.name: path.read_text().strip() for path in (tmp_path / "deploy/compose/secrets").iterdir()}
    assert set(made) == {Path(each["file"]).name for each in COMPOSE["secrets"].values()}
    assert made["index_url"] == f"postgresql://quoteway:{made['postgres_password']}@postgres:5432/quoteway"
    config = tmp_path / "quoteway.toml"
    config.write_text(CONFIG.read_text().replace("/run/secrets/", f"{tmp_path}/deploy/compose/secrets/"))
    shown = subprocess.run(
        [sys.executable, "-m", "quoteway", "config", "--config", str(config)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(shown.stdout)
    assert told["embedded"] is False
    assert not any(value in shown.stdout for value in made.values())
