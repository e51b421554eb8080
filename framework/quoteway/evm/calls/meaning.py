"""What a call means: what its contract takes, pays and enforces, read from its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quoteway.evm.address import address_bytes, create2_address, keccak256, unused_address
from quoteway.evm.permit2 import PermitSingle
from quoteway.models import NATIVE, Address, DecodedCall

ACTIONS = frozenset(
    {
        "swap",
        "transfer",
        "add",
        "remove",
        "collect",
        "deposit",
        "mint",
        "withdraw",
        "redeem",
        "deploy",
        "rebalance",
        "harvest",
        "claim",
        "pause",
        "unpause",
        "setFee",
        "setCap",
        "setOperator",
        "setBot",
        "addStrategy",
        "removeStrategy",
    }
)
"""What a call may do for its signer. The core has a sentence for each."""


CLEARER = unused_address("quoteway.evm.calls.clearer")
"""Sends the calls that clear a contract in a simulation, and gets what they take out."""


class Unreadable(ValueError):  # noqa: N818 - named as the guard's UnsafeAnswer
    """Calldata that is no canonical call of the contract, or does what no quote may do."""


@dataclass(frozen=True, slots=True)
class PairFactory:
    """A factory of v2 pairs: ``init_code_hash`` is the Keccak-256 hash of their creation code."""

    address: Address
    init_code_hash: bytes

    def pair_of(self, token: Address, other: Address) -> Address:
        """Returns where the pair of two tokens is. Source: UniswapV2Factory.createPair."""
        salt = keccak256(b"".join(sorted((address_bytes(token), address_bytes(other)))))
        return create2_address(self.address, salt, self.init_code_hash)


@dataclass(frozen=True, slots=True)
class Sent:
    """A transaction to read. ``wrapped_native`` is the wrapped native coin of its chain, where known, and
    ``pair_factories`` are the factories of v2 pairs there.
    """

    to: Address
    data: bytes
    value: int
    sender: Address
    wrapped_native: Address | None = None
    pair_factories: tuple[PairFactory, ...] = ()


@dataclass(frozen=True, slots=True)
class Charge:
    """What a call takes from its sender: at most ``maximum``, at least ``minimum``.

    ``token`` None: the calldata does not name it. The charges without a token are in the order of the
    tokens' addresses.
    """

    token: Address | None
    maximum: int
    minimum: int = 0


@dataclass(frozen=True, slots=True)
class Payment:
    """What a call pays, or else reverts. ``minimum`` None: the contract enforces none.

    ``token`` is as in ``Charge``. ``chain_id`` None: on the call's own chain.
    """

    token: Address | None
    recipient: Address
    minimum: int | None
    chain_id: int | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """A share of what a call has bought of a token, in basis points, that it pays before all else of it.

    The minimums of the call's payments are of what is left.
    """

    token: Address
    recipient: Address
    bps: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """An amount that a call passes on of what it takes from its sender: exactly this."""

    token: Address
    recipient: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a call does. ``members`` are named values that must be those of the request.

    ``deadline`` and ``pays_until`` are in Unix seconds: when the call begins to revert, and when nothing is
    paid on the other chain any more.
    ``permits`` are the Permit2 permits that it carries: a signature must be for one of them.
    ``clearing`` are calls (to, calldata) by which anybody takes out of contracts what others left there and
    this call would spend: what a router holds of the tokens of which it spends all, and what a v2 pair holds
    above its reserves. They pay ``CLEARER``.
    """

    action: str
    charges: tuple[Charge, ...] = ()
    payments: tuple[Payment, ...] = ()
    deadline: int | None = None
    pays_until: int | None = None
    refund: Address | None = None
    owner: Address | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    permits: tuple[PermitSingle, ...] = ()
    portions: tuple[Portion, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    clearing: tuple[tuple[Address, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A call decoded, and what it means.

    ``descriptor`` is its ERC-7730 descriptor; None for a call that a program reads, not a description.
    """

    decoded: DecodedCall
    meaning: Meaning
    descriptor: str | None = None


def paid_as_coin(charges: tuple[Charge, ...], sent: Sent) -> tuple[Charge, ...]:
    """Returns the charges with the wrapped coin as the native coin where the transaction's value pays it."""
    return tuple(
        Charge(NATIVE, charge.maximum, charge.minimum)
        if charge.token == sent.wrapped_native and sent.value and charge.maximum == sent.value
        else charge
        for charge in charges
    )
