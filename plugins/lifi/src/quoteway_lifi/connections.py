"""The tokens that LI.FI connects between two chains (``/connections``), as far as they can be listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cachetools import TTLCache
from quoteway import NATIVE, Address, BridgeRoute, Context, Token
from quoteway.evm.address import ERC7528_NATIVE, checksum

from quoteway_lifi.api import LifiApi

_KEPT_S = 3_600  # LI.FI's rate limits ask for these to be cached


class Connections:
    """Routes of one coin between two chains. LI.FI connects any token with any other, which would be millions
    of rows: rows are the tokens that the deployment lists on both chains under one ``coinKey``."""

    def __init__(self, context: Context, api: LifiApi, networks: frozenset[int]) -> None:
        self._context = context
        self._api = api
        self._networks = networks
        self._kept: TTLCache[tuple[int, int], Mapping[str, Any]] = TTLCache(256, _KEPT_S, timer=context.now)

    async def between(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        """Returns the routes between two given chains; none when one is missing: that takes a request per
        pair."""
        if from_chain_id is None or to_chain_id is None or from_chain_id == to_chain_id:
            return ()
        if not {from_chain_id, to_chain_id} <= self._networks:
            return ()
        body = await self._connections(from_chain_id, to_chain_id)
        mine = await self._listed(from_chain_id)
        theirs = await self._listed(to_chain_id)
        routes = {}
        for connection in _rows(body.get("connections")):
            arrivals: dict[str, Token] = {}
            for key, address in _coins(connection.get("toTokens"), to_chain_id):
                if address in theirs:
                    arrivals.setdefault(key, theirs[address])
            for key, address in _coins(connection.get("fromTokens"), from_chain_id):
                if address in mine and key in arrivals:
                    routes[address, arrivals[key].address] = BridgeRoute(
                        from_chain_id, to_chain_id, mine[address], arrivals[key], bridge="lifi", enabled=True
                    )
        return tuple(routes.values())

    async def _connections(self, from_chain_id: int, to_chain_id: int) -> Mapping[str, Any]:
        key = from_chain_id, to_chain_id
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = await self._api.get(
                "connections", {"fromChain": str(from_chain_id), "toChain": str(to_chain_id)}
            )
        return kept

    async def _listed(self, chain_id: int) -> Mapping[Address, Token]:
        listed = dict(await self._context.listed_tokens(chain_id))
        coin = await self._context.token(chain_id, NATIVE)
        return {**listed, NATIVE: coin} if coin is not None else listed


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _coins(tokens: Any, chain_id: int) -> list[tuple[str, Address]]:
    """Returns LI.FI's key of each coin, the same on all chains, with its address on this chain."""
    found = []
    for token in _rows(tokens):
        key, address = token.get("coinKey"), token.get("address")
        if token.get("chainId") != chain_id or not isinstance(key, str) or not isinstance(address, str):
            continue
        try:
            account = checksum(address)
        except ValueError:
            continue
        found.append((key, NATIVE if account == ERC7528_NATIVE else account))
    return found
