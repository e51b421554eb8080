"""CONTRIBUTING.md taken literally: what it names runs where it says, and its recipes work in a copy."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
ROW = re.compile(
    r"^\| (?P<what>[^|]+) \| `(?P<file>[^|]+\.py)` \| `(?P<function>\w+)` \|(?: (?P<runs>\w+) \|)?$", re.M
)
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
FILE = re.compile(r"`([\w./-]+\.(?:py|md))`")
SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def section(title: str, level: int) -> str:
    """The text below a heading, to the next one of the same level or above."""
    found = re.search(rf"^{'#' * level} {re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)", PAGE, re.M | re.S)
    assert found, f"CONTRIBUTING.md has no section {title!r}"
    return found[1]


class Place(NamedTuple):
    what: str
    file: str
    function: str
    runs: str


def places(title: str, runs: str = "") -> list[Place]:
    """The rows of the table in a section."""
    text = section(title, 3)
    rows = [Place(*row[:3], row[3] or runs) for row in ROW.findall(text)]
    assert len(rows) == len(re.findall(r"^\| [^|]*\| `", text, re.M)), (
        "every row has the form that is checked"
    )
    return rows


QUOTE = places("The path of a quote", "quote")
ACTION = places("The path of an action", "action")
WHERE = places("Where is it computed, made, checked?")
PLACES = [*QUOTE, *ACTION, *WHERE]


# --- run ----------------------------------------------------------------------------------------------------


def test_the_lists_of_what_all_tests_need_agree():
    makefile = (ROOT / "Makefile").read_text()
    (told,) = re.findall(r"every test; needs (.*?) too", PAGE)
    assert f"every test; needs {told} too" in makefile
    ci = (ROOT / ".ci/run").read_text()
    for package in told.replace(" and ", ", ").split(", "):
        assert re.search(rf"apt-get install .*\b{package}\b", ci), package


# --- find ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{Path(place.file).name}:{place.function}")
def test_what_a_table_names_exists(place):
    tree = ast.parse((ROOT / place.file).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert place.function in {node.name for node in ast.walk(tree) if isinstance(node, functions)}


def test_every_make_command_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([a-z-]+)`", PAGE)) <= targets


def test_the_stages_are_the_folders_of_the_core():
    named = set(re.findall(r"`(\w+)(?:/\w+)*/`", "\n".join(re.findall(r"^\| (`\w+/.*?) \|", PAGE, re.M))))
    folders = {folder.parent.name for folder in (ROOT / "framework" / "quoteway").glob("*/__init__.py")}
    assert named == folders - {"models", "testing"}


class Trace:
    """The functions of this repository that this thread calls during the block, by (file, name)."""

    def __enter__(self) -> set[tuple[str, str]]:
        self.called: set[tuple[str, str]] = set()
        sys.setprofile(self._note)
        return self.called

    def _note(self, frame, event, argument) -> None:
        if event == "call":
            self.called.add((frame.f_code.co_filename, frame.f_code.co_name))

    def __exit__(self, *error) -> None:
        sys.setprofile(None)


@pytest.fixture
async def api(fresh_devnet):
    """Served over HTTP: Uniswap on the devnet."""
    for plugin in ("devnet", "rpc", "tokenlist", "uniswap"):
        pytest.importorskip(f"quoteway_{plugin}", reason="the paths are those of a swap through Uniswap")
    import quoteway_devnet.plugin
    import quoteway_rpc
    import quoteway_tokenlist
    import quoteway_uniswap
    from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig
    from quoteway.testing.serving import served

    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    config = Config(
        server=ServerConfig(port=0),
        limits=LimitsConfig(quotes="100000/minute"),
        quotes=QuotesConfig(competition_timeout_s=60),
        plugin_sections={"devnet": {"enabled": True, "start": False, **ports}},
    )
    plugins = {
        "devnet": quoteway_devnet.plugin,
        "rpc": quoteway_rpc,
        "tokenlist": quoteway_tokenlist,
        "uniswap": quoteway_uniswap,
    }
    async with served(plugins, config) as api:
        yield api


async def test_a_real_quote_and_its_action_go_through_what_the_tables_name(api, fresh_devnet):
    chain = fresh_devnet.chains["devnet"]
    called = {"quote": set(), "action": set()}
    for sold, bought, amount, mode in (
        ("USDC", "WETH", 10**9, "transactions"),
        ("USDC", "WETH", 10**9, "permit2-signature"),
    ):
        body = {
            "network": "devnet",
            "fromToken": chain.token(sold).address,
            "toToken": chain.token(bought).address,
            "amount": str(amount),
            "address": SENDER,
            "approvalMode": mode,
        }
        with Trace() as seen:
            quote = await api.post("/v2/swaps/quote", body)
        assert quote.status == 200, quote.body
        called["quote"] |= seen
        with Trace() as seen:
            action = await api.post(f"/v2/swaps/{quote.body['quoteId']}/action", {})
        assert action.status == 201, action.body
        called["action"] |= seen
    unseen = [
        place
        for place in PLACES
        if place.runs in called and (str(ROOT / place.file), place.function) not in called[place.runs]
    ]
    assert unseen == []


# --- change -------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """A diff without line numbers: the lines with a space or a minus become those with a space or a plus."""

    file: str
    before: str
    after: str

    def of(self, text: str) -> str:
        """The file's text with the change made."""
        assert text.count(self.before) == 1, f"{self.file} has once:\n{self.before}"
        return text.replace(self.before, self.after)


