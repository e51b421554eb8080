"""Takes secrets out of what leaves the gateway for other eyes: bundles of recorded requests."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import orjson

from quoteway.config.loading import shown_url
from quoteway.config.model import Config
from quoteway.host.recording import Key
from quoteway.networks import Endpoint, Network
from quoteway.secrets import REDACTED, Secret

MIN_SECRET_CHARS = 6
"""Shorter texts are not replaced in free text: they occur in hashes and numbers by chance."""
MIN_PART_CHARS = 16
"""The shortest segment of an endpoint's path, or value of its query, that counts as a credential."""

_SECRET_MEMBER = re.compile(
    r"api.?key|secret|passw|authorization|credential|private.?key|mnemonic|bearer", re.IGNORECASE
)


class Redaction:
    """Replaces the secrets of one deployment in text and JSON.

    Secrets are the values of every ``Secret``, header values of endpoints, and URLs of endpoints and of
    plugins' settings: of a URL scheme and host are left. ``sent`` are further ones. Members of requests that
    are named like a secret lose their value.
    """

    def __init__(self, config: Config, networks: Iterable[Network], sent: Iterable[str] = ()) -> None:
        needles = dict.fromkeys(sent, REDACTED)
        for found in _leaves((config, [_rows(network) for network in networks])):
            if isinstance(found, Secret):
                needles[found.reveal()] = REDACTED
            elif isinstance(found, Endpoint):
                for url in filter(None, (found.url, found.ws)):
                    needles |= dict.fromkeys(_parts(url), REDACTED) | {url: shown_url(url)}
                    needles[url.partition("://")[2]] = shown_url(url).partition("://")[2]
                needles |= dict.fromkeys(found.headers.values(), REDACTED)
            elif "://" in found:
                needles[found] = shown_url(found)
                needles[found.partition("://")[2]] = shown_url(found).partition("://")[2]
        # A URL before its parts, and a secret before one that it contains.
        self._needles = sorted(
            ((needle, shown) for needle, shown in needles.items() if len(needle) >= MIN_SECRET_CHARS),
            key=lambda pair: -len(pair[0]),
        )

    def text(self, text: str) -> str:
        """Returns a text without the secrets, also where they are escaped as in JSON or in a URL."""
        for needle, shown in self._needles:
            for written in dict.fromkeys((needle, orjson.dumps(needle).decode()[1:-1], quote(needle, ""))):
                if written in text:
                    text = text.replace(written, shown)
        return text

    def path(self, path: str) -> str:
        """Returns a path with its query, without the values of members that are named like a secret."""
        path, mark, query = path.partition("?")
        if any(_SECRET_MEMBER.search(name) for name, _ in parse_qsl(query, keep_blank_values=True)):
            query = urlencode([*_members(parse_qsl(query, keep_blank_values=True))])
        return self.text(path + mark + query)

    def exchange(self, key: Key) -> Key:
        """Returns what an HTTP exchange of a plugin asks, as bundles have it."""
        kind, method, url, body = key
        with contextlib.suppress(ValueError):  # no JSON
            body = orjson.dumps(self.body(orjson.loads(body)), option=orjson.OPT_SORT_KEYS).decode()
        return kind, method, self.path(url), self.text(body)

    def body(self, value: Any) -> Any:
        """Returns a JSON body without the values of members that are named like a secret."""
        if isinstance(value, Mapping):
            return {name: REDACTED if _named(name) else self.body(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.body(member) for member in value]
        return value


def _named(name: str) -> bool:
    return _SECRET_MEMBER.search(name) is not None


def _members(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in pairs:
        yield name, REDACTED if _named(name) else value


def _rows(network: Network) -> Any:
    return [network.endpoints, network.deployments]


def _parts(url: str) -> Iterator[str]:
    """Yields the parts of a URL that may be credentials by themselves."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield from filter(None, (parts.username, parts.password))
    values = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    yield from (unquote(value) for value in values if len(value) >= MIN_PART_CHARS)


def _leaves(value: Any) -> Iterator[Secret | Endpoint | str]:
    if isinstance(value, Secret | Endpoint | str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _leaves(member)
    elif is_dataclass(value):
        for declared in fields(value):
            yield from _leaves(getattr(value, declared.name))
