"""Writes the reference pages that come from code; ``--check`` tells which are stale instead.

Run by ``make docs`` and ``make check``.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from python_reference import pages as python_pages

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
MOST_EXAMPLES = 3
"""How many examples of a hook are shown."""
HEADER = "<!-- Written by docs/generate.py: run `make docs`, do not edit. -->\n\n"


def examples() -> dict[str, list[Path]]:
    """The example plugins by the hooks that they implement, those with the fewest hooks first."""
    found: dict[str, list[Path]] = {}
    hooks_of = {
        path: re.findall(r"^@quoteway\.hookimpl\ndef (\w+)\(", path.read_text(), re.MULTILINE)
        for folder in ("examples", "tutorial")
        for path in sorted((ROOT / "docs" / folder).rglob("*.py"))
    }
    for path in sorted(hooks_of, key=lambda path: len(hooks_of[path])):
        for name in hooks_of[path]:
            found.setdefault(name, []).append(path)
    return found


def _example(path: Path) -> str:
    """A list item with a link to an example and what it does."""
    about = ast.get_docstring(ast.parse(path.read_text())) or ""
    name = path.parent.name if path.name == "__init__.py" else path.name
    return f"- [{name}](../{path.relative_to(ROOT / 'docs')}): {about.partition(chr(10))[0]}"


def hooks() -> str:
    """Every hook with its signature, docstring and examples."""
    from quoteway import hookspecs

    shown = examples()
    types = "The types are in the [reference of Python](python.md).\n"
    lines = ["# Hooks\n", (inspect.getdoc(hookspecs) or "") + "\n", types]
    in_order = sorted(
        inspect.getmembers(hookspecs, inspect.isfunction), key=lambda m: m[1].__code__.co_firstlineno
    )
    for name, function in in_order:
        if name.startswith("quoteway_"):
            arguments = ", ".join(inspect.signature(function).parameters)
            signature = f"{name}{inspect.signature(function)}".replace("'", "").replace("providers.", "")
            lines.append(f"## `{name}({arguments})`\n\n```python\n{signature}\n```\n")
            lines.append(f"{inspect.getdoc(function)}\n")
            lines += ["Examples:\n", *map(_example, shown[name][:MOST_EXAMPLES]), ""]
    return _markdown("\n".join(lines))


def errors() -> str:
    """Codes with their status, reasons, and the reasons for a plugin not being enabled."""
    from quoteway import errors as module
    from quoteway.host.states import NotEnabled, State

    lines = [
        "# Errors\n",
        'Every error is `{"error": {"code", "message", "requestId", "details"?}}`, '
        "with the header `X-Request-ID`.\n",
        "| status | code | meaning |\n|---|---|---|",
    ]
    for error in module.GatewayError.__subclasses__():
        lines.append(f"| {error.status} | `{error.code}` | {_first_sentence(error)} |")
    lines.append("\n`details.reason` is one of:\n\n| reason | meaning |\n|---|---|")
    meanings = _member_docstrings(module.Reason)
    lines += (f"| `{reason.value}` | {_markdown(meanings[reason.name])} |" for reason in module.Reason)
    lines.append("")
    lines.append("# Plugin states\n")
    lines.append(" -> ".join(f"`{state.value}`" for state in State) + "\n")
    lines.append(
        "Why a provider is not enabled (`reason` in `GET /v2/providers`): see "
        "[plugin states](plugin-states.md).\n"
    )
    lines.append(", ".join(f"`{reason.value}`" for reason in NotEnabled) + ".\n")
    return "\n".join(lines)


def _member_docstrings(kind: type) -> dict[str, str]:
    """The docstrings below the members of a class, by name."""
    (declared,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(declared, ast.ClassDef)
    found = {}
    for member, text in pairwise(declared.body):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr):
            found[ast.unparse(member.targets[0])] = inspect.cleandoc(ast.literal_eval(text.value))
    return found


def plugin_states() -> str:
    """The states, and every reason for a plugin not being enabled with its remedy."""
    from quoteway.host.explanations import EXPLANATIONS
    from quoteway.host.states import State

    lines = [
        "# Plugin states\n",
        f"`{' -> '.join(State)}`. `GET /v2/providers`, `quoteway plugins list` and `quoteway doctor` show "
        "where each plugin and provider stands; `enabled` is a property of the deployment, never of a "
        "request. One broken plugin costs itself: the others go on. `quoteway plugins why <name>` says which "
        "of these reasons one has, and what to do.\n",
    ]
    for reason, told in EXPLANATIONS.items():
        lines.append(f"## {reason.value}\n\n{told.meaning} {told.remedy}\n")
        if told.page:
            title = (ROOT / "docs" / told.page).read_text().partition("\n")[0].removeprefix("# ")
            lines.append(f"See [{title}](../{told.page}).\n")
    return "\n".join(lines)


def metrics() -> str:
    """Every metric of the core, with its labels."""
    from quoteway.web.http.metrics import Metrics

    lines = [
        "# Metrics\n",
        "`GET /metrics` has them in Prometheus' text format, on `[server] metrics_port` where that is set. "
        "Several workers are one exposition: counters and histograms are the sums of all workers, also of "
        "those that have ended; gauges are of the living ones, at most 5 s old. Labels are ids of the "
        "installation, routes and the core's own words: no request adds one.\n",
        "What the reasons mean: [readiness](readiness.md) and [errors](errors.md). Plugins' own begin "
        "with `quoteway_plugin_<name>__`.\n",
        "| metric | type | labels | meaning |\n|---|---|---|---|",
    ]
    for metric in Metrics().registry._collector_to_names:
        (family,) = metric.describe()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(f"`{label}`" for label in metric._labelnames)
        lines.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(lines) + "\n"


def readiness() -> str:
    """The levels of networks and capabilities, and the reasons why one is not ready."""
    from quoteway.host.network_states import Level, Why

    lines = [
        "# Readiness\n",
        "`GET /readyz?verbose` has a `state` and a `why` for each network, and for each capability that an "
        "installed plugin offers on it. `quoteway_network_state`, `quoteway_capability_state` and "
        "`quoteway_capability_not_ready` of the [metrics](metrics.md) have the same, and `readiness` of "
        "`GET /v2/networks`, for callers. Providers that the "
        "configuration disables do not count. A network is `dead` when its capability `rpc` is, and "
        "`degraded` when any capability is not ready.\n",
    ]
    for title, kind in (("state", Level), ("why", Why)):
        lines.append(f"| {title} | meaning |\n|---|---|")
        meanings = _member_docstrings(kind)
        lines += (f"| `{each.value}` | {_markdown(meanings[each.name])} |" for each in kind)
        lines.append("")
    lines.append(
        "What `/readyz` needs to be 200 is `[server] ready_when` ([settings](settings.md)). The states are "
        "what the worker that answers knows. Asking for them costs each network at most one "
        "`eth_getBlockByNumber` in 15 s and one `eth_chainId` in 5 s, however often they are asked for.\n"
    )
    return "\n".join(lines)


def settings() -> str:
    """Every section of the configuration: keys, accepted values, defaults, meanings."""
    from quoteway.config import loading, model
    from quoteway.config.keys import NamedKey
    from quoteway.config.limits import TierConfig
    from quoteway.config.network import NetworkConfig

    lines = ["# Settings\n", _markdown(inspect.getdoc(loading) or "") + "\n"]
    named = (
        ("auth.keys", NamedKey),
        ("limits.tiers.<name>", TierConfig),
        ("providers.<id>", model.ProviderConfig),
        ("networks.<slug>", NetworkConfig),
    )
    for name, section in (*loading.SECTIONS.items(), *named):
        lines.append(f"## `[{name}]`\n\n{_markdown(inspect.getdoc(section) or '')}\n")
        lines.append("| key | values | default | meaning |\n|---|---|---|---|")
        for member in dataclasses.fields(section):
            values = _values(member.metadata["field"])
            default = "{}" if member.default is dataclasses.MISSING else _toml(member.default)
            lines.append(f"| `{member.name}` | {values} | `{default}` | {member.metadata['about']} |")
        lines.append("")
    lines.append("`[plugin.<name>]` belongs to the plugin of that name: see its README.\n")
    return "\n".join(lines)


def cli() -> str:
    """The help text of every command."""
    import click
    from quoteway.server.cli import main

    lines = ["# Command line\n"]

    def describe(command: click.Command, path: str) -> Iterator[str]:
        context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
        yield f"## `{path}`\n\n```\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            for name in sorted(command.list_commands(context)):
                child = command.get_command(context, name)
                if child is not None and not child.hidden:
                    yield from describe(child, f"{path} {name}")

    lines += describe(main, "quoteway")
    return "\n".join(lines)


def openapi() -> str:
    """The OpenAPI 3.1 document of the core's routes."""
    from quoteway.web.app import openapi_document

    return json.dumps(json.loads(openapi_document()), indent=1, ensure_ascii=False) + "\n"


