"""Finds the one listed token that a name means: a symbol, or the id of a profile in a catalog.

Catalogs are not trusted. A name that several listed tokens have means none of them, whoever lists them, and
the symbol of a network's coin always means the coin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoteway.errors import FieldError, GatewayError, Reason, TokenCandidate
from quoteway.evm.token_text import MAX_LISTED_SYMBOL_CHARS, shown_symbol
from quoteway.host.chain_tokens import CatalogToken
from quoteway.host.token_directory import TokenDirectory
from quoteway.models import NATIVE, Address
from quoteway.near_names import near_name
from quoteway.networks import Network

NAME_SIGNS = "[A-Za-z0-9.$+_\u20ae-]"
"""What names a token: the signs of symbols that may be shown, which ids have too. Signs that look like these
are refused."""
MAX_NAME_CHARS = 64

_NAME = re.compile(f"{NAME_SIGNS}+")

MOST_CANDIDATES = 8
"""How many tokens of one name are read from the chain and shown. With more, the name is ambiguous."""
_MOST_NEAR = 20


def is_token_name(text: str) -> bool:
    """Whether a text has the form of a symbol or id."""
    return len(text) <= MAX_NAME_CHARS and _NAME.fullmatch(text) is not None


async def token_named(tokens: TokenDirectory, network: Network, name: str) -> Address | FieldError:
    """Returns the address of the listed token that ``name`` means on a network, or why it means none.

    Candidates are found in memory. Those that were not used before are read from the chain, once, as for any
    token: a row with other decimals than the contract's does not count. Raises ``UpstreamError`` when a
    catalog of the network has not been read yet, since it may list another token of this name, and when the
    chain cannot be read.
    """
    if name.lower() == network.native_symbol.lower():
        return NATIVE
    rows = await tokens.named(network.chain_id, name)
    if len(rows) <= MOST_CANDIDATES:
        read = await tokens.find_all(network.chain_id, [row.token.address for row in rows])
        rows = [row for row in rows if (token := read.get(row.token.address)) is not None and token.listed]
    match rows:
        case []:
            hint = await _hint(tokens, network, name)
            text = f"names no listed token of {network.slug}.{hint}"
            return FieldError("", Reason.UNSUPPORTED_TOKEN, text)
        case [only]:
            return only.token.address
    return _ambiguous(network, rows)


def _ambiguous(network: Network, rows: Sequence[CatalogToken]) -> FieldError:
    shown = rows[:MOST_CANDIDATES]
    places = ", ".join(row.token.address for row in shown) + (", ..." if len(rows) > len(shown) else "")
    return FieldError(
        "",
        Reason.AMBIGUOUS_TOKEN,
        f"names {len(rows)} listed tokens of {network.slug}: give the address of the one meant ({places})",
        tuple(TokenCandidate(row.token.address, row.id, row.token.name) for row in shown),
    )


async def _hint(tokens: TokenDirectory, network: Network, name: str) -> str:
    """Returns a sentence with the listed symbol that was probably meant, else where to look."""
    try:
        search = (await tokens.searchable()).search
    except GatewayError:  # of a catalog that lists nothing there: the answer does not depend on it
        found: Sequence[int] = ()
    else:
        found, _ = search.find(name, network.chain_id, _MOST_NEAR)
    symbols = [
        symbol
        for at in found
        for token in search.profiles[at].contracts
        if token.chain_id == network.chain_id
        and (symbol := shown_symbol(token.symbol, MAX_LISTED_SYMBOL_CHARS)) is not None
        and symbol.lower() != name.lower()
    ]
    near = near_name(name, [network.native_symbol, *symbols])
    if near is not None:
        return f" Did you mean {near!r}?"
    return " Give its address; GET /v2/tokens?query= finds listed tokens."
