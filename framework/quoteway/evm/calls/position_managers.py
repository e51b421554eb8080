"""Reads the calls of Uniswap's position managers: v3 ``multicall`` and v4 ``modifyLiquidities``.

Source: v3-periphery (NonfungiblePositionManager, PeripheryPayments, Multicall), v4-periphery
(PositionManager, Actions, CalldataDecoder). The tokens of an existing position are not in the calldata: its
charges and payments have no token and are in the order of the pool's tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quoteway.evm.abi import decode, encode, function
from quoteway.evm.address import keccak256
from quoteway.evm.calls.meaning import (
    CLEARER,
    Charge,
    Meaning,
    Payment,
    Reading,
    Sent,
    Unreadable,
    paid_as_coin,
)
from quoteway.evm.calls.router_commands import ADDRESS_THIS, OPEN_DELTA
from quoteway.models import MAX_UINT256, NATIVE, Address

_POOL_KEY = "(address,address,uint24,int24,address)"
MAX_UINT128 = (1 << 128) - 1
_MSG_SENDER = "0x0000000000000000000000000000000000000001"

MULTICALL = "multicall(bytes[] data)"
MINT = (
    "mint((address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, "
    "uint256 amount0Desired, uint256 amount1Desired, uint256 amount0Min, uint256 amount1Min, "
    "address recipient, uint256 deadline) params)"
)
INCREASE = (
    "increaseLiquidity((uint256 tokenId, uint256 amount0Desired, uint256 amount1Desired, "
    "uint256 amount0Min, uint256 amount1Min, uint256 deadline) params)"
)
DECREASE = (
    "decreaseLiquidity((uint256 tokenId, uint128 liquidity, uint256 amount0Min, uint256 amount1Min, "
    "uint256 deadline) params)"
)
COLLECT = "collect((uint256 tokenId, address recipient, uint128 amount0Max, uint128 amount1Max) params)"
BURN = "burn(uint256 tokenId)"
REFUND = "refundETH()"
UNWRAP = "unwrapWETH9(uint256 amountMinimum, address recipient)"
SWEEP_TOKEN = "sweepToken(address token, uint256 amountMinimum, address recipient)"  # noqa: S105

MODIFY = "modifyLiquidities(bytes unlockData, uint256 deadline)"
KEY_TYPE = "(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)"
ACTIONS: Mapping[int, str] = {
    0x01: (
        "DECREASE_LIQUIDITY(uint256 tokenId, uint256 liquidity, uint128 amount0Min, uint128 amount1Min, "
        "bytes hookData)"
    ),
    0x03: "BURN_POSITION(uint256 tokenId, uint128 amount0Min, uint128 amount1Min, bytes hookData)",
    0x04: (
        "INCREASE_LIQUIDITY_FROM_DELTAS(uint256 tokenId, uint128 amount0Max, uint128 amount1Max, "
        "bytes hookData)"
    ),
    0x05: (
        f"MINT_POSITION_FROM_DELTAS({KEY_TYPE} poolKey, int24 tickLower, int24 tickUpper, "
        "uint128 amount0Max, uint128 amount1Max, address owner, bytes hookData)"
    ),
    0x0B: "SETTLE(address currency, uint256 amount, bool payerIsUser)",
    0x0E: "TAKE(address currency, address recipient, uint256 amount)",
    0x11: "TAKE_PAIR(address currency0, address currency1, address recipient)",
    0x12: "CLOSE_CURRENCY(address currency)",
    0x14: "SWEEP(address currency, address to)",
}
"""v4-periphery Actions, with their parameters as PositionManager decodes them."""


@dataclass
class _Operation:
    """What the calls of one transaction do to one position."""

    sent: Sent
    charges: list[Charge] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    deadlines: list[int] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    minimums: tuple[int, int] | None = None
    """The least of each token that the liquidity taken out so far pays; None: none was taken out."""
    adds: bool = False
    holds: bool = False
    """Whether the contract holds tokens of the sender."""
    refunded: bool = False
    """Whether the part of the transaction's value that was not used is paid back, after its last use."""
    clearing: list[bytes] = field(default_factory=list)
    """See ``Meaning``: one call for each that pays out all that the contract holds of a token."""

    def of_position(self, token_id: int) -> None:
        """Raises ``Unreadable`` when an earlier call is about another position."""
        if self.members.setdefault("position_id", token_id) != token_id:
            raise Unreadable("it changes more than one position")

    def taken_out(self, minimums: tuple[int, int]) -> None:
        if self.minimums is not None:
            raise Unreadable("it takes liquidity out twice")
        self.minimums = minimums

    def pay_out(self, tokens: Sequence[Address | None], recipient: Address) -> None:
        """Pays all that the position owes: its fees alone, without a limit, if no liquidity was taken out."""
        for token, minimum in zip(tokens, self.minimums or (None, None), strict=True):
            self.payments.append(Payment(token, recipient, minimum))

    def meaning(self) -> Meaning:
        action = "add" if self.adds else "collect" if self.minimums is None else "remove"
        deadline = min(self.deadlines, default=None)
        charges = paid_as_coin(tuple(self.charges), self.sent)
        return Meaning(
            action,
            charges,
            tuple(self.payments),
            deadline,
            members=self.members,
            clearing=tuple((self.sent.to, data) for data in self.clearing),
        )


