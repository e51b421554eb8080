"""The commands ``quoteway policy check``, ``quoteway policy test`` and ``quoteway policy audit``."""

from __future__ import annotations

import sys
from dataclasses import asdict, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import orjson

from quoteway.errors import ConfigError
from quoteway.models import NATIVE
from quoteway.server.options import quiet

if TYPE_CHECKING:
    from quoteway.guard.policy_file import Policy

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def policy() -> None:
    """Check a custody policy and its audit log, and decide saved actions by it."""


@policy.command()
@click.argument("policy_file", metavar="POLICY", type=_FILE)
@quiet()
def check(policy_file: Path) -> None:
    """Show what a policy file restricts, rule by rule.

    Exit 0: the file is valid. 2: it is not.
    """
    from quoteway.guard.policy_file import Rule

    found = _read(policy_file)
    click.echo(found.digest)
    for rule in found.rules:
        who = "every other account" if rule.senders is None else ", ".join(rule.senders)
        click.echo(f"rule {rule.name!r}, for {who}")
        free = []
        for member in (each.name for each in fields(Rule) if each.name not in ("name", "senders")):
            value = getattr(rule, member)
            if value is None:
                free.append(member)
            else:
                click.echo(f"  {member}: {_shown(value)}")
        click.echo(f"  not restricted: {', '.join(free) or 'nothing'}")
    screening = found.screening
    required = ", at least one plugin is required" if screening.required else ""
    click.echo(f"screening: {', '.join(screening.plugins) or 'every plugin that is enabled'}{required}")


@policy.command()
@click.argument("policy_file", metavar="POLICY", type=_FILE)
@click.argument("files", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="PROVIDER=LEVEL",
    help="Level of a provider's plugin, which least_level needs and answers do not tell (may be given "
    "several times).",
)
@click.option(
    "--quorum",
    "quorums",
    multiple=True,
    metavar="NETWORK=NODES",
    help="Quorum of a network's nodes, which quorum needs and answers do not tell (may be given several "
    "times).",
)
@click.option(
    "--used",
    "used",
    multiple=True,
    metavar="NAME=AMOUNT",
    help="Whole tokens that count as used by a limit of amounts_per_time before each file; without it none "
    "do (may be given several times). No store is asked.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, one object for each file.")
@quiet()
def test(
    policy_file: Path,
    files: tuple[Path, ...],
    levels: tuple[str, ...],
    quorums: tuple[str, ...],
    used: tuple[str, ...],
    as_json: bool,
) -> None:
    """Decide saved answers of action requests by a policy file.

    Each FILE is the JSON of one answer. Screening plugins are not asked. Exit 0: all are allowed. 1: some
    are refused. 2: a file cannot be read.
    """
    from quoteway.config.bounded_file import UnreadableFile
    from quoteway.guard.policy import decide
    from quoteway.guard.policy_amounts import exceeded_by
    from quoteway.server.saved_actions import saved_facts

    rules, known = _read(policy_file), _numbers("--level", levels, 0, 3, "uniswap=2")
    agreeing = _numbers("--quorum", quorums, 1, 16, "ethereum=2")
    spent = _used(rules, used)
    try:
        facts = [(file, saved_facts(file, known, agreeing)) for file in files]
        decided = [(file, decide(rules, each) + exceeded_by(rules, each, spent)) for file, each in facts]
    except UnreadableFile as error:
        _refuse(str(error))
    if as_json:
        rows = [
            {
                "file": str(file),
                "allowed": not violations,
                "violations": [asdict(each) for each in violations],
            }
            for file, violations in decided
        ]
        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    else:
        for file, violations in decided:
            click.echo(f"{file}: {'refused' if violations else 'allowed'}")
            for each in violations:
                click.echo(f"  {each.rule}: {each.message}")
    sys.exit(1 if any(violations for _, violations in decided) else 0)


@policy.command()
@click.argument("file", type=_FILE)
@click.option(
    "--known", metavar="HASH", help="A hash that was the last of this log once: a line must have it."
)
def audit(file: Path, known: str | None) -> None:
    """Check the chain of hashes of an audit log.

    FILE is that of [policy] audit. Prints the last hash: keep it elsewhere, and give it with --known the next
    time. Exit 0: no line was changed, moved or taken out. 1: some were. 2: the file cannot be read.
    """
    from quoteway.engine.audit_log import AuditError, verify

    try:
        count, last = verify(file, known)
    except AuditError as error:
        click.echo(f"broken: {error}")
        sys.exit(1)
    except OSError as error:
        _refuse(f"{file} cannot be read: {error.strerror}")
    click.echo(f"whole: {count} decisions, the last with the hash {last}")


def _read(path: Path) -> Policy:
    from quoteway.guard.policy_file import read_policy

    try:
        return read_policy(path)
    except ConfigError as error:
        _refuse(str(error))


def _numbers(option: str, given: tuple[str, ...], low: int, high: int, example: str) -> dict[str, int]:
    """Returns the numbers from ``low`` to ``high`` of ``NAME=NUMBER`` texts, by name."""
    found: dict[str, int] = {}
    for each in given:
        name, _, number = each.partition("=")
        if not name or number not in map(str, range(low, high + 1)):
            expected = f"a name and a number from {low} to {high}, such as {example}"
            _refuse(f"{option} {each!r}: expected {expected}")
        found[name] = int(number)
    return found


def _used(policy: Policy, given: tuple[str, ...]) -> dict[str, Decimal]:
    """Returns the whole tokens of ``NAME=AMOUNT`` texts, by the names of limits."""
    from quoteway.guard.policy_file import AMOUNT

    names, found = [limit.name for limit in policy.limits], dict[str, Decimal]()
    for each in given:
        name, _, amount = each.rpartition("=")
        if name not in names or not AMOUNT.fullmatch(amount):
            expected = f"one of {', '.join(names) or 'no limits'} and whole tokens, as in NAME=0.5"
            _refuse(f"--used {each!r}: expected {expected}")
        found[name] = Decimal(amount)
    return found


def _shown(value: Any) -> str:
    """Returns a member's value for people."""
    if is_dataclass(value):
        return (
            "{"
            + ", ".join(f"{each.name} {_shown(getattr(value, each.name))}" for each in fields(value))
            + "}"
        )
    if isinstance(value, dict):
        return "; ".join(f"{_shown(name)}: {_shown(each)}" for name, each in value.items()) or "nothing"
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value)) or "nothing"
    if value == NATIVE:
        return "native"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse(text: str) -> NoReturn:
    click.echo(f"quoteway: {text}", err=True)
    sys.exit(2)
