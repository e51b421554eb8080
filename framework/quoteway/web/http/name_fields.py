"""The members of requests that take a name in place of an address.

A schema checks the form of a name only, and loads it as it is. ``web.http.names`` puts the address in its
place before a handler sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quoteway.errors import Reason
from quoteway.evm import asset_ids
from quoteway.evm.address import is_native_alias
from quoteway.evm.ens import is_normal
from quoteway.host.token_names import MAX_NAME_CHARS, NAME_SIGNS, is_token_name
from quoteway.models import Address
from quoteway.web.http.fields import AddressField, Member, Name
from quoteway.web.http.schema import refuse

_PATTERN = f"{asset_ids.ADDRESS}|{asset_ids.PATTERN}|{NAME_SIGNS}{{1,{MAX_NAME_CHARS}}}"
_ACCOUNT_NAME = "[a-z0-9_-]+([.][a-z0-9_-]+)+"
NAMES = "by the symbol or id of a listed token, or a CAIP-19 id"


def is_named_token(text: str) -> bool:
    """Whether a text has the form of a symbol or id of a token, or of a CAIP-19 id. Raises ``ValueError`` for
    a wrong EIP-55 checksum in one.
    """
    if text.startswith("0x"):
        return False
    return is_token_name(text) or asset_ids.parse_asset_id(text) is not None


class TokenField(AddressField):
    """A token: its address, a CAIP-19 id, ``{chainId}:{address}``, or the symbol or id of a listed token.

    ``native`` allows the native coin too. A text that begins with ``0x`` is always an address. ``places`` are
    those of ``Name``.
    """

    def __init__(
        self,
        description: str,
        *,
        native: bool = False,
        zero: bool = False,
        places: tuple[str, ...] = ("network",),
        **kwargs: Any,
    ) -> None:
        coin = "`native` or the zero address for the native coin, " if native else ""
        schema = {"type": "string", "pattern": f"^({'native|' if native else ''}{_PATTERN})$"}
        text = f"{description}; by address, {coin}{NAMES}"
        super().__init__(text, native=native, zero=zero, schema=schema, **kwargs)
        self.places = places

    def parse(self, value: Any) -> Address:
        if not isinstance(value, str) or value.startswith("0x") or is_native_alias(value):
            return super().parse(value)
        try:
            if is_named_token(value):
                return value
        except ValueError as error:
            raise refuse(Reason.INVALID_FORMAT, f"must be a CAIP-19 id: {error}") from None
        raise refuse(Reason.INVALID_FORMAT, f"must be a token {NAMES}, or an address")

    def names(self, value: Any) -> Iterator[tuple[str, Name]]:
        if not (value.startswith("0x") or is_native_alias(value)):
            yield "", Name("token", value, self.places)

    def with_addresses(self, value: Any, found: Mapping[Name, Address]) -> Any:
        return next((found[name] for _, name in self.names(value)), value)


class AccountField(AddressField):
    """An account: its address, or its name where the network has the Ethereum Name Service. ``places`` are
    those of ``Name``.
    """

    def __init__(
        self, description: str, *, places: tuple[str, ...] = ("network",), zero: bool = False, **kwargs: Any
    ) -> None:
        schema = {"type": "string", "pattern": f"^({asset_ids.ADDRESS}|{_ACCOUNT_NAME})$"}
        super().__init__(f"{description}. Address or ENS name", zero=zero, schema=schema, **kwargs)
        self.places = places

    def parse(self, value: Any) -> Address:
        if not isinstance(value, str) or not _has_labels(value):
            return super().parse(value)
        if not is_normal(value):
            text = "must be a name of a-z, 0-9, - and _ in the normal form of ENSIP-15, or an address"
            raise refuse(Reason.INVALID_FORMAT, text)
        return value

    def names(self, value: Any) -> Iterator[tuple[str, Name]]:
        if _has_labels(value):
            yield "", Name("account", value, self.places)

    def with_addresses(self, value: Any, found: Mapping[Name, Address]) -> Any:
        return next((found[name] for _, name in self.names(value)), value)


def _has_labels(text: str) -> bool:
    return "." in text and not text.startswith("0x")


class TokensField(Member[tuple[Address, ...]]):
    """Comma-separated tokens of ``network``, each as a ``TokenField`` takes it."""

    def __init__(self, description: str, most: int, **kwargs: Any) -> None:
        forms = f"by address, `native` or the zero address for the native coin, and with `network` {NAMES}"
        schema = {"type": "string", "maxLength": 101 * most}
        super().__init__(f"{description}; {forms}", schema=schema, **kwargs)
        self._most = most
        self._item = TokenField("A token", native=True, zero=True)

    def parse(self, value: Any) -> tuple[Address, ...]:
        parts = str(value).split(",")
        if len(parts) > self._most:
            raise refuse(Reason.OUT_OF_RANGE, f"must name at most {self._most} tokens")
        return tuple(dict.fromkeys(map(self._item.parse, parts)))

    def names(self, value: Any) -> Iterator[tuple[str, Name]]:
        for at, part in enumerate(value.split(","), 1):
            for _, name in self._item.names(part):
                yield f"item {at} ", name

    def with_addresses(self, value: Any, found: Mapping[Name, Address]) -> Any:
        return ",".join(self._item.with_addresses(part, found) for part in value.split(","))
