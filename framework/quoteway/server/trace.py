"""Shows one recorded request as a tree: whom it asked, when, for how long, and what its transactions do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from quoteway.engine.bundles import Bundle
from quoteway.host.recording import Key, batch_in
from quoteway.models import Call
from quoteway.server.plugin_report import shown

_MOST_CHARS = 200
_MORE = 3
"""How many kinds of reads of a batch are named."""


@dataclass(slots=True)
class Step:
    """A line of the tree, and the lines below it. ``facts`` are its members for programs."""

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    parts: list[Step] = field(default_factory=list)


def lines_of(bundle: Bundle) -> Iterator[str]:
    """Yields the tree of a bundle as lines of printable text."""
    request, answer = bundle.content["request"], bundle.content["answer"]
    took_ms = bundle.content.get("tookMs")
    took = "" if took_ms is None else f" in {took_ms:,.1f} ms"
    yield _cut(f"{request['method']} {_path(request['path'])}: {answer['status']}{took}")
    yield _cut(f"request {request['id']}")
    yield from _drawn([*steps_of(bundle), *_answered(answer["body"])])


def document_of(bundle: Bundle) -> bytes:
    """Returns the tree as JSON: ``request``, ``status``, ``tookMs``, ``steps`` with ``parts``, ``answer``."""
    content = bundle.content
    document = {
        "request": content["request"],
        "status": content["answer"]["status"],
        "tookMs": content.get("tookMs"),
        "steps": [_facts(step) for step in steps_of(bundle)],
        "answer": content["answer"]["body"],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def steps_of(bundle: Bundle) -> list[Step]:
    """Returns the calls of providers, reads and exchanges of a request, each with those made in it."""
    own = bundle.own
    steps = [_step(span, None if span["read"] is None else own[span["read"]][0]) for span in bundle.spans]
    top: list[Step] = []
    for span, step in zip(bundle.spans, steps, strict=True):
        if span["parent"] is None:
            top.append(step)
        else:
            steps[span["parent"]].parts.append(step)
    return top


def _step(span: Mapping[str, Any], key: Key | None) -> Step:
    asked = None if key is None else _asked(key)
    took = "not over" if span["tookMs"] is None else f"{span['tookMs']:,.1f} ms"
    # Of an exchange, what was asked is method, host and path.
    name = asked if span["kind"] == "exchange" and asked else span["name"]
    more = f", {asked}" if asked and name is not asked else ""
    text = f"+{span['atMs']:,.1f} ms {span['kind']} {name}: {span['outcome'] or 'no outcome'}, {took}{more}"
    facts = {name: span[name] for name in ("kind", "name", "atMs", "tookMs", "outcome")}
    return Step(text, facts | {"asked": asked})


def _asked(key: Key) -> str:
    """Returns what was asked: of a batch the calls by contract and selector."""
    if key[0] == "http":
        return str(key[2])
    reads, _ = batch_in(key)
    if reads:
        kinds = Counter(
            f"{each.data[:4].hex()} of {each.to}" if isinstance(each, Call) else type(each).__name__
            for each in reads
        )
        named = kinds.most_common(_MORE)
        rest = len(reads) - sum(count for _, count in named)
        most = ", ".join(f"{count} x {kind}" for kind, count in named)
        return f"{len(reads)} reads in one batch: {most}" + (f", {rest} others" if rest else "")
    params = orjson.loads(key[2])
    first = params[0] if params else None
    if key[1] == "eth_call" and isinstance(first, Mapping):
        data = str(first.get("data") or first.get("input") or "0x")
        return (
            f"{data[2:10]} of {first['to']}" if "to" in first else f"a program of {len(data) // 2 - 1} bytes"
        )
    if key[1] == "eth_simulateV1" and isinstance(first, Mapping):
        calls = [call for block in first.get("blockStateCalls", ()) for call in block.get("calls", ())]
        return f"{len(calls)} calls"
    return orjson.dumps(params).decode()


def _answered(body: Any) -> Iterator[Step]:
    """Yields what the answer says: an error, or the amounts, transactions and simulation."""
    if not isinstance(body, Mapping):
        return
    error = body.get("error")
    if isinstance(error, Mapping):
        yield Step(
            f"error {error.get('code')}: {error.get('message')}", parts=_attempts(error.get("details"))
        )
        return
    legs = [
        *(f"pays {_leg(leg)}" for leg in _rows(body, "inputs")),
        *(f"gets {_leg(leg)}" for leg in _rows(body, "outputs")),
    ]
    for leg in legs:
        yield Step(leg)
    if attempts := _attempts(body):
        yield Step("asked", parts=attempts)
    transactions = _rows(body, "transactions")
    for place, (step, sent) in enumerate(zip(_rows(body, "steps"), transactions, strict=False)):
        text = f"transaction {place} {step.get('kind')} to {sent.get('to')}: {step.get('description')}"
        yield Step(text, parts=list(_decoded(step.get("decoded"))))
    simulation = body.get("simulation")
    if isinstance(simulation, Mapping):
        yield Step(_simulation(simulation), parts=[Step(each) for each in _changes(simulation)])
    for name in ("issues", "warnings"):
        for row in _rows(body, name):
            members = " ".join(
                f"{key}={value}" for key, value in row.items() if key not in ("code", "message")
            )
            yield Step(
                " ".join(filter(None, (f"{name[:-1]} {row.get('code')}", row.get("message"), members)))
            )


def _attempts(body: Any) -> list[Step]:
    names = "provider", "outcome", "amountOut", "reason"
    rows = _rows(body, "attempts") if isinstance(body, Mapping) else []
    return [Step(" ".join(str(row[name]) for name in names if row.get(name))) for row in rows]


def _leg(leg: Mapping[str, Any]) -> str:
    token = leg.get("token") or {}
    least = "" if leg.get("amountMin") is None else f", at least {leg['amountMin']}"
    place = f"{token.get('symbol')} ({token.get('address')}) on {token.get('network')}"
    return f"{leg.get('amount')} {place}{least}, account {leg.get('account')}"


def _decoded(call: Any) -> Iterator[Step]:
    """Yields a call as the gateway decodes it, with its arguments and the calls inside it."""
    if not isinstance(call, Mapping):
        return
    arguments = [Step(f"{each.get('name')}: {each.get('value')}") for each in _rows(call, "args")]
    inner = [step for each in _rows(call, "inner") for step in _decoded(each)]
    mark = " (not decoded)" if call.get("opaque") else ""
    yield Step(f"{call.get('signature')}{mark}", parts=arguments + inner)


def _simulation(simulation: Mapping[str, Any]) -> str:
    parts = [f"simulation {simulation.get('status')}"]
    for name, words in (("gasUsed", "gas"), ("revertReason", "because"), ("skipReason", "because")):
        if simulation.get(name):
            parts.append(f"{words} {simulation[name]}")
    if simulation.get("revertedStep") is not None:
        parts.append(f"at transaction {simulation['revertedStep']}")
    return " ".join(parts)


def _changes(simulation: Mapping[str, Any]) -> Iterator[str]:
    for row in _rows(simulation, "assetChanges"):
        yield f"{row.get('account')}: {row.get('delta')} of {row.get('token')}"
    for row in _rows(simulation, "allowanceChanges"):
        owner, token, spender = row.get("owner"), row.get("token"), row.get("spender")
        yield f"allowance of {owner} to {spender}: {row.get('before')} to {row.get('after')} of {token}"
    assumptions = simulation.get("assumptions")
    for each in assumptions if isinstance(assumptions, list) else ():
        yield f"assumed: {each}"


def _rows(body: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = body.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _drawn(steps: Sequence[Step], before: str = "") -> Iterator[str]:
    for place, step in enumerate(steps):
        is_last = place == len(steps) - 1
        yield before + ("└─ " if is_last else "├─ ") + _cut(step.text)
        yield from _drawn(step.parts, before + ("   " if is_last else "│  "))


def _cut(text: str) -> str:
    """Returns a text on one line of bounded length, with control characters escaped."""
    return shown(text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 3] + "...")


def _path(path: str) -> str:
    """Returns a path with quote tokens and transaction ids cut short."""
    return "/".join(part if len(part) <= 80 else f"{part[:8]}..." for part in path.split("/"))


def _facts(step: Step) -> dict[str, Any]:
    return {**step.facts, "parts": [_facts(each) for each in step.parts]}
