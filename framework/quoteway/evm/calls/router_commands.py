"""The Universal Router's commands, v4 actions, and their inputs by router version.

Three forms exist. 2.0. 2.1: v4 swaps of several hops also take a list of limits (found by running the
bytecode of @uniswap/universal-router 2.1.0, which reverts without it; no SDK supports it). 2.1.1 and later:
every swap takes ``minHopPriceX36``. Source: universal-router (Dispatcher, Commands), v4-periphery (Actions,
IV4Router), and for 2.1.1 @uniswap/universal-router-sdk 5.13.0 and @uniswap/v4-sdk 2.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from quoteway.evm.abi import Function, decode, encode, function
from quoteway.models import DecodedCall

EXECUTE = "execute(bytes commands, bytes[] inputs, uint256 deadline)"

ADDRESS_THIS = "0x0000000000000000000000000000000000000002"
"""The router itself, as a recipient. Source: ActionConstants."""
MSG_SENDER = "0x0000000000000000000000000000000000000001"
"""The sender, as a recipient. Source: ActionConstants."""
RESERVED_RECIPIENTS = frozenset(f"0x{number:040x}" for number in (0, 1, 2))
"""Recipients with a special meaning to the router: the zero address, the sender, the router."""
CONTRACT_BALANCE = 1 << 255
"""As an amount: the router's whole balance of the token."""
OPEN_DELTA = 0
"""As an amount in a v4 action: all that is owed to or by the PoolManager."""

_SWAP = "address recipient, uint256 amountIn, uint256 amountOutMin"
_SWAP_OUT = "address recipient, uint256 amountOut, uint256 amountInMax"
_KEY = "(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)"
_PATH_KEY = "(address intermediateCurrency, uint24 fee, int24 tickSpacing, address hooks, bytes hookData)"

