"""One declaration per noun of an answer: the schema that OpenAPI documents, and the rendering.

A ``View`` is a response schema whose members also say where their values come from. ``View.render`` makes the
wire object of a model: for each member it reads the attribute of the same name, or the ``source`` of the
declaration, and converts the value by the type of the field (``quoteway.web.wire.text``). None stays null.

    class Leg(View):
        token = required(TokenRef, description="Token that moves")
        amount = required(AmountText, description="How much moves")
        account = required(AddressText, description="Account that pays or gets it")

Rendering is pure: it reads the model and the deployment's networks and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, cast

from marshmallow import EXCLUDE, Schema, fields

from quoteway.networks import Networks

Wire = dict[str, Any]
Source = str | int | Callable[[Any], Any] | None
"""Where a value comes from: an attribute (dotted for one of an attribute), an index into the model, or a
function of the model."""
Field = fields.Field[Any]
Renderer = Callable[[Any, Networks], Wire]

Kind: TypeAlias = "type[Field] | type[View] | Callable[[], View] | list[Kind]"
"""What a member is: a value of a field's type, an object, or in brackets an array of those."""

ABSENT: Final = object()
"""The value of a member that is left out; only for members that are not required."""

_SOURCE = "source"


def camel_case(name: str) -> str:
    """``slippage_bps`` as it is on the wire: ``slippageBps``."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class WireSchema(Schema):
    """A schema whose members are snake_case in Python and camelCase on the wire."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        if field_obj.data_key is None:
            field_obj.data_key = camel_case(field_name)


class View(WireSchema):
    """A noun of an answer. It is open: members may be added within v2, so clients ignore what they do not
    know.
    """

    class Meta:
        unknown = EXCLUDE

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


def required(kind: Kind, source: Source = None, **metadata: Any) -> Field:
    """A member that is always present and never null."""
    return _field(kind, required=True, metadata=_metadata(kind, source, metadata))


def nullable(kind: Kind, source: Source = None, **metadata: Any) -> Field:
    """A member that is always present and null when unknown."""
    described = _metadata(kind, source, metadata, allow_none=True)
    return _field(kind, required=True, allow_none=True, metadata=described)


def optional(kind: Kind, source: Source = None, *, allow_none: bool = False, **metadata: Any) -> Field:
    """A member that is left out when its value is ``ABSENT``."""
    described = _metadata(kind, source, metadata, allow_none=allow_none)
    return _field(kind, allow_none=allow_none, metadata=described)


def itself(model: Any) -> Any:
    """The source of a nested member that is rendered from the same model."""
    return model


def hidden(model: Any) -> Any:
    """The source of a member that is not rendered: it is added in wire form, or the noun lacks it while it
    has the others of its base.
    """
    return ABSENT


def constant(value: Any) -> Callable[[Any], Any]:
    """The source of a member that is the same for every model."""
    return lambda model: value


def _field(kind: Kind, **options: Any) -> Field:
    if isinstance(kind, list):
        (item,) = kind
        return fields.List(_field(item), **options)
    if isinstance(kind, type) and issubclass(kind, fields.Field):
        return kind(**options)
    return fields.Nested(cast("type[View]", kind), **options)


def _metadata(
    kind: Kind, source: Source, given: Mapping[str, Any], *, allow_none: bool = False
) -> dict[str, Any]:
    """What is kept with a field: its source, and what the OpenAPI document says of the member.

    The description is the given one or the kind's ``about``, with the kind's ``unit`` after it, and what null
    means where the text does not say it.
    """
    of_kind = kind[0] if isinstance(kind, list) else kind
    about: str = given.get("description", getattr(of_kind, "about", ""))
    null = "" if not allow_none or "null" in about.lower() else "Null when not known"
    description = ". ".join(filter(None, (about, getattr(of_kind, "unit", ""), null)))
    described = {"description": description} if description else {}
    return {**given, **described, **({} if source is None else {_SOURCE: source})}


class ConvertedField(Field):
    """A field whose value on the wire is ``convert`` of the one in the model. ``convert`` never gets None."""

    convert: Callable[[Any], Any]


class NetworkField(Field):
    """As ``ConvertedField``, for a conversion that needs the networks of the deployment."""

    convert: Callable[[Any, Networks], Any]


# --- rendering --------------------------------------------------------------------------------------------


@cache
def _renderer(view: type[View]) -> Renderer:
    """The rendering of a class as one Python function that builds one dict, made once.

    It is written as source and compiled, as ``dataclasses`` makes ``__init__``. A loop over a table of
    members took twice the time of a dict written by hand.
    """
    names: dict[str, Any] = {"ABSENT": ABSENT}
    members: list[str] = []
    leave_out: list[str] = []
    for name, field in view._declared_fields.items():
        if field.metadata.get(_SOURCE) is hidden:
            continue
        key = field.data_key or camel_case(name)
        members.append(f"{key!r}: {_expression(name, field, names)}")
        if not field.required:
            leave_out.append(f"    if wire[{key!r}] is ABSENT: del wire[{key!r}]\n")
    built = f"    wire = {{{', '.join(members)}}}\n"
    source = f"def render(model, networks):\n{built}{''.join(leave_out)}    return wire\n"
    exec(compile(source, f"<rendering of {view.__name__}>", "exec"), names)  # noqa: S102 - of declarations alone
    return cast(Renderer, names["render"])


def _rendering(view: type[View]) -> Renderer:
    """``view.render``, without its look-up where the class does not override it."""
    own: Any = view.render
    return _renderer(view) if own.__func__ is View.__dict__["render"].__func__ else view.render


def _expression(name: str, field: Field, names: dict[str, Any]) -> str:
    """The value of a member as Python source; ``names`` gets the functions that the source calls."""
    source = field.metadata.get(_SOURCE, name)
    if isinstance(source, str):
        value = f"model.{source}"
    elif isinstance(source, int):
        value = f"model[{source}]"
    elif source is itself:
        value = "model"
    else:
        names[f"source_{name}"] = source
        value = f"source_{name}(model)"
    converted = _converted("value", field, name, names)
    if converted == "value":
        return value
    absent = [*(["None"] if field.allow_none else []), *([] if field.required else ["ABSENT"])]
    if not absent:
        return _converted(value, field, name, names)
    first, *others = absent
    tests = [f"(value := {value}) is {first}", *(f"value is {other}" for other in others)]
    return f"value if {' or '.join(tests)} else {converted}"


def _converted(value: str, field: Field, name: str, names: dict[str, Any]) -> str:
    """The expression ``value`` as it is on the wire."""
    function = f"convert_{name}"
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
            rendered = _converted("item", field.inner, name, names)
            return f"list({value})" if rendered == "item" else f"[{rendered} for item in {value}]"
    return value


def _nested(field: fields.Nested) -> Renderer:
    view = field.nested
    if isinstance(view, type) and issubclass(view, View):
        return _rendering(view)

    def render(model: Any, networks: Networks) -> Wire:
        """Looked up at the call: the view has members of its own type."""
        return _rendering(cast("type[View]", type(field.schema)))(model, networks)

    return render
