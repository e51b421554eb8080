"""Reads the answer of LI.FI's ``/quote``, a ``Step`` of @lifi/types, strictly.

Nothing is corrected here. When the answer names another token, recipient, chain or payer than the request,
the legs contain it, and the core refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from quoteway import MAX_UINT256, NATIVE, Address, Fee, Gas, Hop, Leg, RoutePath, SwapRequest, Token
from quoteway.evm.address import ERC7528_NATIVE, checksum

from quoteway_lifi.api import unreadable

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,77})", re.ASCII)
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2}){4,}", re.ASCII)
# Is used in queries and in the quote token: no comma, nothing to escape.
_TOOL = re.compile(r"[A-Za-z0-9._-]{1,48}", re.ASCII)
_MOST_STEPS = 16


@dataclass(frozen=True, slots=True)
class Transaction:
    """The answer's ``transactionRequest``. ``sender`` is None when it names none."""

    to: Address
    data: bytes
    value: int
    chain_id: int
    sender: Address | None


@dataclass(frozen=True, slots=True)
class Offer:
    """One quote of LI.FI. ``tool`` is its main tool; ``bridges`` and ``exchanges`` are those of its steps."""

    tool: str
    bridges: tuple[str, ...]
    exchanges: tuple[str, ...]
    given: Leg
    got: Leg
    spender: Address | None
    transaction: Transaction
    duration_s: int | None
    fees: tuple[Fee, ...]
    gas: Gas | None
    gas_in_output: int | None
    route: tuple[RoutePath, ...] | None


def read_offer(body: Mapping[str, Any], request: SwapRequest) -> Offer:
    """Returns the offer in an answer. Raises ``UpstreamError`` when its form is not the documented one."""
    try:
        return _read(body, request)
    except (KeyError, TypeError, ValueError, ArithmeticError, InvalidOperation):
        raise unreadable() from None


def _read(body: Mapping[str, Any], request: SwapRequest) -> Offer:
    action, estimate = _table(body["action"]), _table(body["estimate"])
    transaction = _transaction(_table(body["transactionRequest"]))
    payers = {_address(action.get("fromAddress", request.sender)), transaction.sender or request.sender}
    payer = next((other for other in sorted(payers) if other != request.sender), request.sender)
    paid = _address(action.get("toAddress") or payer)
    given_token = _token(_table(action["fromToken"]), _whole(action["fromChainId"]), request.token_in)
    got_token = _token(_table(action["toToken"]), _whole(action["toChainId"]), request.token_out)
    amounts = {_amount(action["fromAmount"]), _amount(estimate["fromAmount"])}
    given_amount = next((n for n in sorted(amounts) if n != request.amount_in), request.amount_in)
    got = Leg(got_token, _amount(estimate["toAmount"]), paid, amount_min=_amount(estimate["toAmountMin"]))
    steps = list(_steps(body, action, estimate))
    spender = estimate.get("approvalAddress")
    duration: Any = estimate.get("executionDuration")
    return Offer(
        tool=_tool(body["tool"]),
        bridges=tuple(dict.fromkeys(tool for kind, tool, _ in steps if kind == "cross")),
        exchanges=tuple(dict.fromkeys(tool for kind, tool, _ in steps if kind == "swap")),
        given=Leg(given_token, given_amount, payer),
        got=got,
        spender=_address(spender) if spender and not request.token_in.is_native else None,
        transaction=transaction,
        duration_s=round(duration) if type(duration) in (int, float) and 0 <= duration < 10**7 else None,
        fees=tuple(_fees(estimate.get("feeCosts"), request)),
        gas=_gas(estimate.get("gasCosts")),
        gas_in_output=_gas_in_output(estimate.get("gasCosts"), action["toToken"], got_token),
        route=_route([hop for _, _, hop in steps]),
    )


def _transaction(given: Mapping[str, Any]) -> Transaction:
    data, value, sender = given["data"], given.get("value") or "0", given.get("from")
    if not isinstance(data, str) or _DATA.fullmatch(data) is None:
        raise ValueError("data")
    return Transaction(
        to=_address(given["to"]),
        data=bytes.fromhex(data[2:]),
        value=int(value, 16) if _QUANTITY.fullmatch(value) else _amount(value),
        chain_id=_whole(given["chainId"]),
        sender=_address(sender) if sender else None,
    )