def blocks(title: str) -> Iterator[Change | str]:
    """The blocks of a recipe in their order: changes of files, and shell commands."""
    text, file = section(title, 3), ""
    at = 0
    for block in BLOCK.finditer(text):
        named = FILE.findall(text[at : block.start()].rstrip().rpartition("\n\n")[2])
        file, at = (named[-1] if named else file), block.end()
        if block["kind"] == "sh":
            yield block["body"]
        else:
            assert block["kind"] == "diff", block["kind"]
            lines = block["body"].splitlines(keepends=True)
            assert {line[0] for line in lines} <= {" ", "+", "-", "\n"}
            before = "".join(line[1:] or line for line in lines if line[0] != "+")
            after = "".join(line[1:] or line for line in lines if line[0] != "-")
            yield Change(file, before, after)


RECIPES = re.findall(r"^### (Add .+)$", PAGE, re.M)


@pytest.mark.parametrize("title", RECIPES)
def test_changes_of_a_recipe_fit_the_files_it_names(title):
    """Moved lines show here at once; the tests below carry the recipes out and are slow."""
    texts: dict[str, str] = {}
    for block in blocks(title):
        if isinstance(block, Change):
            text = texts.get(block.file) or (ROOT / block.file).read_text()
            texts[block.file] = block.of(text)
    assert texts


class Copy:
    """The tree without its git directory. The copy's own sources come before those of the environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        unwanted = shutil.ignore_patterns(".git", ".venv", "node_modules", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT, folder, ignore=unwanted)
        for modules in ROOT.glob("plugins/*/contracts/node_modules"):
            (folder / modules.relative_to(ROOT)).symlink_to(modules)
        (folder / ".venv").symlink_to(sys.prefix)
        sources = [folder / "framework", *sorted(folder.glob("plugins/*/src"))]
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("QUOTEWAY_", "PYTEST_"))
            },
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
        }

    def follow(self, title: str) -> None:
        """Carries out a recipe."""
        for block in blocks(title):
            if isinstance(block, str):
                self.run("bash", "-euo", "pipefail", "-c", block)
                continue
            path = self.folder / block.file
            path.write_text(block.of(path.read_text()))

    def run(self, *command: str, **variables: str) -> str:
        """The output of a command. Fails with all of it when the command does."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def python(self, program: str, **variables: str) -> str:
        return self.run(str(self.folder / ".venv/bin/python"), "-c", textwrap.dedent(program), **variables)


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "quoteway")


NETWORKS = """
    import asyncio, json
    import quoteway_rpc
    from quoteway import Endpoint
    from quoteway.config.model import Config, ServerConfig
    from quoteway.config.network import NetworkConfig
    from quoteway.testing.serving import served

    async def main():
        networks = {"%s": NetworkConfig(rpc=(Endpoint("http://127.0.0.1:9"),))}
        config = Config(server=ServerConfig(port=0), networks=networks)
        async with served({"rpc": quoteway_rpc}, config) as api:
            answer = await api.get("/v2/networks")
            await api.check("listNetworks", answer)
            print(json.dumps(answer.body["data"]))

    asyncio.run(main())
"""
"""Serves one network, whose node does not answer, and prints what ``GET /v2/networks`` gives."""


@pytest.mark.slow
def test_add_a_member_to_an_answer(copy):
    copy.follow("Add a member to an answer")
    document = json.loads((copy.folder / "docs/reference/openapi.json").read_text())
    schema = document["components"]["schemas"]["NetworkRow"]
    shown = {"type": "number", "description": "Seconds between two reads of the newest block"}
    assert schema["properties"]["headPollSeconds"] == shown
    assert "headPollSeconds" in schema["required"]
    (row,) = json.loads(copy.python(NETWORKS % "ethereum"))
    assert row["headPollSeconds"] == 3.0


@pytest.mark.slow
def test_add_a_network(copy):
    copy.follow("Add a network")
    (row,) = json.loads(copy.python(NETWORKS % "scroll"))
    assert (row["network"], row["chainId"], row["name"]) == ("scroll", 534352, "Scroll")


@pytest.mark.slow
def test_add_a_setting(copy):
    copy.follow("Add a setting")
    page = (copy.folder / "docs/reference/settings.md").read_text()
    row = "| `look_ahead_timeout_s` | float, 0 to 60 | `1.0` | Time for the first look at all nodes. |"
    assert row in page
    (copy.folder / "quoteway.toml").write_text(
        '[server]\nlook_ahead_timeout_s = 0.25\n[quotes]\nkeys = [{id = "k", secret = {env = "KEY"}}]\n'
    )
    program = """
        from pathlib import Path
        from quoteway.config.loading import load_config
        from quoteway.config.model import Config

        keys = {"KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
        from_environment = {"QUOTEWAY_SERVER__LOOK_AHEAD_TIMEOUT_S": "0.5"}
        file = Path("quoteway.toml")
        for config in (Config(), load_config(file, keys), load_config(file, keys | from_environment)):
            print(config.server.look_ahead_timeout_s)
    """
    assert copy.python(program).split() == ["1.0", "0.25", "0.5"]
    copy.python(NETWORKS % "ethereum")  # a gateway starts with it
