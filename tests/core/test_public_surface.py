"""What plugin authors may rely on: the exports, the hooks, and what imports what."""

import ast
import asyncio
import inspect
import pathlib
import re
import subprocess
import sys
import tomllib
from contextlib import asynccontextmanager

import pytest
import quoteway
from quoteway import hookimpl, hookspecs
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.host.registry import CAPABILITY_HOOKS
from quoteway.host.states import NotEnabled, State
from quoteway.models import NATIVE, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.server import plugin_checks
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, MemoryRpc

ROOT = pathlib.Path(__file__).parents[2]
HOOKS = [name for name in vars(hookspecs) if name.startswith("quoteway_")]
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def test_the_exports_are_sorted_and_exactly_what_the_module_imports():
    tree = ast.parse(pathlib.Path(quoteway.__file__).read_text())
    imports = [(node.module, alias) for node in tree.body[1:] for alias in node.names]
    # Constants, then classes, then functions, as ruff sorts them.
    order = [(module, not a.name.isupper(), a.name[0].islower(), a.name.lower()) for module, a in imports]
    assert order == sorted(order)
    for _, alias in imports:
        # "import X as X" is how type checkers tell an export (PEP 484).
        assert alias.asname == alias.name
        assert getattr(quoteway, alias.name) is not None


