"""Reads the calls of SwapRouters of v3-periphery and its forks: one swap, or several by ``multicall``.

Sources: v3-periphery 1.x (SwapRouter, PeripheryPayments, Multicall), as PancakeSwap v3 has it, and Algebra's
integral-periphery 1.2. A swap whose recipient is the router, or the zero address, leaves what it buys in the
router. From there a later call of the same transaction pays it out: all that the router holds of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from quoteway.evm.abi import Function, function
from quoteway.evm.address import checksum
from quoteway.evm.calls.meaning import CLEARER, Charge, Meaning, Payment, Reading, Sent, Unreadable
from quoteway.models import NATIVE, Address

_ADDRESS_BYTES = 20
MULTICALL = "multicall(bytes[] data)"
SWEEP = "sweepToken(address token, uint256 amountMinimum, address recipient)"


@dataclass(frozen=True, slots=True)
class RouterForm:
    """The functions of a SwapRouter. ``key_bytes`` is what stands between two tokens of a path."""

    single: str
    path: str
    unwrap: str
    refund: str
    key_bytes: int

    def single_key(self, key: int) -> int | Address:
        """Returns what names the pool in ``single``: a number, or the address that it stands for."""
        return checksum(f"0x{key:040x}") if self.key_bytes == _ADDRESS_BYTES else key

    def ends(self, path: bytes) -> tuple[Address, Address]:
        """Returns the first and the last token of a path. Raises ``Unreadable`` for what is no path."""
        hop = _ADDRESS_BYTES + self.key_bytes
        if (len(path) - _ADDRESS_BYTES) % hop:
            raise Unreadable("its path is no path of pools")
        first, last = path[:_ADDRESS_BYTES], path[-_ADDRESS_BYTES:]
        return checksum("0x" + first.hex()), checksum("0x" + last.hex())


V3_ROUTER = RouterForm(
    single=(
        "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, "
        "uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)"
    ),
    path=(
        "exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, "
        "uint256 amountOutMinimum) params)"
    ),
    unwrap="unwrapWETH9(uint256 amountMinimum, address recipient)",
    refund="refundETH()",
    key_bytes=3,
)
"""SwapRouter of v3-periphery, with the deadline in each swap."""


ALGEBRA_ROUTER = RouterForm(
    single=(
        "exactInputSingle((address tokenIn, address tokenOut, address deployer, address recipient, "
        "uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 limitSqrtPrice) params)"
    ),
    path=V3_ROUTER.path,
    unwrap="unwrapWNativeToken(uint256 amountMinimum, address recipient)",
    refund="refundNativeToken()",
    key_bytes=_ADDRESS_BYTES,
)
"""SwapRouter of Algebra's integral-periphery 1.2: pools by their deployer."""


class SwapCall:
    """One function of a SwapRouter as the whole call."""

    def __init__(self, form: RouterForm, declaration: str) -> None:
        self.function = function(declaration)
        self._form = form

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        inner: tuple[bytes, ...] = args[0] if self.function.declaration == MULTICALL else ()
        run = _Run(self._form, sent)
        if self.function.declaration == MULTICALL:
            parts = tuple(run.add(data) for data in inner)
        else:
            run.add(sent.data)
            parts = ()
        return Reading(replace(self.function.describe(args), inner=parts), run.meaning())


def swap_calls(form: RouterForm) -> tuple[Callable[[], SwapCall], ...]:
    """Returns what reads the calls of a router: a swap through one pool, along a path, and several calls."""
    return tuple(partial(SwapCall, form, declaration) for declaration in (form.single, form.path, MULTICALL))