# --- v3 -----------------------------------------------------------------------------------------------------


class PositionsV3:
    """``multicall`` of a NonfungiblePositionManager."""

    function = function(MULTICALL)

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        (calls,) = args = self.function.decode(sent.data)
        operation, inner = _Operation(sent), []
        for data in calls:
            declared = next((each for each in map(function, _READERS) if each.selector == data[:4]), None)
            if declared is None:
                raise Unreadable(f"0x{data[:4].hex()} is no call of a quote")
            values = declared.decode(data)
            inner.append(declared.describe_decoded(values))
            _READERS[declared.declaration](operation, *values)
        if operation.holds:
            raise Unreadable("it leaves tokens in the contract")
        if sent.value and not operation.refunded:
            raise Unreadable("it leaves native coins in the contract")
        return Reading(replace(self.function.describe_decoded(args), inner=tuple(inner)), operation.meaning())


def _mint(operation: _Operation, params: Any) -> None:
    token0, token1, _, lower, upper, *amounts, recipient, deadline = params
    operation.adds, operation.refunded = True, False
    for token, maximum, minimum in zip((token0, token1), amounts[:2], amounts[2:], strict=True):
        operation.charges.append(Charge(token, maximum, minimum))
    operation.payments.append(Payment(operation.sent.to, recipient, 1))
    operation.deadlines.append(deadline)
    operation.members |= {"tick_lower": lower, "tick_upper": upper}


def _increase(operation: _Operation, params: Any) -> None:
    token_id, *amounts, deadline = params
    operation.adds, operation.refunded = True, False
    operation.of_position(token_id)
    for maximum, minimum in zip(amounts[:2], amounts[2:], strict=True):
        operation.charges.append(Charge(None, maximum, minimum))
    operation.deadlines.append(deadline)


def _decrease(operation: _Operation, params: Any) -> None:
    token_id, _, minimum0, minimum1, deadline = params
    operation.of_position(token_id)
    operation.taken_out((minimum0, minimum1))
    operation.deadlines.append(deadline)


def _burn(operation: _Operation, token_id: int) -> None:
    operation.of_position(token_id)
    operation.charges.append(Charge(operation.sent.to, 1))
    if operation.minimums is None:
        operation.minimums = (0, 0)  # only an empty position burns


def _collect(operation: _Operation, params: Any) -> None:
    token_id, recipient, *most = params
    operation.of_position(token_id)
    if most != [MAX_UINT128, MAX_UINT128]:
        raise Unreadable("it collects a part of what is owed")
    if recipient in (NATIVE, operation.sent.to):
        operation.holds = True  # the manager holds it until it is unwrapped and swept
    else:
        operation.pay_out((None, None), recipient)


def _refund(operation: _Operation) -> None:
    operation.refunded = True
    operation.clearing.append(function(REFUND).encode([]))  # pays who sends it


def _unwrap(operation: _Operation, minimum: int, recipient: Address) -> None:
    operation.clearing.append(function(UNWRAP).encode([0, CLEARER]))
    operation.payments.append(Payment(NATIVE, recipient, minimum))


def _sweep(operation: _Operation, token: Address, minimum: int, recipient: Address) -> None:
    operation.clearing.append(function(SWEEP_TOKEN).encode([token, 0, CLEARER]))
    operation.payments.append(Payment(token, recipient, minimum))
    operation.holds = False


