"""Writes the content of quote tokens as compact JSON rows, and reads it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any

from quoteway import models

_REQUESTS: Mapping[str, Callable[..., models.Request]] = {
    "s": models.SwapRequest,
    "p": models.PoolRequest,
    "v": models.VaultRequest,
    "m": models.ManageRequest,
    "d": models.DeployRequest,
}
_REQUEST_TAGS: Mapping[Any, str] = {cls: tag for tag, cls in _REQUESTS.items()}


def quote_to_row(quote: models.SealedQuote) -> list[Any]:
    """Returns the content of a quote's token, without its times, which are claims of the token."""
    row = [
        quote.provider,
        _request_to_json(quote.request),
        [_leg_to_json(leg) for leg in quote.inputs],
        [_leg_to_json(leg) for leg in quote.outputs],
        quote.slippage_bps,
        quote.plan,
        [quote.block.number, quote.block.hash, quote.block.timestamp],
        [[*astuple(told)] for told in quote.issues],
        [[*astuple(told)] for told in quote.warnings],
        [[*astuple(told)] for told in quote.needs],
        [*quote.acknowledged],
        quote.deadline,
        int(quote.is_estimate),
        quote.plugin,
        quote.plan_version,
    ]
    row += ([part.capability.value, quote_to_row(part)] for part in quote.parts)
    terms = None if quote.refresh_terms is None else astuple(quote.refresh_terms)
    last = {"f": quote.fee_amount, "i": quote.price_impact_bps, "r": terms}
    last = {name: value for name, value in last.items() if value is not None}
    return [*row, last] if last else row


def quote_from_row(
    capability: models.Capability, content: Sequence[Any], claims: Mapping[str, Any], token: str
) -> models.SealedQuote:
    """Returns the quote of a row with the times in the ``claims`` of its ``token``.

    Raises ``ValueError``, ``KeyError``, ``TypeError`` or ``IndexError`` for a row of another form.
    """
    provider, request, inputs, outputs, slippage_bps, plan, block, issues, warnings, *rest = content
    needs, acknowledged, deadline, is_estimate, plugin, plan_version, *parts = rest
    last = parts.pop() if parts and isinstance(parts[-1], dict) else {}
    terms = last.get("r")
    return models.SealedQuote(
        capability,
        provider,
        _request_from_json(request),
        tuple(_leg_from_json(row) for row in inputs),
        tuple(_leg_from_json(row) for row in outputs),
        slippage_bps,
        plan,
        models.Block(*block),
        int(claims["iat"]),
        int(claims["exp"]),
        token,
        tuple(quote_from_row(models.Capability(kind), row, claims, "") for kind, row in parts),
        tuple(models.Issue(*row) for row in issues),
        tuple(models.Notice(*row) for row in warnings),
        tuple(models.Notice(*row) for row in needs),
        tuple(acknowledged),
        deadline,
        bool(is_estimate),
        plugin,
        plan_version,
        last.get("f"),
        last.get("i"),
        None if terms is None else models.RefreshTerms(*terms),
    )


def _token_to_json(token: models.Token) -> list[Any]:
    symbol = token.symbol and token.symbol[:32]
    return [token.chain_id, token.address, token.decimals, symbol, int(token.listed)]


def _token_from_json(row: Sequence[Any]) -> models.Token:
    chain_id, address, decimals, symbol, listed = row
    return models.Token(chain_id, address, decimals, symbol, listed=bool(listed))


def _leg_to_json(leg: models.Leg) -> list[Any]:
    return [_token_to_json(leg.token), leg.amount, leg.account, leg.amount_min, leg.amount_max]


def _leg_from_json(row: Sequence[Any]) -> models.Leg:
    return models.Leg(_token_from_json(row[0]), *row[1:])


def _request_to_json(request: models.Request) -> list[Any]:
    values = [_value_to_json(getattr(request, f.name)) for f in fields(request) if f.name != "certificate"]
    if isinstance(request, models.SwapRequest):
        while values[-1] in (None, {"l": {}}):  # most requests have no limits, fee or exact output
            values.pop()
    return [_REQUEST_TAGS[type(request)], values]


def _request_from_json(row: Sequence[Any]) -> models.Request:
    return _REQUESTS[row[0]](*map(_value_from_json, row[1]))


def _value_to_json(value: Any) -> Any:
    if isinstance(value, models.Token):
        return {"t": _token_to_json(value)}
    if isinstance(value, models.RoutingLimits):
        return {"l": {name: getattr(value, name) for name in value.given}}
    if isinstance(value, models.IntegratorFee):
        return {"f": [value.bps, value.recipient]}
    return value


def _value_from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "t" in value:
        return _token_from_json(value["t"])
    if "f" in value:
        return models.IntegratorFee(*value["f"])
    members: dict[str, Any] = {}
    for name, member in value["l"].items():
        members[name] = tuple(member) if isinstance(member, list) else member
    return models.RoutingLimits(**members)
