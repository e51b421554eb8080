"""Certificates: what proves that no trade through the same pools pays more than a bound.

A certificate names every pool that counts with a digest of its state, and a price per token. The digest is
keccak-256 of these big-endian integers, one after the other, negative ones as two's complement:

- v2: ``"v2"`` in ASCII; pair, token0, token1 (20 bytes each); reserve0, reserve1 (14 each); numerator and
  denominator of what the fee leaves (4 each)
- v3 and v4: ``"v3"`` or ``"v4"`` in ASCII; pool address or id (32); token0, token1 (20 each); fee in pips
  (3); tick spacing (3); sqrtPriceX96 (20); tick (3); liquidity (16); the protocol fees of token0 and of
  token1 as slot0 has them (3 each); first and last bitmap word (3 each); for each initialised tick of these
  words, ascending: its index (3) and liquidityNet (16)

``parameters`` of a v2 pool are empty. Those of a v3 or v4 pool are the fee and the tick spacing of its key,
and the first and last bitmap word that its state holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from quoteway import NATIVE, Certificate, CertificateCheck, CertifiedPool, CertifiedSwap
from quoteway.evm.address import address_bytes, keccak256
from quoteway.models import MAX_UINT256
from quoteway_amm import FREE, UNISWAP_GAS, ConcentratedPool, Pool, V2Pool
from quoteway_amm.bound import dual_value, node_of, pool_profits
from quoteway_amm.flow import Flow
from quoteway_amm.input_bound import input_bound
from quoteway_router.exact_output_resimulation import executed_exact_output
from quoteway_router.resimulation import graph_node, resimulate
from quoteway_router.solver_messages import MAX_LEGS, Leg, Order

from quoteway_uniswap.deployments import Deployment

log = logging.getLogger("quoteway.uniswap.certificates")

MOST_POOLS = 1_000
"""A certificate of more pools is not made."""
_MAX_HOPS = 4


def packed_state(pool: Pool) -> bytes:
    """Returns the bytes that the digest of a pool's state is of. Raises TypeError for an unknown family."""
    if isinstance(pool, V2Pool):
        return b"".join(
            (
                b"v2",
                *map(address_bytes, (pool.address, pool.token0, pool.token1)),
                pool.reserve0.to_bytes(14),
                pool.reserve1.to_bytes(14),
                pool.fee_numerator.to_bytes(4),
                pool.fee_denominator.to_bytes(4),
            )
        )
    if not isinstance(pool, ConcentratedPool):
        raise TypeError(f"no encoding of the state of {type(pool).__name__} is defined")
    return b"".join(
        (
            pool.kind.encode(),
            int(pool.id, 16).to_bytes(32),
            address_bytes(pool.token0),
            address_bytes(pool.token1),
            pool.fee_pips.to_bytes(3),
            pool.tick_spacing.to_bytes(3),
            pool.sqrt_price_x96.to_bytes(20),
            pool.tick.to_bytes(3, signed=True),
            pool.liquidity.to_bytes(16),
            pool.protocol_fee_zero_for_one.to_bytes(3),
            pool.protocol_fee_one_for_zero.to_bytes(3),
            pool.word_lo.to_bytes(3, signed=True),
            pool.word_hi.to_bytes(3, signed=True),
            *(tick.to_bytes(3, signed=True) + net.to_bytes(16, signed=True) for tick, net in pool.ticks),
        )
    )


def state_digest(pool: Pool) -> str:
    """Returns the digest of a pool's state as 0x hex. Raises as ``packed_state``."""
    return "0x" + keccak256(packed_state(pool)).hex()


async def certificate_of(
    deployment: Deployment,
    pools: Sequence[Pool],
    flow: Flow,
    bound: int,
    prices: Mapping[str, int],
    bought: int | None = None,
) -> Certificate | None:
    """Returns the certificate of ``bound`` over ``pools``, checked; None where there is no proof of it.

    ``bought`` is the exact output of whose input ``bound`` is a lower bound; None: one above the output.
    There is no proof for more than ``MOST_POOLS``, for prices above 2^256, which an answer does not hold,
    where the best trade of a pool leaves its known ticks, and for pools with hooks, whose keys it does not
    hold.
    """
    if any(getattr(pool, "hooks", NATIVE) != NATIVE for pool in pools):
        return None
    if len(pools) > MOST_POOLS or max(prices.values(), default=0) > MAX_UINT256:
        return None
    return await asyncio.to_thread(_certificate_of, deployment, pools, flow, bound, prices, bought)


def _certificate_of(
    deployment: Deployment,
    pools: Sequence[Pool],
    flow: Flow,
    bound: int,
    prices: Mapping[str, int],
    bought: int | None,
) -> Certificate | None:
    ends = flow.token_in, flow.token_out
    found = _bound(pools, prices, *ends, flow.amount_in, bought, deployment.wrapped_native)
    if found != bound:
        log.warning("the bound of a flow is not proven by its prices: %s", found)
        return None
    return Certificate(prices, tuple(_certified(deployment, pool) for pool in pools))


def _certified(deployment: Deployment, pool: Pool) -> CertifiedPool:
    parameters: tuple[int, ...] = ()
    if isinstance(pool, ConcentratedPool):
        parameters = (pool.fee_pips, pool.tick_spacing, pool.word_lo, pool.word_hi)
    return CertifiedPool(
        f"{deployment.protocol}-{pool.kind}",
        pool.id,
        (pool.token0, pool.token1),
        parameters,
        state_digest(pool),
    )