_READERS: Mapping[str, Callable[..., None]] = {
    MINT: _mint,
    INCREASE: _increase,
    DECREASE: _decrease,
    COLLECT: _collect,
    BURN: _burn,
    REFUND: _refund,
    UNWRAP: _unwrap,
    SWEEP_TOKEN: _sweep,
}


# --- v4 -----------------------------------------------------------------------------------------------------


class PositionsV4:
    """``modifyLiquidities`` of a PositionManager."""

    function = function(MODIFY)

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        codes, params = decode(("bytes", "bytes[]"), args[0])
        if len(codes) != len(params):
            raise Unreadable(f"{len(codes)} actions have {len(params)} parameters")
        operation, inner = _Operation(sent, deadlines=[args[1]]), []
        surplus: dict[Address, int] = {}
        for code, data in zip(codes, params, strict=True):
            if code not in ACTIONS:
                raise Unreadable(f"0x{code:02x} is no action of a quote")
            form = function(ACTIONS[code])
            values = decode(form.types, data)
            inner.append(form.describe_decoded(values))
            _act(operation, ACTIONS[code].partition("(")[0], values, surplus)
        if surplus:
            raise Unreadable("it leaves tokens in the contract")
        settled = sum(charge.maximum for charge in operation.charges if charge.token == NATIVE)
        if sent.value != settled and not operation.refunded:
            raise Unreadable("it leaves native coins in the contract")
        return Reading(replace(self.function.describe_decoded(args), inner=tuple(inner)), operation.meaning())


def _act(operation: _Operation, name: str, values: Any, surplus: dict[Address, int]) -> None:
    """Reads one action. ``surplus`` is what the manager holds of a token for the sender.

    An added position pays in a whole offer, then takes the difference to its minimum out again and settles
    what is still owed from it: less than the minimum used would leave a credit, and the transaction reverts.
    """
    sent = operation.sent
    match name, values:
        case "DECREASE_LIQUIDITY", (token_id, liquidity, minimum0, minimum1, b""):
            operation.of_position(token_id)
            if liquidity:
                operation.taken_out((minimum0, minimum1))
        case "BURN_POSITION", (token_id, minimum0, minimum1, b""):
            operation.of_position(token_id)
            operation.charges.append(Charge(sent.to, 1))
            operation.taken_out((minimum0, minimum1))
        case "INCREASE_LIQUIDITY_FROM_DELTAS", (token_id, _, _, b""):
            operation.adds = True
            operation.of_position(token_id)
        case "MINT_POSITION_FROM_DELTAS", (key, lower, upper, _, _, owner, b""):
            operation.adds = True
            operation.payments.append(Payment(sent.to, _account(owner, sent), 1))
            pool = "0x" + keccak256(encode((_POOL_KEY,), [key])).hex()
            operation.members |= {"pool": pool, "tick_lower": lower, "tick_upper": upper}
        case "SETTLE", (currency, amount, True):
            operation.charges.append(Charge(currency, MAX_UINT256 if amount == OPEN_DELTA else amount))
        case "SETTLE", (currency, 0, False):
            _bounded(operation, currency, surplus.get(currency, 0))
        case "TAKE", (currency, recipient, amount) if recipient in (ADDRESS_THIS, sent.to):
            surplus[currency] = surplus.get(currency, 0) + amount
        case "TAKE_PAIR", (currency0, currency1, recipient):
            operation.pay_out((currency0, currency1), _account(recipient, sent))
        case "CLOSE_CURRENCY", (currency,) if currency not in surplus:
            pass  # pays back what was not used
        case "SWEEP", (currency, to):
            if _account(to, sent) != sent.sender:
                raise Unreadable("it pays back another account than the sender")
            surplus.pop(currency, None)
            sweep = encode(
                ("bytes", "bytes[]"), [b"\x14", [encode(("address", "address"), [currency, CLEARER])]]
            )
            operation.clearing.append(function(MODIFY).encode([sweep, MAX_UINT256]))
            operation.refunded = operation.refunded or currency == NATIVE
        case _:
            raise Unreadable(f"{name} is used in a way that is not of a quote")


def _bounded(operation: _Operation, currency: Address, surplus: int) -> None:
    """Sets the minimum of the charge in ``currency``: all of it but the surplus is used."""
    for index, charge in enumerate(operation.charges):
        if charge.token == currency:
            operation.charges[index] = replace(charge, minimum=max(0, charge.maximum - surplus))


def _account(recipient: Address, sent: Sent) -> Address:
    return sent.sender if recipient == _MSG_SENDER else recipient
