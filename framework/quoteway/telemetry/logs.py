"""Writes the records of all standard loggers as JSON lines without secrets, quote tokens or control bytes.

(structlog would write the same lines, but its import takes 60 ms of the start.)
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from quoteway.config.model import Config
from quoteway.secrets import REDACTED, Secret, leaves

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Begins where a word begins and never goes back: otherwise its time grows with the square of a word's length.
_SEALED = r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{16,}+"
_USER_INFO = r"(?<=://)[^/\s@]+@"
_SHORTEST_SECRET = 6
_LONGEST = 16_384
"""Characters of one member of a line; of a longer one the middle is left out."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Redactor:
    """Removes the configuration's secrets, quote tokens and user info of URLs from a text."""

    def __init__(self, config: Config) -> None:
        secrets = {text for text in _secrets(config) if len(text) >= _SHORTEST_SECRET}
        # Longest first: a URL before the key in it.
        known = [re.escape(text) for text in sorted(secrets, key=lambda text: (-len(text), text))]
        self._pattern = re.compile("|".join([*known, _SEALED, _USER_INFO]))

    def __call__(self, text: str) -> str:
        return self._pattern.sub(REDACTED, text)


def _secrets(config: Config) -> Iterator[str]:
    for network in config.networks.values():
        for endpoint in network.rpc:
            yield from (*_parts_of(endpoint.url), *_parts_of(endpoint.ws))
            for value in endpoint.headers.values():
                yield from (value, value.rpartition(" ")[2])  # "Bearer x" and x
    signing = (*(key.secret for key in config.quotes.keys), config.run_key)
    keys = (*signing, config.auth.secrets, config.server.capture_key)
    stores = config.limits.store, config.policy.store
    for secret in leaves((*keys, *stores, config.traces.headers, config.plugin_sections)):
        if isinstance(secret, Secret):
            yield secret.reveal()
            if "://" in secret.reveal():
                yield from _parts_of(secret.reveal())


def _parts_of(url: str) -> Iterator[str]:
    """The parts of a URL that may be credentials, as exceptions quote path or query alone. Not the host."""
    parts = urlsplit(url)
    if parts.path.strip("/") or parts.query or parts.username:
        yield url
    members = [value for _, value in parse_qsl(parts.query)]
    yield from (part for part in (*parts.path.split("/"), *members) if len(part) >= 16)
    yield from (text for text in (parts.query, parts.username, parts.password) if text)


class JsonFormatter(logging.Formatter):
    """``{"time", "level", "logger", "event", ...}``; what a call gave as ``extra`` follows."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return orjson.dumps(self.members(record), default=str, option=orjson.OPT_NON_STR_KEYS).decode()

    def members(self, record: logging.LogRecord) -> dict[str, Any]:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        found: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": self._clean(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in _STANDARD and not name.startswith("_"):
                found[name] = value if isinstance(value, int | float | None) else self._clean(str(value))
        if record.exc_info and record.exc_info[0] is not None:
            found["exception"] = self._clean(self.formatException(record.exc_info))
        return found

    def _clean(self, text: str) -> str:
        length, half = len(text), _LONGEST // 2
        if length > 2 * _LONGEST:
            # Redacting a megabyte blocks the loop. Where it is cut may be half a secret, which is left out.
            head, tail = self._redact(text[:_LONGEST])[:-half], self._redact(text[-_LONGEST:])[half:]
        else:
            head = tail = text = self._redact(text)
        if len(text) > _LONGEST:
            text = f"{head[:half]} ... {length - _LONGEST} characters left out ... {tail[-half:]}"
        return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


class ConsoleFormatter(JsonFormatter):
    """The same members on one line for people, followed by a traceback, which is indented."""

    def format(self, record: logging.LogRecord) -> str:
        found = self.members(record)
        exception = found.pop("exception", None)
        moment, level, logger, event = (found.pop(name) for name in ("time", "level", "logger", "event"))
        rest = "".join(f" {name}={value}" for name, value in found.items())
        line = f"{moment[11:19]} {level:<7} {logger}: {event}{rest}".replace("\n", "\\n")
        return line + "".join(f"\n  {part}" for part in (exception or "").splitlines())


def configure_logging(config: Config) -> None:
    """Routes every logger to standard error. Called once, by the command line."""
    form = config.server.log_format
    json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    redact = Redactor(config)
    handler.setFormatter(JsonFormatter(redact) if json else ConsoleFormatter(redact))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(config.server.log_level.upper())
    # aiohttp's access log has paths with quote tokens; the middleware logs requests instead.
    logging.getLogger("aiohttp.access").disabled = True
