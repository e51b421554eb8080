"""Chooses the slippage of a swap on one network from what its own transactions pay.

They are run for a seller without history: on past blocks, and twice on the block of the quote. So neither the
wallet of the caller nor a number of the provider counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from quoteway import models
from quoteway.engine.approvals import Wallet, most_of, needs_of
from quoteway.engine.competition import Contender
from quoteway.engine.rehearsing import Rehearsal, Rehearsing
from quoteway.errors import GatewayError
from quoteway.evm.address import unused_address
from quoteway.evm.chain import RpcChain
from quoteway.simulation.run import Segment, simulate

log = logging.getLogger("quoteway.engine.auto_slippage")

LOW_BPS = 10
"""The least that is chosen: what happens between two blocks of a calm pool."""
HIGH_BPS = 300
"""The most that is chosen: above it a quote has the warning ``high_slippage``."""
UNKNOWN_BPS = 50
"""What is chosen where nothing can be measured: the slippage of a request that names none."""
BLOCKS_BACK = (1, 5, 20)
"""The past blocks that are looked at. Nodes keep the states of the last 128 blocks or more."""
RIVAL_SHARE = 4
"""A trade of a quarter of the swap's size may come before it in its block."""
_MEASURED_BPS = RIVAL_SHARE * HIGH_BPS
"""The slippage of the quote that is measured: whatever pays less than its minimum gives ``HIGH_BPS``."""

_SELLER = unused_address("quoteway.auto_slippage.seller")


def measured(request: models.Request) -> models.Request:
    """Returns the request of the quote that is measured: a signed permit could be run only once."""
    assert isinstance(request, models.SwapRequest)
    return replace(request, slippage_bps=_MEASURED_BPS, permit2_signature=False)


def notice(slippage_bps: int) -> models.Notice:
    """Returns what tells the caller that the slippage was chosen."""
    text = f"The gateway chose {slippage_bps} bps of slippage, between {LOW_BPS} and {HIGH_BPS} bps."
    return models.Notice("auto_slippage", text)


async def choose(rehearsing: Rehearsing, winner: Contender, timeout_s: float) -> int:
    """Returns the slippage in basis points for a swap that was quoted as ``measured``.

    ``UNKNOWN_BPS`` where it was not simulated, or cannot be run again within ``timeout_s`` seconds.
    """
    rehearsal = winner.rehearsal
    chain = rehearsing.runtime.chain(winner.sealed.request.chain_id)
    leg = winner.bid.judged
    paid = None if rehearsal is None else rehearsal.paid(leg)
    if rehearsal is None or not paid:
        return UNKNOWN_BPS
    try:
        async with asyncio.timeout(timeout_s):
            # An exact output is judged by what it takes from the seller.
            account = leg.account if winner.bid.side == "exactIn" else _SELLER
            again, past = await _measure(rehearsing, chain, rehearsal, (account, leg.token.address))
    except (GatewayError, TimeoutError) as error:
        log.warning("the slippage of a swap on %s cannot be measured: %s", chain.network.slug, error)
        return UNKNOWN_BPS
    if len(again) < 2 or again[0] != paid:  # it pays another seller something else
        return UNKNOWN_BPS
    return slippage_of(paid, again[1], past)


def slippage_of(paid: int, paid_next: int, past: Sequence[int]) -> int:
    """Returns the slippage in basis points, rounded up.

    ``paid_next`` is what the same swap pays directly after itself, ``past`` what it would have paid on past
    blocks; 0 where it reverts. The inputs of an exact output are below zero. The move is the whole range of
    what it paid and pays. What a rival's trade of a quarter of its size costs it is a quarter of what its own
    repetition loses.
    """
    size = abs(paid)
    move = max(paid, *past) - min(paid, *past) if past else size * UNKNOWN_BPS // 10_000
    rival = max(paid - paid_next, 0)
    wanted = -(-(move * RIVAL_SHARE + rival) * 10_000 // (RIVAL_SHARE * size))
    return min(max(wanted, LOW_BPS), HIGH_BPS)


async def _measure(
    rehearsing: Rehearsing,
    chain: RpcChain,
    rehearsal: Rehearsal,
    watched: tuple[models.Address, models.Address],
) -> tuple[Sequence[int], Sequence[int]]:
    """Returns what two runs in a row pay now, and what one paid on the past blocks that a node can run."""
    parts = [replace(part, approvals=[]) for part in rehearsal.parts]
    # A new seller has approved nothing: whatever the wallet approved, and when, does not count.
    await rehearsing.approve(chain, Wallet(_SELLER, rehearsal.block), parts, rehearsal.created_at)
    steps = [step for part in parts for step in part.steps]
    needs = most_of(needs_of([part.build for part in parts], _SELLER), [part.build for part in parts])

    async def paid_at(block: models.Block, times: int) -> Sequence[int]:
        run = await simulate(
            chain,
            block,
            _SELLER,
            [Segment(steps)] * times,
            watch=[watched],
            needs={token: amount * times for token, amount in needs.items()},
            clearing=[call for part in parts for call in part.clearing],
        )
        if run.whole.status == "skipped":
            return ()
        return [sum(change.delta for change in part.simulation.asset_changes) for part in run.segments]

    async def paid_before(number: int) -> Sequence[int]:
        try:
            return await paid_at(await chain.block(number), 1)
        except GatewayError:  # no state of so old a block
            return ()

    head = rehearsal.block
    numbers = [head.number - back for back in BLOCKS_BACK if head.number >= back]
    again, *past = await asyncio.gather(paid_at(head, 2), *map(paid_before, numbers))
    return again, [amount for amounts in past for amount in amounts]
