"""Bundles: one recorded request in one JSON file, with all that it needs to run again and nothing secret.

``docs/how-to/replay-a-bug.md`` describes the members.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jwt
import msgspec
import orjson

from quoteway.config.loading import redacted
from quoteway.engine.gateway import Gateway
from quoteway.engine.quote_tokens import KeyRing
from quoteway.host.recording import Key, Outcome, Recording
from quoteway.host.redaction import Redaction
from quoteway.host.spans import Span
from quoteway.models import Capability, TokenRows
from quoteway.networks import Network

FORMAT = "quoteway.bundle"
VERSION = 1
MAX_BUNDLE_BYTES = 128 * 1_048_576
PUBLIC_KEY = b"quoteway bundles: this key signs no real quote"
"""Signs the quote tokens and transaction ids of bundles. Real ones would be valid at the deployment."""
PUBLIC_KEY_ID = "bundle"

_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_PLACES = ("path", "embedded")


_NOT_REPLAYED = {Capability.RPC, Capability.TOKENS, Capability.METRICS}


class BundleError(Exception):
    """A file is no bundle that this version can replay. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read and whose form is checked. ``content`` is the JSON object."""

    content: Mapping[str, Any]

    @property
    def networks(self) -> list[Network]:
        """Returns the networks that the deployment served, without endpoints."""
        return [
            Network(**{**row, "deployments": _tuples(row["deployments"])}) for row in self._of("networks")
        ]

    @property
    def catalogs(self) -> dict[str, TokenRows]:
        """Returns what the token catalogs listed whose plugins are not replayed, by provider id."""
        return {
            name: TokenRows(tuple(msgspec.msgpack.encode(row) for row in rows))
            for name, rows in self._of("catalogs").items()
        }

    @property
    def own(self) -> list[tuple[Key, Mapping[str, Any]]]:
        """Returns the reads of the request in their order, with what came of each."""
        return [_read(row) for row in self._of("reads")]

    @property
    def known(self) -> list[tuple[Key, Mapping[str, Any]]]:
        """Returns the newest outcome of every read before the end of the request, at any block."""
        return [_read(row) for row in self._of("known")]

    @property
    def spans(self) -> list[Mapping[str, Any]]:
        """Returns when the request asked whom, in order of time; none in a bundle of an earlier version."""
        return list(self.content.get("spans", ()))

    def _of(self, name: str) -> Any:
        return self.content[name]


def _read(row: list[Any]) -> tuple[Key, Mapping[str, Any]]:
    *key, outcome = row
    return tuple(key), outcome


def _tuples(deployments: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {family: tuple(rows) for family, rows in deployments.items()}


def read_bundle(path: Path) -> Bundle:
    """Reads a bundle. Raises ``BundleError``."""
    try:
        if path.stat().st_size > MAX_BUNDLE_BYTES:
            raise BundleError(f"{path}: larger than {MAX_BUNDLE_BYTES} bytes, so no bundle")
        return parse_bundle(path.read_bytes(), str(path))
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror})") from None


def parse_bundle(text: bytes, path: str) -> Bundle:
    """Reads the JSON of a bundle; ``path`` says where it is from. Raises ``BundleError``."""
    try:
        content = orjson.loads(text)
    except ValueError:
        raise BundleError(f"{path}: not JSON: expected a file that `quoteway capture` wrote") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BundleError(f"{path}: no bundle: expected a file that `quoteway capture` wrote")
    if content.get("version") != VERSION:
        raise BundleError(
            f"{path}: bundle format {content.get('version')!r}, this version reads {VERSION}: use the "
            f"version of Quoteway that wrote it ({content.get('quoteway')!r})"
        )
    bundle = Bundle(content)
    try:
        for kind, names in _FORM.items():
            for name in names:
                if not isinstance(content[name], kind):
                    raise TypeError(name)
        for each in (bundle.networks, bundle.catalogs, bundle.own, bundle.known):
            list(each)
        _check_exchange(content["request"], content["answer"])
        _check_spans(bundle.spans, len(bundle.own))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise BundleError(f"{path}: damaged ({type(error).__name__}: {error}): capture it again") from None
    return bundle


_FORM: Mapping[Any, tuple[str, ...]] = {
    dict: ("config", "request", "answer", "catalogs"),
    list: ("plugins", "networks", "reads", "known"),
    int | float: ("clock",),
    str: ("quoteway",),
}


def _check_exchange(request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    kinds = (request["id"], str), (request["method"], str), (request["path"], str), (answer["status"], int)
    for value, kind in kinds:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    if not request["path"].startswith("/") or request["path"].startswith("//"):
        raise ValueError("request.path must be a path")


def _check_spans(spans: Sequence[Mapping[str, Any]], reads: int) -> None:
    for place, span in enumerate(spans):
        for name in ("kind", "name"):
            if not isinstance(span[name], str):
                raise TypeError(f"spans[{place}].{name}")
        for name, kinds in (("atMs", (int, float)), ("tookMs", (int, float, type(None)))):
            if not isinstance(span[name], kinds):
                raise TypeError(f"spans[{place}].{name}")
        if not isinstance(span["outcome"], str | None):
            raise TypeError(f"spans[{place}].outcome")
        for name, end in (("parent", place), ("read", reads)):
            if span[name] is not None and not (isinstance(span[name], int) and 0 <= span[name] < end):
                raise IndexError(f"spans[{place}].{name}")


def bundle_of(gateway: Gateway, recording: Recording, version: str) -> bytes:
    """Returns the bundle of a recording as JSON. ``version`` is the core's."""
    runtime, registry = gateway.runtime, gateway.registry
    sent = () if gateway.recorder is None else tuple(gateway.recorder.secrets)
    redaction = Redaction(gateway.config, runtime.networks, sent)
    kinds: dict[str, set[Capability]] = {name: set() for name in gateway.described}
    for row in registry.providers:
        kinds.setdefault(row.plugin.name, set()).add(row.provider.capability)
    # What nodes and token lists gave is recorded, and histories are not: their plugins do not run again.
    given = {name for name, found in kinds.items() if found and found <= _NOT_REPLAYED}
    plugins = [
        {
            "name": entry.name,
            "distribution": entry.distribution,
            "version": entry.version,
            "replayed": entry.name in kinds.keys() - given,
        }
        for entry in registry.plugins
        if entry.reason is None
    ]
    catalogs = {
        row.provider.id: [msgspec.to_builtins(each) for each in gateway.tokens.rows_of(row.provider.id)]
        for row in registry.providers
        if row.provider.capability is Capability.TOKENS and row.enabled and row.plugin.name in given
    }
    body = None if recording.body is None else redaction.body(orjson.loads(recording.body or b"null"))
    answer = None if recording.answer is None else orjson.loads(_inflated(recording.answer))
    if isinstance(answer, dict) and "jws" in answer:
        answer["jws"] = None  # a replay has no key, and the signed text holds a quote token
    content = {
        "format": FORMAT,
        "version": VERSION,
        "quoteway": version,
        "plugins": plugins,
        "config": _without_places(redacted(gateway.config)),
        "networks": [_network(network) for network in runtime.networks],
        "catalogs": catalogs,
        "clock": recording.clock,
        "request": {
            "id": recording.request_id,
            "method": recording.method,
            "path": redaction.path(recording.path),
            "body": body,
        },
        "answer": {"status": recording.status, "body": answer},
        "tookMs": _ms(recording.began_s, recording.ended_s),
        "reads": _rows(recording.own, redaction),
        "spans": [_span(each, recording.began_s) for each in recording.spans],
        "known": _rows(recording.known.items(), redaction),
    }
    text = orjson.dumps(content, default=str).decode()
    public = KeyRing([(PUBLIC_KEY_ID, PUBLIC_KEY)])
    return redaction.text(resealed(text, gateway.keys, public, gateway.config.quotes.issuer)).encode()


