"""Reads a Token List document. Each entry is checked strictly; a bad one is skipped.

Source: Token Lists JSON schema (``tokenlist.schema.json`` of the package ``@uniswap/token-lists``). An entry
accepted here is accepted by that schema, apart from its tags and extensions. The reverse does not hold:
lists are untrusted data, so only EVM addresses, EIP-55 checksums in mixed case, and text without look-alikes
are accepted.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import orjson
from quoteway import TokenRows
from quoteway.evm.address import is_native_alias, parse_listed_address

from quoteway_tokenlist.ids import best_id

_T = TypeVar("_T")

MAX_TOKENS = 10_000
MAX_SYMBOL = 20
MAX_NAME = 60
MAX_TAGS = 10
MAX_CHAIN_ID = 1 << 53  # more is not exact in every JSON reader
LAST_SECOND = 253_402_300_799  # of the year 9999

_MEMBERS = frozenset({"chainId", "address", "decimals", "name", "symbol", "logoURI", "tags", "extensions"})
_HEX_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_TAG = re.compile(r"[A-Za-z0-9_]{1,10}")
_LOGO = re.compile(r"(?:https?|ipfs|ipns|ar)://[\x21-\x7e]{1,2000}")
# Letters beyond ASCII, combining marks, bidirectional and zero-width characters let one token look like
# another. The one other sign is the tugrik sign, which Tether itself has in its symbol on some chains.
_PLAIN = re.compile("[\x20-\x7e\u20ae]*")


class ListError(Exception):
    """The document cannot be read or used. The message is for the operator's log."""


class _Document(msgspec.Struct):
    """The members of a list that are read."""

    name: Any = None
    version: Any = None
    timestamp: Any = None
    tokens: msgspec.Raw = msgspec.Raw(b"null")


class EntryError(Exception):
    """One token of a list cannot be used. The argument is a short code."""


class ListedToken(msgspec.Struct, frozen=True, gc=False):
    """One token as a list describes it. ``updated_at`` is the list's own timestamp, Unix seconds."""

    chain_id: int
    address: str
    decimals: int
    symbol: str
    name: str
    logo_uri: str | None
    tags: tuple[str, ...]
    updated_at: int


@dataclass(frozen=True, slots=True)
class TokenList:
    """A list's usable tokens in its order, and the number of skipped ones by reason.

    ``rows`` has each as the packed profile that it has when no other token competes for its id. ``digest`` is
    of the document: lists with the same one are equal.
    """

    rows: TokenRows
    skipped: Mapping[str, int]
    digest: str

    @staticmethod
    def of(tokens: Iterable[ListedToken], skipped: Mapping[str, int], digest: str) -> TokenList:
        return TokenList(TokenRows(tuple(map(packed, tokens))), skipped, digest)

    @property
    def tokens(self) -> tuple[ListedToken, ...]:
        """Returns the tokens, made anew."""
        return tuple(map(unpacked, self.rows.packed))


def packed(token: ListedToken, token_id: str | None = None) -> bytes:
    """Returns a token as a packed profile: with the best id that it can have, if none is given."""
    return TokenRows.pack_listed(
        best_id(token.symbol, token.address) if token_id is None else token_id,
        token.chain_id,
        token.address,
        token.decimals,
        token.symbol,
        token.name,
        token.logo_uri,
        token.tags,
        token.updated_at,
    )


def unpacked(row: bytes) -> ListedToken:
    """Returns the token of a row that ``packed`` made."""
    found = TokenRows.unpack(row)
    (contract,) = found.contracts
    return ListedToken(
        chain_id=contract.chain_id,
        address=contract.address,
        decimals=contract.decimals,
        symbol=found.symbol,
        name=found.name,
        logo_uri=found.logo_uri,
        tags=tuple(found.tags),
        updated_at=found.updated_at,
    )


def plain_text(text: str | None, limit: int) -> str | None:
    """Returns ``text`` if it has at most ``limit`` printable ASCII characters or U+20AE, else None."""
    if text is None or len(text) > limit or not _PLAIN.fullmatch(text):
        return None
    return text.strip() or None


