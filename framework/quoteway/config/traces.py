"""The configuration of exported traces: ``[traces]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from marshmallow import ValidationError, fields, validate

from quoteway.config import fields as kinds
from quoteway.config.fields import Tables, flag, integer, seconds, setting, text
from quoteway.secrets import Secret, SecretField, check_api_url


def _check_header(secret: Secret) -> None:
    value = secret.reveal()
    if not value.isascii() or not value.isprintable():
        raise ValidationError("a header's value must be one line of printable ASCII")


@dataclass(frozen=True, slots=True)
class TracesConfig:
    """Spans of requests for OpenTelemetry, sent to a collector as OTLP over HTTP (protobuf).

    Needs the extra ``otel``. Without ``url`` nothing of OpenTelemetry is imported. What the collector does
    delays no request: while it is away, what `queue` cannot hold is lost.
    """

    url: str | None = setting(
        fields.String(validate=check_api_url),
        "Where the collector takes traces, such as `http://127.0.0.1:4318/v1/traces`; unset: none are sent.",
        None,
    )
    headers: Mapping[str, Secret] = setting(
        Tables(
            keys=kinds.matching(r"[A-Za-z0-9-]{1,64}\Z", "no name of a header"),
            values=SecretField(validate=_check_header),
            error_messages={"invalid": "expected a table of headers"},
        ),
        "Headers of the requests to the collector, by reference.",
        {},
    )
    service: str = setting(text(255, 1), "The `service.name` of the spans.", "quoteway")
    sample_ratio: float = setting(
        fields.Float(validate=validate.Range(0, 1)), "Share of the requests whose spans are sent.", 1.0
    )
    trust_caller: bool = setting(
        flag(),
        "Whether a `traceparent` of the caller is continued and decides whether spans are sent. `false`: "
        "each request begins a trace of its own.",
        False,
    )
    queue: int = setting(
        integer(64, 1_000_000), "Spans that wait for the collector; the oldest go first.", 8_192
    )
    timeout_s: float = setting(seconds(0.1, 600), "Time that the collector has to take spans.", 5.0)
