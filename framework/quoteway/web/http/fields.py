"""The kinds of request members: amounts, addresses, networks, strict integers, ids."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from marshmallow import fields

from quoteway.errors import Reason
from quoteway.evm.address import is_native_alias, parse_address
from quoteway.models import MAX_UINT256, NATIVE
from quoteway.networks import Network
from quoteway.web.http.schema import RequestSchema, refuse

AMOUNT_PATTERN = r"^(0|[1-9][0-9]{0,77})$"
ADDRESS_PATTERN = r"^0x[0-9a-fA-F]{40}$"
NETWORK_PATTERN = r"^(?:[a-z0-9]+(?:-[a-z0-9]+)*|[1-9][0-9]{0,19}|eip155:[1-9][0-9]{0,19})$"

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,77})")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


F = TypeVar("F", bound="fields.Field[Any]")


def described(member: F, text: str) -> F:
    """The member with the words that the OpenAPI document has for it."""
    member.metadata = {**member.metadata, "description": text}
    return member


class Text(fields.String):
    """Printable text of limited length."""

    def __init__(
        self, *, max_length: int = 100, pattern: str | None = None, hint: str = "", **kwargs: Any
    ) -> None:
        metadata = {"maxLength": max_length, **kwargs.pop("metadata", {})}
        if pattern:
            metadata["pattern"] = f"^(?:{pattern})$"
        super().__init__(metadata=metadata, **kwargs)
        self.max_length = max_length
        self.pattern = re.compile(pattern) if pattern else None
        self.hint = hint

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise refuse(Reason.INVALID_FORMAT, "must be a string")
        if len(value) > self.max_length:
            raise refuse(Reason.OUT_OF_RANGE, f"must have at most {self.max_length} characters")
        if not value.isprintable():
            raise refuse(Reason.INVALID_FORMAT, "must not contain control characters")
        if self.pattern is not None and not self.pattern.fullmatch(value):
            raise refuse(Reason.INVALID_FORMAT, self.hint or f"must match {self.pattern.pattern}")
        return value


class Choice(Text):
    """One of a closed set of words."""

    def __init__(self, *choices: str, reason: Reason = Reason.INVALID_FORMAT, **kwargs: Any) -> None:
        super().__init__(metadata={"enum": list(choices)}, **kwargs)
        self.choices = choices
        self.reason = reason

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise refuse(self.reason, f"must be one of: {', '.join(self.choices)}")
        return value


class Amount(fields.Field[int]):
    """Base units as a decimal string. ``minimum`` 1 refuses "0"."""

    def __init__(self, *, minimum: int = 0, **kwargs: Any) -> None:
        pattern = AMOUNT_PATTERN if minimum == 0 else r"^[1-9][0-9]{0,77}$"
        super().__init__(metadata={"type": "string", "pattern": pattern, "example": "1000000"}, **kwargs)
        self.minimum = minimum

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        # the pattern, not int(): that takes full-width digits, underscores and spaces
        if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
            raise refuse(
                Reason.INVALID_FORMAT,
                'must be base units in a string of decimal digits such as "1000000", without sign or point',
            )
        amount = int(value)
        if amount < self.minimum:
            raise refuse(Reason.OUT_OF_RANGE, "must be greater than zero")
        if amount > MAX_UINT256:
            raise refuse(Reason.OUT_OF_RANGE, "must be at most 2^256 - 1")
        return amount


MAX = -1
"""What ``AmountOrMax`` loads for ``"max"``."""


class AmountOrMax(Amount):
    """An amount, or ``"max"`` for all there is (withdraw and remove)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata = {**self.metadata, "pattern": r"^(max|0|[1-9][0-9]{0,77})$"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        return MAX if value == "max" else super()._deserialize(value, attr, data, **kwargs)


class AddressField(fields.Field[str]):
    """An account or contract: any case in, EIP-55 out. A wrong mixed-case checksum is a typing error and
    refused.

    ``native`` allows the native coin's aliases (zero address, 0xEeee…, ``native``), all loaded as the zero
    address; ``zero`` allows the zero address to mean "none".
    """

    def __init__(self, *, native: bool = False, zero: bool = False, **kwargs: Any) -> None:
        pattern = r"^(native|0x[0-9a-fA-F]{40})$" if native else ADDRESS_PATTERN
        super().__init__(metadata={"type": "string", "pattern": pattern}, **kwargs)
        self.native = native
        self.zero = zero

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise refuse(Reason.INVALID_FORMAT, "must be a string")
        if self.native and is_native_alias(value):
            return NATIVE
        try:
            address = parse_address(value)
        except ValueError as error:
            raise refuse(Reason.INVALID_FORMAT, f"must be an address: {error}") from None
        if address == NATIVE and not self.zero:
            raise refuse(Reason.OUT_OF_RANGE, "must not be the zero address: nobody holds its key")
        return address


class NetworkField(fields.Field[Network]):
    """A network by slug, decimal chain id or ``eip155:N``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            metadata={"type": "string", "pattern": NETWORK_PATTERN, "example": "ethereum"}, **kwargs
        )

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Network:
        if not isinstance(value, str) or len(value) > 64:
            raise refuse(Reason.INVALID_FORMAT, "must be a network's name, chain id as a string, or eip155:N")
        root = self.root
        assert isinstance(root, RequestSchema)
        network = root.networks.find(value)
        if network is None:
            hint = root.networks.suggestion(value)
            raise refuse(Reason.UNSUPPORTED_NETWORK, f"names no network of this deployment.{hint}")
        return network


class StrictInteger(fields.Integer):
    """A JSON integer within bounds: no string, no boolean, no 1.0."""

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(strict=True, metadata={"minimum": low, "maximum": high}, **kwargs)
        self.low = low
        self.high = high

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if type(value) is not int:  # bool is an int, and orjson reads 10^30 as a float
            raise refuse(Reason.INVALID_FORMAT, "must be an integer")
        return self.within(value)

    def within(self, value: int) -> int:
        if not self.low <= value <= self.high:
            raise refuse(Reason.OUT_OF_RANGE, f"must be between {self.low} and {self.high}")
        return value


class QueryInteger(StrictInteger):
    """An integer in a query string: plain decimal digits."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if not isinstance(value, str) or not _INTEGER.fullmatch(value):
            raise refuse(Reason.INVALID_FORMAT, "must be an integer in decimal digits")
        return self.within(int(value))


class StrictBoolean(fields.Boolean):
    """A JSON ``true`` or ``false``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse(Reason.INVALID_FORMAT, "must be true or false")
        return value


class QueryBoolean(fields.Boolean):
    """``true`` or ``false`` in a query string."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if value not in ("true", "false"):
            raise refuse(Reason.INVALID_FORMAT, "must be true or false")
        return bool(value == "true")


class QueryNumber(fields.Float):
    """A plain non-negative decimal number in a query string."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", value, re.ASCII):
            raise refuse(Reason.INVALID_FORMAT, "must be a number such as 1000 or 0.5")
        return float(value)


class SlippageField(StrictInteger):
    """Basis points of 1/10,000."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(0, 5_000, load_default=50, **kwargs)


class HexField(fields.Field[bytes]):
    """0x-prefixed bytes of a length between bounds."""

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        pattern = rf"^0x([0-9a-fA-F]{{2}}){{{low},{high}}}$"
        super().__init__(metadata={"type": "string", "pattern": pattern}, **kwargs)
        self.low, self.high = low, high

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bytes:
        if not isinstance(value, str) or not re.fullmatch(r"0x([0-9a-fA-F]{2})*", value, re.ASCII):
            raise refuse(Reason.INVALID_FORMAT, "must be 0x and an even number of hexadecimal digits")
        raw = bytes.fromhex(value[2:])
        if not self.low <= len(raw) <= self.high:
            expected = f"{self.low} bytes" if self.low == self.high else f"{self.low} to {self.high} bytes"
            raise refuse(Reason.OUT_OF_RANGE, f"must be {expected}")
        return raw
