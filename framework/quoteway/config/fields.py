"""The marshmallow fields of settings, and loading a section: a dataclass with members by ``setting``."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field
from dataclasses import fields as members_of
from typing import Any, TypeVar, cast, get_args
from urllib.parse import SplitResult, urlsplit

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate, validates_schema

from quoteway.models import Capability
from quoteway.near_names import suggestion
from quoteway.networks import Endpoint
from quoteway.secrets import Secret, measured_bits, revealed

_Section = TypeVar("_Section")

MAX_URL_CHARS = 2_048


def setting(kind: fields.Field[Any], about: str = "", default: Any = MISSING, *, shown: bool = True) -> Any:
    """Declares a member of a section: its field, its line of the settings page, its default.

    ``shown``: whether it is in the section's ``repr``.
    """
    kind.required = default is MISSING
    metadata = {"field": kind, "about": about}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata, repr=shown)
    return field(default=default, metadata=metadata, repr=shown)


def table(section: type[Any]) -> Any:
    """Declares a section of the configuration; without it, its defaults hold."""
    return setting(Table(section), default=section())


def load_section(section: type[_Section], table: Any) -> _Section:
    """Makes a section of a table. Raises ``ValidationError``."""
    declared: Any = section
    members = {member.name: member.metadata["field"] for member in members_of(declared) if member.metadata}
    return section(**Section.from_dict(members, name=section.__name__)().load(table))


class Section(Schema):
    """A table whose unknown keys are refused; the message names the nearest valid key."""

    error_messages = {"type": "expected a table"}

    class Meta:
        unknown = EXCLUDE

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def refuse_unknown(self, loaded: Any, table: Any, **kwargs: Any) -> None:
        known = sorted(member.data_key or name for name, member in self.fields.items())
        unknown = [key for key in table if key not in known] if isinstance(table, Mapping) else []
        if unknown:
            raise ValidationError({key: [f"unknown key.{suggestion(str(key), known)}"] for key in unknown})


class Listing(fields.List[Any]):
    """A list, or text with commas, as an environment variable has it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list):
            raise self.make_error("invalid")
        return tuple(super()._deserialize(value, attr, data, **kwargs))


class Table(fields.Field[Any]):
    """A table with members of its own."""

    def __init__(self, section: type[Any]) -> None:
        super().__init__()
        self.section = section

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return load_section(self.section, value)


class Tables(fields.Dict):
    """Tables by their names."""

    default_error_messages = {"invalid": "expected tables, each with a name"}


def integer(low: int, high: int, *, allow_none: bool = False) -> fields.Integer:
    return fields.Integer(strict=True, allow_none=allow_none, validate=validate.Range(low, high))


class IntegerOrOff(fields.Integer):
    """A whole number, or "off" (None): TOML has no null."""

    default_error_messages = {"invalid": 'expected a whole number or "off"'}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return None if value == "off" else super()._deserialize(value, attr, data, **kwargs)

    def _validate(self, value: Any) -> None:
        if value is not None:
            super()._validate(value)


def integer_or_off(low: int, high: int) -> IntegerOrOff:
    return IntegerOrOff(strict=True, validate=validate.Range(low, high))


def seconds(low: float, high: float) -> fields.Float:
    return fields.Float(validate=validate.Range(low, high))


def flag() -> fields.Boolean:
    return fields.Boolean(truthy={True}, falsy={False})


def text(max_chars: int | None = None, min_chars: int = 0) -> fields.String:
    return fields.String(validate=validate.Length(min_chars, max_chars))


def matching(pattern: str, error: str | None = None) -> fields.String:
    return fields.String(validate=validate.Regexp(pattern, error=error))


def choice(literal: Any) -> fields.String:
    return fields.String(validate=validate.OneOf(get_args(literal)))


def rate() -> fields.String:
    error = 'expected a rate such as "60/minute" (per second, minute or hour)'
    return matching(r"[1-9][0-9]{0,6}/(second|minute|hour)\Z", error)


def slug() -> fields.String:
    error = "no network name: lowercase letters, digits and single dashes"
    return matching(r"[a-z0-9]+(-[a-z0-9]+)*\Z", error)


def provider_ids() -> Listing:
    error = 'no provider id: expected one of GET /v2/providers such as "uniswap"'
    each = matching(r"[a-z0-9][a-z0-9+-]{0,63}\Z", error)
    return Listing(each, validate=validate.Length(1, 256), allow_none=True)


def proxy(value: str) -> None:
    try:
        ipaddress.ip_network(value)
    except ValueError:
        raise ValidationError('expected an IP address or network such as "10.0.0.0/8"') from None


