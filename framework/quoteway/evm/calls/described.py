"""Reads a call by its description: the values at the paths of its roles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cachetools import LRUCache

from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.evm.calls.descriptors import descriptor_of
from quoteway.evm.calls.meaning import (
    ACTIONS,
    Charge,
    Meaning,
    Payment,
    Reading,
    Sent,
    Unreadable,
    paid_as_coin,
)
from quoteway.models import NATIVE, Address, CallDescription

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_ARGUMENT = re.compile(r"#\.([A-Za-z_$][\w$]*)((?:\.\[(?:-?\d{1,3}|last)\])*)", re.ASCII)
_MEMBERS = frozenset({"@.value", "@.from", "@.to"})


class Described:
    """A function with a description."""

    def __init__(self, description: CallDescription) -> None:
        """Raises ``ValueError`` for an unknown action, a path that cannot be read, or one with two roles."""
        self.description = description
        self.function = function(description.declaration)
        self._descriptors: LRUCache[tuple[int, Address], str] = LRUCache(256)
        if description.action not in ACTIONS:
            raise ValueError(f"{description.action!r} is no action; actions are {', '.join(sorted(ACTIONS))}")
        roles: dict[str, str] = {}
        for role, path in self._roles():
            self._check_path(path)
            known = roles.setdefault(path, role)
            # An exchange of one for one takes and pays the same amount.
            if path.startswith("#") and role != known and {role, known} != {"maximum", "minimum"}:
                raise ValueError(f"{self.function.signature}: {path} is both {roles[path]} and {role}")

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        described = self.description

        def value(path: str | None) -> Any:
            return None if path is None else self._at(path, args, sent)

        def number(path: str | None) -> int | None:
            found = value(path)
            if found is not None and type(found) is not int:
                raise Unreadable(f"{path} is no number")
            return found

        def account(path: str | None) -> Address | None:
            return None if path is None else _account(path, value(path))

        for path in described.empty:
            if value(path):
                raise Unreadable(f"{path} is not empty")
        charges = tuple(
            Charge(account(roles.token), number(roles.amount) or 0, number(roles.minimum) or 0)
            for roles in described.spends
        )
        payments = tuple(
            Payment(
                account(roles.token),
                _account(roles.recipient, value(roles.recipient)),
                number(roles.minimum),
                number(roles.chain_id),
            )
            for roles in described.pays
        )
        deadline, offered_at = number(described.deadline), number(described.offered_at)
        if offered_at is not None:
            deadline = offered_at + described.accepted_s
        meaning = Meaning(
            described.action,
            paid_as_coin(charges, sent),
            payments,
            deadline,
            number(described.pays_until),
            account(described.refund),
            account(described.owner),
            {name: value(path) for name, path in described.members.items()},
        )
        return Reading(self.function.describe_decoded(args), meaning)

    def descriptor(self, chain_id: int, address: Address) -> str:
        """Returns the ERC-7730 descriptor of this function of a contract."""
        known = self._descriptors.get((chain_id, address))
        if known is None:
            known = descriptor_of(self.description, self.function, chain_id, address)
            self._descriptors[chain_id, address] = known
        return known

    def _roles(self) -> Iterator[tuple[str, str]]:
        """Yields each role with its path."""
        described = self.description
        for spent in described.spends:
            yield from _named(token=spent.token, maximum=spent.amount, minimum=spent.minimum)
        for paid in described.pays:
            yield from _named(
                token=paid.token, recipient=paid.recipient, minimum=paid.minimum, chain_id=paid.chain_id
            )
        yield from _named(
            deadline=described.deadline, offered_at=described.offered_at, pays_until=described.pays_until
        )
        yield from _named(refund=described.refund, owner=described.owner)
        yield from (("empty", path) for path in described.empty)
        yield from described.members.items()

    def _check_path(self, path: str) -> None:
        named = _ARGUMENT.fullmatch(path)
        if named is not None and named[1] not in self.function.names:
            raise ValueError(f"{self.function.signature} has no argument {named[1]}")
        if named is None and path not in _MEMBERS and _ADDRESS.fullmatch(path) is None:
            raise ValueError(f"{path!r} is no path such as #.amountIn, #.path.[-1] or @.value")

    def _at(self, path: str, args: Sequence[Any], sent: Sent) -> Any:
        match path:
            case "@.value":
                return sent.value
            case "@.from":
                return sent.sender
            case "@.to":
                return sent.to
        named = _ARGUMENT.fullmatch(path)
        if named is None:
            return path
        found = args[self.function.names.index(named[1])]
        for place in re.findall(r"-?\d+|last", named[2]):
            at = _last(found) if place == "last" else int(place)
            if not isinstance(found, tuple) or not -len(found) <= at < len(found):
                raise Unreadable(f"{path} has no item {place}")
            found = found[at]
        return found


def _last(items: Any) -> int:
    """Returns the place before the first item that is zero; where there is none, one that no item has."""
    padded = items if isinstance(items, tuple) else ()
    used = next((at for at, item in enumerate(padded) if _is_zero(item)), len(padded))
    return used - 1 if used else len(padded)


def _is_zero(item: Any) -> bool:
    return item in (0, NATIVE) or (isinstance(item, bytes) and not any(item))


def _named(**paths: str | None) -> Iterator[tuple[str, str]]:
    return ((role, path) for role, path in paths.items() if path is not None)


def _account(path: str, value: Any) -> Address:
    """Returns an address that is an ``address`` or the low bytes of a ``bytes32``."""
    if isinstance(value, bytes) and len(value) == 32 and not any(value[:12]):
        return checksum("0x" + value[12:].hex())
    if isinstance(value, str) and _ADDRESS.fullmatch(value):
        return checksum(value)
    raise Unreadable(f"{path} is no address")
