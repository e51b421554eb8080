"""Makes the one transaction of a liquidity plan. No tokens remain in the contract that it calls.

v2: the router. v3: NonfungiblePositionManager.multicall. v4: PositionManager.modifyLiquidities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from quoteway import NATIVE, Address, Spend
from quoteway.evm import permit2
from quoteway.evm.abi import Function, encode, function
from quoteway.evm.calls.position_managers import (
    ACTIONS,
    BURN,
    COLLECT,
    DECREASE,
    INCREASE,
    MAX_UINT128,
    MINT,
    MODIFY,
    MULTICALL,
    REFUND,
    SWEEP_TOKEN,
    UNWRAP,
)
from quoteway.evm.calls.router_commands import ADDRESS_THIS, OPEN_DELTA

_PAIR_MINS = "uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline"
_ETH_MINS = "uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline"
_ADD = (
    "addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, "
    f"{_PAIR_MINS})"
)
_ADD_ETH = f"addLiquidityETH(address token, uint256 amountTokenDesired, {_ETH_MINS})"
_REMOVE = f"removeLiquidity(address tokenA, address tokenB, uint256 liquidity, {_PAIR_MINS})"
_REMOVE_ETH = f"removeLiquidityETH(address token, uint256 liquidity, {_ETH_MINS})"


@dataclass(frozen=True, slots=True)
class LiquidityCall:
    """Encoded calldata with its native value. ``deadline`` (Unix seconds) is the one in it, if any."""

    data: bytes
    value: int
    deadline: int | None


def spends_of(plan: Mapping[str, Any], manager: Address) -> tuple[Spend, ...]:
    """Returns what the plan's transaction pulls from the sender."""
    if plan["do"] == "remove" and plan["kind"] == "v2":
        return (Spend(plan["pool"], plan["shares"], manager),)
    if plan["do"] != "add":
        return ()
    paid = [
        (token, amount)
        for token, amount, native in zip(plan["tokens"], plan["amounts"], plan["coin"], strict=True)
        if amount and not native
    ]
    if plan["kind"] == "v4":
        return tuple(Spend(token, amount, permit2.ADDRESS, manager) for token, amount in paid)
    return tuple(Spend(token, amount, manager) for token, amount in paid)


def make_call(plan: Mapping[str, Any], sender: Address, recipient: Address, deadline: int) -> LiquidityCall:
    """Returns the call of a plan. ``deadline`` is in Unix seconds.

    Raises ValueError when a value does not fit its type.
    """
    makers = {"v2": _router_call, "v3": _multicall, "v4": _modify_liquidities}
    return makers[plan["kind"]](plan, sender, recipient, deadline)


def _value(plan: Mapping[str, Any]) -> int:
    """Returns the native value of the call."""
    if plan["do"] != "add":
        return 0
    return sum(amount for amount, coin in zip(plan["amounts"], plan["coin"], strict=True) if coin)


# --- v2 ---------------------------------------------------------------------------------------------------


def _router_call(
    plan: Mapping[str, Any], sender: Address, recipient: Address, deadline: int
) -> LiquidityCall:
    tokens, mins, adds = plan["tokens"], plan["mins"], plan["do"] == "add"
    if plan["native"]:
        eth = plan["coin"].index(True)
        what = plan["amounts"][1 - eth] if adds else plan["shares"]
        args = [tokens[1 - eth], what, mins[1 - eth], mins[eth], recipient, deadline]
        call = function(_ADD_ETH if adds else _REMOVE_ETH)
        return LiquidityCall(call.encode(args), _value(plan), deadline)
    a = plan.get("first", 0)
    b = 1 - a
    what = [plan["amounts"][a], plan["amounts"][b]] if adds else [plan["shares"]]
    args = [tokens[a], tokens[b], *what, mins[a], mins[b], recipient, deadline]
    return LiquidityCall(function(_ADD if adds else _REMOVE).encode(args), 0, deadline)


# --- v3 ---------------------------------------------------------------------------------------------------


