"""Reads ``quoteway.toml`` and the environment into a ``Config``, and shows a ``Config`` without its secrets.

An unknown key is an error that names the nearest valid one. ``QUOTEWAY_SERVER__PORT=9000`` overrides ``port``
of ``[server]``. A variable is read as TOML if it is TOML, else as text; a list may be text with commas.
Secrets are given by reference only: ``{env = "NAME"}`` or ``{file = "path"}``.

A file, a network (``[networks.<slug>]``), a host that other machines can reach, ``quotes.keys`` or
``auth.keys`` makes it a deployment, by file, environment or command line alike. A deployment needs
``quotes.keys`` and runs no devnet unless ``[plugin.devnet] enabled = true`` asks for it.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields as members_of
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError

from quoteway.config.fields import Table, load_section
from quoteway.config.keys import OPERATOR_TIER, NamedKey
from quoteway.config.model import Config
from quoteway.config.operator import EMBEDDED_REQUESTS, OperatorConfig
from quoteway.config.run_folder import RUN_CONFIG, kept
from quoteway.errors import ConfigError
from quoteway.near_names import suggestion
from quoteway.networks import Endpoint
from quoteway.secrets import REDACTED, Secret, Unresolved, resolve_all

EMBEDDED_STARTUP_TIMEOUT_S = 300.0

_MISSING_KEY = (
    "{source}: quotes.keys is missing: {sign} makes this a deployment, which signs quotes with its own key. "
    "Make one with `export QUOTEWAY_KEY=$(openssl rand -hex 32)`. "
    'Then add `keys = [{{id = "k1", secret = {{env = "QUOTEWAY_KEY"}}}}]` to [quotes] of quoteway.toml, '
    'or set QUOTEWAY_QUOTES__KEYS=\'[{{id = "k1", secret = {{env = "QUOTEWAY_KEY"}}}}]\''
)

_MISSING_CAPTURE_KEY = (
    "{source}: server.capture needs server.capture_key in a deployment: recordings tell what callers asked. "
    "Make one with `export QUOTEWAY_CAPTURE_KEY=$(openssl rand -hex 32)` and set "
    '`capture_key = {{env = "QUOTEWAY_CAPTURE_KEY"}}` in [server], or set `capture = 0`'
)

SECTIONS: Mapping[str, type[Any]] = {
    member.name: kind.section
    for member in members_of(Config)
    if isinstance(kind := member.metadata.get("field"), Table)
}


def load_config(
    path: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    server: Mapping[str, Any] = MappingProxyType({}),
) -> Config:
    """Reads, overlays and checks the configuration.

    The file is ``path``, else ``$QUOTEWAY_CONFIG``, else ``./quoteway.toml`` if it exists; a worker reads the
    copy that its supervisor made. The environment overrides the file, and ``server`` (the command line) both.
    Raises ``ConfigError`` with all mistakes.
    """
    path, tree = _tree(path, environ)
    if server and isinstance(tree.setdefault("server", {}), dict):
        tree["server"].update(server)
    folder = path.parent if path else Path.cwd()
    # A section is no reference to a secret, also [policy] with the member `file` alone.
    tree = {
        name: {key: resolve_all(value, environ, folder) for key, value in section.items()}
        if isinstance(section, dict)
        else section
        for name, section in tree.items()
    }
    config = replace(_checked(tree, path), embedded=False, worker=_worker_index(environ))
    if len({key.id for key in config.quotes.keys}) != len(config.quotes.keys):
        raise ConfigError(f"{path or 'environment'}: quotes.keys: every id must be unique")
    _check_keys(config, path)
    _check_webhooks(config, path)
    sign = _sign_of_deployment(config)
    if sign is not None:
        if not config.quotes.keys:
            raise ConfigError(_MISSING_KEY.format(source=path or "environment", sign=sign))
        if config.server.capture and config.server.capture_key is None:
            raise ConfigError(_MISSING_CAPTURE_KEY.format(source=path or "environment"))
        return config
    if "startup_timeout_s" not in tree.get("plugins", {}):
        plugins = replace(config.plugins, startup_timeout_s=EMBEDDED_STARTUP_TIMEOUT_S)
        config = replace(config, plugins=plugins)
    if "drain_s" not in tree.get("server", {}):
        config = replace(config, server=replace(config.server, drain_s=0.0))
    if "requests" not in tree.get("operator", {}):
        config = replace(config, operator=OperatorConfig(requests=EMBEDDED_REQUESTS))
    return replace(config, embedded=True, run_key=_run_key(environ))


def _check_keys(config: Config, path: Path | None) -> None:
    """Raises ``ConfigError`` for two API keys of one name or value, and for a tier that has no limits."""
    named = [key for key in config.auth.keys if isinstance(key, NamedKey)]
    digests = [hashlib.sha256(secret.reveal().encode()).hexdigest() for secret in config.auth.secrets]
    digests += [key.sha256 for key in named if key.sha256 is not None]
    if len({key.name for key in named}) != len(named):
        raise ConfigError(f"{path or 'environment'}: auth.keys: every name must be unique")
    if len(set(digests)) != len(digests):
        raise ConfigError(f"{path or 'environment'}: auth.keys: two of the keys are the same one")
    for key in named:
        if key.tier is not None and key.tier not in (*config.limits.tiers, OPERATOR_TIER):
            hint = suggestion(key.tier, sorted(config.limits.tiers))
            text = (
                f"auth.keys: {key.name} is of the tier {key.tier}, which [limits.tiers] does not have.{hint}"
            )
            raise ConfigError(f"{path or 'environment'}: {text}")


def _check_webhooks(config: Config, path: Path | None) -> None:
    """Raises ``ConfigError`` for webhooks that nobody may register, or that a restart would lose."""
    if not config.webhooks.enabled:
        return
    needed = {
        "auth.keys with a name each": any(isinstance(key, NamedKey) for key in config.auth.keys),
        "store.url": config.store.url is not None,
    }
    missing = [name for name, is_there in needed.items() if not is_there]
    if missing:
        raise ConfigError(f"{path or 'environment'}: webhooks.enabled needs {' and '.join(missing)}")


def load_selection(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """Returns only what says which plugins may be imported, and where: no other section, no secret is read.

    Raises ``ConfigError`` as ``load_config`` does.
    """
    path, tree = _tree(path, environ)
    return _checked({name: tree[name] for name in ("plugins", "providers") if name in tree}, path)


def _tree(path: Path | None, environ: Mapping[str, str]) -> tuple[Path | None, dict[str, Any]]:
    path = _find_file(path, environ)
    tree = _read(path, kept(RUN_CONFIG, environ) or path) if path else {}
    _overlay(tree, environ)
    return path, tree


def _checked(tree: Mapping[str, Any], path: Path | None) -> Config:
    try:
        return replace(load_section(Config, tree), path=path)
    except ValidationError as error:
        raise ConfigError(f"{path or 'environment'}: " + "; ".join(sentences("", error.messages))) from None


def _find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = path or environ.get("QUOTEWAY_CONFIG")
    found = Path(named or "quoteway.toml")
    if RUN_CONFIG in environ and "QUOTEWAY_WORKER" in environ:
        return found if environ[RUN_CONFIG] else None
    if named and not found.is_file():
        raise ConfigError(f"{found}: no such configuration file")
    return found if found.is_file() else None


def _read(path: Path, copy: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(copy.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _overlay(tree: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Overrides the file's values by ``QUOTEWAY_SECTION__KEY`` variables."""
    typos = {
        f"QUOTEWAY_{name}_{member.name}".upper(): name
        for name, section in SECTIONS.items()
        for member in members_of(section)
    }
    for variable in sorted(environ):
        if not variable.startswith("QUOTEWAY_"):
            continue
        if variable in typos:
            section = typos[variable].upper()
            key = variable.removeprefix(f"QUOTEWAY_{section}_")
            raise ConfigError(f"{variable} is not read. Did you mean QUOTEWAY_{section}__{key}?")
        if "__" not in variable:
            continue
        keys = variable.removeprefix("QUOTEWAY_").lower().split("__")
        if keys[0] in ("networks", "providers") and len(keys) > 1:
            keys[1] = keys[1].replace("_", "-")  # slugs and ids have dashes, which variable names cannot
        table = tree
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{variable}: {key!r} is a value, not a table")
        table[keys[-1]] = _parse(environ[variable])


