"""One declaration per noun of an answer: the schema that OpenAPI documents, and the rendering.

A ``View`` is a response schema whose members also say where their values come from. ``View.render`` makes the
wire object of a model: for each member it reads the attribute of the same name, or the ``source`` of the
declaration, and converts the value by the type of the field (``quoteway.web.wire.text``). None stays null.

    class Leg(View):
        token = nested(TokenRef)
        amount = required(AmountText)
        account = required(AddressText)

Rendering is pure: it reads the model and the deployment's networks and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, cast

from marshmallow import EXCLUDE, Schema, fields

from quoteway.networks import Networks

Wire = dict[str, Any]
Source = str | Callable[[Any], Any] | None
"""Where a value comes from: an attribute (dotted for one of an attribute), or a function of the model."""
Field = fields.Field[Any]
Renderer = Callable[[Any, Networks], Wire]

ABSENT: Final = object()
"""The value of a member that is left out; only for members that are not required."""

_SOURCE = "source"
_IN_DETAILS = "in_details"


def camel_case(name: str) -> str:
    """``slippage_bps`` as it is on the wire: ``slippageBps``."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class WireSchema(Schema):
    """A schema whose members are snake_case in Python and camelCase on the wire."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


class ResponseSchema(WireSchema):
    """An open response: members may be added within v2, so clients ignore what they do not know."""

    class Meta:
        unknown = EXCLUDE


class View(ResponseSchema):
    """A noun of an answer."""

    @classmethod
    def render(cls, model: Any, networks: Networks) -> Wire:
        """The wire object of a model. Override it to add members that are not declared."""
        return _renderer(cls)(model, networks)

    @classmethod
    def render_all(cls, models: Iterable[Any], networks: Networks) -> list[Wire]:
        """The wire objects of models, in their order."""
        render = _rendering(cls)
        return [render(model, networks) for model in models]

    @classmethod
    def of(cls, networks: Networks, /, **members: Any) -> Wire:
        """The wire object of members given by name, for a noun that no model stands for. Those that are not
        required may be left out.
        """
        absent = {name: ABSENT for name, field in cls._declared_fields.items() if not field.required}
        return cls.render(SimpleNamespace(**(absent | members)), networks)


# --- declarations -----------------------------------------------------------------------------------------


def required(field: type[Field], source: Source = None, **metadata: Any) -> Field:
    """A member that is always present and never null."""
    return field(required=True, metadata=_sourced(source, metadata))


def nullable(field: type[Field], source: Source = None, **metadata: Any) -> Field:
    """A member that is always present and null when unknown."""
    return field(required=True, allow_none=True, metadata=_sourced(source, metadata))


def nested(view: type[View], source: Source = None) -> Field:
    """An object that is always present."""
    return fields.Nested(view, required=True, metadata=_sourced(source))


def nested_or_null(view: type[View], source: Source = None) -> Field:
    return fields.Nested(view, required=True, allow_none=True, metadata=_sourced(source))


def list_of(view: type[View], source: Source = None) -> Field:
    """An array that is always present."""
    return fields.List(fields.Nested(view), required=True, metadata=_sourced(source))


def list_or_null(view: type[View], source: Source = None) -> Field:
    return fields.List(fields.Nested(view), required=True, allow_none=True, metadata=_sourced(source))


def strings(source: Source = None) -> Field:
    """An array of strings."""
    return fields.List(fields.String(), required=True, metadata=_sourced(source))


def member(field: Field, source: Source = None) -> Field:
    """A member declared by its field. One that is not required is left out when its value is ``ABSENT``."""
    field.metadata = {**field.metadata, **_sourced(source)}
    return field


def named(name: str, field: Field) -> Field:
    """The member under a name that Python reserves, or that marshmallow's own attributes have."""
    field.data_key = name
    return field


def itself(model: Any) -> Any:
    """The source of a member that shows another side of the model it belongs to."""
    return model


def constant(value: Any) -> Callable[[Any], Any]:
    """The source of a member that is the same for every model."""
    return lambda model: value


def from_details(field: Field) -> Field:
    """A member that the provider's ``details`` hold in wire form; documented here, rendered as it is."""
    field.metadata = {**field.metadata, _IN_DETAILS: True}
    return field


def _sourced(source: Source, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {**(metadata or {}), **({} if source is None else {_SOURCE: source})}


class ConvertedField(Field):
    """A field whose value on the wire differs from the one in the model. ``convert`` never gets None."""

    convert: Callable[[Any], Any]


class NetworkField(Field):
    """As ``ConvertedField``, for what the networks of the deployment tell of a value."""

    def convert(self, value: Any, networks: Networks) -> Any:
        raise NotImplementedError


# --- rendering --------------------------------------------------------------------------------------------


def _rendering(view: type[View]) -> Renderer:
    """``view.render``, without its look-up where the class does not override it."""
    own: Any = view.render
    return own if own.__func__ is not View.__dict__["render"].__func__ else _renderer(view)


@cache
def _renderer(view: type[View]) -> Renderer:
    """The rendering of a class as one Python function that builds one dict, made once.

    It is written as source and compiled, as ``dataclasses`` makes ``__init__``. A loop over a table of
    members took twice the time of a dict written by hand.
    """
    names: dict[str, Any] = {"ABSENT": ABSENT}
    lines, optionals = [], []
    for name, field in view._declared_fields.items():
        if field.metadata.get(_IN_DETAILS):
            continue
        key = field.data_key or camel_case(name)
        lines.append(f"{key!r}: {_expression(name, field, names)},")
        if not field.required:
            optionals.append(f"if wire[{key!r}] is ABSENT: del wire[{key!r}]")
    body = [f"wire = {{{' '.join(lines)}}}", *optionals, "return wire"]
    source = "def render(model, networks):\n" + "".join(f"    {line}\n" for line in body)
    exec(compile(source, f"<rendering of {view.__name__}>", "exec"), names)  # noqa: S102 - of declarations alone
    render: Renderer = names["render"]
    return render


def _expression(name: str, field: Field, names: dict[str, Any]) -> str:
    """The value of one member as Python source; ``names`` gets the functions that it calls."""
    source = field.metadata.get(_SOURCE, name)
    value = f"model.{source}"
    if source is itself:
        value = "model"
    elif not isinstance(source, str):
        names[f"{name}_source"] = source
        value = f"{name}_source(model)"
    held = "value"
    converted = _converted(name, held, field, names)
    if converted == held:
        return value
    nothing = [f"({held} := {value}) is None"] if field.allow_none else []
    if not field.required:
        nothing.append(f"{held} is ABSENT" if nothing else f"({held} := {value}) is ABSENT")
    if not nothing:
        return _converted(name, value, field, names)
    return f"{held} if {' or '.join(nothing)} else {converted}"


def _converted(name: str, value: str, field: Field, names: dict[str, Any]) -> str:
    function = f"{name}_convert"
    match field:
        case ConvertedField():
            names[function] = field.convert
            return f"{function}({value})"
        case NetworkField():
            names[function] = field.convert
            return f"{function}({value}, networks)"
        case fields.Nested():
            names[function] = _nested(field)
            return f"{function}({value}, networks)"
        case fields.List():
            each = _converted(name, "each", field.inner, names)
            return f"list({value})" if each == "each" else f"[{each} for each in {value}]"
    return value


def _nested(field: fields.Nested) -> Renderer:
    view = field.nested
    if isinstance(view, type) and issubclass(view, View):
        return _rendering(view)

    def render(model: Any, networks: Networks) -> Wire:
        """Looked up late: the view has members of itself."""
        return _rendering(cast("type[View]", type(field.schema)))(model, networks)

    return render
