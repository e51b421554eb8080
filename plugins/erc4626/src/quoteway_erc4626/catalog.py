"""Catalog rows and positions of vaults, at one block, in one round trip each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import LRUCache
from quoteway import MAX_UINT256, Address, Chain, Context, GatewayError, Leg, Notice, Vault, VaultPosition
from quoteway.evm import erc20

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.history import History
from quoteway_erc4626.interface import (
    CONVERT_TO_ASSETS,
    LIMITS,
    OPERATIONS,
    PAUSED,
    PREVIEWS,
    TOTAL_ASSETS,
)
from quoteway_erc4626.metrics import TRAILING, WINDOWS_S, growths
from quoteway_erc4626.terms import rate_reads, rates_of, read

_APY_KEPT_S = 300
_APY_TIMEOUT_S = 1.5
_FIRST_PAUSE_S = 10
"""After a failure. The pause doubles with each further one, up to ``_APY_KEPT_S``."""


class YieldBook:
    """The yearly rate of the last seven days, cached for some minutes so that catalogs do not wait for it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: LRUCache[str, _Rate] = LRUCache(4096)

    async def apy(self, history: History, facts: VaultFacts) -> float | None:
        """Returns the rate; the one before, or None, when the node lacks the history or is slow."""
        now = self._context.now()
        known = self._known.get(facts.id)
        if known is not None and 0 <= now - known.read_at < known.kept_s:
            return known.value
        pair = (now, now - WINDOWS_S[TRAILING])
        try:
            async with asyncio.timeout(_APY_TIMEOUT_S):
                rate = _Rate(now, _APY_KEPT_S, (await growths(history, facts, [pair]))[pair].value)
        except (GatewayError, TimeoutError):
            rate = _unread(now, known)
        self._known[facts.id] = rate
        return rate.value


@dataclass(frozen=True, slots=True)
class _Rate:
    """A rate, when it was read (Unix seconds), and for how long it is not read again."""

    read_at: int
    kept_s: int
    value: float | None
    has_failed: bool = False


def _unread(now: int, before: _Rate | None) -> _Rate:
    """Returns what is told after a failure: a node is slow for a moment, or lacks the history for good."""
    if before is None or not before.has_failed:
        return _Rate(now, _FIRST_PAUSE_S, None if before is None else before.value, has_failed=True)
    return _Rate(now, min(2 * before.kept_s, _APY_KEPT_S), before.value, has_failed=True)


async def entries(
    chain: Chain,
    history: History,
    yields: YieldBook,
    vaults: Sequence[VaultFacts],
    warnings: Callable[[VaultFacts], tuple[Notice, ...]],
) -> list[Vault]:
    """Returns the catalog's rows, each with its ``warnings``."""
    if not vaults:
        return []
    block = await chain.head()
    reads = []
    for facts in vaults:
        reads += [
            read(facts, TOTAL_ASSETS.encode([])),
            # Any account will do: a limit for everybody applies to it.
            read(facts, LIMITS["deposit"].encode([facts.asset.address])),
            read(facts, PAUSED.encode([])),
            *rate_reads(facts),
        ]
    answers, apys = await asyncio.gather(
        chain.call_many(reads, block=block),
        asyncio.gather(*(yields.apy(history, facts) for facts in vaults)),
    )
    each = len(answers) // len(vaults)
    found = []
    for index, (facts, apy) in enumerate(zip(vaults, apys, strict=True)):
        total, limit, paused, *rest = answers[index * each : (index + 1) * each]
        rates, most = rates_of(facts, rest), erc20.word(limit)
        found.append(
            Vault(
                id=facts.id,
                network=chain.network.slug,
                chain_id=facts.chain_id,
                address=facts.address,
                name=facts.name,
                protocol=facts.protocol,
                strategy=facts.strategy,
                asset=facts.asset,
                share=facts.share,
                actions=OPERATIONS,
                source="chain",
                updated_at=block.timestamp,
                status="paused" if erc20.word(paused) == 1 else "active",
                apy=apy,
                total_assets=erc20.word(total),
                fees_bps={"entry": rates.entry_bps, "exit": rates.exit_bps},
                caps=None if most in (None, MAX_UINT256) else {"maxDeposit": most},
                listed=facts.listed,
                warnings=warnings(facts),
            )
        )
    return found


async def positions(chain: Chain, vaults: Sequence[VaultFacts], wallet: Address) -> list[VaultPosition]:
    """Returns what the wallet's shares would pay if redeemed now, or their conversion without a preview."""
    if not vaults:
        return []
    block = await chain.head()
    reads = [
        read(facts, data)
        for facts in vaults
        for data in (erc20.BALANCE_OF.encode([wallet]), erc20.TOTAL_SUPPLY.encode([]))
    ]
    held = [erc20.word(answer) for answer in await chain.call_many(reads, block=block)]
    owned = [
        (facts, shares, held[2 * index + 1])
        for index, facts in enumerate(vaults)
        if (shares := held[2 * index])
    ]
    values = await chain.call_many(
        [
            read(facts, function.encode([shares]))
            for facts, shares, _ in owned
            for function in (PREVIEWS["redeem"], CONVERT_TO_ASSETS)
        ],
        block=block,
    )
    found = []
    for index, (facts, shares, supply) in enumerate(owned):
        redeemed, converted = (erc20.word(answer) for answer in values[2 * index : 2 * index + 2])
        assets = converted if redeemed is None else redeemed
        found.append(
            VaultPosition(
                vault_id=facts.id,
                owner=wallet,
                shares=shares,
                amounts=() if assets is None else (Leg(facts.asset, assets, wallet),),
                block=block,
                share=shares / supply if supply else None,
            )
        )
    return found