def _steps(
    body: Mapping[str, Any], action: Mapping[str, Any], estimate: Mapping[str, Any]
) -> Iterator[tuple[str, str, Hop | None]]:
    """Yields kind, tool and hop of each included step, or of the answer itself when it includes none."""
    included = body.get("includedSteps") or []
    if not isinstance(included, list) or len(included) > _MOST_STEPS:
        raise ValueError("includedSteps")
    own = {"type": body["type"], "tool": body["tool"], "action": action, "estimate": estimate}
    for step in map(_table, included or [own]):
        yield step["type"], _tool(step["tool"]), _hop(step)


def _hop(step: Mapping[str, Any]) -> Hop | None:
    try:
        action, estimate = _table(step["action"]), _table(step["estimate"])
        return Hop(
            provider="lifi",
            protocol=_tool(step["tool"]),
            pool=_tool(step["tool"]),
            token_in=_address(_table(action["fromToken"])["address"]),
            token_out=_address(_table(action["toToken"])["address"]),
            amount_in=_amount(estimate["fromAmount"]),
            amount_out=_amount(estimate["toAmount"]),
        )
    except (KeyError, TypeError, ValueError):
        return None  # for display only: an answer is not refused for it


def _route(hops: list[Hop | None]) -> tuple[RoutePath, ...] | None:
    known = tuple(hop for hop in hops if hop is not None)
    return (RoutePath(10_000, known),) if known and len(known) == len(hops) else None


def _fees(costs: Any, request: SwapRequest) -> Iterator[Fee]:
    for cost in costs if isinstance(costs, list) else ():
        cost = _table(cost)
        token = _table(cost["token"])
        yield Fee(
            kind="bridge" if request.is_cross_chain else "protocol",
            token=_token(token, _whole(token["chainId"]), request.token_in),
            amount=_amount(cost["amount"]),
            included=cost.get("included") is True,
        )


def _gas(costs: Any) -> Gas | None:
    """Returns LI.FI's estimate; None when it is not in the native coin."""
    rows = [_table(cost) for cost in costs] if isinstance(costs, list) else []
    if not rows or any(_address(_table(row["token"])["address"]) != NATIVE for row in rows):
        return None
    return Gas(
        units=sum(_amount(row["estimate"]) for row in rows),
        limit=sum(_amount(row["limit"]) for row in rows),
        cost_wei=sum(_amount(row["amount"]) for row in rows),
    )


def _gas_in_output(costs: Any, raw_token: Mapping[str, Any], token: Token) -> int | None:
    """Returns the gas cost in base units of the output, by LI.FI's prices; None without them."""
    prices: list[Any] = [_table(cost).get("amountUSD") for cost in costs] if isinstance(costs, list) else []
    price = raw_token.get("priceUSD")
    if not prices or not isinstance(price, str) or not all(isinstance(text, str) for text in prices):
        return None
    gas_usd, token_usd = sum((Decimal(text) for text in prices), Decimal()), Decimal(price)
    if not (gas_usd.is_finite() and token_usd.is_finite() and gas_usd >= 0 and token_usd > 0):
        return None
    found = gas_usd / token_usd * 10**token.decimals
    return int(found) if found <= MAX_UINT256 else None


def _token(given: Mapping[str, Any], chain_id: int, asked: Token) -> Token:
    """Returns the requested token when the answer names that one, else the answer's token."""
    address = _address(given["address"])
    if (chain_id, address) == (asked.chain_id, asked.address):
        return asked
    decimals = _whole(given["decimals"])
    if decimals > 255:
        raise ValueError("decimals")
    return Token(chain_id, address, decimals)


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("an object")
    return value


def _address(value: Any) -> Address:
    address = checksum(value)
    return NATIVE if address == ERC7528_NATIVE else address


def _amount(value: Any) -> int:
    if not isinstance(value, str) or _AMOUNT.fullmatch(value) is None or int(value) > MAX_UINT256:
        raise ValueError("amount")
    return int(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError("number")
    return value


def _tool(value: Any) -> str:
    if not isinstance(value, str) or _TOOL.fullmatch(value) is None:
        raise ValueError("tool")
    return value
