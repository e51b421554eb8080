"""Reads ``execute`` of Uniswap's Universal Router: who pays what, and what the last command enforces.

Source: universal-router (Dispatcher, Payments, V2SwapRouter, V3SwapRouter), v4-periphery (V4Router,
DeltaResolver).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.evm.calls.meaning import (
    CLEARER,
    Charge,
    Meaning,
    Payment,
    Portion,
    Reading,
    Sent,
    Transfer,
    Unreadable,
)
from quoteway.evm.calls.router_commands import (
    ADDRESS_THIS,
    CONTRACT_BALANCE,
    EXECUTE,
    MSG_SENDER,
    OPEN_DELTA,
    Dialect,
    Program,
    describe,
    dialect,
)
from quoteway.evm.permit2 import PermitSingle
from quoteway.models import MAX_UINT256, NATIVE, Address, Argument, DecodedCall

_WHOLE_BPS = 10_000
_SKIM = "skim(address to)"
"""Of UniswapV2Pair. The router takes as sold all that a pair holds above its reserves (V2SwapRouter)."""


class UniversalRouter:
    """``execute`` of a router version."""

    def __init__(self, router_version: str) -> None:
        """Raises ``ValueError`` for an unknown version."""
        self.function = function(EXECUTE)
        self._words: Dialect = dialect(router_version)

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        commands, inputs, deadline = args
        inner = describe(self._words, commands, inputs)
        run = _Program(sent)
        if sent.value:
            run.receive(NATIVE, sent.value, exact=True)
        for command in inner:
            run.add(command)
        run.end()
        charges = [Charge(NATIVE, sent.value)] if sent.value else []
        meaning = Meaning(
            "swap",
            (*charges, *run.charges),
            tuple(run.payments),
            deadline,
            permits=tuple(run.permits),
            portions=tuple(run.portions),
            transfers=tuple(run.transfers),
            clearing=tuple(self._clearing(run)),
        )
        return Reading(replace(self.function.describe_decoded(args), inner=inner), meaning)

    def _clearing(self, run: _Program) -> Iterator[tuple[Address, bytes]]:
        """Yields the calls that sweep the tokens of which the router spends all, and those that take out of
        the v2 pairs what they hold above their reserves: each alone, so that one that fails fails alone.
        """
        for token in run.spent_whole:
            sweep = Program(self._words.command)
            sweep.add("SWEEP", token, CLEARER, 0)
            yield run.sent.to, self.function.encode((sweep.bytes, sweep.inputs, MAX_UINT256))
        # A router does not tell whose pairs it trades in; to clear a pair of another factory changes nothing.
        skim = function(_SKIM).encode([CLEARER])
        for sold, bought in run.v2_hops:
            yield from ((factory.pair_of(sold, bought), skim) for factory in run.sent.pair_factories)


@dataclass(frozen=True, slots=True)
class _Held:
    """What the router holds of a token, in base units: exactly ``least``, or at least that."""

    least: int = 0
    exact: bool = True


@dataclass
class _Program:
    """What the commands of a program take and pay, in order.

    ``held`` is what the router holds of tokens after the commands so far, as they enforce it. Whatever
    remains there is anybody's: the next caller can sweep it. ``spent_whole`` are the tokens of which a
    command spends all that the router holds, also what was there before. ``v2_hops`` are the tokens (sold,
    bought) of each swap in a v2 pair.
    """

    sent: Sent
    charges: list[Charge] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    held: dict[Address, _Held] = field(default_factory=dict)
    permits: list[PermitSingle] = field(default_factory=list)
    portions: list[Portion] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    spent_whole: dict[Address, None] = field(default_factory=dict)
    v2_hops: list[tuple[Address, Address]] = field(default_factory=list)

    def add(self, command: DecodedCall) -> None:
        name = command.signature.partition("(")[0]
        args = [_plain(argument) for argument in command.args]
        match name, args:
            case "PERMIT2_PERMIT", ((details, spender, until), _):
                if checksum(spender) != self.sent.to:
                    raise Unreadable("its permit is for another spender")
                token, amount, expiration, nonce = details
                self.permits.append(PermitSingle(token, amount, expiration, nonce, spender, until))
            case "PERMIT2_TRANSFER_FROM", (token, recipient, amount):
                self.charges.append(Charge(token, amount))
                self._pass_on(token, recipient, amount)
            case "TRANSFER", (token, recipient, amount):
                self._spend_named(token, amount)
                self._pass_on(token, recipient, amount)
            case "WRAP_ETH", (recipient, amount):
                wrapped = self._spend(NATIVE, amount)
                self._pay(self._wrapped(), recipient, wrapped.least, exact=wrapped.exact)
            case "UNWRAP_WETH", (recipient, minimum):
                wrapped = self._spend(self._wrapped(), CONTRACT_BALANCE)
                self._pay(NATIVE, recipient, max(wrapped.least, minimum), exact=wrapped.exact)
            case "PAY_PORTION", (token, recipient, bips):
                self._pay_portion(token, recipient, bips)
            case "SWEEP", (token, recipient, minimum):
                self._spend(token, CONTRACT_BALANCE)
                self._pay(token, recipient, minimum)
            case "V2_SWAP_EXACT_IN", (recipient, amount, minimum, path, by_user, *_):
                self._pass_pairs(path)
                self._take(path[0], amount, by_user)
                self._pay(path[-1], recipient, minimum)
            case "V3_SWAP_EXACT_IN", (recipient, amount, minimum, path, by_user, *_):
                sold, bought = _ends(path)
                self._take(sold, amount, by_user)
                self._pay(bought, recipient, minimum)
            case "V2_SWAP_EXACT_OUT", (recipient, _, maximum, path, by_user, *_):
                self._pass_pairs(path)
                self._take_at_most(path[0], maximum, by_user)
                # A pair pays by what arrived in it: nothing compares that with the amount.
                self._pay(path[-1], recipient, 0)
            case "V3_SWAP_EXACT_OUT", (recipient, amount, maximum, path, by_user, *_):
                bought, sold = _ends(path)
                self._take_at_most(sold, maximum, by_user)
                self._pay(bought, recipient, amount, exact=True)
            case "V4_SWAP", _ if any(_is_exact_out(action) for action in command.inner):
                self._v4_exact_out(command.inner)
            case "V4_SWAP", _:
                self._v4_swap(command.inner)
            case _:
                raise Unreadable(f"{name} is no command of a quote")

    def end(self) -> None:
        """Raises ``Unreadable`` when the program may leave tokens in the router."""
        if self.held:
            raise Unreadable(f"it may leave {', '.join(sorted(self.held))} in the router")

    def receive(self, token: Address, amount: int, *, exact: bool) -> None:
        """Adds to what the router holds: exactly ``amount``, or at least that."""
        if any(portion.token == token for portion in self.portions):
            raise Unreadable(f"it gets more of {token} after it has paid a portion of it")
        before = self.held.get(token, _Held())
        self._hold(token, _Held(before.least + amount, before.exact and exact))

    def _pass_pairs(self, path: tuple[Address, ...]) -> None:
        if len(path) < 2:
            raise Unreadable("its path is too short")
        self.v2_hops += pairwise(path)

    def _v4_swap(self, actions: tuple[DecodedCall, ...]) -> None:
        """Reads v4 actions: swaps leave credits with the PoolManager, and TAKE pays a credit out whole.

        What is bought must pay no debt of an earlier sale: then a credit is as large as the minimums say. The
        PoolManager reverts when a debt or a credit remains.
        """
        owed: dict[Address, int] = {}
        sales: set[Address] = set()
        for action in actions:
            match action.signature.partition("(")[0], [_plain(argument) for argument in action.args]:
                case "SETTLE", (currency, amount, by_user):
                    if amount == OPEN_DELTA:
                        raise Unreadable("it settles an amount that it does not name")
                    self._take(currency, amount, by_user)
                    continue
                case "TAKE", (currency, recipient, amount):
                    if amount != OPEN_DELTA:
                        raise Unreadable("it takes a part of a credit")
                    self._pay(currency, recipient, owed.pop(currency, 0))
                    continue
                case "SWAP_EXACT_IN_SINGLE", ((key, zero_for_one, _, minimum, *_),):
                    sold, bought = key[:2] if zero_for_one else key[1::-1]
                case "SWAP_EXACT_IN", ((sold, path, *_, minimum),):
                    if not path:
                        raise Unreadable("its path is too short")
                    for passed in path[:-1]:
                        owed.pop(passed[0], None)
                    bought = path[-1][0]
                case name, _:
                    raise Unreadable(f"{name} is no action of a quote")
            owed.pop(sold, None)
            sales.add(sold)
            if bought in sales:
                raise Unreadable(f"it buys {bought}, which it has sold before")
            owed[bought] = owed.get(bought, 0) + minimum

    def _v4_exact_out(self, actions: tuple[DecodedCall, ...]) -> None:
        """Reads swaps of one token for exact outputs of another, the payment of their debt, and the TAKE of
        exactly what they buy.

        The router compares each input with its maximum, but not the output with the amount: when a pool gives
        less, the TAKE leaves a debt, and the PoolManager reverts. A path through either token could hide such
        a debt in what is settled.
        """
        names = [action.signature.partition("(")[0] for action in actions]
        if names[-2:] != ["SETTLE", "TAKE"] or not all(map(_is_exact_out, actions[:-2])):
            raise Unreadable("its exact outputs are not swaps, one SETTLE and one TAKE")
        *swaps, settle, take = ([_plain(argument) for argument in action.args] for action in actions)
        most = total = 0
        ends = set[tuple[Address, Address]]()
        passed = set[Address]()
        for name, (swap,) in zip(names, swaps, strict=False):
            if name == "SWAP_EXACT_OUT_SINGLE":
                key, zero_for_one, amount, maximum, *_ = swap
                ends.add(key[:2] if zero_for_one else key[1::-1])
            else:
                bought, path, *_, amount, maximum = swap
                if not path:
                    raise Unreadable("its path is too short")
                ends.add((path[0][0], bought))
                passed.update(key[0] for key in path[1:])
            if amount == OPEN_DELTA:
                raise Unreadable("it does not name its exact output")
            most, total = most + maximum, total + amount
        if len(ends) > 1:
            raise Unreadable("its exact outputs are of several pairs of tokens")
        ((sold, bought),) = ends
        if sold == bought or passed & {sold, bought}:
            raise Unreadable("the path of its exact output passes a token twice")
        currency, settled, by_user = settle
        if (currency, settled) != (sold, OPEN_DELTA):
            raise Unreadable("it does not settle what its exact output costs")
        received, recipient, taken = take
        if (received, taken) != (bought, total):
            raise Unreadable("it does not take its exact output")
        self._take_at_most(sold, most, by_user)
        self._pay(bought, recipient, total, exact=True)

    def _take_at_most(self, token: Address, maximum: int, by_user: bool) -> None:
        """Takes what a swap for an exact output needs. What the router had for it may remain in part."""
        if by_user and token != NATIVE:
            self.charges.append(Charge(token, maximum))
            return
        before = self.held.pop(token, _Held())
        if before.exact and maximum > before.least:
            raise Unreadable(f"it may spend {maximum} of {token}, more than the router holds")
        self._hold(token, _Held(max(before.least - maximum, 0), exact=False))

    def _take(self, token: Address, amount: int, by_user: bool) -> None:
        if by_user and token != NATIVE:  # the native coin comes with the transaction
            self.charges.append(Charge(token, amount))
        else:
            self._spend(token, amount)

    def _spend(self, token: Address, amount: int) -> _Held:
        """Returns what the router spends: an amount, or with CONTRACT_BALANCE all that it holds."""
        before = self.held.pop(token, _Held())
        if amount == CONTRACT_BALANCE:
            self.spent_whole[token] = None
            return before
        if before.exact and amount > before.least:
            raise Unreadable(f"it spends {amount} of {token}, more than the router holds")
        self._hold(token, _Held(max(before.least - amount, 0), before.exact))
        return _Held(amount)

    def _hold(self, token: Address, held: _Held) -> None:
        if held != _Held():
            self.held[token] = held

    def _pay(self, token: Address, recipient: Address, minimum: int, *, exact: bool = False) -> None:
        if recipient in (ADDRESS_THIS, self.sent.to):
            self.receive(token, minimum, exact=exact)
            return
        self.payments.append(Payment(token, self._account(recipient), minimum))

    def _pass_on(self, token: Address, recipient: Address, amount: int) -> None:
        """Passes on exactly an amount that the sender has paid: to the router itself, or to an account."""
        if recipient in (ADDRESS_THIS, self.sent.to):
            self.receive(token, amount, exact=True)
            return
        self.transfers.append(Transfer(token, self._account(recipient), amount))

    def _spend_named(self, token: Address, amount: int) -> None:
        if amount == CONTRACT_BALANCE:
            raise Unreadable("it transfers an amount that it does not name")
        self._spend(token, amount)

    def _pay_portion(self, token: Address, recipient: Address, bips: int) -> None:
        """Pays ``bips`` / 10,000 of all that the router holds of a token, rounded down."""
        if not 0 < bips <= _WHOLE_BPS:
            raise Unreadable(f"it pays a portion of {bips} bps")
        if token not in self.held:
            raise Unreadable(f"it pays a portion of {token}, of which the router holds none")
        held = self.held.pop(token)
        self._hold(token, replace(held, least=held.least - held.least * bips // _WHOLE_BPS))
        self.portions.append(Portion(token, self._account(recipient), bips))

    def _account(self, recipient: Address) -> Address:
        """Returns who a recipient is that the router may read as its caller."""
        return self.sent.sender if recipient == MSG_SENDER else recipient

    def _wrapped(self) -> Address:
        if self.sent.wrapped_native is None:
            raise Unreadable("the network has no wrapped native coin")
        return self.sent.wrapped_native


def _is_exact_out(action: DecodedCall) -> bool:
    return action.signature.startswith("SWAP_EXACT_OUT")


def _ends(path: bytes) -> tuple[Address, Address]:
    """Returns the first and the last token of a path of v3 pools. Raises ``Unreadable`` for another one."""
    if len(path) < 43 or (len(path) - 20) % 23:
        raise Unreadable("its path is no path of v3 pools")
    return checksum("0x" + path[:20].hex()), checksum("0x" + path[-20:].hex())


def _plain(argument: Argument) -> Any:
    """Returns an argument's value, ``bytes`` as bytes."""
    if argument.type == "bytes":
        return bytes.fromhex(argument.value[2:])
    return argument.value
