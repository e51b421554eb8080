"""Clients that generators make of the OpenAPI document: each quotes a swap and builds its action.

``make test-all`` installs the generators: npm's in this folder, the others in an environment of their own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

HERE = Path(__file__).parent
DOCUMENT = HERE.parent.parent / "docs" / "reference" / "openapi.json"
NODE_MODULES = HERE / "node_modules"
GENERATORS = Path(sys.prefix) / "generators" / "bin"
ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
WAIT_S = 600
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "CI": "true"}


@pytest.fixture(scope="module")
def npm_tools():
    if not (NODE_MODULES / ".package-lock.json").exists():
        pytest.skip("`make test-all` fetches the linters and openapi-typescript")
    return NODE_MODULES / ".bin"


@pytest.fixture(scope="module")
def generators():
    if not (GENERATORS.parent / ".installed").exists():
        pytest.skip("`make test-all` installs the generators of Python and Go clients")
    return GENERATORS


def run(*command, cwd, **environment):
    """What a program prints. Fails with all that it said when it ends with an error."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def ask(url, body=None):
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, sent, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """The URL of ``quoteway serve`` without a configuration: the embedded default over two local chains."""
    folder = tmp_path_factory.mktemp("gateway")
    log = folder / "serve.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
    environment |= {
        "QUOTEWAY_SERVER__PORT": "0",
        "QUOTEWAY_PLUGIN__DEVNET__PORT": "0",
        "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": "0",
    }
    with log.open("wb") as sink:
        command = [sys.executable, "-m", "quoteway", "serve"]
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=sink)
    try:
        ends_at = time.monotonic() + WAIT_S
        while not (found := re.search(r"Quoteway is serving on (\S+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < ends_at, log.read_text()
            time.sleep(0.1)
        yield found[1]
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def usdc(gateway):
    rows = ask(f"{gateway}/v2/tokens?network=devnet")["data"]
    row = next(each for each in rows if each["symbol"] == "USDC")
    return next(each["address"] for each in row["contracts"] if each["chainId"] == 31337)


@pytest.fixture
def check(gateway, usdc):
    """Runs a client, and compares what it read with the server's answers as they are."""

    def compare(*command, cwd, **environment):
        found = json.loads(run(*command, gateway, usdc, ADDRESS, cwd=cwd, **environment).splitlines()[-1])
        quote = ask(f"{gateway}/v2/swaps/quote/{found['quoteId']}")
        action = ask(f"{gateway}/v2/swaps/{found['quoteId']}/action", {})
        assert found == {
            "quoteId": quote["quoteId"],
            "toAmount": quote["toAmount"],
            "toAmountMin": quote["toAmountMin"],
            "slippageBps": 50,
            "transactions": action["transactions"],
            "intents": [step["clearSigning"]["intent"] for step in action["steps"]],
            "simulated": "success",
            "chainId": hex(31337),
            "refusal": [["amount", "out_of_range"]],
        }
        assert int(found["toAmount"]) > 0
        assert found["transactions"]

    return compare


def test_redocly_finds_nothing(npm_tools):
    said = run(npm_tools / "redocly", "lint", DOCUMENT, "--format", "json", cwd=HERE, **QUIET)
    found = json.loads(said)
    assert [each for each in found["problems"] if not each.get("ignored")] == []
    assert found["totals"]["errors"] == found["totals"]["warnings"] == 0


def test_spectral_finds_nothing(npm_tools):
    command = [npm_tools / "spectral", "lint", DOCUMENT, "--ruleset", ".spectral.yaml"]
    said = run(*command, "--fail-severity", "hint", "--format", "json", cwd=HERE)
    assert json.loads(said[: said.rindex("]") + 1]) == []


def test_openapi_typescript_with_tsc_strict(npm_tools, check, tmp_path):
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    for name in ("swap.ts", "tsconfig.json", "package.json", "redocly.yaml"):
        shutil.copy(HERE / name, tmp_path)
    run(npm_tools / "openapi-typescript", DOCUMENT, "-o", "api.ts", cwd=tmp_path, **QUIET)
    run(npm_tools / "tsc", "--project", ".", cwd=tmp_path)
    check("node", "built/swap.js", cwd=tmp_path)


def test_openapi_python_client(generators, check, tmp_path):
    options = ["--meta", "none", "--output-path", "quoteway_client", "--fail-on-warning"]
    config = ["--config", HERE / "python-client.yaml"]
    run(generators / "openapi-python-client", "generate", "--path", DOCUMENT, *options, *config, cwd=tmp_path)
    check(generators / "python", HERE / "swap_client.py", cwd=tmp_path, PYTHONPATH=str(tmp_path))


def test_datamodel_code_generator(generators, check, tmp_path):
    run(
        generators / "datamodel-codegen",
        *("--input", DOCUMENT, "--input-file-type", "openapi"),
        *("--output", "models.py", "--output-model-type", "pydantic_v2.BaseModel"),
        *("--use-annotated", "--enum-field-as-literal", "all"),
        cwd=tmp_path,
    )
    check(generators / "python", HERE / "swap_models.py", cwd=tmp_path, PYTHONPATH=str(tmp_path))


def test_openapi_generator_for_go(generators, check, tmp_path):
    options = {
        "packageName": "quoteway",
        "withGoMod": "false",
        "disallowAdditionalPropertiesIfNotPresent": "false",
        "useOneOfDiscriminatorLookup": "true",  # else it needs a module that validates
    }
    properties = ",".join(f"{name}={value}" for name, value in options.items())
    command = [generators / "openapi-generator-cli", "generate", "-i", DOCUMENT, "-g", "go", "-o", "quoteway"]
    run(*command, f"--additional-properties={properties}", cwd=tmp_path)
    shutil.rmtree(tmp_path / "quoteway" / "test")  # empty tests, with a module of their own
    (tmp_path / "go.mod").write_text("module example.test/client\n\ngo 1.25\n")
    shutil.copy(HERE / "swap.go", tmp_path / "main.go")
    offline = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    run(generators / "go", "build", "-o", "swap", ".", cwd=tmp_path, **offline)
    check("./swap", cwd=tmp_path)
