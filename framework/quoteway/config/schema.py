"""What each section of the configuration may hold: one closed schema each, whose refusals name the remedy."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from marshmallow import RAISE, Schema, ValidationError, fields, post_load, pre_load, validate

from quoteway.config.model import (
    MIN_API_KEY_BITS,
    MIN_API_KEY_BYTES,
    MIN_KEY_BITS,
    MIN_KEY_BYTES,
    SigningKey,
)
from quoteway.near_names import suggestion
from quoteway.networks import Endpoint
from quoteway.secrets import Secret, SecretField, Unresolved, measured_bits

_RATE = re.compile(r"[1-9][0-9]{0,6}/(second|minute|hour)")


class Section(Schema):
    """A closed table whose unknown keys are refused with the nearest valid one named."""

    class Meta:
        unknown = RAISE

    @pre_load
    def refuse_unknown(self, data: Any, **kwargs: Any) -> Any:
        if isinstance(data, Mapping):
            known = sorted(member.data_key or name for name, member in self.fields.items())
            unknown = {
                key: [f"unknown key.{suggestion(str(key), known)}"] for key in data if key not in known
            }
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


def _url(value: str) -> SplitResult:
    """The parts of a URL whose host and port can be read. The refusal does not hold it: it may be a
    credential.
    """
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        raise ValidationError("expected a URL with a host and port that can be read") from None
    return parts


def _origin(value: str) -> None:
    parts = _url(value)
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
        if _url(value).password:
            raise ValidationError('this URL holds a password: give it as {env = "NAME"} or {file = "path"}')
        return value

    @staticmethod
    def _check(url: str) -> None:
        if _url(url).scheme not in ("memory", "valkey", "valkeys", "redis", "rediss"):
            raise ValidationError('expected "memory://" or a valkey:// or redis:// URL')


class LimitsSection(Section):
    enabled = fields.Boolean(truthy={True}, falsy={False})
    quotes = fields.String(validate=_rate)
    catalog = fields.String(validate=_rate)
    rpc = fields.String(validate=_rate)
    wrong_keys = fields.String(validate=_rate)
    store = StoreField()


def _strong(min_bytes: int, min_bits: int) -> Callable[[Secret], None]:
    def check(secret: Secret) -> None:
        key, remedy = secret.reveal().encode(), "make one with `openssl rand -hex 32`"
        if len(key) < min_bytes:
            raise ValidationError(f"this key is shorter than {min_bytes} bytes: {remedy}")
        if measured_bits(key) < min_bits:
            raise ValidationError(
                f"this key is easy to guess: it repeats itself or has few different characters: {remedy}"
            )

    return check


class KeySection(Section):
    id = fields.String(required=True, validate=validate.Regexp(r"^[A-Za-z0-9_.-]{1,32}$"))
    secret = SecretField(required=True, validate=_strong(MIN_KEY_BYTES, MIN_KEY_BITS))

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
    keys = Listing(SecretField(validate=_strong(MIN_API_KEY_BYTES, MIN_API_KEY_BITS)))


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
        parts = _url(text)
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
