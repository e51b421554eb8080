"""Sources of events: which logs of which contracts become which rows of the fact tables of an indexer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quoteway.models.tokens import Address

__all__ = ["ChildContracts", "EventRule", "EventSource"]


@dataclass(frozen=True, slots=True)
class EventRule:
    """How one event becomes a row of a fact table, or a row of each item of its arrays.

    ``event`` is its Solidity declaration with ``indexed``, such as ``Swap(address indexed sender, int256
    amount0)``; the parameters that columns take are of types of one word. ``fact`` is the table. ``columns``
    gives for each column the value: a parameter's name (``struct.member`` in a struct), ``-name``, ``name -
    other``, ``name + other``, an integer, or ``@`` for the contract that logged the event. A column that is
    left out is null.

    With ``name[]`` a column takes the items of an array, ``T[]`` or ``T[n]``, and with ``name[].member`` a
    member of each where they are structs. The log then makes a row of each item, and ``#`` is the item's
    place in its array, from 0. The arrays that columns take must have one length: a log with others is left
    out, as every log that does not fit its rule. Facts that have a column ``place`` may have such rows, and
    each rule gives it a value; without arrays a log makes one row.
    """

    event: str
    fact: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChildContracts:
    """The contracts that factories make: their addresses are a parameter of an event of the factories.

    ``event`` is its declaration, as in ``EventRule``, and ``parameter`` the one with the address.
    """

    factories: tuple[Address, ...]
    event: str
    parameter: str


@dataclass(frozen=True, slots=True)
class EventSource:
    """Logs of one protocol on one chain that an indexer keeps as rows of facts.

    ``id`` is unique on the chain, for example ``uniswap-v3``. The logs of ``addresses`` count, and those of
    the contracts that ``children`` makes; with neither, those of any contract. ``first_block`` is the first
    block that may have one. Increase ``version`` when the meaning of the rows changes: an indexer then reads
    this source again. ``family`` names the rules by which series are computed from the facts, for example
    ``concentrated``, and ``parameters`` are those of the family. ``usd_tokens`` are tokens that are meant to
    be worth a US dollar: an indexer compares them with each other and prices others in them. Through
    ``base_tokens`` it may price tokens that have no pool with one. With ``accounts``, only those logs count
    of which an indexed address is one of them.
    """

    id: str
    chain_id: int
    version: int
    rules: tuple[EventRule, ...]
    addresses: tuple[Address, ...] = ()
    children: ChildContracts | None = None
    first_block: int = 0
    family: str = ""
    parameters: Mapping[str, int] = field(default_factory=dict)
    usd_tokens: tuple[Address, ...] = ()
    base_tokens: tuple[Address, ...] = ()
    accounts: tuple[Address, ...] = ()
