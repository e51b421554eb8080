"""Reads and simulations of a chain, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from quoteway.models.tokens import Address, Block

At: TypeAlias = Block | Literal["latest"]
"""The block to read at: a given block, or the newest block of the node."""

Overrides: TypeAlias = Mapping[Address, Mapping[str, Any]]
"""A JSON-RPC state override set: address -> ``balance``, ``code``, ``stateDiff``..., all in hex."""


@dataclass(frozen=True, slots=True)
class Call:
    """A read-only call, limited to ``gas`` gas units and ``max_output`` bytes of output."""

    to: Address
    data: bytes
    gas: int = 500_000
    max_output: int = 352


@dataclass(frozen=True, slots=True)
class NativeBalance:
    """A read of an account's native balance. The output is one 32-byte word."""

    account: Address


@dataclass(frozen=True, slots=True)
class CodeSize:
    """A read of the number of bytes of an account's code. The output is one 32-byte word; 0: no contract."""

    account: Address


Read = Call | NativeBalance | CodeSize


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The result of a call that reverted, ran out of gas or returned more than ``max_output`` bytes."""

    output: bytes
    too_long: bool = False


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """One transaction of a simulation. ``gas`` None: the remaining gas of the block."""

    sender: Address
    to: Address
    data: bytes = b""
    value: int = 0
    gas: int | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """An event. ``topics`` are 0x hex; the first is the event's signature hash."""

    address: Address
    topics: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class SimulatedResult:
    """The result of one transaction of a simulation.

    ``gas_used`` is after refunds, as in a receipt; ``peak_gas`` is before refunds, None if the node omits it.
    ``output`` is what the call returned, or its revert data. ``error`` is the node's error code when
    ``ok`` is False.
    """

    ok: bool
    gas_used: int
    output: bytes
    logs: tuple[Log, ...] = ()
    error: int | None = None
    peak_gas: int | None = None


class SimulationUnsupported(Exception):  # noqa: N818 - a fact about the node, not a failure
    """The node does not offer ``eth_simulateV1``. ``reason`` is a value for ``Simulation.skip_reason``."""

    def __init__(self, reason: str = "node_has_no_simulation") -> None:
        super().__init__(reason)
        self.reason = reason
