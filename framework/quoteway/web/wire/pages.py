"""What every page of a list has beside its rows."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.text import CodeText, TimeText
from quoteway.web.wire.view import View, list_of, named, nullable, required


class FailedSource(View):
    """A provider whose rows are missing, and why."""

    provider = required(fields.String, 0)
    reason = required(CodeText, 1)


class Page(View):
    """``partial`` names the providers that failed or were late. ``data`` is declared by each list: its rows
    are rendered before they are sorted.
    """

    missing = named("partial", list_of(FailedSource))
    next_cursor = nullable(fields.String)
    total = nullable(fields.Integer)
    preview = required(fields.Boolean)
    updated_at = required(TimeText)
