"""Encodes a path of pools as Universal Router calldata.

Consecutive hops on one protocol become one command. Between commands the router holds the tokens, and the
next command spends all of them (CONTRACT_BALANCE, OPEN_DELTA), so nothing remains in the router. The last
command enforces the minimum and pays the recipient. The native coin is wrapped or unwrapped between hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from quoteway import NATIVE, Address, DecodedCall
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.permit2 import PermitSingle
from quoteway_amm import Kind

from quoteway_uniswap.candidates import sorted_pair
from quoteway_uniswap.commands import (
    ADDRESS_THIS,
    CONTRACT_BALANCE,
    EXECUTE,
    OPEN_DELTA,
    Dialect,
    Program,
    describe,
    dialect,
)


@dataclass(frozen=True, slots=True)
class SwapHop:
    """One pool of the path, with the pool's own tokens (on v4 possibly the native coin)."""

    kind: Kind
    token_in: Address
    token_out: Address
    fee: int
    tick_spacing: int = 0


@dataclass(frozen=True, slots=True)
class Order:
    """The swap to encode. Tokens are as requested: ``NATIVE`` is the native coin."""

    token_in: Address
    token_out: Address
    amount_in: int
    amount_out_min: int
    recipient: Address
    wrapped_native: Address


@dataclass(frozen=True, slots=True)
class Calldata:
    """Encoded and decoded ``execute``; ``signature_offset`` is where the signature goes, None without one."""

    data: bytes
    value: int
    decoded: DecodedCall
    signature_offset: int | None = None


def encode_swap(
    router_version: str,
    order: Order,
    hops: Sequence[SwapHop],
    deadline: int,
    permit: PermitSingle | None = None,
) -> Calldata:
    """Returns the calldata for ``hops`` in order; without hops it wraps or unwraps.

    ``deadline`` is in Unix seconds. ``permit`` becomes the first command, with 65 zero bytes as signature.
    Raises ValueError when the hops do not connect the two tokens or a value does not fit its type.
    """
    words = dialect(router_version)
    program = Program(words.command)
    if permit is not None:
        program.add("PERMIT2_PERMIT", permit.as_args(), bytes(65))
    _Encoder(program, words, order).encode(hops)
    execute = function(EXECUTE)
    args = (program.bytes, program.inputs, deadline)
    data = execute.encode(args)
    inner = describe(words, *execute.decode(data)[:2])
    described = execute.describe(args)
    return Calldata(
        data,
        order.amount_in if order.token_in == NATIVE else 0,
        DecodedCall(described.signature, described.args, inner),
        None if permit is None else _signature_offset(data, program.inputs[0]),
    )


class _Encoder:
    """Adds the commands of a path and tracks who holds the tokens."""

    def __init__(self, program: Program, words: Dialect, order: Order) -> None:
        self.program = program
        self.words = words
        self.order = order
        self.held = order.token_in
        # The native coin arrives with the transaction; the sender still holds a token.
        self.in_router = order.token_in == NATIVE
        self.amount = order.amount_in

    def encode(self, hops: Sequence[SwapHop]) -> None:
        order = self.order
        if not hops:
            self._change_form(order.token_out, order.recipient, order.amount_out_min)
            return
        sections = _sections(hops)
        for section in sections:
            last = section is sections[-1]
            if self.held != section[0].token_in:
                self._change_form(section[0].token_in, ADDRESS_THIS, 0)
            pays_out = last and section[-1].token_out == order.token_out
            self._swap(
                section, order.recipient if pays_out else ADDRESS_THIS, order.amount_out_min if last else 0
            )
        if self.held != order.token_out:
            self._change_form(order.token_out, order.recipient, order.amount_out_min)

    def _change_form(self, token: Address, recipient: Address, minimum: int) -> None:
        order = self.order
        if {self.held, token} != {NATIVE, order.wrapped_native}:
            raise ValueError(
                f"the path needs a hop from {self.held} to {token}: only the native coin and its wrapped "
                "form convert without a pool"
            )
        if token == NATIVE:
            if not self.in_router:
                self.program.add("PERMIT2_TRANSFER_FROM", self.held, ADDRESS_THIS, self.amount)
            self.program.add("UNWRAP_WETH", recipient, minimum)
        else:
            self.program.add("WRAP_ETH", recipient, self.amount)
        self.held, self.in_router = token, True

    def _swap(self, section: Sequence[SwapHop], recipient: Address, minimum: int) -> None:
        if section[0].kind == "v4":
            self._swap_v4(section, recipient, minimum)
        else:
            tokens = [section[0].token_in, *(hop.token_out for hop in section)]
            path: Any = tokens
            if section[0].kind == "v3":
                path = address_bytes(tokens[0]) + b"".join(
                    hop.fee.to_bytes(3, "big") + address_bytes(hop.token_out) for hop in section
                )
            args = [recipient, self.amount, minimum, path, not self.in_router]
            if self.words.min_hop_price:
                args.append(())
            self.program.add(f"{section[0].kind.upper()}_SWAP_EXACT_IN", *args)
        self.held, self.in_router, self.amount = section[-1].token_out, True, CONTRACT_BALANCE

    def _swap_v4(self, section: Sequence[SwapHop], recipient: Address, minimum: int) -> None:
        first, last = section[0], section[-1]
        actions = Program(self.words.action)
        actions.add("SETTLE", first.token_in, self.amount, not self.in_router)
        # After the first section the amount is only known on chain: spend what was settled.
        amount = OPEN_DELTA if self.amount == CONTRACT_BALANCE else self.amount
        if len(section) == 1:
            currency0, currency1 = sorted_pair(first.token_in, first.token_out)
            key = (currency0, currency1, first.fee, first.tick_spacing, NATIVE)
            limit = (0,) if self.words.min_hop_price else ()
            swap = (key, first.token_in == currency0, amount, minimum, *limit, b"")
            actions.add("SWAP_EXACT_IN_SINGLE", swap)
        else:
            path = [(hop.token_out, hop.fee, hop.tick_spacing, NATIVE, b"") for hop in section]
            limits = ((),) if self.words.hop_limits else ()
            actions.add("SWAP_EXACT_IN", (first.token_in, path, *limits, amount, minimum))
        actions.add("TAKE", last.token_out, recipient, OPEN_DELTA)
        self.program.add("V4_SWAP", actions.bytes, actions.inputs)


def _sections(hops: Sequence[SwapHop]) -> list[list[SwapHop]]:
    """Groups consecutive hops that fit into one command: one protocol, and no conversion between them."""
    sections = [[hops[0]]]
    for before, hop in pairwise(hops):
        if hop.kind == before.kind and hop.token_in == before.token_out:
            sections[-1].append(hop)
        else:
            sections.append([hop])
    return sections


def _signature_offset(data: bytes, permit_input: bytes) -> int:
    """Returns where the 65 placeholder bytes start: the permit's input ends with them, padded to 96."""
    at = data.find(permit_input)
    if at < 0 or data.find(permit_input, at + 1) >= 0:
        raise ValueError("the calldata must contain the permit exactly once")
    return at + len(permit_input) - 96