def resealed(text: str, keys: KeyRing, by: KeyRing, issuer: str) -> str:
    """Returns a text with its authentic tokens signed by another ring. Others stay, and stay invalid."""

    def again(found: re.Match[str]) -> str:
        token = found[0]
        try:
            kind = jwt.get_unverified_header(token)["typ"]
            audience = jwt.decode(token, options={"verify_signature": False})["aud"]
            return by.sign(keys.verify(token, kind, audience, issuer), kind)
        except (jwt.PyJWTError, KeyError, ValueError, TypeError):
            return token

    return _TOKEN.sub(again, text)


def _inflated(answer: bytes) -> bytes:
    """Returns the body of an answer that a cache may have compressed (gzip or deflate)."""
    return answer if answer[:1] in (b"{", b"[") else zlib.decompress(answer, wbits=47)


def _rows(reads: Iterable[tuple[Key, Outcome]], redaction: Redaction) -> list[list[Any]]:
    asked = ((redaction.exchange(key) if key[0] == "http" else key, outcome) for key, outcome in reads)
    return [[*key, orjson.Fragment(outcome.text)] for key, outcome in asked]


def _span(span: Span, began_s: float) -> dict[str, Any]:
    return {
        "parent": span.parent,
        "kind": span.kind,
        "name": span.name,
        "atMs": _ms(began_s, span.began_s),
        "tookMs": _ms(span.began_s, span.ended_s),
        "outcome": span.outcome,
        "read": span.read,
    }


def _ms(began_s: float, ended_s: float | None) -> float | None:
    return None if ended_s is None else round(1000 * (ended_s - began_s), 3)


def _network(network: Network) -> dict[str, Any]:
    facts = asdict(network)
    for name in ("endpoints", "token_lists", "quorum"):
        del facts[name]
    return facts


def _without_places(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configuration without paths of the machine, hosts and endpoints."""
    shown = {name: value for name, value in config.items() if name not in (*_PLACES, "networks")}
    for section in ("server", "limits", "sockets", "auth", "policy"):
        shown.pop(section, None)
    shown["plugins"] = {name: v for name, v in shown["plugins"].items() if name == "owners"}
    return shown