@dataclass
class _Run:
    """What the calls of one transaction take and pay, in order.

    ``held`` is what the router holds at least of what swaps have bought. ``coins`` is what is left of the
    transaction's value: the router pays with it wherever the wrapped coin is sold, if it suffices.
    """

    form: RouterForm
    sent: Sent
    charges: list[Charge] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    held: dict[Address, int] = field(default_factory=dict)
    deadlines: list[int] = field(default_factory=list)
    clearing: list[tuple[Address, bytes]] = field(default_factory=list)
    coins: int = 0
    refunded: bool = False

    def __post_init__(self) -> None:
        self.coins = self.sent.value

    def add(self, data: bytes) -> Any:
        """Adds one call and returns it decoded. Raises ``ValueError`` for one that no quote needs."""
        form = self.form
        acts: Mapping[str, Callable[..., None]] = {
            form.single: self._single,
            form.path: self._along,
            form.unwrap: self._unwrap,
            form.refund: self._refund,
            SWEEP: self._sweep,
        }
        called = _called(acts, data)
        values = called.decode(data)
        acts[called.declaration](*values)
        return called.describe(values)

    def meaning(self) -> Meaning:
        """Returns what all calls mean. Raises ``Unreadable`` when they may leave something in the router."""
        if self.held:
            raise Unreadable(f"it may leave {', '.join(sorted(self.held))} in the router")
        if self.sent.value and not self.refunded:
            raise Unreadable("it may leave native coins in the router")
        if not self.deadlines:
            raise Unreadable("it swaps nothing")
        value = self.sent.value
        return Meaning(
            "swap",
            ((Charge(NATIVE, value),) if value else ()) + tuple(self.charges),
            tuple(self.payments),
            min(self.deadlines),
            clearing=tuple(dict.fromkeys(self.clearing)),
        )

    def _single(self, params: Sequence[Any]) -> None:
        sold, bought, _, recipient, deadline, amount, minimum, limit = params
        if limit:
            raise Unreadable("it stops at a price and may leave a part unsold")
        self._swap(sold, bought, recipient, deadline, amount, minimum)

    def _along(self, params: Sequence[Any]) -> None:
        path, recipient, deadline, amount, minimum = params
        self._swap(*self.form.ends(path), recipient, deadline, amount, minimum)

    def _swap(
        self, sold: Address, bought: Address, recipient: Address, deadline: int, amount: int, minimum: int
    ) -> None:
        if sold in self.held or bought == sold:
            raise Unreadable(f"it sells {sold}, which it has bought")
        if self.sent.value:
            if sold != self.sent.wrapped_native or amount > self.coins:
                raise Unreadable("it sells something else than the native coin that it brings")
            self.coins -= amount
            self.refunded = False
        else:
            self.charges.append(Charge(sold, amount))
        self.deadlines.append(deadline)
        if recipient in (NATIVE, self.sent.to):
            self.held[bought] = self.held.get(bought, 0) + minimum
        else:
            self.payments.append(Payment(bought, recipient, minimum))

    def _unwrap(self, minimum: int, recipient: Address) -> None:
        wrapped = self.sent.wrapped_native
        if wrapped is None:
            raise Unreadable("the network has no wrapped native coin")
        self._pay_out(wrapped, NATIVE, minimum, recipient)
        self._clear(function(self.form.unwrap).encode([0, CLEARER]))

    def _sweep(self, token: Address, minimum: int, recipient: Address) -> None:
        self._pay_out(token, token, minimum, recipient)
        self._clear(function(SWEEP).encode([token, 0, CLEARER]))

    def _pay_out(self, token: Address, paid: Address, minimum: int, recipient: Address) -> None:
        """Pays all that the router holds of a token, as ``paid``."""
        if token not in self.held:
            raise Unreadable(f"it pays out {token}, of which it has bought none")
        if recipient == self.sent.to:
            raise Unreadable(f"it pays {paid} to the router itself")
        self.payments.append(Payment(paid, recipient, max(minimum, self.held.pop(token))))

    def _refund(self) -> None:
        """Pays the sender the coins that no swap has used."""
        if not self.sent.value:
            raise Unreadable("it brings no native coin that it could get back")
        self.refunded = True
        self._clear(function(self.form.refund).encode([]))

    def _clear(self, data: bytes) -> None:
        self.clearing.append((self.sent.to, data))


def _called(acts: Mapping[str, object], data: bytes) -> Function:
    for called in map(function, acts):
        if called.selector == data[:4]:
            return called
    raise Unreadable(f"0x{data[:4].hex()} is no call of a quote")