def wrong_behaviours() -> str:
    """What the checks of ``quoteway check`` find, each with the check that finds it and what to do."""
    from quoteway.testing.levels import CHECKS

    sys.path.append(str(ROOT / "tests"))
    from wrong_behaviours.table import ROWS

    lines = [
        "# Wrong behaviours\n",
        f"`quoteway check` finds each of these {len(ROWS)} faults by the check that is named: "
        "`tests/test_levels.py` and `tests/test_levels_of_protocols.py` run them all, and the providers "
        "without the fault pass.\n",
        "| provider of | what it does | check | level | what to do |\n|---|---|---|---|---|",
    ]
    for capability, kind, name in ROWS:
        check = next(each for each in CHECKS if each.name == name and capability in each.capabilities)
        fault, remedy = (text.replace("|", "\\|") for text in (_first_sentence(kind), check.remedy))
        lines.append(f"| {capability.value} | {fault} | `{name}` | {check.level} | {remedy} |")
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "hooks.md": hooks,
    "errors.md": errors,
    "settings.md": settings,
    "cli.md": cli,
    "plugin-states.md": plugin_states,
    "readiness.md": readiness,
    "metrics.md": metrics,
    "wrong-behaviours.md": wrong_behaviours,
    "openapi.json": openapi,
}


