"""The deployment's configuration: ``quoteway.toml`` plus environment, checked once, typed and frozen.

Every section has one schema; an unknown key is an error that names the nearest valid one.
``QUOTEWAY_SERVER__PORT=9000`` overrides ``port`` of ``[server]``: values are read as TOML where they are TOML
and as text otherwise, and a list may be given as comma-separated text. Secrets come by reference only
(``quoteway.credentials``).
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as members_of
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from marshmallow import RAISE, Schema, ValidationError, fields, post_load, pre_load, validate

from quoteway.credentials import (
    REDACTED,
    Secret,
    SecretField,
    Unresolved,
    missing_credentials,
    resolve_all,
)
from quoteway.errors import ConfigError
from quoteway.networks import Endpoint

__all__ = [
    "AuthConfig",
    "Config",
    "LimitsConfig",
    "NetworkConfig",
    "PluginsConfig",
    "ProviderConfig",
    "QuotesConfig",
    "Secret",
    "SecretField",
    "ServerConfig",
    "SigningKey",
    "load_config",
    "missing_credentials",
    "redacted",
]

MIN_KEY_BYTES = 32
"""HS256 wants a key of at least the hash's size (RFC 7518, section 3.2); PyJWT only warns."""

EMBEDDED_STARTUP_TIMEOUT_S = 300.0

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RATE = re.compile(r"[1-9][0-9]{0,6}/(second|minute|hour)")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """``[server]``: the socket and its limits. ``metrics_port`` None: ``/metrics`` is on the main port."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    metrics_port: int | None = None
    body_limit_bytes: int = 65_536
    rpc_body_limit_bytes: int = 262_144
    max_line_bytes: int = 8_190
    body_timeout_s: float = 10.0
    keepalive_timeout_s: float = 30.0
    request_timeout_s: float = 30.0
    shutdown_timeout_s: float = 10.0
    cors_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    access_log: Literal["all", "errors"] = "errors"
    log_format: Literal["auto", "json", "console"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """``[limits]``: requests per caller in three groups. ``store`` is ``memory://`` or a Valkey/Redis URL."""

    enabled: bool = True
    quotes: str = "60/minute"
    catalog: str = "300/minute"
    rpc: str = "600/minute"
    store: Secret | str = "memory://"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key of the ring. ``id`` becomes the token's ``kid``."""

    id: str
    secret: Secret