def _url(value: str) -> SplitResult:
    """The parts of a URL with a readable host and port. The message omits it: it may hold a credential."""
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        raise ValidationError("expected a URL with a host and port that can be read") from None
    return parts


def origin(value: str) -> None:
    parts = _url(value)
    if value != "*" and (
        parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query
    ):
        raise ValidationError('expected an origin such as "https://app.example.org" (no path), or "*"')


def public_url() -> fields.String:
    return fields.String(validate=_public_url)


def _public_url(value: str) -> None:
    """Refuses what is no https URL, holds a user or password, or does not show as it is."""
    parts = _url(value)
    plain = value.isascii() and value.isprintable() and " " not in value and len(value) <= MAX_URL_CHARS
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or parts.fragment or not plain:
        raise ValidationError(
            'expected an https:// URL such as "https://rpc.example.org", without user and password'
        )


class StoreField(fields.Field[Any]):
    """The URL of a store, or a reference to a URL with a password; with ``files`` the path of a file too, and
    with ``memory`` that of the process's memory."""

    def __init__(self, *, files: bool = False, memory: bool = False, **more: Any) -> None:
        super().__init__(**more)
        self._files = files
        self._memory = memory

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Secret | str:
        url = revealed(value)
        if self._files and isinstance(value, str) and value.strip() and "://" not in value:
            return value
        schemes = ("valkey", "valkeys", "redis", "rediss", *(("memory",) if self._memory else ()))
        if not isinstance(url, str) or _url(url).scheme not in schemes:
            other = "the path of a file or " if self._files else '"memory://" or ' if self._memory else ""
            raise ValidationError(f"expected {other}a valkey:// or redis:// URL")
        if isinstance(value, str) and _url(value).password:
            raise ValidationError('this URL holds a password: give it as {env = "NAME"} or {file = "path"}')
        return cast(Secret | str, value)


def strong(min_bytes: int, min_bits: int) -> Callable[[Secret], None]:
    def check(secret: Secret) -> None:
        key, remedy = secret.reveal().encode(), "make one with `openssl rand -hex 32`"
        if len(key) < min_bytes:
            raise ValidationError(f"this key is shorter than {min_bytes} bytes: {remedy}")
        if measured_bits(key) < min_bits:
            raise ValidationError(
                f"this key is easy to guess: it repeats itself or has few different characters: {remedy}"
            )

    return check


class LoadField(Listing):
    default_error_messages = {
        "invalid": 'expected "all" or a list of plugin names such as ["rpc", "uniswap"]'
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return "all" if value == "all" else super()._deserialize(value, attr, data, **kwargs)


class RequiredField(Listing):
    """ "any", "all", or networks and capabilities on them."""

    default_error_messages = {
        "invalid": 'expected "any", "all" or a list such as ["ethereum", "base:swap"]',
    }

    def __init__(self) -> None:
        names = "|".join(Capability)
        error = f'expected a network or "network:capability"; capabilities: {", ".join(Capability)}'
        super().__init__(
            matching(rf"[a-z0-9]+(-[a-z0-9]+)*(:({names}))?\Z", error), validate=validate.Length(1, 4_096)
        )

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return value if value in ("any", "all") else super()._deserialize(value, attr, data, **kwargs)


class RevealedField(fields.Field[str]):
    """A header's value or a URL: text, or a reference when it holds a credential."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = revealed(value)
        if not isinstance(text, str) or not text.isprintable():
            raise ValidationError("expected one line of text or a reference to a secret")
        return text


def _endpoint_url(value: str) -> None:
    parts = _url(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError('expected an http:// or https:// URL, or {env = "NAME"} holding one')


class CordonField(fields.Field[str]):
    """``true`` or a reason: the endpoint is not used."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if isinstance(value, bool):
            return "by the configuration" if value else ""
        if isinstance(value, str) and value.isprintable() and 0 < len(value) <= 200:
            return value
        raise ValidationError("expected true, false, or the reason in one line of at most 200 characters")


def _websocket_url(value: str) -> None:
    parts = _url(value)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise ValidationError('expected a ws:// or wss:// URL, or {env = "NAME"} holding one')


class _EndpointTable(Section):
    url = RevealedField(required=True, validate=_endpoint_url)
    headers = fields.Dict(keys=fields.String(), values=RevealedField())
    name = fields.String()
    tier = fields.Integer(strict=True, validate=validate.Range(0, 9))
    cordoned = CordonField()
    ws = RevealedField(validate=_websocket_url)


class EndpointField(fields.Field[Endpoint]):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Endpoint:
        table = value if isinstance(value, Mapping) else {"url": value}
        return Endpoint(**_EndpointTable().load(table))
