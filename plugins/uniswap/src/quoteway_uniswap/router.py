"""Encodes a flow through pools as Universal Router calldata.

Consecutive hops on one protocol become one command. The sender pays what leaves the input. Between commands
the router holds the tokens: the last command out of a node spends all of them (CONTRACT_BALANCE, OPEN_DELTA),
so nothing remains in the router. The native coin is wrapped or unwrapped where pools use its other form. A
single last swap enforces the minimum and pays the recipient; after several, one SWEEP or UNWRAP_WETH does.
With a fee the router gets all of the output, in the form asked for: PAY_PORTION pays the fee of it, SWEEP the
rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from quoteway import NATIVE, Address
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.router_commands import (
    ADDRESS_THIS,
    CONTRACT_BALANCE,
    EXECUTE,
    OPEN_DELTA,
    Dialect,
    Program,
    dialect,
)
from quoteway.evm.permit2 import PermitSingle

from quoteway_uniswap.candidates import sorted_pair
from quoteway_uniswap.exact_output import exact_output_commands, exact_output_work
from quoteway_uniswap.flow import Flow, Section, SwapHop
from quoteway_uniswap.orders import Order, Work


@dataclass(frozen=True, slots=True)
class Calldata:
    """Encoded ``execute``; ``signature_offset`` is where the signature goes, None without one."""

    data: bytes
    value: int
    signature_offset: int | None = None


def encode_swap(
    router_version: str,
    order: Order,
    hops: Sequence[SwapHop],
    deadline: int,
    permit: PermitSingle | None = None,
) -> Calldata:
    """Returns the calldata for the flow of ``hops``; without hops it wraps or unwraps.

    ``deadline`` is in Unix seconds. ``permit`` becomes the first command, with 65 zero bytes as signature.
    Raises ValueError when the hops are no flow of the order, or a value does not fit its type.
    """
    words = dialect(router_version)
    program = Program(words.command)
    if permit is not None:
        program.add("PERMIT2_PERMIT", permit.as_args(), bytes(65))
    if order.exact_out:
        made = exact_output_commands(words, order, hops)
    else:
        made = _Commands(words, order, hops).made
    for name, *args in made:
        if name == "V4_SWAP":
            actions = Program(words.action)
            for action, *values in args:
                actions.add(action, *values)
            args = [actions.bytes, actions.inputs]
        program.add(name, *args)
    execute = function(EXECUTE)
    data = execute.encode((program.bytes, program.inputs, deadline))
    return Calldata(
        data,
        order.amount_in + order.fee_amount if order.token_in == NATIVE else 0,
        None if permit is None else _signature_offset(data, program.inputs[0]),
    )


def work_of(router_version: str, order: Order, hops: Sequence[SwapHop]) -> Work:
    """Returns what the transaction of a flow does, without encoding it. Raises as ``encode_swap``."""
    words = dialect(router_version)
    return exact_output_work(words, order, hops) if order.exact_out else _Commands(words, order, hops).work


@dataclass(frozen=True, slots=True)
class _Swap:
    """A section with what it sells, and who gets at least how much of what it buys.

    ``amount`` is CONTRACT_BALANCE for all that the router holds of the token.
    """

    section: Section
    amount: int
    recipient: Address
    minimum: int = 0


class _Commands:
    """The commands of a flow, node by node: ``made`` are names with arguments, of a V4_SWAP its actions.

    ``_forms`` are the tokens of each node that the router holds: two where both forms of the native coin
    arrive.
    """

    def __init__(self, words: Dialect, order: Order, hops: Sequence[SwapHop]) -> None:
        self.made: list[tuple[Any, ...]] = []
        self._words = words
        self._order = order
        self._forms: dict[Address, set[Address]] = {}
        self._held: set[Address] = set()
        self._pulls = self._takes = 0
        self._add_all(hops)

    @property
    def work(self) -> Work:
        """Returns what the commands so far do."""
        names = Counter(name for name, *_ in self.made)
        v4_swaps, wraps, unwraps = (names[name] for name in ("V4_SWAP", "WRAP_ETH", "UNWRAP_WETH"))
        held, fees = len(self._held - {NATIVE}), names["PAY_PORTION"]
        return Work(self._pulls, v4_swaps, self._takes, wraps, unwraps, held, fees)

    def _add_all(self, hops: Sequence[SwapHop]) -> None:
        order = self._order
        if not hops:
            if {order.token_in, order.token_out} != {NATIVE, order.wrapped_native}:
                raise ValueError(f"without hops, {order.token_in} cannot become {order.token_out}")
            if order.fee is not None:
                raise ValueError("a fee is for swaps: wrapping has none")
            self._bring(order.token_out, order.amount_in, order.recipient, order.amount_out_min)
            return
        flow = Flow(hops, order.token_in, order.token_out, order.wrapped_native)
        for node, batches in flow:
            rest = CONTRACT_BALANCE if node != flow.start else self._unsold(batches)
            for batch in batches:
                swaps = [self._swap(flow, section, section.amount_in or rest) for section in batch]
                token, last = batch[0].token_in, batch is batches[-1]
                spent = sum(swap.amount for swap in swaps)
                if node != flow.start:
                    self._gather(node, token, CONTRACT_BALANCE if last else spent)
                elif token != order.token_in:
                    self._bring(token, spent, ADDRESS_THIS, 0)
                self._add_swaps(swaps, by_user=token == order.token_in != NATIVE)
                for swap in swaps:
                    if swap.recipient == ADDRESS_THIS:
                        bought = swap.section.token_out
                        self._forms.setdefault(flow.node(bought), set()).add(bought)
                        self._held.add(bought)
        self._pay_out(flow)

    def _add(self, name: str, *args: Any) -> None:
        self.made.append((name, *args))

    def _unsold(self, batches: Sequence[Sequence[Section]]) -> int:
        """Returns what the last leg out of the input sells: amounts of the input are known exactly."""
        rest = self._order.amount_in - sum(section.amount_in for batch in batches for section in batch)
        if rest <= 0:
            raise ValueError(f"the hops sell more than {self._order.amount_in} of {self._order.token_in}")
        return rest

    def _swap(self, flow: Flow, section: Section, amount: int) -> _Swap:
        order = self._order
        if flow.node(section.token_out) != flow.end or len(flow.arrivals) > 1 or order.fee is not None:
            return _Swap(section, amount, ADDRESS_THIS)
        recipient = order.recipient if section.token_out == order.token_out else ADDRESS_THIS
        return _Swap(section, amount, recipient, order.amount_out_min)

    # --- the native coin and its wrapped form -------------------------------------------------------------

    def _bring(self, token: Address, amount: int, recipient: Address, minimum: int) -> None:
        """Converts an amount of the input to its other form, ``token``."""
        if token == NATIVE:
            self._add("PERMIT2_TRANSFER_FROM", self._order.token_in, ADDRESS_THIS, amount)
            self._pulls += 1
            self._held.add(self._order.token_in)
        self._convert(token, amount, recipient, minimum)

    def _gather(self, node: Address, token: Address, amount: int) -> None:
        """Converts what the router holds at a node to ``token``; ``amount`` of it is about to be sold."""
        forms = self._forms[node]
        if forms == {token}:
            return
        if token != NATIVE and forms == {NATIVE} and amount != CONTRACT_BALANCE:
            self._convert(token, amount, ADDRESS_THIS, 0)
            return  # the rest is sold as the coin
        self._convert(token, CONTRACT_BALANCE, ADDRESS_THIS, 0)
        self._forms[node] = {token}

    def _convert(self, token: Address, amount: int, recipient: Address, minimum: int) -> None:
        """Wraps an amount of the coin, or unwraps all that the router holds."""
        if token == NATIVE:
            self._add("UNWRAP_WETH", recipient, minimum)
        else:
            self._add("WRAP_ETH", recipient, amount)
            if recipient == ADDRESS_THIS:
                self._held.add(token)

    def _pay_out(self, flow: Flow) -> None:
        """Pays the output that the router holds, the fee first, and enforces the minimum where the last swap
        did not.
        """
        order, forms = self._order, self._forms.get(flow.end, set())
        if not forms:
            return
        # WRAP_ETH enforces no minimum: the swap before it must.
        alone = order.token_out not in forms and (order.token_out == NATIVE or len(flow.arrivals) == 1)
        if alone and order.fee is None:
            self._convert(order.token_out, CONTRACT_BALANCE, order.recipient, order.amount_out_min)
            return
        if forms != {order.token_out}:
            self._convert(order.token_out, CONTRACT_BALANCE, ADDRESS_THIS, 0)
        if order.fee is not None:
            self._add("PAY_PORTION", order.token_out, order.fee.recipient, order.fee.bps)
        self._add("SWEEP", order.token_out, order.recipient, order.amount_out_min)

    # --- swaps --------------------------------------------------------------------------------------------

    def _add_swaps(self, swaps: Sequence[_Swap], *, by_user: bool) -> None:
        """Adds the swaps of one token. Those of v4 that follow each other are one command."""
        for is_v4, group in groupby(swaps, key=lambda swap: swap.section.kind == "v4"):
            if is_v4:
                self._add_v4([*group], by_user=by_user)
                continue
            for swap in group:
                hops = swap.section.hops
                tokens = [hops[0].token_in, *(hop.token_out for hop in hops)]
                path: Any = tokens
                if swap.section.kind == "v3":
                    path = address_bytes(tokens[0]) + b"".join(
                        hop.fee.to_bytes(3, "big") + address_bytes(hop.token_out) for hop in hops
                    )
                self._pulls += by_user
                args = [swap.recipient, swap.amount, swap.minimum, path, by_user]
                if self._words.min_hop_price:
                    args.append(())
                self._add(f"{swap.section.kind.upper()}_SWAP_EXACT_IN", *args)

    def _add_v4(self, swaps: Sequence[_Swap], *, by_user: bool) -> None:
        """Adds one V4_SWAP: it pays what all swaps sell, and takes what they buy for the same recipient."""
        all_held = swaps[-1].amount == CONTRACT_BALANCE
        settled = CONTRACT_BALANCE if all_held else sum(swap.amount for swap in swaps)
        paid = dict.fromkeys((swap.section.token_out, swap.recipient) for swap in swaps)
        self._pulls += by_user
        self._takes += len(paid)
        self._add(
            "V4_SWAP",
            ("SETTLE", swaps[0].section.token_in, settled, by_user),
            *(self._v4_swap(swap) for swap in swaps),
            *(("TAKE", token, recipient, OPEN_DELTA) for token, recipient in paid),
        )

    def _v4_swap(self, swap: _Swap) -> tuple[Any, ...]:
        hops = swap.section.hops
        first = hops[0]
        # Of all that the router held, what the swaps before this one have left is only known on chain.
        amount = OPEN_DELTA if swap.amount == CONTRACT_BALANCE else swap.amount
        if len(hops) > 1:
            path = [(hop.token_out, hop.fee, hop.tick_spacing, hop.hooks, b"") for hop in hops]
            limits = ((),) if self._words.hop_limits else ()
            return "SWAP_EXACT_IN", (first.token_in, path, *limits, amount, swap.minimum)
        currency0, currency1 = sorted_pair(first.token_in, first.token_out)
        key = (currency0, currency1, first.fee, first.tick_spacing, first.hooks)
        limit = (0,) if self._words.min_hop_price else ()
        zero_for_one = first.token_in == currency0
        return "SWAP_EXACT_IN_SINGLE", (key, zero_for_one, amount, swap.minimum, *limit, b"")


def _signature_offset(data: bytes, permit_input: bytes) -> int:
    """Returns where the 65 placeholder bytes start: the permit's input ends with them, padded to 96."""
    at = data.find(permit_input)
    if at < 0 or data.find(permit_input, at + 1) >= 0:
        raise ValueError("the calldata must contain the permit exactly once")
    return at + len(permit_input) - 96