@dataclass(frozen=True, slots=True)
class QuotesConfig:
    """``[quotes]``. The first of ``keys`` signs, all verify. ``order`` breaks ties between equal quotes."""

    lifetime_s: int = 180
    action_deadline_s: int = 1_200
    competition_timeout_s: float = 3.0
    keys: tuple[SigningKey, ...] = ()
    issuer: str = "quoteway"
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginsConfig:
    """``[plugins]``. ``load`` is applied before anything is imported: importing is execution.

    ``startup_timeout_s`` is 300 for the embedded default, whose first start fetches anvil and the contracts.
    """

    load: Literal["all"] | tuple[str, ...] = "all"
    startup_timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class AuthConfig:
    """``[auth]``. With keys, every ``/v2`` request needs one of them as a Bearer token."""

    keys: tuple[Secret, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """``[providers.<id>]``."""

    enabled: bool = True


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """``[networks.<slug>]``: endpoints, and facts for a network no plugin describes (None: not given)."""

    rpc: tuple[Endpoint, ...] = ()
    chain_id: int | None = None
    name: str | None = None
    native_symbol: str | None = None
    native_name: str | None = None
    native_decimals: int | None = None
    wrapped_native: str | None = None
    explorer_url: str | None = None
    block_time_s: float | None = None
    head_poll_s: float | None = None
    testnet: bool | None = None
    token_lists: tuple[str, ...] = ()
    deployments: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """All of it. ``plugin_sections`` are as written, references resolved; each plugin's schema loads its own.

    ``embedded`` tells that no file was given, so the embedded default (the devnet) runs. ``worker`` is this
    process's index under ``--workers``.
    """

    server: ServerConfig = field(default_factory=ServerConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    quotes: QuotesConfig = field(default_factory=QuotesConfig)
    plugins: PluginsConfig = field(default_factory=PluginsConfig)
    auth: AuthConfig = field(default_factory=AuthConfig)
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    networks: Mapping[str, NetworkConfig] = field(default_factory=dict)
    plugin_sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    embedded: bool = True
    path: Path | None = None
    worker: int = 0


# --- one schema per section ---------------------------------------------------------------------------------


class Section(Schema):
    """A closed table whose unknown keys are refused with the nearest valid one named."""

    class Meta:
        unknown = RAISE

    @pre_load
    def refuse_unknown(self, data: Any, **kwargs: Any) -> Any:
        if isinstance(data, Mapping):
            known = [member.data_key or name for name, member in self.fields.items()]
            unknown = {key: [f"unknown key.{nearest(key, known)}"] for key in data if key not in known}
            if unknown:
                raise ValidationError(unknown)
        return data


class Listing(fields.List[Any]):
    """A list; text is read as its comma-separated members, which is how an environment variable gives one."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        return tuple(super()._deserialize(value, attr, data, **kwargs))


def _integer(low: int, high: int) -> fields.Integer:
    return fields.Integer(strict=True, validate=validate.Range(low, high))


def _seconds(low: float, high: float) -> fields.Float:
    return fields.Float(validate=validate.Range(low, high))


def _one_of(*choices: str) -> fields.String:
    return fields.String(validate=validate.OneOf(choices))


def _rate(value: str) -> None:
    if not _RATE.fullmatch(value):
        raise ValidationError('expected a rate such as "60/minute" (per second, minute or hour)')


def _proxy(value: str) -> None:
    try:
        ipaddress.ip_network(value)
    except ValueError:
        raise ValidationError('expected an IP address or network such as "10.0.0.0/8"') from None


def _origin(value: str) -> None:
    parts = urlsplit(value)
    if value != "*" and (
        parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query
    ):
        raise ValidationError('expected an origin such as "https://app.example.org" (no path), or "*"')


class ServerSection(Section):
    host = fields.String(validate=validate.Length(min=1))
    port = _integer(0, 65_535)
    workers = _integer(1, 256)
    metrics_port = fields.Integer(strict=True, allow_none=True, validate=validate.Range(0, 65_535))
    body_limit_bytes = _integer(1_024, 16_777_216)
    rpc_body_limit_bytes = _integer(1_024, 16_777_216)
    max_line_bytes = _integer(8_190, 65_536)
    body_timeout_s = _seconds(0.05, 600)
    keepalive_timeout_s = _seconds(0.05, 3_600)
    request_timeout_s = _seconds(0.05, 600)
    shutdown_timeout_s = _seconds(0, 600)
    cors_origins = Listing(fields.String(validate=_origin))
    trusted_proxies = Listing(fields.String(validate=_proxy))
    access_log = _one_of("all", "errors")
    log_format = _one_of("auto", "json", "console")
    log_level = _one_of("debug", "info", "warning", "error")


class StoreField(fields.Field[Any]):
    """Where counters live: a plain URL without a password, or a reference to one with."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Secret | str:
        if isinstance(value, Secret):
            self._check(value.reveal())
            return value
        if isinstance(value, Unresolved):
            raise ValidationError(value.reason)
        if not isinstance(value, str):
            raise ValidationError('expected "memory://" or a valkey:// or redis:// URL')
        self._check(value)
        if urlsplit(value).password:
            raise ValidationError('this URL holds a password: give it as {env = "NAME"} or {file = "path"}')
        return value

    @staticmethod
    def _check(url: str) -> None:
        if urlsplit(url).scheme not in ("memory", "valkey", "valkeys", "redis", "rediss"):
            raise ValidationError('expected "memory://" or a valkey:// or redis:// URL')


class LimitsSection(Section):
    enabled = fields.Boolean(truthy={True}, falsy={False})
    quotes = fields.String(validate=_rate)
    catalog = fields.String(validate=_rate)
    rpc = fields.String(validate=_rate)
    store = StoreField()


def _long_enough(secret: Secret) -> None:
    if len(secret.reveal().encode()) < MIN_KEY_BYTES:
        raise ValidationError(
            f"this key is shorter than {MIN_KEY_BYTES} bytes: make one with `openssl rand -base64 32`"
        )


class KeySection(Section):
    id = fields.String(required=True, validate=validate.Regexp(r"^[A-Za-z0-9_.-]{1,32}$"))
    secret = SecretField(required=True, validate=_long_enough)

    @post_load
    def make(self, data: dict[str, Any], **kwargs: Any) -> SigningKey:
        return SigningKey(**data)


class QuotesSection(Section):
    lifetime_s = _integer(30, 900)
    action_deadline_s = _integer(60, 86_400)
    competition_timeout_s = _seconds(0.05, 60)
    keys = Listing(fields.Nested(KeySection))
    issuer = fields.String(validate=validate.Regexp(r"^[A-Za-z0-9_.:/-]{1,64}$"))
    order = Listing(fields.String())


class LoadField(fields.Field[Any]):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str | tuple[str, ...]:
        if value == "all":
            return "all"
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, list) and all(isinstance(name, str) and name for name in value):
            return tuple(value)
        raise ValidationError('expected "all" or a list of plugin names such as ["rpc", "uniswap"]')


class PluginsSection(Section):
    selection = LoadField(data_key="load", attribute="load")
    startup_timeout_s = _seconds(0.05, 600)


class AuthSection(Section):
    keys = Listing(SecretField())


class ProviderSection(Section):
    enabled = fields.Boolean(truthy={True}, falsy={False})


class HeaderField(fields.Field[str]):
    """A header's value: text, or a reference."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if isinstance(value, Unresolved):
            raise ValidationError(value.reason)
        text = value.reveal() if isinstance(value, Secret) else value
        if not isinstance(text, str) or not text.isprintable():
            raise ValidationError("expected one line of text or a reference to a secret")
        return text


class EndpointUrlField(HeaderField):
    """An RPC URL: text, or a reference when it holds a credential."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValidationError('expected an http:// or https:// URL, or {env = "NAME"} holding one')
        return text


class EndpointSection(Section):
    url = EndpointUrlField(required=True)
    headers = fields.Dict(keys=fields.String(), values=HeaderField())
    name = fields.String()


class EndpointField(fields.Field[Endpoint]):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Endpoint:
        table = value if isinstance(value, Mapping) else {"url": value}
        return Endpoint(**EndpointSection().load(table))


class NetworkSection(Section):
    rpc = Listing(EndpointField())
    chain_id = fields.Integer(strict=True, validate=validate.Range(1, 2**53 - 1))
    name = fields.String(validate=validate.Length(1, 64))
    native_symbol = fields.String(validate=validate.Length(1, 16))
    native_name = fields.String(validate=validate.Length(1, 64))
    native_decimals = _integer(0, 36)
    wrapped_native = fields.String(validate=validate.Regexp(r"^0x[0-9a-fA-F]{40}$"))
    explorer_url = fields.String()
    block_time_s = _seconds(0.01, 3_600)
    head_poll_s = _seconds(0.05, 600)
    testnet = fields.Boolean(truthy={True}, falsy={False})
    token_lists = Listing(fields.String())
    deployments = fields.Dict(keys=fields.String(), values=Listing(fields.Dict(keys=fields.String())))


_SECTIONS: Mapping[str, tuple[type[Section], Callable[..., Any]]] = {
    "server": (ServerSection, ServerConfig),
    "limits": (LimitsSection, LimitsConfig),
    "quotes": (QuotesSection, QuotesConfig),
    "plugins": (PluginsSection, PluginsConfig),
    "auth": (AuthSection, AuthConfig),
}
_NAMED_SECTIONS: Mapping[str, tuple[type[Section], Callable[..., Any]]] = {
    "providers": (ProviderSection, ProviderConfig),
    "networks": (NetworkSection, NetworkConfig),
}


# --- loading ------------------------------------------------------------------------------------------------


def nearest(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?``, or the whole list when nothing is near."""
    names = list(known)
    near = difflib.get_close_matches(str(name)[:64], names, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(sorted(names)) or 'none'}."


def load_config(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """Reads, overlays and checks the configuration.

    The file is ``path``, else ``$QUOTEWAY_CONFIG``, else ``./quoteway.toml`` when there is one, else none at
    all: the embedded default. Raises ``ConfigError`` with every mistake found, each with its remedy.
    """
    path = _find_file(path, environ)
    tree = _read(path) if path else {}
    _overlay(tree, environ)
    tree = resolve_all(tree, environ, path.parent if path else Path.cwd())
    mistakes: list[str] = []
    loaded: dict[str, Any] = {}
    known = [*_SECTIONS, *_NAMED_SECTIONS, "plugin"]
    mistakes += [f"[{name}] is no section.{nearest(name, known)}" for name in tree if name not in known]
    for name, (schema, make) in _SECTIONS.items():
        loaded[name] = _section(name, tree.get(name, {}), schema, make, mistakes)
    for name, (schema, make) in _NAMED_SECTIONS.items():
        loaded[name] = {
            entry: _section(f"{name}.{entry}", table, schema, make, mistakes)
            for entry, table in _tables(name, tree.get(name, {}), mistakes).items()
        }
    plugin_sections = _tables("plugin", tree.get("plugin", {}), mistakes)
    mistakes += [
        f"[networks.{slug}] is no network name: lowercase letters, digits and single dashes"
        for slug in loaded["networks"]
        if not _SLUG.fullmatch(slug)
    ]
    if mistakes:
        raise ConfigError(f"{path or 'environment'}: " + "; ".join(mistakes))
    if path is None and "startup_timeout_s" not in tree.get("plugins", {}):
        loaded["plugins"] = replace(loaded["plugins"], startup_timeout_s=EMBEDDED_STARTUP_TIMEOUT_S)
    config = Config(
        **loaded,
        plugin_sections=plugin_sections,
        embedded=path is None,
        path=path,
        worker=_worker_index(environ),
    )
    _refuse_missing_key(config)
    return config


def _find_file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    if path is None and environ.get("QUOTEWAY_CONFIG"):
        path = Path(environ["QUOTEWAY_CONFIG"])
    if path is not None:
        if not path.is_file():
            raise ConfigError(f"{path}: no such configuration file")
        return path
    default = Path("quoteway.toml")
    return default if default.is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _overlay(tree: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Lays ``QUOTEWAY_SECTION__KEY`` variables over the file's values."""
    typos = {
        f"QUOTEWAY_{name}_{key}".upper(): name
        for name, (schema, _) in _SECTIONS.items()
        for key in _keys(schema)
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
        if keys[0] in _NAMED_SECTIONS and len(keys) > 1:
            keys[1] = keys[1].replace("_", "-")  # slugs and ids have dashes, which variable names cannot
        table = tree
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{variable}: {key!r} is a value, not a table")
        table[keys[-1]] = _parse(environ[variable])


def _keys(schema: type[Section]) -> Iterable[str]:
    return schema._declared_fields


def _parse(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _tables(name: str, tree: Any, mistakes: list[str]) -> dict[str, Any]:
    if not isinstance(tree, Mapping):
        mistakes.append(f"[{name}] must hold tables such as [{name}.<name>]")
        return {}
    for entry, table in tree.items():
        if not isinstance(table, Mapping):
            mistakes.append(f"{name}.{entry} must be a table: [{name}.{entry}]")
    return {entry: table for entry, table in tree.items() if isinstance(table, Mapping)}


def _section(
    name: str, table: Any, schema: type[Section], make: Callable[..., Any], mistakes: list[str]
) -> Any:
    if not isinstance(table, Mapping):
        mistakes.append(f"{name} must be a table: [{name}]")
        return make()
    try:
        return make(**schema().load(table))
    except ValidationError as error:
        mistakes.extend(_sentences(name, error.messages))
        return make()


def _sentences(path: str, messages: Any) -> Iterable[str]:
    if isinstance(messages, Mapping):
        for key, value in messages.items():
            yield from _sentences(path if key == "_schema" else f"{path}.{key}", value)
    else:
        for message in messages:
            yield f"{path}: {str(message).rstrip('.') if '?' not in str(message) else message}"


def _worker_index(environ: Mapping[str, str]) -> int:
    text = environ.get("QUOTEWAY_WORKER", "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def _refuse_missing_key(config: Config) -> None:
    if not config.embedded and not config.quotes.keys:
        raise ConfigError(
            f"{config.path}: quotes.keys is missing: a configured deployment signs quotes with its own key. "
            'Add `keys = [{id = "k1", secret = {env = "QUOTEWAY_KEY"}}]` to [quotes] and export QUOTEWAY_KEY '
            "(`openssl rand -base64 32`)"
        )
    ids = [key.id for key in config.quotes.keys]
    if len(set(ids)) != len(ids):
        raise ConfigError(f"{config.path}: quotes.keys: every id must be unique")


# --- showing ------------------------------------------------------------------------------------------------


def redacted(config: Config) -> dict[str, Any]:
    """The configuration as plain data for people: secrets, header values and the paths of RPC URLs hidden."""
    shown: dict[str, Any] = {"path": str(config.path) if config.path else "(embedded default)"}
    for name in (*_SECTIONS, *_NAMED_SECTIONS):
        shown[name] = _show(getattr(config, name))
    shown["plugin"] = {name: _show_raw(section) for name, section in config.plugin_sections.items()}
    return shown


def _show(value: Any) -> Any:
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, Endpoint):
        return _show_url(value.url) + (f" ({value.name})" if value.name else "")
    if isinstance(value, Mapping):
        return {str(key): _show(member) for key, member in value.items()}
    if isinstance(value, tuple | list):
        return [_show(member) for member in value]
    if hasattr(value, "__dataclass_fields__"):
        return {member.name: _show(getattr(value, member.name)) for member in members_of(value)}
    return value


def _show_raw(value: Any, key: str = "") -> Any:
    """A plugin's section before its schema has seen it: anything that may be a secret is hidden."""
    if isinstance(value, Mapping):
        return {str(name): _show_raw(member, str(name)) for name, member in value.items()}
    if isinstance(value, tuple | list):
        return [_show_raw(member, key) for member in value]
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, Unresolved):
        return f"(missing: {value.reason})"
    if isinstance(value, str) and re.search(
        r"key|secret|token$|password|auth|credential", key, re.IGNORECASE
    ):
        return REDACTED
    if isinstance(value, str) and "://" in value:
        return _show_url(value)
    return value


def _show_url(url: str) -> str:
    """Scheme and host only: keys hide in user info, path and query alike."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    rest = f"/{REDACTED}" if parts.path.strip("/") or parts.query or parts.username else ""
    return f"{parts.scheme}://{parts.hostname}{port}{rest}"
