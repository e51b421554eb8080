"""What holdings would pay if they were sold, from the price sources, kept for callers that ask again."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import cast

from quoteway.host.refresh import Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.models import Address, Capability
from quoteway.providers import PriceSource, Provider

ASK_TIMEOUT_S = 10.0
"""The timeout of one call to a source, in the background."""
MOST_TOKENS = 256
"""Of one network, in one request: the first ones."""
AT_ONCE = 4
"""How many calls run at a time: each may compute with the pools of many tokens."""
MOST_KEPT = 2_048
_MOST_USD = 1e18
POLICY = RefreshPolicy(retry_s=5.0, newer_wait_s=0.25, first_wait_s=0.5)

_Key = tuple[str, int, tuple[tuple[Address, int], ...]]
"""Source id, chain id, and amounts in base units by token."""
_Token = tuple[int, Address]


class Payouts:
    """The payouts of one gateway."""

    def __init__(self, runtime: Runtime, registry: Registry, policy: RefreshPolicy = POLICY) -> None:
        self._runtime = runtime
        self._registry = registry
        self._answers: Refresher[_Key, Mapping[Address, float]] = Refresher(
            self._read, policy, most_keys=MOST_KEPT
        )
        self._lane = asyncio.Semaphore(AT_ONCE)

    async def get(self, amounts: Mapping[_Token, int]) -> dict[_Token, float]:
        """Returns the US dollars that a sale of each amount alone pays at least, by chain id and address.

        Of several sources' the median, the lower of two. What is not known in time is left out.
        """
        chains: defaultdict[int, list[tuple[Address, int]]] = defaultdict(list)
        for (chain_id, address), amount in amounts.items():
            if amount and len(chains[chain_id]) < MOST_TOKENS:
                chains[chain_id].append((address, amount))
        keys = [
            (source.id, chain_id, tuple(sorted(own)))
            for chain_id, own in chains.items()
            for source in self._registry.enabled(Capability.PRICES, chain_id)
        ]
        said: defaultdict[_Token, list[float]] = defaultdict(list)
        for (_, chain_id, _), kept in (await self._answers.get(keys)).items():
            for address, usd in (kept.value or {}).items():
                said[chain_id, address].append(usd)
        return {token: median_low(usd) for token, usd in said.items()}

    async def close(self) -> None:
        """Stops calls in progress."""
        await self._answers.close()

    async def _read(self, keys: Sequence[_Key]) -> dict[_Key, Mapping[Address, float]]:
        ((source_id, chain_id, own),) = keys
        source = self._registry.get(Capability.PRICES, source_id)
        if source is None:
            return {}
        block, amounts = await self._runtime.chains[chain_id].head(), dict(own)

        async def ask(asked: Provider) -> Mapping[Address, float]:
            answer = await cast(PriceSource, asked).payouts(chain_id, amounts, block)
            return {name: float(answer[name]) for name in amounts if _usable(answer.get(name))}

        async with self._lane:
            (outcome,) = await self._registry.calls.ask_all(
                [source], ask, verb="payouts", timeout_s=ASK_TIMEOUT_S
            )
        return {} if outcome.value is None else {keys[0]: outcome.value}


def _usable(usd: object) -> bool:
    """Returns whether it is a number of dollars; integers too long for a float are none."""
    return type(usd) in (int, float) and 0 <= cast(float, usd) <= _MOST_USD
