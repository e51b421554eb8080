"""Request and response schemas: requests are closed and name all refused members at once, up to a number.

Responses are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

from marshmallow import RAISE, ValidationError, fields, pre_load
from marshmallow.exceptions import SCHEMA

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.near_names import suggestion
from quoteway.networks import Networks
from quoteway.web.wire.view import WireSchema

_MISSING = fields.Field.default_error_messages["required"]
_NULL = fields.Field.default_error_messages["null"]


MOST_REFUSED = 32
"""Members that one answer names. A body may have thousands, and guessing what each should be takes time."""


def refuse(reason: Reason, message: str, member: str = SCHEMA) -> ValidationError:
    """The exception that a field raises to refuse its value, and a schema to refuse one of its members."""
    return refuse_all({member: (reason, message)})


def refuse_all(refused: Mapping[str, tuple[Reason, str]]) -> ValidationError:
    """The exception that a schema raises to refuse several members."""
    errors = {member: [FieldError("", *refusal)] for member, refusal in refused.items()}
    return ValidationError(errors.get(SCHEMA) or errors)


@dataclass(frozen=True, slots=True)
class Case:
    """What a body is with some values of its member ``action``, for the OpenAPI document.

    ``required`` are the members, by their names on the wire, that these actions need besides those that all
    need; ``patterns`` are narrower than those of all.
    """

    actions: tuple[str, ...]
    about: str
    required: tuple[str, ...] = ()
    patterns: Mapping[str, str] = field(default_factory=dict)


class RequestSchema(WireSchema):
    """A closed request. ``networks`` gives the networks of the deployment at the time of the request.

    An empty string means "not given" (generated clients send empty members), so it is absent for an optional
    member and missing for a required one.
    """

    cases: ClassVar[Mapping[str, Case]] = {}
    """By the end of the name of their schema. Validation does not need them: the schema refuses the rest."""

    class Meta:
        unknown = RAISE

    def __init__(self, networks: Callable[[], Networks]) -> None:
        super().__init__()
        self.networks = networks
        self.members = {member.data_key or name: member for name, member in self.fields.items()}
        """Its fields by their names on the wire."""

    @pre_load
    def drop_empty(self, data: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {name: value for name, value in data.items() if value != "" or name not in self.members}

    def accept(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The loaded members. Raises ``InvalidRequest`` (422) listing those refused, known ones first."""
        try:
            loaded: dict[str, Any] = self.load(data)
        except ValidationError as error:
            found = sorted(error.messages_dict.items(), key=lambda each: each[0] not in self.members)
            raise invalid(*islice(_field_errors(found, self.members), MOST_REFUSED)) from None
        return loaded


def invalid(first: FieldError, *others: FieldError) -> InvalidRequest:
    """The 422 that names these members."""
    message = first.sentence
    if others:
        names = ", ".join(dict.fromkeys(field.path for field in others))
        message += f" Also refused: {names}."
    return InvalidRequest(message, reason=first.reason, fields=(first, *others))


def _field_errors(messages: Iterable[tuple[str, Any]], known: Iterable[str]) -> Iterator[FieldError]:
    for name, refusals in messages:
        path = "" if name == SCHEMA else _printable(str(name))
        for message in refusals:
            if isinstance(message, FieldError):
                yield replace(message, path=path)
            elif message == "Unknown field.":
                text = f"is no member of this request.{suggestion(str(name), known, 'Members')}"
                yield FieldError(path, Reason.UNKNOWN_MEMBER, text)
            elif message == _MISSING:
                yield FieldError(path, Reason.MISSING, "is required")
            else:
                text = "must not be null" if message == _NULL else "has a wrong form"
                yield FieldError(path, Reason.INVALID_FORMAT, text)


def _printable(text: str) -> str:
    """A member name of the client, cut and in printable ASCII, for the answer and the log."""
    return "".join(char if char.isprintable() and char.isascii() else "?" for char in text[:64])
