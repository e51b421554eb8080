"""What the documentation tells a reader to run, run; what it says of tests and endpoints, checked."""

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
COVERED = re.compile(r"^\| `([A-Z]+ /\S+)` \| `(\S+)::(\w+)` \|$", re.MULTILINE)


README = (ROOT / "README.md").read_text()


def undated(text):
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "(time)", text)


def check_requests_of_the_readme(url, folder):
    """Runs the requests of README.md as they stand, and compares the answers with what it shows of them."""
    pasted = [
        text for text in re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL) if "curl" in text
    ]
    assert len(pasted) == 2
    quote, action = (
        json.loads(
            subprocess.run(
                ["bash", "-eu", "-c", text.replace("http://127.0.0.1:8080", url)],
                cwd=folder,
                capture_output=True,
                timeout=60,
                check=True,
            ).stdout
        )
        for text in pasted
    )
    shown = dict(re.findall(r'"(\w+)": ("?[\w.]+)', README))
    for answer, names in (
        (quote, ("toAmount", "toAmountMin", "priceImpactBps")),
        (action["transactions"][0], ("to", "data", "value", "chainId")),
        (action["simulation"], ("status",)),
    ):
        for name in names:
            assert json.dumps(answer[name]).startswith(shown[name].rstrip(".")), name
    # Each zero byte of the deadline in the calldata costs 12 gas less (EIP-2028), 16 with the margin.
    less = int(json.loads(shown["gasLimit"] + '"'), 16) - int(action["steps"][0]["gasLimit"], 16)
    assert less in (0, 16, 32, 48)
    for name in ("quoteId", "route", "block"):
        assert name in quote
    assert "assetChanges" in action["simulation"]
    assert "walletSendCalls" in action


@pytest.fixture
def running():
    """The URL of a ``quoteway serve`` on a free port, and its nodes' by slug."""
    server = pytest.importorskip(
        "quoteway_devnet.demo.server", reason="needs the quoteway-devnet distribution"
    )
    for plugin in ("quoteway_rpc", "quoteway_tokenlist", "quoteway_uniswap"):
        pytest.importorskip(plugin, reason="the tutorial swaps through Uniswap")
    with server.own_server() as (url, nodes):
        yield url, nodes


@pytest.mark.slow
def test_the_first_swap_of_the_tutorial(running, tmp_path):
    url, nodes = running
    command = [sys.executable, str(DOCS / "tutorial" / "first_swap.py"), url, nodes["devnet"]]
    check_requests_of_the_readme(url, tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (printed,) = re.findall(r"^```\n(quoted .*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert undated(done.stdout) == undated(printed)
    quoted, signing, received = done.stdout.splitlines()
    assert signing.startswith("signing  Swap exactly 1 ETH for at least ")
    amount = int(quoted.split()[1])
    assert amount > 0
    assert received == f"received {amount} difference 0"


def coverage():
    """(operation, file, test) of every row of the coverage table."""
    text = (DOCS / "reference" / "coverage.md").read_text()
    rows = COVERED.findall(text)
    assert len(rows) == len(re.findall(r"^\| `", text, re.MULTILINE)), (
        "every row has the form that is checked"
    )
    return rows


def test_every_operation_has_its_row_in_the_coverage_table():
    from quoteway.web.app import operations

    named = [operation for operation, _, _ in coverage()]
    assert sorted(named) == sorted(f"{each.method} {each.path}" for each in operations())


@pytest.mark.parametrize(("operation", "file", "test"), coverage(), ids=lambda value: value)
def test_every_test_of_the_coverage_table_exists(operation, file, test):
    body = ast.parse((ROOT / file).read_text()).body
    assert test in {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_attack_has_its_row():
    text = (DOCS / "reference" / "attacks.md").read_text()
    _, *rows = re.findall(r"^\| (?!---)(.*) \|$", text, re.MULTILINE)
    assert all(len(row.split(" | ")) == 4 for row in rows)
    named = re.findall(r"`tests/attacks/(\w+\.py)`", "\n".join(row.split(" | ")[2] for row in rows))
    assert sorted(named) == sorted(each.name for each in (ROOT / "tests" / "attacks").glob("test_*.py"))


HAND_WRITTEN = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("plugins/*/README.md")),
]


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_path_of_a_page_leads_somewhere(page):
    text = page.read_text()
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    # A plugin's README names files from its own folder.
    paths = re.findall(r"`((?:framework|plugins|tests|docs|bench)/[\w./-]+\.(?:py|md|json))`", text)
    assert [path for path in paths if not ((ROOT / path).exists() or (page.parent / path).exists())] == []


def test_every_decision_is_listed():
    decisions = DOCS / "decisions"
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (decisions / "README.md").read_text())
    assert sorted(listed) == sorted(page.name for page in decisions.glob("*.md") if page.name != "README.md")


def test_every_reason_of_an_error_has_its_meaning():
    from quoteway import Reason

    page = (DOCS / "reference" / "errors.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S.*\.) \|$", page, re.MULTILINE))
    assert {reason.value for reason in Reason} <= rows.keys()


def test_every_hook_has_an_example():
    from quoteway import hookspecs

    page = (DOCS / "reference" / "hooks.md").read_text()
    sections = dict(re.findall(r"^## `(quoteway_\w+)\(.*?\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert sections.keys() == {name for name in vars(hookspecs) if name.startswith("quoteway_")}
    for hook, text in sections.items():
        links = re.findall(r"^- \[[\w.]+\]\((\S+\.py)\): \S", text, re.MULTILINE)
        assert links, hook
        for link in links:
            assert f"def {hook}(" in (DOCS / "reference" / link).read_text(), (hook, link)


EXAMPLES = sorted((DOCS / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_loaded_by_a_test(example):
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("test_example_*.py"))
    assert f"import {example.stem}\n" in tests


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_configuration_of_an_example_is_what_it_takes(example, monkeypatch):
    monkeypatch.setenv("NODE_URL", "https://node.example.org")
    monkeypatch.syspath_prepend(example.parent)
    module = importlib.import_module(example.stem)
    name, write_less = example.stem.replace("_", "-"), (DOCS / "how-to" / "write-less.md").read_text()
    section = re.compile(rf"^ *\[\[?plugin\.{name}.*?(?=\n\n|^```|\Z)", re.MULTILINE | re.DOTALL)
    shown = section.search(module.__doc__) or section.search(write_less)
    settings = getattr(module, "quoteway_settings", None)
    assert (shown is None) == (settings is None)
    if settings is not None:
        settings()().load(tomllib.loads(shown[0])["plugin"][name])