def _parse(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def sentences(path: str, messages: Any) -> Iterable[str]:
    """Yields the messages of a ``ValidationError``, each with the path of its member."""
    if isinstance(messages, Mapping):
        for key, value in messages.items():
            # marshmallow's names for the table itself, and for the name and the value of an entry of a Dict
            below = path if key in ("_schema", "key", "value") else f"{path}.{key}".removeprefix(".")
            yield from sentences(below, value)
    else:
        for message in messages:
            yield f"{path}: {str(message).rstrip('.') if '?' not in str(message) else message}"


def _worker_index(environ: Mapping[str, str]) -> int:
    text = environ.get("QUOTEWAY_WORKER", "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def _run_key(environ: Mapping[str, str]) -> Secret | None:
    """The signing key that the supervisor made for the workers of one embedded run."""
    key = environ.get("QUOTEWAY_RUN_KEY", "")
    return Secret(key) if key and "QUOTEWAY_WORKER" in environ else None


def _sign_of_deployment(config: Config) -> str | None:
    """The setting that makes this a deployment; None for the embedded default."""
    if config.path is not None:
        return f"the file {config.path}"
    for slug in config.networks:
        return f"networks.{slug}"
    for name in ("host", "metrics_host"):
        host = getattr(config.server, name)
        if host is not None and not is_loopback(host):
            return f"server.{name} {host}, which other machines can reach,"
    if config.quotes.keys:
        return "quotes.keys"
    return "auth.keys" if config.auth.keys else None


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach what listens on ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# --- showing ------------------------------------------------------------------------------------------------


def source_of(config: Config) -> str:
    """Where the configuration comes from, for people."""
    if config.embedded:
        return "(embedded default)"
    return str(config.path) if config.path else "(environment)"


def redacted(config: Config) -> dict[str, Any]:
    """The configuration as plain data, without secrets, header values and paths of RPC URLs."""
    declared = [(member.name, member.metadata["field"]) for member in members_of(config) if member.metadata]
    sections = {field.data_key or name: _show(getattr(config, name)) for name, field in declared}
    return {"path": source_of(config), "embedded": config.embedded, **sections}


def _show(value: Any, key: str = "") -> Any:
    """``key`` is the name in a free table, which no schema has checked: what may be a secret is hidden."""
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, Unresolved):
        return f"(missing: {value.reason})"
    if isinstance(value, Endpoint):
        tier = f"tier {value.tier}" if value.tier else ""
        cordoned = f"cordoned: {value.cordoned}" if value.cordoned else ""
        more = ", ".join(filter(None, (value.name, tier, cordoned)))
        return shown_url(value.url) + (f" ({more})" if more else "")
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _show(member, str(name)) for name, member in value.items()}
    if isinstance(value, tuple | list):
        return [_show(member, key) for member in value]
    if is_dataclass(value):
        return {member.name: _show(getattr(value, member.name)) for member in members_of(value)}
    if key and isinstance(value, str):
        if re.search(r"key|secret|token$|password|auth|credential", key, re.IGNORECASE):
            return REDACTED
        return shown_url(value) if "://" in value else value
    return value


def shown_url(url: str) -> str:
    """Scheme and host only: user info, path and query may be credentials."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # the unreadable host or port may be a credential
        return REDACTED
    rest = f"/{REDACTED}" if parts.path.strip("/") or parts.query or parts.username else ""
    return f"{parts.scheme}://{parts.hostname}{port}{rest}"
