"""Checks that objects of providers have the types that ``models`` declares, numbers that JSON can hold and
text that is printable.

Python does not enforce annotations: without this, one ``None`` among a thousand pools fails the whole answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from quoteway import models

MAX_TEXT_CHARS = 4_096
MAX_ITEMS = 1_000
"""Most items of a member. To check and label a quote with 200,000 fees blocked the event loop for 11 s."""
_SERIES = ("points", "gaps", "received", "transfers", "token_ids", "had", "flows", "hours", "candles")
"""The members that may have more."""

Check = Callable[[object], str]
"""Says where and what the flaw is; "" for none."""

QUOTE_TERMS: Mapping[type, Any] = {
    models.SwapRequest: models.TransferTerms | None,
    models.PoolRequest: models.PoolTerms | None,
    models.VaultRequest: models.VaultTerms | None,
    models.ManageRequest: NoneType,
    models.DeployRequest: models.DeploymentTerms | None,
}
BUILD_TERMS: Mapping[type, Any] = {
    models.SwapRequest: models.TransferTracking | None,
    models.PoolRequest: NoneType,
    models.VaultRequest: NoneType,
    models.ManageRequest: models.ManagementTerms | None,
    models.DeployRequest: models.DeploymentTerms | None,
}
"""The terms that a quote and a build may have, by the type of the request."""

_POINT: Any = tuple[int, float | None]
_EXACT_IN_JSON = 1 << 53
_WIDE = 1 << 256
_BOUNDS: Mapping[str, tuple[int, int]] = {
    "decimals": (0, 255),
    "updated_at": (0, 253_402_300_799),  # the last second of the year 9999
    **dict.fromkeys(
        (
            *("amount", "amount_min", "amount_max", "amount_in", "amount_out", "net_output", "value"),
            "total_input",
            *("actual", "required", "current", "units", "limit", "liquidity", "caps", "total_assets"),
            *("shares", "reserves", "sqrt_price_x96", "liquidity_delta", "liquidity_net"),
            *("min_amount", "max_amount", "base_fee_wei", "max_fee_per_gas_wei", "l1_fee_wei", "cost_wei"),
            *("price_wei", "bound", "arbitrage", "prices", "fee_amount", "amounts"),
            *("token_ids", "had", "principal", "paid"),
        ),
        (-_WIDE, _WIDE),
    ),
}
"""Members that are no plain JSON numbers: base units and wei are text on the wire."""


def flaw(value: object, kind: Any) -> str | None:
    """Says which member of ``value`` is not of ``kind``, a type made of the classes of ``models``.
    None: every member is. The content is not repeated."""
    return _check(kind, "")(value) or None


@cache
def _check(kind: Any, name: str) -> Check:
    """``name`` is the member's: its bounds hold for every number in it."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: ""
    if isinstance(kind, type) and is_dataclass(kind):
        return _members(kind)
    if origin in (Union, UnionType):
        return _one_of([arg for arg in args if arg is not NoneType], name, optional=NoneType in args)
    if origin is Literal:
        return lambda value: "" if type(value) is str and value in args else " is not one of its values"
    if origin is Callable:
        return lambda value: "" if callable(value) else " cannot be called"
    if origin is tuple:
        return _items(args, name)
    if origin is Mapping:
        return _mapping(args[1], name)
    if kind is int:
        return _number(name)
    if kind is float:
        return _is_float
    return _is_text if kind is str else _exactly(kind)


def _members(kind: type) -> Check:
    def check(value: object) -> str:
        if type(value) is not kind:
            return f" is not a {kind.__name__}"
        of_class: Any = kind
        for name, member in _checks_of(of_class):
            found = member(getattr(value, name))
            if found:
                return f".{name}{found}"
        return ""

    return check


@cache
def _checks_of(kind: Any) -> tuple[tuple[str, Check], ...]:
    """Made at first use: a class may have members of its own type."""
    hints = get_type_hints(kind)
    if kind is models.TokenProfile:  # prose of several paragraphs
        return (("description", _is_prose), *_checks({**hints, "description": Any}))
    return _checks(hints)


def _checks(hints: Mapping[str, Any]) -> tuple[tuple[str, Check], ...]:
    return tuple((name, _check(hint, name)) for name, hint in hints.items() if hint is not Any)


def _one_of(kinds: list[Any], name: str, *, optional: bool) -> Check:
    checks = [_check(kind, name) for kind in kinds]

    def check(value: object) -> str:
        if value is None and optional:
            return ""
        if type(value) in kinds:
            return checks[kinds.index(type(value))](value)
        findings = [found(value) for found in checks]
        return "" if "" in findings else findings[0]

    return check


def _items(kinds: tuple[Any, ...], name: str) -> Check:
    """``tuple[X, ...]`` or ``tuple[X, Y]``; a list will do."""
    each = None if kinds[-1] is ... else [_check(kind, name) for kind in kinds]
    bounded = name and name not in _SERIES
    check_item = _check(kinds[0], name)
    are_points = kinds == (_POINT, ...)

    def check(value: object) -> str:
        if not isinstance(value, (tuple, list)) or type(value) not in (tuple, list):
            return " is not a tuple"
        if each is not None and len(value) != len(each):
            return f" has not {len(each)} members"
        if bounded and len(value) > MAX_ITEMS:
            return f" has more than {MAX_ITEMS} items"
        if are_points and _are_points(value):
            return ""
        for index, item in enumerate(value):
            found = check_item(item) if each is None else each[index](item)
            if found:
                return f"[{index}]{found}"
        return ""

    return check


def _are_points(points: Sequence[Any]) -> bool:
    """Tells whether all are points of a series, without a call for each. Others may be points too."""
    if set(map(type, points)) != {tuple} or set(map(len, points)) != {2}:
        return False
    moments, values = zip(*points, strict=True)
    if set(map(type, moments)) != {int} or min(moments) < -_EXACT_IN_JSON or max(moments) > _EXACT_IN_JSON:
        return False
    if not set(map(type, values)) <= {float, NoneType}:
        return False
    return math.isfinite(sum(value for value in values if value is not None))


def _mapping(kind: Any, name: str) -> Check:
    check_item = _check(kind, name)

    def check(value: object) -> str:
        if not isinstance(value, Mapping) or not all(type(key) is str for key in value):
            return " is not a table"
        return next((found for item in value.values() if (found := check_item(item))), "")

    return check


def _number(name: str) -> Check:
    low, high = _BOUNDS.get(name, (-_EXACT_IN_JSON, _EXACT_IN_JSON))

    def check(value: object) -> str:
        return "" if type(value) is int and low <= value <= high else " is not a whole number in its range"

    return check


def _is_float(value: object) -> str:
    if type(value) is int:
        return "" if abs(value) <= _EXACT_IN_JSON else " is not a number in its range"
    return "" if type(value) is float and math.isfinite(value) else " is not a number"


def _is_text(value: object) -> str:
    """One line. Control characters and changes of direction can hide or reverse the text beside them."""
    if type(value) is not str or len(value) > MAX_TEXT_CHARS:
        return f" is not text of at most {MAX_TEXT_CHARS} characters"
    return "" if value.isprintable() else " holds characters that do not show"


def _is_prose(value: object) -> str:
    if value is None:
        return ""
    return _is_text(value.translate({9: " ", 10: " ", 13: " "}) if type(value) is str else value)


def _exactly(kind: type) -> Check:
    return lambda value: "" if type(value) is kind else f" is not {kind.__name__}"