def parse_list(body: bytes) -> TokenList:
    """Reads a Token List. Raises ``ListError`` when it is invalid or has no usable token."""
    document = _decoded(body, _Document)
    if not isinstance(document.name, str) or not _is_version(document.version):
        raise ListError("it has no name or no version, so it is not a Token List")
    updated_at = _timestamp(document.timestamp)
    entries = _entries(document.tokens)
    rows = []
    skipped: Counter[str] = Counter()
    for entry in entries:
        try:
            # One at a time: the objects of a long list would keep the interpreter's lock and memory.
            rows.append(packed(parse_entry(orjson.loads(memoryview(entry)), updated_at)))
        except EntryError as refused:
            skipped[str(refused)] += 1
        except orjson.JSONDecodeError as error:
            raise ListError("it is not JSON") from error
    if not rows:
        raise ListError(f"none of its tokens is usable ({counted(skipped)})")
    return TokenList(TokenRows(tuple(rows)), dict(skipped), hashlib.sha256(body).hexdigest())


def _decoded(body: bytes | msgspec.Raw, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise ListError("it is not a JSON object") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ListError("it is not JSON") from error


def _entries(tokens: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        entries = _decoded(tokens, list[msgspec.Raw])
    except ListError:
        entries = []
    if not 1 <= len(entries) <= MAX_TOKENS:
        raise ListError(f"its tokens must be an array of 1 to {MAX_TOKENS} entries")
    return entries


def counted(skipped: Mapping[str, int]) -> str:
    """Returns skipped entries as text: ``3 look_alike, 1 not_evm``."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items())) or "none"


def parse_entry(entry: Any, updated_at: int) -> ListedToken:
    """Reads one token of a list. Raises ``EntryError`` with the reason's code."""
    if not isinstance(entry, dict) or not entry.keys() <= _MEMBERS:
        raise EntryError("bad_shape")
    chain_id, decimals = entry.get("chainId"), entry.get("decimals")
    if type(chain_id) is not int or not 1 <= chain_id <= MAX_CHAIN_ID:
        raise EntryError("bad_chain_id")
    if type(decimals) is not int or not 0 <= decimals <= 255:
        raise EntryError("bad_decimals")
    extensions = entry.get("extensions", {})
    if not isinstance(extensions, dict) or len(extensions) > 10:
        raise EntryError("bad_extensions")
    return ListedToken(
        chain_id=chain_id,
        address=_address(entry.get("address")),
        decimals=decimals,
        symbol=_symbol(entry.get("symbol")),
        name=_name(entry.get("name")),
        logo_uri=_logo(entry.get("logoURI", "")),
        tags=_tags(entry.get("tags", [])),
        updated_at=updated_at,
    )


def _address(value: Any) -> str:
    if not isinstance(value, str) or not _HEX_ADDRESS.fullmatch(value):
        raise EntryError("not_evm")
    if is_native_alias(value):
        raise EntryError("native_coin")  # networks describe their native coin
    try:
        return parse_listed_address(value)
    except ValueError as error:
        raise EntryError("bad_checksum") from error


def _symbol(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_SYMBOL:
        raise EntryError("bad_symbol")
    if plain_text(value, MAX_SYMBOL) is None:
        raise EntryError("look_alike")
    if " " in value:
        raise EntryError("bad_symbol")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise EntryError("bad_name")
    if not _PLAIN.fullmatch(value):
        raise EntryError("look_alike")
    return value.strip()


def _logo(value: Any) -> str | None:
    """Returns the logo's URL; None when it is invalid, which does not skip the token."""
    if not isinstance(value, str):
        raise EntryError("bad_logo")
    return value if _LOGO.fullmatch(value) else None


def _tags(value: Any) -> tuple[str, ...]:
    """Returns the valid tags. "unlisted" is reserved for this catalog."""
    if not isinstance(value, list):
        raise EntryError("bad_tags")
    good = (tag for tag in value if isinstance(tag, str) and _TAG.fullmatch(tag) and tag != "unlisted")
    return tuple(dict.fromkeys(good))[:MAX_TAGS]


def _is_version(value: Any) -> bool:
    parts = ("major", "minor", "patch")
    return isinstance(value, dict) and all(type(value.get(p)) is int and value[p] >= 0 for p in parts)


def _timestamp(value: Any) -> int:
    """Reads an RFC 3339 time; one without an offset is UTC."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ListError("its timestamp is not an RFC 3339 time") from error
    seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if not 0 <= seconds <= LAST_SECOND:
        raise ListError("its timestamp is not between the years 1970 and 9999")
    return seconds
