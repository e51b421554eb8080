"""Writes the reference pages that come from code; ``--check`` tells which are stale instead.

Run by ``make docs`` and ``make check``.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
HEADER = "<!-- Written by docs/generate.py: run `make docs`, do not edit. -->\n\n"


def hooks() -> str:
    """Every hook with its signature and docstring."""
    from quoteway import hookspecs

    lines = ["# Hooks\n", (inspect.getdoc(hookspecs) or "") + "\n"]
    in_order = sorted(
        inspect.getmembers(hookspecs, inspect.isfunction), key=lambda m: m[1].__code__.co_firstlineno
    )
    for name, function in in_order:
        if name.startswith("quoteway_"):
            arguments = ", ".join(inspect.signature(function).parameters)
            lines.append(f"## `{name}({arguments})`\n\n{inspect.getdoc(function)}\n")
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
    lines.append("\n`details.reason` is one of:\n")
    lines.append(", ".join(f"`{reason.value}`" for reason in module.Reason) + ".\n")
    lines.append("# Plugin states\n")
    lines.append(" -> ".join(f"`{state.value}`" for state in State) + "\n")
    lines.append(
        "Why a provider is not enabled (`reason` in `GET /v2/providers`): see "
        "[plugin states](plugin-states.md).\n"
    )
    lines.append(", ".join(f"`{reason.value}`" for reason in NotEnabled) + ".\n")
    return "\n".join(lines)


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


def settings() -> str:
    """Every section of the configuration: keys, accepted values, defaults, meanings."""
    from quoteway.config import loading, model

    lines = ["# Settings\n", _markdown(inspect.getdoc(loading) or "") + "\n"]
    named = (("providers.<id>", model.ProviderConfig), ("networks.<slug>", model.NetworkConfig))
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


PAGES: dict[str, Callable[[], str]] = {
    "hooks.md": hooks,
    "errors.md": errors,
    "settings.md": settings,
    "cli.md": cli,
    "plugin-states.md": plugin_states,
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
        "Listing": "list",
        "StoreField": "string or secret",
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
                path.write_text(text)
    verb = "stale (run `make docs` and commit)" if check else "written"
    sys.stdout.write(f"{', '.join(stale)}: {verb}\n" if stale else "Generated pages are up to date.\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
