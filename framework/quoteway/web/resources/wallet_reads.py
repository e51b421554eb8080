"""Reads of a wallet on several networks at once: which networks and tokens, and what one that fails costs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from quoteway.errors import FieldError, GatewayError, Reason, UpstreamError, disabled
from quoteway.networks import Network
from quoteway.web.http.freshness import at_least_there
from quoteway.web.http.name_fields import TokensField
from quoteway.web.http.operation import Call
from quoteway.web.http.schema import invalid
from quoteway.web.wire.holdings import (
    Missing,
)

log = logging.getLogger("quoteway.portfolio")

T = TypeVar("T")

MAX_TOKENS = 1_000
"""Of one wallet, over all its networks."""

NO_TOKEN = "no_token"  # noqa: S105 - a reason, not a secret
TOKEN_LIMIT = "token_limit"  # noqa: S105


def tokens_field() -> TokensField:
    """The tokens that a wallet is asked about."""
    description = (
        f"Tokens separated by commas, at most {MAX_TOKENS} over all networks. The request line is limited "
        "too (`server.max_line_bytes`, 8,190: some 180 addresses). Left out: the tokens listed by this "
        "deployment, of which only those held are shown"
    )
    return TokensField(description, MAX_TOKENS)


def fair_shares(sizes: Mapping[int, int]) -> dict[int, int]:
    """How many tokens of each network are read: all where the list is short, the rest in equal parts."""
    shares, left = {}, MAX_TOKENS
    for place, chain_id in enumerate(sorted(sizes, key=lambda one: sizes[one])):
        shares[chain_id] = min(sizes[chain_id], left // (len(sizes) - place))
        left -= shares[chain_id]
    return shares


def networks_asked(call: Call, asked: Mapping[str, Any]) -> list[Network]:
    """The network that ``asked``, the body or query, names, or all.

    Raises ``InvalidRequest`` for too many tokens on them.
    """
    only: Network | None = asked.get("network")
    networks = [only] if only is not None else list(call.networks)
    if not networks:
        raise disabled("This deployment serves no network.")
    if len(asked.get("tokens", ())) * len(networks) > MAX_TOKENS:
        text = f"are more than {MAX_TOKENS} over {len(networks)} networks: name one network or fewer tokens"
        raise invalid(FieldError("tokens", Reason.OUT_OF_RANGE, text))
    return networks


async def read_each(
    call: Call,
    asked: Mapping[str, Any],
    networks: Sequence[Network],
    read: Callable[[int], Coroutine[Any, Any, T]],
) -> tuple[dict[int, T], list[Missing]]:
    """What ``read`` gives of each network, by chain id, and the networks that failed or were late.

    Raises ``UpstreamError`` when all did. ``asked`` is the body or query.
    """
    async with at_least_there(call.gateway, asked):
        reads = {
            network.chain_id: asyncio.create_task(read(network.chain_id), name=f"portfolio:{network.slug}")
            for network in networks
        }
    try:
        _, late = await asyncio.wait(reads.values(), timeout=call.gateway.config.quotes.competition_timeout_s)
    finally:
        for task in reads.values():
            task.cancel()
    found: dict[int, T] = {}
    missing: list[Missing] = []
    for chain_id, task in reads.items():
        failure = _failure(task, late=task in late)
        if failure is None:
            found[chain_id] = task.result()
        else:
            missing.append(Missing(chain_id, None, failure.value))
    if not found:
        text = "The wallet could not be read on any of the networks."
        raise UpstreamError(text, reason=Reason(missing[0].reason), retryable=True)
    return found, missing


def _failure(task: asyncio.Task[Any], *, late: bool) -> Reason | None:
    """Why a network has nothing to show; None when it has."""
    if late:
        return Reason.PROVIDER_TIMEOUT
    error = task.exception()
    if error is None:
        return None
    if isinstance(error, GatewayError):
        return error.reason or Reason.RPC_ERROR
    log.error("%s failed", task.get_name(), exc_info=error)
    return Reason.RPC_ERROR