_COMMANDS = {
    0x00: f"V3_SWAP_EXACT_IN({_SWAP}, bytes path, bool payerIsUser)",
    0x01: f"V3_SWAP_EXACT_OUT({_SWAP_OUT}, bytes path, bool payerIsUser)",
    0x02: "PERMIT2_TRANSFER_FROM(address token, address recipient, uint160 amount)",
    # The Dispatcher keeps the lowest 160 bits of the minimum: 2^160 enforces nothing.
    0x04: "SWEEP(address token, address recipient, uint160 amountMin)",
    0x05: "TRANSFER(address token, address recipient, uint256 amount)",
    0x06: "PAY_PORTION(address token, address recipient, uint256 bips)",
    0x08: f"V2_SWAP_EXACT_IN({_SWAP}, address[] path, bool payerIsUser)",
    0x09: f"V2_SWAP_EXACT_OUT({_SWAP_OUT}, address[] path, bool payerIsUser)",
    0x0A: (
        "PERMIT2_PERMIT(((address token, uint160 amount, uint48 expiration, uint48 nonce) details, "
        "address spender, uint256 sigDeadline) permit, bytes signature)"
    ),
    0x0B: "WRAP_ETH(address recipient, uint256 amount)",
    0x0C: "UNWRAP_WETH(address recipient, uint256 amountMin)",
    0x10: "V4_SWAP(bytes actions, bytes[] params)",
}
_ACTIONS = {
    0x06: (
        f"SWAP_EXACT_IN_SINGLE(({_KEY} poolKey, bool zeroForOne, uint128 amountIn, uint128 amountOutMinimum, "
        "bytes hookData) swap)"
    ),
    0x07: (
        f"SWAP_EXACT_IN((address currencyIn, {_PATH_KEY}[] path, uint128 amountIn, "
        "uint128 amountOutMinimum) swap)"
    ),
    0x08: (
        f"SWAP_EXACT_OUT_SINGLE(({_KEY} poolKey, bool zeroForOne, uint128 amountOut, "
        "uint128 amountInMaximum, bytes hookData) swap)"
    ),
    0x09: (
        f"SWAP_EXACT_OUT((address currencyOut, {_PATH_KEY}[] path, uint128 amountOut, "
        "uint128 amountInMaximum) swap)"
    ),
    0x0B: "SETTLE(address currency, uint256 amount, bool payerIsUser)",
    0x0E: "TAKE(address currency, address recipient, uint256 amount)",
}
_ACTIONS_2_1 = _ACTIONS | {
    0x07: (
        f"SWAP_EXACT_IN((address currencyIn, {_PATH_KEY}[] path, uint256[] maxHopSlippage, uint128 amountIn, "
        "uint128 amountOutMinimum) swap)"
    ),
    0x09: (
        f"SWAP_EXACT_OUT((address currencyOut, {_PATH_KEY}[] path, uint256[] maxHopSlippage, "
        "uint128 amountOut, uint128 amountInMaximum) swap)"
    ),
}
_COMMANDS_2_1_1 = _COMMANDS | {
    0x00: f"V3_SWAP_EXACT_IN({_SWAP}, bytes path, bool payerIsUser, uint256[] minHopPriceX36)",
    0x01: f"V3_SWAP_EXACT_OUT({_SWAP_OUT}, bytes path, bool payerIsUser, uint256[] minHopPriceX36)",
    0x08: f"V2_SWAP_EXACT_IN({_SWAP}, address[] path, bool payerIsUser, uint256[] minHopPriceX36)",
    0x09: f"V2_SWAP_EXACT_OUT({_SWAP_OUT}, address[] path, bool payerIsUser, uint256[] minHopPriceX36)",
}
_ACTIONS_2_1_1 = _ACTIONS | {
    0x06: (
        f"SWAP_EXACT_IN_SINGLE(({_KEY} poolKey, bool zeroForOne, uint128 amountIn, uint128 amountOutMinimum, "
        "uint256 minHopPriceX36, bytes hookData) swap)"
    ),
    0x07: (
        f"SWAP_EXACT_IN((address currencyIn, {_PATH_KEY}[] path, uint256[] minHopPriceX36, uint128 amountIn, "
        "uint128 amountOutMinimum) swap)"
    ),
    0x08: (
        f"SWAP_EXACT_OUT_SINGLE(({_KEY} poolKey, bool zeroForOne, uint128 amountOut, "
        "uint128 amountInMaximum, uint256 minHopPriceX36, bytes hookData) swap)"
    ),
    0x09: (
        f"SWAP_EXACT_OUT((address currencyOut, {_PATH_KEY}[] path, uint256[] minHopPriceX36, "
        "uint128 amountOut, uint128 amountInMaximum) swap)"
    ),
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The inputs of a range of router versions, by command and action byte.

    ``hop_limits``: v4 swaps of several hops take a list of limits. ``min_hop_price``: every swap takes
    minimum hop prices.
    """

    commands: Mapping[int, Function]
    actions: Mapping[int, Function]
    hop_limits: bool
    min_hop_price: bool

    def command(self, name: str) -> tuple[int, Function]:
        """Returns (byte, input) of a command by name."""
        return _named(self.commands, name)

    def action(self, name: str) -> tuple[int, Function]:
        """Returns (byte, input) of a v4 action by name."""
        return _named(self.actions, name)


def dialect(router_version: str) -> Dialect:
    """Returns the dialect of a router version such as ``2.0``. Raises ValueError for an unknown version."""
    try:
        version = tuple(int(part) for part in router_version.split("."))
    except ValueError:
        version = ()
    if not (2,) <= version < (3,):
        raise ValueError(f"router_version must be from 2.0 to below 3, got {router_version!r}")
    if version < (2, 1):
        return _dialect("2.0")
    return _dialect("2.1" if version < (2, 1, 1) else "2.1.1")


@cache
def _dialect(since: str) -> Dialect:
    commands, actions = {
        "2.0": (_COMMANDS, _ACTIONS),
        "2.1": (_COMMANDS, _ACTIONS_2_1),
        "2.1.1": (_COMMANDS_2_1_1, _ACTIONS_2_1_1),
    }[since]
    return Dialect(
        {byte: function(text) for byte, text in commands.items()},
        {byte: function(text) for byte, text in actions.items()},
        hop_limits=since != "2.0",
        min_hop_price=since == "2.1.1",
    )


class Program:
    """A sequence of commands or v4 actions."""

    def __init__(self, named: Callable[[str], tuple[int, Function]]) -> None:
        self._named = named
        self.bytes = b""
        self.inputs: list[bytes] = []

    def add(self, name: str, *args: Any) -> None:
        """Appends a command. Raises ValueError when an argument does not fit its type."""
        byte, form = self._named(name)
        self.bytes += bytes([byte])
        self.inputs.append(encode(form.types, args))


def describe(words: Dialect, commands: bytes, inputs: Sequence[bytes]) -> tuple[DecodedCall, ...]:
    """Returns the commands decoded from the calldata, with the v4 actions inside V4_SWAP.

    Raises ValueError for a command outside this dialect, or an input that is not its canonical encoding.
    """
    return _describe(words.commands, commands, inputs, words)


def _describe(
    forms: Mapping[int, Function], codes: bytes, inputs: Sequence[bytes], words: Dialect
) -> tuple[DecodedCall, ...]:
    if len(codes) != len(inputs):
        raise ValueError(f"{len(codes)} commands need as many inputs, got {len(inputs)}")
    calls = []
    for code, data in zip(codes, inputs, strict=True):
        form = forms.get(code)
        if form is None:
            raise ValueError(f"this router version has no command 0x{code:02x}")
        args = decode(form.types, data)
        call = form.describe_decoded(args)
        if call.signature.startswith("V4_SWAP("):
            call = replace(call, inner=_describe(words.actions, args[0], args[1], words))
        calls.append(call)
    return tuple(calls)


def _named(forms: Mapping[int, Function], name: str) -> tuple[int, Function]:
    for byte, form in forms.items():
        if form.signature.startswith(f"{name}("):
            return byte, form
    raise ValueError(f"this router version has no {name}")
