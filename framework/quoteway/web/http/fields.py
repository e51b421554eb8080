"""The kinds of request members: amounts, addresses, networks, strict integers, ids."""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from marshmallow import fields

from quoteway.errors import Reason
from quoteway.evm.address import is_native_alias, parse_address
from quoteway.models import MAX_UINT256, NATIVE, Address
from quoteway.networks import Network
from quoteway.web.http.schema import RequestSchema, refuse

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,77})")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")

ADDRESS: Mapping[str, str] = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Name:
    """A name that stands for an address in a request. Of ``places``, the members that may name the network on
    which it is a name, the first one that is given counts.
    """

    kind: Literal["token", "account"]
    text: str
    places: tuple[str, ...]


class Member(fields.Field[T], ABC):
    """A member of a request. ``description`` and ``schema`` are what the OpenAPI document says of it."""

    schema: Mapping[str, Any]

    def __init__(self, description: str, *, schema: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(metadata={**(schema or self.schema), "description": description}, **kwargs)

    @abstractmethod
    def parse(self, value: Any) -> T:
        """The value that the handler gets. Raises what ``refuse`` makes."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> T:
        return self.parse(value)

    def names(self, value: Any) -> Iterator[tuple[str, Name]]:
        """Yields the names in a value that ``parse`` accepts, with the words that say where: ``item 2 ``."""
        return iter(())

    def with_addresses(self, value: Any, found: Mapping[Name, Address]) -> Any:
        """Returns the value with addresses in place of its names."""
        return value


class Text(Member[str]):
    """Printable text of limited length."""

    def __init__(
        self, description: str, *, max_length: int = 100, pattern: str = "", hint: str = "", **kwargs: Any
    ) -> None:
        schema: dict[str, Any] = {"type": "string", "maxLength": max_length}
        if pattern:
            schema["pattern"] = f"^(?:{pattern})$"
        super().__init__(description, schema=schema, **kwargs)
        self.max_length = max_length
        self.pattern = re.compile(pattern) if pattern else None
        self.hint = hint

    def parse(self, value: Any) -> str:
        if not isinstance(value, str):
            raise refuse(Reason.INVALID_FORMAT, "must be a string")
        if len(value) > self.max_length:
            raise refuse(Reason.OUT_OF_RANGE, f"must have at most {self.max_length} characters")
        if not value.isprintable():
            raise refuse(Reason.INVALID_FORMAT, "must not contain control characters")
        if self.pattern is not None and not self.pattern.fullmatch(value):
            raise refuse(Reason.INVALID_FORMAT, self.hint or f"must match {self.pattern.pattern}")
        return value


class Choice(Member[str]):
    """One of a closed set of words."""

    reason = Reason.INVALID_FORMAT

    def __init__(self, description: str, choices: Sequence[str], **kwargs: Any) -> None:
        schema = {"type": "string", "maxLength": 100, "enum": list(choices)}
        super().__init__(description, schema=schema, **kwargs)
        self.choices = choices

    def parse(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise refuse(self.reason, f"must be one of: {', '.join(self.choices)}")
        return value


class Choices(Member[tuple[str, ...]]):
    """A list of words of a closed set. A word that is given twice counts once."""

    def __init__(self, description: str, choices: Sequence[str], **kwargs: Any) -> None:
        items = {"type": "string", "enum": list(choices)}
        schema = {"type": "array", "maxItems": len(choices), "items": items}
        super().__init__(description, schema=schema, **kwargs)
        self.choices = choices

    def parse(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or any(word not in self.choices for word in value):
            raise refuse(Reason.INVALID_FORMAT, f"must be a list of: {', '.join(self.choices)}")
        return tuple(dict.fromkeys(value))


class ListOf(Member[tuple[Any, ...]]):
    """A list of ``least`` to ``most`` values of one kind. A value that is given twice counts once."""

    def __init__(
        self,
        description: str,
        item: Member[Any],
        most: int,
        *,
        least: int = 0,
        example: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        of_items = {name: value for name, value in item.metadata.items() if name != "description"}
        bounds = {"minItems": least, "maxItems": most} if least else {"maxItems": most}
        shown = {"example": list(example)} if example else {}
        schema = {"type": "array", **bounds, "items": of_items, **shown}
        super().__init__(description, schema=schema, **kwargs)
        self.item, self.least, self.most = item, least, most

    def parse(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise refuse(Reason.INVALID_FORMAT, "must be a list")
        if not self.least <= len(value) <= self.most:
            raise refuse(Reason.OUT_OF_RANGE, f"must have {self.least} to {self.most} items")
        return tuple(dict.fromkeys(map(self.item.parse, value)))

    def names(self, value: Any) -> Iterator[tuple[str, Name]]:
        for at, item in enumerate(value, 1):
            for _, name in self.item.names(item):
                yield f"item {at} ", name

    def with_addresses(self, value: Any, found: Mapping[Name, Address]) -> Any:
        return [self.item.with_addresses(item, found) for item in value]


class QueryList(Member[tuple[Any, ...]]):
    """Values of one kind in a query string, separated by commas."""

    schema = {"type": "string"}

    def __init__(self, description: str, item: Member[Any], **kwargs: Any) -> None:
        super().__init__(f"{description}, separated by commas", **kwargs)
        self.item = item

    def _bind_to_schema(self, field_name: str, parent: Any) -> None:
        super()._bind_to_schema(field_name, parent)
        self.item = copy.copy(self.item)  # of one schema, as the field itself
        self.item._bind_to_schema(field_name, self)

    def parse(self, value: Any) -> tuple[Any, ...]:
        return tuple(map(self.item.parse, value.split(",")))


class Action(Choice):
    """One of the actions of a resource."""

    reason = Reason.UNSUPPORTED_ACTION


class Amount(Member[int | None]):
    """Base units as a decimal string. ``minimum`` 1 refuses "0"."""

    patterns = (r"^(0|[1-9][0-9]{0,77})$", r"^[1-9][0-9]{0,77}$")
    """By ``minimum``."""
    example = "1000000"

    def __init__(self, description: str, *, minimum: int = 0, **kwargs: Any) -> None:
        schema = {"type": "string", "pattern": self.patterns[minimum], "example": self.example}
        super().__init__(description, schema=schema, **kwargs)
        self.minimum = minimum

    def parse(self, value: Any) -> int | None:
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


class GasPrice(Amount):
    """Wei per unit of gas as a decimal string, below one coin."""

    patterns = (r"^(0|[1-9][0-9]{0,17})$",) * 2

    example = "30000000000"

    def parse(self, value: Any) -> int | None:
        price_wei = super().parse(value)
        if price_wei is not None and price_wei >= 10**18:
            raise refuse(Reason.OUT_OF_RANGE, "must be below 10^18 wei per unit of gas")
        return price_wei


class AmountOrMax(Amount):
    """An amount, or ``"max"`` for all there is (withdraw and remove), which is loaded as None."""

    patterns = (r"^(max|0|[1-9][0-9]{0,77})$",) * 2

    def parse(self, value: Any) -> int | None:
        return None if value == "max" else super().parse(value)


class AddressField(Member[str]):
    """An account or contract in any case, loaded in EIP-55. A wrong mixed-case checksum is refused.

    ``native`` allows the aliases of the native coin (zero address, 0xEeee…, ``native``), all loaded as the
    zero address; ``zero`` allows the zero address to mean "none".
    """

    def __init__(
        self,
        description: str,
        *,
        native: bool = False,
        zero: bool = False,
        schema: Mapping[str, Any] = ADDRESS,
        **kwargs: Any,
    ) -> None:
        super().__init__(description, schema=schema, **kwargs)
        self.native = native
        self.zero = zero

    def parse(self, value: Any) -> str:
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


class NetworkField(Member[Network]):
    """A network by slug, decimal chain id or ``eip155:N``."""

    schema = {
        "type": "string",
        "pattern": r"^(?:[a-z0-9]+(?:-[a-z0-9]+)*|[1-9][0-9]{0,19}|eip155:[1-9][0-9]{0,19})$",
        "example": "ethereum",
    }

    def parse(self, value: Any) -> Network:
        if not isinstance(value, str) or len(value) > 64:
            raise refuse(Reason.INVALID_FORMAT, "must be a network's name, chain id as a string, or eip155:N")
        networks = cast(RequestSchema, self.root).networks()
        network = networks.find(value)
        if network is None:
            hint = networks.suggestion(value)
            raise refuse(Reason.UNSUPPORTED_NETWORK, f"names no network of this deployment.{hint}")
        return network


class StrictInteger(Member[int]):
    """A JSON integer within bounds: no string, no boolean, no 1.0."""

    def __init__(
        self, description: str, low: int, high: int, *, example: int | None = None, **kwargs: Any
    ) -> None:
        schema: dict[str, Any] = {"type": "integer", "minimum": low, "maximum": high}
        if example is not None:
            schema["example"] = example
        super().__init__(description, schema=schema, **kwargs)
        self.low = low
        self.high = high

    def parse(self, value: Any) -> int:
        if type(value) is not int:  # bool is an int, and orjson reads 10^30 as a float
            raise refuse(Reason.INVALID_FORMAT, "must be an integer")
        return self.within(value)

    def within(self, value: int) -> int:
        if not self.low <= value <= self.high:
            raise refuse(Reason.OUT_OF_RANGE, f"must be between {self.low} and {self.high}")
        return value


class QueryInteger(StrictInteger):
    """An integer in a query string: plain decimal digits."""

    def parse(self, value: Any) -> int:
        if not isinstance(value, str) or not _INTEGER.fullmatch(value):
            raise refuse(Reason.INVALID_FORMAT, "must be an integer in decimal digits")
        return self.within(int(value))


class SlippageField(StrictInteger):
    """Basis points of 1/10,000."""

    def __init__(self, description: str) -> None:
        super().__init__(description, 0, 5_000, load_default=50)

    def parse(self, value: Any) -> int:
        if value == "auto":
            raise refuse(Reason.INVALID_FORMAT, 'must be an integer: "auto" is for swaps within one network')
        return super().parse(value)


class SlippageOrAuto(Member[int | None]):
    """A slippage, or ``"auto"`` for one that the gateway chooses, which is loaded as None."""

    def __init__(self, description: str) -> None:
        self._number = SlippageField(description)
        number = {name: self._number.metadata[name] for name in ("type", "minimum", "maximum")}
        schema = {"anyOf": [number, {"type": "string", "enum": ["auto"]}]}
        super().__init__(description, schema=schema, load_default=self._number.load_default)

    def parse(self, value: Any) -> int | None:
        return None if value == "auto" else self._number.parse(value)


class StrictBoolean(Member[bool]):
    """A JSON ``true`` or ``false``."""

    schema = {"type": "boolean"}

    def parse(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse(Reason.INVALID_FORMAT, "must be true or false")
        return value


class QueryBoolean(StrictBoolean):
    """``true`` or ``false`` in a query string."""

    def parse(self, value: Any) -> bool:
        return super().parse({"true": True, "false": False}.get(value, value))


class QueryNumber(Member[float]):
    """A plain non-negative decimal number in a query string."""

    schema = {"type": "number"}

    def parse(self, value: Any) -> float:
        if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", value, re.ASCII):
            raise refuse(Reason.INVALID_FORMAT, "must be a number such as 1000 or 0.5")
        return float(value)


class HexField(Member[bytes]):
    """0x-prefixed bytes of a length between bounds."""

    def __init__(self, description: str, low: int, high: int, **kwargs: Any) -> None:
        # Not by a count in the pattern: RE2 (Go) takes at most 1,000, and others compile what it repeats.
        schema = {
            "type": "string",
            "pattern": "^0x([0-9a-fA-F]{2})*$",
            "minLength": 2 + 2 * low,
            "maxLength": 2 + 2 * high,
        }
        super().__init__(description, schema=schema, **kwargs)
        self.low, self.high = low, high

    def parse(self, value: Any) -> bytes:
        if not isinstance(value, str) or not re.fullmatch(r"0x([0-9a-fA-F]{2})*", value, re.ASCII):
            raise refuse(Reason.INVALID_FORMAT, "must be 0x and an even number of hexadecimal digits")
        raw = bytes.fromhex(value[2:])
        if not self.low <= len(raw) <= self.high:
            expected = f"{self.low} bytes" if self.low == self.high else f"{self.low} to {self.high} bytes"
            raise refuse(Reason.OUT_OF_RANGE, f"must be {expected}")
        return raw