def _bound(
    pools: Sequence[Pool],
    prices: Mapping[str, int],
    token_in: str,
    token_out: str,
    amount_in: int,
    bought: int | None,
    wrapped_native: str,
) -> int | str:
    """Returns the bound that the prices prove, or why they prove none. See ``certificate_of``."""
    ends = node_of(token_in, wrapped_native), node_of(token_out, wrapped_native)
    try:
        profits = list(pool_profits(pools, prices, wrapped_native))
        far = next((pools[each.index].id for each in profits if each.exceeded), None)
        if far is not None:
            return f"the best trade of pool {far} leaves the ticks that are known"
        if bought is not None:
            return ceil(input_bound(profits, prices, *ends, bought))
        return int(dual_value(profits, prices, *ends, amount_in))
    except KeyError as error:
        return f"the token {error.args[0]} has no price"
    except ValueError as error:
        return str(error)


def check_certificate(
    swap: CertifiedSwap, pools: Sequence[Pool], wrapped_native: str
) -> list[CertificateCheck]:
    """Checks the certificate of a swap against ``pools``: the states of its pools at its block, in its order.

    Uses nothing of what made it: integers and the pools' own maths alone. The results are in the order in
    which they build on one another. ``netGapBps`` and ``arbitrage`` are not proven by a certificate.
    """
    stated, certificate = swap.optimality, swap.optimality.certificate
    if certificate is None:
        return [CertificateCheck("certificate", holds=False, text="the answer has none")]
    checks = [
        _check("block", stated.block == swap.block, f"the bound is of block {stated.block.number}"),
        _check_pools(swap, pools),
        _check_states(certificate, pools),
    ]
    ends = swap.token_in, swap.token_out
    bound = _bound(pools, certificate.prices, *ends, swap.sold, swap.bought, wrapped_native)
    if isinstance(bound, int):
        bound = swap.with_fee(swap.after_fee(bound))
    proven = f"the prices prove {bound}" if isinstance(bound, int) else bound
    checks.append(_check("bound", bound == stated.bound, f"{proven}; {stated.bound} is stated"))
    checks.append(_check_route(swap, pools, wrapped_native))
    return [*checks, _check_gap(swap)]


def _check(subject: str, holds: bool, text: str) -> CertificateCheck:
    return CertificateCheck(subject, holds, text)


def _check_pools(swap: CertifiedSwap, pools: Sequence[Pool]) -> CertificateCheck:
    stated, certificate = swap.optimality, swap.optimality.certificate
    named = () if certificate is None else certificate.pools
    families = tuple(sorted({pool.kind for pool in pools}))
    same = [(each.pool, each.tokens) for each in named] == [(p.id, (p.token0, p.token1)) for p in pools]
    once = len({pool.id for pool in pools}) == len(pools) == stated.pools
    found, told = ", ".join(families), ", ".join(stated.families)
    text = f"{len(pools)} pools of {found}; {stated.pools} of {told} are stated"
    return _check("pools", same and once and families == stated.families, text)


def _check_states(certificate: Certificate, pools: Sequence[Pool]) -> CertificateCheck:
    wrong = [
        pool.id
        for pool, named in zip(pools, certificate.pools, strict=False)
        if state_digest(pool) != named.digest
    ]
    if wrong or len(pools) != len(certificate.pools):
        return _check("states", holds=False, text=f"other digests: {', '.join(wrong[:3]) or 'missing pools'}")
    return _check("states", holds=True, text=f"the digests of {len(pools)} pools are those of the chain")


def _check_route(swap: CertifiedSwap, pools: Sequence[Pool], wrapped_native: str) -> CertificateCheck:
    index = {pool.id: at for at, pool in enumerate(pools)}
    ends = swap.token_in, swap.token_out
    order = Order(wrapped_native, *ends, swap.sold, UNISWAP_GAS, FREE, _MAX_HOPS, MAX_LEGS)
    legs = []
    for leg in swap.route_legs:
        at = index.get(leg.pool)
        if at is None:
            return _check("route", holds=False, text=f"the pool {leg.pool} is not among those certified")
        tokens = pools[at].token0, pools[at].token1
        if (leg.token_in, leg.token_out) not in (tokens, tokens[::-1]):
            return _check("route", holds=False, text=f"the pool {leg.pool} does not trade {leg.token_in}")
        legs.append(Leg(at, leg.token_in == tokens[0], leg.amount_in, leg.amount_out))
    if swap.bought is None:
        hops = resimulate(pools, order, legs)
    else:
        hops = executed_exact_output(pools, replace(order, amount_out=swap.bought), legs)
    if hops is None:
        return _check("route", holds=False, text="its pools do not give its amounts")
    end = graph_node(order, swap.token_out)
    paid = swap.after_fee(sum(hop.amount_out for hop in hops if graph_node(order, hop.token_out) == end))
    text = f"{len(hops)} legs pay {paid} for {swap.amount_in}; {swap.amount_out} is stated"
    same = paid == swap.amount_out and swap.with_fee(swap.sold) == swap.amount_in
    return _check("route", same, text)


def _check_gap(swap: CertifiedSwap) -> CertificateCheck:
    stated = swap.optimality
    if swap.bought is not None:
        if not 0 <= stated.bound <= swap.amount_in:
            text = f"the input {swap.amount_in} is below the bound"
            return _check("gap", holds=False, text=text)
        gap = Fraction((swap.amount_in - stated.bound) * 10_000, max(swap.amount_in, 1))
    elif not 0 < swap.amount_out <= stated.bound:
        return _check("gap", holds=False, text=f"the output {swap.amount_out} is not from 1 to the bound")
    else:
        gap = Fraction((stated.bound - swap.amount_out) * 10_000, stated.bound)
    missing = "of the bound are missing" if swap.bought is None else "of the input are above the bound"
    text = f"{float(gap):.6f} bps {missing}; at most {stated.gap_bps} is stated"
    near = Fraction(1, 10**9)
    return _check("gap", gap - near <= Fraction(stated.gap_bps) <= gap + Fraction(1, 100), text)
