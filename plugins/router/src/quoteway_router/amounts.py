"""The amounts that a quote states of a flow: minimum, fees, gas, price impact."""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import Address, Block, Fee, Gas, Issue, SwapRequest, Token
from quoteway_amm import Hop
from quoteway_amm.bound import node_of

from quoteway_router.venue import Venue, network_gas_price

HIGH_PRICE_IMPACT_BPS = 500
REST = 0
"""As the amount of a leg: what the legs before it have left at its node."""

# The estimate is for storage in use; first use costs more. An action's gas limits are simulated.
_GAS_LIMIT_PCT = 150


def minimum_out(amount_out: int, slippage_bps: int) -> int:
    """Returns the minimum output: rounded down, at least 1."""
    return max(amount_out * (10_000 - slippage_bps) // 10_000, 1)


def amounts_of(hops: Sequence[Hop], wrapped_native: Address) -> list[int]:
    """Returns the amount of each leg to encode: ``REST`` for the last one out of each node."""
    last = {node_of(hop.token_in, wrapped_native): index for index, hop in enumerate(hops)}
    return [REST if index in last.values() else hop.amount_in for index, hop in enumerate(hops)]


def impact_issues(request: SwapRequest, impact_bps: int) -> tuple[Issue, ...]:
    """Returns the issue of a high price impact, if it is one."""
    if impact_bps <= HIGH_PRICE_IMPACT_BPS:
        return ()
    return (Issue("high_price_impact", request.token_out.address, impact_bps, HIGH_PRICE_IMPACT_BPS),)


def lp_fee(token: Token, hop: Hop) -> Fee:
    """Returns what the providers of a pool's liquidity get of what is sold to it."""
    amount = -(-hop.amount_in * hop.fee_pips // 1_000_000)
    return Fee("lp", token, amount, included=True, bps=hop.fee_pips / 100)


def gas_of(venue: Venue, units: int, block: Block, price_wei: int | None = None) -> Gas:
    """Returns the gas estimate and its price; ``price_wei`` None: the network's. The limit leaves room for
    first use of storage.
    """
    limit = units * _GAS_LIMIT_PCT // 100
    price_wei = network_gas_price(venue, block) if price_wei is None else price_wei
    cost_wei = None if price_wei is None else units * price_wei
    # Twice the base fee covers five full blocks: it rises by at most 12.5 % per block (EIP-1559).
    base_wei, tip = block.base_fee_wei, venue.priority_fee_wei
    most_wei = None if base_wei is None else 2 * base_wei + tip
    return Gas(units, limit, most_wei, cost_wei=cost_wei, price_wei=price_wei)