def test_every_capability_has_its_hook():
    assert set(CAPABILITY_HOOKS) == set(Capability)
    assert {hook for hook, _ in CAPABILITY_HOOKS.values()} <= set(HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_tells_when_it_is_called(name):
    text = inspect.getdoc(getattr(hookspecs, name))
    assert text
    assert re.search(r"\b(called|entered)\b", text, re.IGNORECASE), text


class Recorder(FakePlugin):
    """Implements every hook there is and writes down who was called with what."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.calls = []

    def note(self, hook, context=None):
        self.calls.append(hook)
        assert context is None or context.plugin == "recorder"

    @hookimpl
    def quoteway_settings(self):
        from marshmallow import Schema

        self.note("quoteway_settings")
        return Schema

    @hookimpl
    def quoteway_routes(self, context):
        self.note("quoteway_routes", context)
        return ["a route"]

    @hookimpl
    def quoteway_site(self, context):
        self.note("quoteway_site", context)
        return quoteway.Site(ROOT)

    @hookimpl
    def quoteway_commands(self):
        self.note("quoteway_commands")
        return ["a command"]

    @hookimpl
    def quoteway_observe(self, event):
        self.note("quoteway_observe")
        self.calls.append(dict(event))
        raise RuntimeError("an observer that raises breaks nothing")


def _recording(name):
    inherited = getattr(FakePlugin, name)

    def hook(self, context):
        self.note(name, context)
        return inherited(self, context)

    hook.__name__ = name
    return hookimpl(hook)


for _name in [n for n in HOOKS if n not in vars(Recorder)]:
    setattr(Recorder, _name, _recording(_name))


async def test_every_hook_is_called_and_its_answer_used(make_gateway):
    entered = []

    @asynccontextmanager
    async def lifespan(context):
        assert context.http is not None
        assert await context.chain(7).head()
        entered.append(context.plugin)
        yield

    plugin = Recorder(
        [MemoryRpc({7}), FixedRateSwap],
        networks=[Network("seven", 7, "Seven")],
        calls=[FAKE_CALLS],
        lifespan=lifespan,
    )
    gateway = await make_gateway({"recorder": plugin})
    assert entered == ["recorder"]
    assert plugin.calls[0] == "quoteway_settings"
    assert plugin.calls.index("quoteway_networks") < plugin.calls.index("quoteway_rpc_upstreams")
    assert plugin.calls.index("quoteway_rpc_upstreams") < plugin.calls.index("quoteway_swap_providers")
    assert [a for _, a in gateway.registry.plugins.ask("quoteway_routes")] == [["a route"]]
    assert [a for _, a in gateway.registry.plugins.ask("quoteway_site")] == [quoteway.Site(ROOT)]
    assert await plugin_checks.checks(gateway.registry.plugins) == []
    assert [a for _, a in gateway.registry.plugins.ask("quoteway_commands")] == [["a command"]]
    request = SwapRequest(7, 7, Token(7, NATIVE, 18), Token(7, "0x" + "1" * 40, 6), 10**18, USER, USER, 50)
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    assert answer.sealed.provider == "fixed-rate"
    async with asyncio.timeout(30):
        while len(seen := [call for call in plugin.calls if isinstance(call, dict)]) < 2:
            await asyncio.sleep(0.01)
    told = [(each["provider"], each["method"], each["outcome"]) for each in seen]
    assert told == [("fixed-rate", "quote", "quoted"), ("fixed-rate", "build", "quoted")]
    assert set(HOOKS) == {call for call in plugin.calls if isinstance(call, str)}
    for hook in HOOKS:
        if not hook.endswith(("settings", "routes", "site", "commands", "observe", "lifespan")):
            assert plugin.calls.count(hook) == 1, f"{hook} is called once"


async def test_two_gateways_in_one_process_share_nothing(make_gateway):
    one = await make_gateway({"a": FakePlugin([MemoryRpc({7})], networks=[Network("seven", 7, "Seven")])})
    two = await make_gateway({"b": FakePlugin([MemoryRpc({8})], networks=[Network("eight", 8, "Eight")])})
    assert [n.slug for n in one.runtime.networks] == ["seven"]
    assert [n.slug for n in two.runtime.networks] == ["eight"]
    assert not set(one.runtime.chains) & set(two.runtime.chains)


def test_states_and_reasons_are_the_closed_sets_of_the_design():
    assert [state.value for state in State] == ["installed", "loaded", "configured", "started", "enabled"]
    assert {reason.value for reason in NotEnabled} == {
        "not_selected",
        "incompatible",
        "import_failed",
        "incomplete",
        "duplicate_id",
        "squatter",
        "lock_mismatch",
        "level_too_low",
        "disabled",
        "config_invalid",
        "credential_missing",
        "startup_failed",
        "unpinned_descriptions",
        "process_ended",
    }


# --- imports --------------------------------------------------------------------------------------------


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )


def test_pytest_starts_without_the_heavy_parts():
    done = run(
        "import sys, quoteway.testing.pytest_plugin\n"
        "print(sorted({'aiohttp', 'web3', 'eth_account', 'eth_abi', 'quoteway.engine', 'quoteway_devnet'}"
        " & set(sys.modules)))"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_pool_mathematics_import_the_standard_library_and_themselves_only():
    """The solver's modules import numpy too: they run in a process of their own."""
    solver = {
        *("approach.py", "average.py", "dual.py", "flows.py", "levels.py", "market.py"),
        *("pieces.py", "single.py", "spot.py", "support.py"),
    }
    for path in (ROOT / "plugins/amm/src").rglob("*.py"):
        known = {"quoteway_amm", "numpy"} if path.name in solver else {"quoteway_amm"}
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                assert top in sys.stdlib_module_names or top in known, f"{path}: {name}"


def test_the_static_checks_know_every_plugin():
    """A plugin left out of these lists would be checked by nobody."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    contracts = {c["name"].split(":")[0]: c for c in settings["importlinter"]["contracts"]}
    (public,) = [c for name, c in contracts.items() if name.startswith("Plugins know")]
    assert public["type"] == "protected"
    assert public["allowed_importers"] == ["quoteway"], "no plugin is excepted"
    for source in (ROOT / "plugins").glob("*/src/*/__init__.py"):
        package = source.parent.name
        assert package in settings["importlinter"]["root_packages"], package
        assert package in contracts["The framework never imports a plugin"]["forbidden_modules"], package
        assert package in contracts["Nothing a server imports can sign"]["source_modules"], package
        tree = source.parents[1].relative_to(ROOT).as_posix()
        assert f"$MYPY_CONFIG_FILE_DIR/{tree}" in settings["mypy"]["mypy_path"], tree


def test_every_stage_of_the_core_is_closed_to_plugins_and_in_the_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    contracts = {contract["type"]: contract for contract in reversed(settings["contracts"])}
    parts = {path for path in (ROOT / "framework/quoteway").iterdir() if not path.name.startswith("_")}
    folders = {path.name for path in parts if path.is_dir()} - {"models", "scaffold"}
    stages = {f"quoteway.{name}" for name in folders - {"evm", "testing"}}
    assert set(contracts["protected"]["protected_modules"]) == stages
    layers = {name.strip() for layer in contracts["layers"]["layers"] for name in layer.split("|")}
    files = {f"quoteway.{path.stem}" for path in parts if path.suffix == ".py"}
    assert layers - {"quoteway.__main__"} == files | {f"quoteway.{name}" for name in folders | {"models"}}


def test_nothing_happens_at_import_of_the_core():
    """No thread is started and no configuration is read."""
    done = run(
        "import os, threading\n"
        "os.environ['QUOTEWAY_CONFIG'] = '/nonexistent'\n"
        "import quoteway.engine.gateway, quoteway.engine.building, quoteway.guard.calldata\n"
        "print(threading.active_count())"
    )
    assert done.stdout.strip() == "1", done.stderr


def test_a_gateway_without_plugins_loads_and_is_empty():
    gateway = Gateway(Config(), discover=False)
    gateway.load()
    assert [*gateway.registry.plugins, *gateway.registry.providers] == []
