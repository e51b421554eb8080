"""A token's facts from the chain. They are cached; absence and supply for a short time only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache, TTLCache
from quoteway import Context, Token
from quoteway.evm.chain import Call
from quoteway.evm.erc20 import TOTAL_SUPPLY, token_facts, word
from quoteway.evm.units import format_units

from quoteway_tokenlist.index import Key

ABSENT_S = 30.0
"""How long absence is cached: a token may be deployed in the next block."""
SUPPLY_S = 60.0
MAX_TOKENS = 20_000


@dataclass(frozen=True, slots=True)
class Supply:
    """A total supply in whole tokens, as decimal text, and the time of the read (Unix seconds)."""

    whole: str
    read_at: int


class ChainFacts:
    """Reads tokens of served networks. ``Chain`` shares identical concurrent reads."""

    def __init__(self, context: Context) -> None:
        clock: Callable[[], float] = context.runtime.clock
        self._context = context
        # The EIP-20 facts of a deployed token do not change, and quotes must not wait for them again.
        self._tokens: LRUCache[Key, Token] = LRUCache(MAX_TOKENS)
        self._absent: TTLCache[Key, None] = TTLCache(MAX_TOKENS, ABSENT_S, timer=clock)
        self._supplies: TTLCache[Key, Supply] = TTLCache(MAX_TOKENS, SUPPLY_S, timer=clock)

    async def token(self, key: Key) -> Token | None:
        """Returns the token as its contract describes it; None when it is not an ERC-20 token.

        Raises ``UpstreamError`` when no node answers, ``ProviderUnavailable`` when the network has no RPC
        upstream.
        """
        found = self._tokens.get(key)
        if found is not None or key in self._absent:
            return found
        chain_id, address = key
        chain = self._context.chain(chain_id)
        read = await token_facts(chain, address)
        if read is None:
            self._absent[key] = None
            return None
        self._tokens[key] = read
        return read

    async def supply(self, token: Token) -> Supply | None:
        """Returns ``totalSupply()`` in whole tokens; None when the contract has none. Raises as ``token``."""
        key = token.chain_id, token.address
        if key not in self._supplies:
            chain = self._context.chain(token.chain_id)
            (output,) = await chain.call_many([Call(token.address, TOTAL_SUPPLY.encode([]))])
            supply = word(output)
            if supply is None:
                return None
            whole = format_units(supply, token.decimals)
            self._supplies[key] = Supply(whole, self._context.now())
        return self._supplies[key]
