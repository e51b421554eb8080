"""Request and response schemas: requests are closed and name every refused member at once, responses are
open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from marshmallow import RAISE, ValidationError, fields, pre_load
from marshmallow.exceptions import SCHEMA

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.near_names import suggestion
from quoteway.networks import Networks
from quoteway.web.wire.view import WireSchema

_MISSING = fields.Field.default_error_messages["required"]
_PREDICATES = {
    fields.Field.default_error_messages["null"]: "must not be null",
    fields.List.default_error_messages["invalid"]: "must be an array",
    fields.Nested.default_error_messages["type"]: "must be an object",
}
"""Our wording of marshmallow's messages."""


class Refusal(str):
    """A message with the reason that programs branch on."""

    reason: Reason

    def __new__(cls, reason: Reason, message: str) -> Refusal:
        refusal = super().__new__(cls, message)
        refusal.reason = reason
        return refusal


def refuse(reason: Reason, message: str, member: str = SCHEMA) -> ValidationError:
    """The exception that a field raises to refuse its value, and a schema to refuse one of its members."""
    refusal = Refusal(reason, message)
    return ValidationError([refusal]) if member == SCHEMA else refuse_all({member: refusal})


def refuse_all(refused: Mapping[str, Refusal]) -> ValidationError:
    """The exception that a schema raises to refuse several members."""
    return ValidationError({member: [refusal] for member, refusal in refused.items()})


class RequestSchema(WireSchema):
    """A closed request. ``networks`` gives the networks of the deployment at the time of the request.

    An empty string means "not given" (generated clients send empty members), so it is absent for an optional
    member and missing for a required one.
    """

    class Meta:
        unknown = RAISE

    def __init__(self, networks: Callable[[], Networks]) -> None:
        super().__init__()
        self.networks = networks

    @pre_load
    def drop_empty(self, data: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
        known = {member.data_key for member in self.fields.values()}
        return {name: value for name, value in data.items() if value != "" or name not in known}

    def accept(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The loaded members. Raises ``InvalidRequest`` that lists every refused one."""
        try:
            loaded: dict[str, Any] = self.load(data)
        except ValidationError as error:
            raise self.refusal(error) from None
        return loaded

    def refusal(self, error: ValidationError) -> InvalidRequest:
        """The 422 of a validation error."""
        names = [member.data_key or name for name, member in self.fields.items()]
        return invalid(*_field_errors(error.messages, names))


def invalid(first: FieldError, *others: FieldError) -> InvalidRequest:
    """The 422 that names these members."""
    message = first.sentence
    if others:
        names = ", ".join(dict.fromkeys(field.path for field in others))
        message += f" Also refused: {names}."
    return InvalidRequest(message, reason=first.reason, fields=(first, *others))


def _field_errors(messages: Any, known: Iterable[str]) -> Iterator[FieldError]:
    if not isinstance(messages, Mapping):
        messages = {SCHEMA: messages}
    for name, value in messages.items():
        path = "" if name == SCHEMA else _printable(str(name))
        for message in _leaves(value):
            if isinstance(message, Refusal):
                yield FieldError(path, message.reason, str(message))
            elif message == "Unknown field.":
                yield FieldError(
                    path,
                    Reason.UNKNOWN_MEMBER,
                    f"is no member of this request.{suggestion(str(name), known, 'Members')}",
                )
            elif message == _MISSING:
                yield FieldError(path, Reason.MISSING, "is required")
            else:
                yield FieldError(path, Reason.INVALID_FORMAT, _PREDICATES.get(message, "has a wrong form"))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)
    else:
        yield value


def _printable(text: str) -> str:
    """A member name of the client, cut and in printable ASCII, for the answer and the log."""
    return "".join(char if char.isprintable() and char.isascii() else "?" for char in text[:64])
