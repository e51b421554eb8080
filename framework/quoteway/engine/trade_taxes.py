"""Measures what buying and selling the unlisted tokens of quotes loses to taxes, and keeps it in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from cachetools import LRUCache

from quoteway.evm.token_text import display_name
from quoteway.guard.findings import is_address
from quoteway.host.refresh import Refresher, RefreshPolicy
from quoteway.host.runtime import Runtime
from quoteway.models import Address, Notice, Quote, Token, TradeTax
from quoteway.simulation.token_trades import trade_tax

FRESH_S = 600.0
"""The owner of a token can change its taxes."""
RETRY_S = 30.0
MOST_TOKENS = 4_096

_Key: TypeAlias = tuple[int, Address, Address]
"""Chain id, token and pool."""


class TradeTaxes:
    """The taxes of unlisted tokens, by simulation against a pool of the quote's route."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # A quote waits for the first measurement of a token only.
        first_wait_s = runtime.config.quotes.competition_timeout_s
        policy = RefreshPolicy(fresh_s=FRESH_S, retry_s=RETRY_S, first_wait_s=first_wait_s)
        self._taxes: Refresher[_Key, TradeTax | None] = Refresher(
            self._measure, policy, most_keys=MOST_TOKENS
        )
        self._latest: LRUCache[tuple[int, Address], _Key] = LRUCache(MOST_TOKENS)

    async def of(self, quote: Quote) -> tuple[TradeTax, ...]:
        """Returns the taxes of a quote's unlisted tokens. Leaves out those that are not known in time."""
        keys = [key for leg in (*quote.inputs, *quote.outputs) if (key := _key(leg.token, quote)) is not None]
        if not keys:
            return ()
        self._latest.update({(chain_id, token): (chain_id, token, pool) for chain_id, token, pool in keys})
        found = await self._taxes.get(keys)
        return tuple(kept.value for kept in found.values() if kept.value is not None)

    def known(self, chain_id: int, token: Address) -> TradeTax | None:
        """Returns what was measured last for a token, from memory."""
        key = self._latest.get((chain_id, token))
        return None if key is None else self._taxes.known(key).value

    async def close(self) -> None:
        """Stops measurements in progress."""
        await self._taxes.close()

    async def _measure(self, keys: Sequence[_Key]) -> dict[_Key, TradeTax | None]:
        ((chain_id, token, pool),) = keys
        chain = self._runtime.chain(chain_id)
        return {(chain_id, token, pool): await trade_tax(chain, token, pool, await chain.head())}


def _key(token: Token, quote: Quote) -> _Key | None:
    """Returns an unlisted token with a pool that holds it; None when the route names none by its address."""
    if token.listed or token.is_native:
        return None
    hops = (hop for path in quote.route or () for hop in path.hops)
    pools = (hop.pool for hop in hops if token.address in (hop.token_in, hop.token_out))
    pool = next(filter(is_address, pools), None)
    return None if pool is None else (token.chain_id, token.address, pool)


def tax_warnings(quote: Quote, taxes: Sequence[TradeTax]) -> tuple[Notice, ...]:
    """Returns a warning for each token that could not be sold."""
    tokens = {leg.token.address: leg.token for leg in (*quote.inputs, *quote.outputs)}
    return tuple(
        Notice("cannot_be_sold", f"A simulated sale of {display_name(tokens[tax.token])} failed.")
        for tax in taxes
        if tax.sellable is False
    )
