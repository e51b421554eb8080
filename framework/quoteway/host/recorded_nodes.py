"""Answers chain reads from a recording, as a plugin with one RPC upstream."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from quoteway.context import Context
from quoteway.errors import ProviderUnavailable, Reason, RpcError, UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.host.recording import Key, is_of_one_block, read_key, reads_in, without_block
from quoteway.models import Address, Token, TokenProfile, TokenRows
from quoteway.networks import Network
from quoteway.providers import Provider, RpcUpstream, TokenCatalog

Outcomes = Iterable[tuple[Key, Mapping[str, Any]]]
Ask = Callable[[int, str, Sequence[Any]], Awaitable[Mapping[str, Any] | None]]
"""Sends a read, given by chain id, method and parameters. Returns its outcome, None when it cannot be had."""


class RecordedNodes(RpcUpstream):
    """Gives to each read what came of it when it was recorded, faults included.

    A request's own reads are given in their order, the last one again and again. Another read gets the
    newest outcome at any block that the recorded process knew: what its memory held came from that.
    ``missing`` names the reads of which nothing was recorded; they fail. With ``ask`` those of a given
    block are sent to it first, and ``added`` has what came of them.
    """

    id, title = "recorded-nodes", "Nodes as they were recorded"

    def __init__(
        self, networks: Iterable[Network], own: Outcomes, known: Outcomes, ask: Ask | None = None
    ) -> None:
        self.networks = frozenset(network.chain_id for network in networks)
        self._own: dict[Key, list[Mapping[str, Any]]] = defaultdict(list)
        for key, outcome in own:
            self._own[key].append(outcome)
        self._known = dict(known)
        self._at_any_block = {without_block(key): outcome for key, outcome in self._known.items()}
        self._given: dict[Key, int] = defaultdict(int)
        self.missing: list[str] = []
        self.added: dict[Key, Mapping[str, Any]] = {}
        self._ask = ask

    def rewind(self) -> None:
        """Begins again with the first outcome of each read."""
        self._given.clear()
        self.missing.clear()

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        key = read_key(network.chain_id, method, params)
        outcome = self._next(key) or self._known.get(key) or self._at_any_block.get(without_block(key))
        outcome = outcome or self._assembled(key)
        if outcome is None and self._ask is not None and is_of_one_block(key):
            outcome = await self._ask(network.chain_id, method, params)
            if outcome is not None:
                self._known[key] = self.added[key] = outcome
        if outcome is None:
            self.missing.append(f"{method} on {network.slug} with {key[2][:200]}")
            raise UpstreamError("The recording has no answer to this read.", reason=Reason.RPC_ERROR)
        if "result" in outcome:
            return outcome["result"]
        return await _fail(outcome["error"], timeout_s)

    def _assembled(self, key: Key) -> Mapping[str, Any] | None:
        """Returns the result of a batch whose reads were all recorded in other batches."""
        asked = reads_in(key)
        parts = [self._known.get(part) or self._at_any_block.get(without_block(part)) for part in asked]
        if not parts or None in parts:
            return None
        return {"result": "0x" + "".join(part["result"] for part in parts if part is not None)}

    def _next(self, key: Key) -> Mapping[str, Any] | None:
        outcomes = self._own.get(key)
        if not outcomes:
            return None
        place = min(self._given[key], len(outcomes) - 1)
        self._given[key] += 1
        return outcomes[place]


async def _fail(error: Mapping[str, Any], timeout_s: float) -> None:
    """Fails as the recorded read did. One that was given up waits until it is given up."""
    kind = error.get("kind")
    if kind == "rpc":
        raise RpcError(error["code"], error["message"], error["data"])
    if kind == "no_answer":
        await asyncio.sleep(timeout_s)
        raise UpstreamError("No node answered in time.", reason=Reason.PROVIDER_TIMEOUT)
    reason = None if error.get("reason") is None else Reason(error["reason"])
    failure = ProviderUnavailable if kind == ProviderUnavailable.code else UpstreamError
    raise failure("The recorded node failed.", reason=reason, retryable=error.get("retryable"))


class RecordedTokens(TokenCatalog):
    """Lists what a catalog of the recorded deployment listed, without what it would read from the chain."""

    title = "Tokens as they were listed"

    def __init__(self, provider_id: str, rows: TokenRows, networks: Iterable[Network]) -> None:
        self.id = provider_id
        self._profiles = rows
        self.networks = frozenset(network.chain_id for network in networks)
        self._tokens = {
            (token.chain_id, token.address): token for profile in rows for token in profile.contracts
        }

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        if chain_id is None:
            return self._profiles
        return [p for p in self._profiles if any(token.chain_id == chain_id for token in p.contracts)]

    async def profile(self, token_id: str) -> TokenProfile | None:
        return next((each for each in self._profiles if each.id == token_id), None)

    async def token(self, chain_id: int, address: Address) -> Token | None:
        return self._tokens.get((chain_id, address))


class RecordedChain:
    """The plugin that stands for nodes, networks and token lists in a replay."""

    def __init__(
        self, networks: Sequence[Network], nodes: RecordedNodes, catalogs: Mapping[str, TokenRows]
    ) -> None:
        self._networks = networks
        self._nodes = nodes
        self._catalogs = [RecordedTokens(name, rows, networks) for name, rows in catalogs.items()]

    @hookimpl
    def quoteway_networks(self, context: Context) -> Iterable[Network]:
        return self._networks

    @hookimpl
    def quoteway_rpc_upstreams(self, context: Context) -> Iterable[Provider]:
        return [self._nodes]

    @hookimpl
    def quoteway_token_catalogs(self, context: Context) -> Iterable[Provider]:
        return self._catalogs
