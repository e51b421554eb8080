"""A route as lines of a tree: its paths with their shares, and the pools of each with fee and amounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from quoteway_client.commands.text import amount, harmless, percent, short

if TYPE_CHECKING:
    from quoteway_client.models.shared import Hop, Route, TokenRef

T = TypeVar("T")


def tokens_of(route: Route) -> list[str]:
    """Returns the addresses of all tokens of a route, each once, in lower case."""
    hops = [hop for path in route.paths for hop in path.hops]
    return list(dict.fromkeys(each.lower() for hop in hops for each in (hop.token_in, hop.token_out)))


def route_lines(route: Route, tokens: Mapping[str, TokenRef]) -> Iterator[str]:
    """Yields the lines of a route. ``tokens`` has what is known of its tokens, by lower-case address."""
    for branch, below, path in _branches(route.paths):
        paid = _amount(path.hops[0].amount_in, path.hops[0].token_in, tokens) if path.hops else "nothing"
        yield f"{branch}{percent(path.bps)} of the input: {paid}"
        for inner, _, hop in _branches(path.hops):
            yield f"{below}{inner}{_pool(hop)} -> {_amount(hop.amount_out, hop.token_out, tokens)}"


def _pool(hop: Hop) -> str:
    fee = "not known" if hop.fee_bps is None else percent(hop.fee_bps)
    return f"{harmless(hop.protocol, 24)} {short(hop.pool)}, fee {fee}"


def _amount(units: int, address: str, tokens: Mapping[str, TokenRef]) -> str:
    token = tokens.get(address.lower())
    return f"{units} base units of {short(address)}" if token is None else amount(units, token)


def _branches(rows: Sequence[T]) -> Iterator[tuple[str, str, T]]:
    """Yields each row with the mark of its branch and what stands below it."""
    for index, row in enumerate(rows):
        yield ("`- ", "   ", row) if index == len(rows) - 1 else ("|- ", "|  ", row)