def _multicall(plan: Mapping[str, Any], sender: Address, recipient: Address, deadline: int) -> LiquidityCall:
    calls: list[tuple[Function, list[Any]]] = []

    def add(declaration: str, *args: Any) -> None:
        calls.append((function(declaration), list(args)))

    if plan["do"] == "add":
        given = (*plan["amounts"], *plan["mins"])
        if plan["token_id"] is None:
            add(MINT, (*plan["tokens"], plan["fee"], *plan["ticks"], *given, recipient, deadline))
        else:
            add(INCREASE, (plan["token_id"], *given, deadline))
        if plan["native"]:
            add(REFUND)
    else:
        token_id = plan["token_id"]
        if plan["do"] == "remove" and plan["liquidity"]:
            add(DECREASE, (token_id, plan["liquidity"], *plan["mins"], deadline))
        # The zero address is the manager itself, which then unwraps the wrapped coin.
        holder = NATIVE if plan["native"] else recipient
        add(COLLECT, (token_id, holder, MAX_UINT128, MAX_UINT128))
        if plan["native"]:
            eth = plan["coin"].index(True)
            add(UNWRAP, plan["mins"][eth], recipient)
            add(SWEEP_TOKEN, plan["tokens"][1 - eth], plan["mins"][1 - eth], recipient)
        if plan.get("all"):
            add(BURN, token_id)
    data = function(MULTICALL).encode([[call.encode(args) for call, args in calls]])
    # The manager's collect takes no deadline.
    timed = plan["do"] == "add" or calls[0][0].declaration == DECREASE
    return LiquidityCall(data, _value(plan), deadline if timed else None)


# --- v4 ---------------------------------------------------------------------------------------------------


@cache
def _action(name: str) -> tuple[int, Function]:
    return next((code, function(text)) for code, text in ACTIONS.items() if text.startswith(f"{name}("))


class _Actions:
    """A sequence of PositionManager actions."""

    def __init__(self) -> None:
        self.codes = b""
        self.inputs: list[bytes] = []

    def add(self, name: str, *args: Any) -> None:
        code, form = _action(name)
        self.codes += bytes([code])
        self.inputs.append(encode(form.types, args))


def _modify_liquidities(
    plan: Mapping[str, Any], sender: Address, recipient: Address, deadline: int
) -> LiquidityCall:
    actions = _Actions()
    tokens = plan["tokens"]
    if plan["do"] == "add":
        _add_v4(actions, plan, sender, recipient)
    elif plan.get("all"):
        actions.add("BURN_POSITION", plan["token_id"], *plan["mins"], b"")
        actions.add("TAKE_PAIR", *tokens, recipient)
    else:
        removes = plan["do"] == "remove"
        minimums = plan["mins"] if removes else (0, 0)
        actions.add(
            "DECREASE_LIQUIDITY", plan["token_id"], plan["liquidity"] if removes else 0, *minimums, b""
        )
        actions.add("TAKE_PAIR", *tokens, recipient)
    unlock_data = encode(("bytes", "bytes[]"), (actions.codes, actions.inputs))
    data = function(MODIFY).encode([unlock_data, deadline])
    return LiquidityCall(data, _value(plan), deadline)


def _add_v4(actions: _Actions, plan: Mapping[str, Any], sender: Address, recipient: Address) -> None:
    """Pays in exactly the allowed amounts and mints the liquidity that they make at the present price.

    A fixed liquidity would need an allowance above what is spent. The mint action has no minimums, so they
    are enforced by the balance with the PoolManager: after the mint, TAKE withdraws the amount that may be
    left over. When less than the minimum was used, a credit remains and SETTLE reverts. Otherwise there is a
    debt, which SETTLE pays from the withdrawn amount.
    """
    tokens, amounts, mins = plan["tokens"], plan["amounts"], plan["mins"]
    token_id = plan["token_id"]
    if token_id is not None:
        actions.add("DECREASE_LIQUIDITY", token_id, 0, 0, 0, b"")
        actions.add("TAKE_PAIR", *tokens, recipient)
    paid = [side for side in (0, 1) if amounts[side]]
    for side in paid:
        actions.add("SETTLE", tokens[side], amounts[side], True)
    if token_id is None:
        key = (*tokens, plan["fee"], plan["spacing"], plan["hooks"])
        actions.add("MINT_POSITION_FROM_DELTAS", key, *plan["ticks"], *amounts, recipient, b"")
    else:
        actions.add("INCREASE_LIQUIDITY_FROM_DELTAS", token_id, *amounts, b"")
    for side in paid:
        surplus = amounts[side] - mins[side]
        if mins[side] == 0:
            actions.add("CLOSE_CURRENCY", tokens[side])
            continue
        if surplus:
            actions.add("TAKE", tokens[side], ADDRESS_THIS, surplus)
        actions.add("SETTLE", tokens[side], OPEN_DELTA, False)
        if surplus:
            actions.add("SWEEP", tokens[side], sender)