def included(page: Path) -> str:
    """The page with every ``<!-- include: file -->`` block holding what the file holds now."""

    def block(match: re.Match[str]) -> str:
        source = (page.parent / match["file"]).resolve()
        language = {".py": "python", ".toml": "toml"}.get(source.suffix, "")
        code = f"```{language}\n{source.read_text().rstrip()}\n```"
        return f"<!-- include: {match['file']} -->\n{code}\n<!-- end -->"

    pattern = r"<!-- include: (?P<file>\S+) -->(?:.*?<!-- end -->)?"
    return re.sub(pattern, block, page.read_text(), flags=re.DOTALL)


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that has generated text, with the text it should have."""
    for name, page in PAGES.items():
        yield REFERENCE / name, (HEADER if name.endswith(".md") else "") + page()
    for name, text in python_pages():
        yield REFERENCE / name, HEADER + text
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if "<!-- include: " in path.read_text():
            yield path, included(path)


def _first_sentence(thing: Any) -> str:
    text = " ".join((inspect.getdoc(thing) or "").split())
    return re.sub(r"(?<=\.) .*", "", _markdown(text)).replace("|", "\\|")


def _markdown(text: str) -> str:
    """Docstring markup as Markdown: double backticks become single ones."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _values(field: Any) -> str:
    """The accepted type of a setting, with its range or choices."""
    from marshmallow import validate

    names = {
        "Dict": "table",
        "IntegerOrOff": '`"off"` or integer',
        "LoadField": '`"all"` or list',
        "RequiredField": '`"any"`, `"all"` or list',
        "Listing": "list",
        "StoreField": "string or secret",
        "MomentField": "moment with offset",
        "Tables": "tables",
    }
    kind = field.__class__.__name__
    name = names.get(kind, kind.removesuffix("Field").lower())
    for check in field.validators:
        if isinstance(check, validate.OneOf):
            return ", ".join(f"`{choice}`" for choice in check.choices)
        if isinstance(check, validate.Range):
            return f"{name}, {check.min} to {check.max}"
    return name


def _toml(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="say what is stale, write nothing, exit 1 if anything is"
    )
    check = parser.parse_args().check
    stale = []
    for path, text in pages():
        if not path.exists() or path.read_text() != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    verb = "stale (run `make docs` and commit)" if check else "written"
    sys.stdout.write(f"{', '.join(stale)}: {verb}\n" if stale else "Generated pages are up to date.\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
