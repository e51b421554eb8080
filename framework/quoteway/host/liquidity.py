"""What plugins contribute to routing: asked through the door of providers' calls, checked, kept by block."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import cast

from cachetools import LRUCache, TTLCache

from quoteway.errors import Reason, UpstreamError
from quoteway.evm.address import parse_address
from quoteway.evm.single_flight import SingleFlight
from quoteway.host.registry import Registry
from quoteway.host.states import PLUGIN_ERRORS
from quoteway.models import Address, Block, Capability, FlowOrder, LiquidityPool, PoolsFound, Step, Token
from quoteway.providers import Executor, LiquiditySource

log = logging.getLogger("quoteway.host.liquidity")

MOST_POOLS = 1_000
"""The most pools that a source may give for two tokens."""
MOST_ID_CHARS = 66
ASKED_AGAIN_S = 600.0
"""How long it is remembered that an executor refuses a chain, or does not."""
_KEPT = 128
"""How many answers of sources are kept: one for each source, block and two tokens."""
_METHODS = ("exact_in", "exact_out", "mid_price", "swap_fee_pips", "curve")

Pools = tuple[LiquidityPool, ...]


class Liquidity:
    """The ``LiquidityReader`` of one gateway. A call of a plugin has at most ``timeout_s``."""

    def __init__(self, registry: Registry, timeout_s: float) -> None:
        self._registry = registry
        self._timeout_s = timeout_s
        self._known: LRUCache[Hashable, Pools] = LRUCache(_KEPT)
        self._refusals: TTLCache[tuple[str, int], str | None] = TTLCache(1024, ASKED_AGAIN_S)
        self._flights = SingleFlight()

    def executors(self) -> list[Executor]:
        """Returns the executors that are not refused, by id. Their plugins may not have started yet."""
        found = (entry.provider for entry in self._registry.providers if entry.not_enabled is None)
        return sorted((each for each in found if isinstance(each, Executor)), key=lambda each: each.id)

    def usable(self, executor: Executor, chain_id: int) -> bool:
        """Returns whether an executor is enabled and serves a chain, and any source has pools for it."""
        enabled = self._registry.enabled(Capability.EXECUTION, chain_id)
        return executor in enabled and bool(self._sources(executor, chain_id))

    async def pools(
        self, executor: Executor, chain_id: int, token_in: Address, token_out: Address, block: Block
    ) -> PoolsFound:
        """Returns the pools at ``block`` that an executor can execute, those of each source once."""
        if not self.usable(executor, chain_id) or await self.refusal(executor, chain_id, block):
            return PoolsFound(())
        sources = self._sources(executor, chain_id)
        low, high = sorted((token_in, token_out))
        keys = {source.id: (source.id, chain_id, low, high, block.hash) for source in sources}
        unknown = [source for source in sources if keys[source.id] not in self._known]
        if unknown:
            asked = frozenset(source.id for source in unknown)
            read = partial(self._read, unknown, chain_id, low, high, block)
            self._known.update(await self._flights.run((asked, low, high, block.hash), read))
        found: dict[Hashable, LiquidityPool] = {}
        for source in sources:
            for pool in self._known.get(keys[source.id], ()):
                if pool.kind in executor.leg_gas:
                    found.setdefault(_identity(pool), pool)
        missing = tuple(source.id for source in sources if keys[source.id] not in self._known)
        return PoolsFound(tuple(found.values()), missing)

    async def taxed(self, chain_id: int, tokens: Sequence[Token], block: Block) -> frozenset[Address]:
        """Returns those of the tokens of which a source knows that transfers lose a part."""
        enabled = self._registry.enabled(Capability.LIQUIDITY, chain_id)
        sources = [source for source in enabled if isinstance(source, LiquiditySource)]

        async def ask(source: LiquiditySource) -> frozenset[Address]:
            named = await source.taxed(chain_id, tokens, block)
            return frozenset(token.address for token in tokens if token.address in named)

        outcomes = await self._registry.calls.ask_all(
            sources, ask, verb="taxed", timeout_s=self._timeout_s, scope=chain_id, spared=True
        )
        return frozenset().union(*(outcome.value or () for outcome in outcomes))

    async def encode(self, executor: Executor, order: FlowOrder) -> Step:
        """Returns the transaction of a flow. Raises ``UpstreamError`` when the executor gives none."""
        (outcome,) = await self._registry.calls.ask_all(
            [executor],
            lambda each: each.encode(order),
            verb="encode",
            timeout_s=self._timeout_s,
            scope=order.chain_id,
        )
        step = outcome.value
        if isinstance(step, Step):
            return step
        if step is not None:
            self._registry.calls.count_unreadable(executor, "encode")
        raise outcome.failure("The executor of this quote gave no transaction.")

    def _sources(self, executor: Executor, chain_id: int) -> list[LiquiditySource]:
        """Returns the enabled sources that an executor takes pools of."""
        plugins = self._registry.plugins_of(Capability.LIQUIDITY)
        own = self._registry.plugins_of(Capability.EXECUTION).get(executor.id)
        enabled = self._registry.enabled(Capability.LIQUIDITY, chain_id)
        return [
            source
            for source in enabled
            if isinstance(source, LiquiditySource)
            and (source.id in executor.sources or plugins.get(source.id) == own)
            and executor.leg_gas.keys() & set(source.families)
        ]

    async def refusal(self, executor: Executor, chain_id: int, block: Block) -> str | None:
        """Returns why an executor refuses a chain, None when it does not. It is asked once in a while.

        Raises ``UpstreamError`` when it cannot say: it is not used then.
        """
        key = executor.id, chain_id
        if key not in self._refusals:
            (outcome,) = await self._registry.calls.ask_all(
                [executor],
                lambda each: each.refusal(chain_id, block),
                verb="refusal",
                timeout_s=self._timeout_s,
                scope=chain_id,
            )
            if outcome.failed:
                raise outcome.failure("The executor could not be checked.")
            refusal = None if outcome.value is None else str(outcome.value)[:200]
            self._refusals[key] = refusal
            if refusal:
                log.error("executor %r is not used on chain %d: %s", executor.id, chain_id, refusal)
        return self._refusals.get(key)

    async def _read(
        self, sources: Sequence[LiquiditySource], chain_id: int, low: Address, high: Address, block: Block
    ) -> dict[Hashable, Pools]:
        """Returns the checked answers of those sources that gave one."""

        async def ask(source: LiquiditySource) -> Pools:
            return checked_pools(source, await source.pools(chain_id, low, high, block))

        outcomes = await self._registry.calls.ask_all(
            sources, ask, verb="pools", timeout_s=self._timeout_s, scope=chain_id, spared=True
        )
        return {
            (outcome.provider.id, chain_id, low, high, block.hash): outcome.value
            for outcome in outcomes
            if outcome.value is not None
        }


def checked_pools(source: LiquiditySource, pools: Iterable[LiquidityPool]) -> Pools:
    """Returns a source's pools. Raises ``UpstreamError`` that says what is wrong with them."""
    try:
        found = tuple(islice(pools, MOST_POOLS + 1))
        if len(found) > MOST_POOLS:
            raise ValueError(f"more than {MOST_POOLS} pools")
        for pool in found:
            _check(source, pool)
        if len(set(map(_identity, found))) < len(found):
            raise ValueError("two pools with the same id and tokens")
    except PLUGIN_ERRORS as error:
        text = str(error)[:200] if type(error) is ValueError else type(error).__name__
        log.error("source %r gave what are no pools: %s", source.id, text)
        raise UpstreamError("The pools of a source cannot be used.", reason=Reason.PROVIDER_ERROR) from error
    return found


def _identity(pool: LiquidityPool) -> Hashable:
    """Returns what a pool is known by: pairs of a pool with more than two tokens have the same id."""
    return pool.id, frozenset((pool.token0, pool.token1))


def _check(source: LiquiditySource, pool: LiquidityPool) -> None:
    if type(pool.id) is not str or not 0 < len(pool.id) <= MOST_ID_CHARS or not pool.id.isprintable():
        raise ValueError(f"an id that is no text of at most {MOST_ID_CHARS} characters")
    if type(pool.kind) is not str or pool.kind not in source.families:
        raise ValueError(f"pool {pool.id} is of another family than the source names")
    tokens = pool.token0, pool.token1
    if any(type(token) is not str or parse_address(token) != token for token in tokens):
        raise ValueError(f"a token of pool {pool.id} is no EIP-55 address")
    if tokens[0] == tokens[1]:
        raise ValueError(f"the tokens of pool {pool.id} are the same")
    if not all(callable(getattr(pool, name, None)) for name in _METHODS):
        raise ValueError(f"pool {pool.id} lacks one of the methods {', '.join(_METHODS)}")
    if type(cast("object", getattr(pool, "has_liquidity", None))) is not bool:
        raise ValueError(f"has_liquidity of pool {pool.id} is neither True nor False")
