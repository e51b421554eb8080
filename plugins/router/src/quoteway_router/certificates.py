"""Certificates: what proves that no trade through the same pools pays more than a bound.

A certificate names every pool that counts with a digest of its state, and a price per token. For the pools of
executors, the digest is keccak-256 of ``state_text``: see there. Other providers have digests of their own.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from math import ceil

from quoteway import MAX_UINT256, Certificate, CertificateCheck, CertifiedPool, CertifiedSwap
from quoteway.evm.address import keccak256
from quoteway_amm import FREE, UNISWAP_GAS, ConcentratedPool, Pool
from quoteway_amm.bound import dual_value, node_of, pool_profits
from quoteway_amm.input_bound import input_bound

from quoteway_router.exact_output_resimulation import executed_exact_output
from quoteway_router.resimulation import graph_node, resimulate
from quoteway_router.solver_messages import MAX_LEGS, Leg, Order

log = logging.getLogger("quoteway.router.certificates")

MOST_POOLS = 1_000
"""A certificate of more pools is not made."""
_MAX_HOPS = 4
_TICKS = frozenset({"ticks", "word_lo", "word_hi"})
"""How many ticks a state knows depends on its reader. The bound itself says whether they are enough."""

Digest = Callable[[Pool], str]
"""Returns the digest of a pool's state. Raises TypeError for a family that it does not know."""


def state_text(pool: Pool) -> str:
    """Returns the text that the digest of the state of an executor's pool is of.

    It is JSON without spaces: ``[class, kind, id, token0, token1, state]``. The state is that of the pool's
    dataclass: an object with the name and the value of each of its fields that counts in a comparison, sorted
    by name. Integers are decimal, tuples lists, further dataclasses objects with their class as ``""``. Of
    pools with ticks, the ticks and their words are left out: how many are known depends on the reader, and a
    check computes the bound from those that it has read. Raises TypeError for any other value.
    """
    named = [type(pool).__name__, pool.kind, pool.id, pool.token0, pool.token1, _plain(pool)]
    return json.dumps(named, separators=(",", ":"), sort_keys=True, ensure_ascii=True)


def state_digest(pool: Pool) -> str:
    """Returns the digest of an executor's pool as 0x hex. Raises as ``state_text``."""
    return "0x" + keccak256(state_text(pool).encode()).hex()


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        left_out = _TICKS if isinstance(value, ConcentratedPool) else frozenset[str]()
        names = [each.name for each in fields(value) if each.compare and each.name not in left_out]
        return {"": type(value).__name__, **{name: _plain(getattr(value, name)) for name in names}}
    raise TypeError(f"no encoding of a state with {type(value).__name__} is defined")


async def certificate_of_pools(
    pools: Sequence[Pool],
    token_in: str,
    token_out: str,
    amount_in: int,
    bound: int,
    prices: Mapping[str, int],
    wrapped_native: str,
) -> Certificate | None:
    """Returns the certificate of an executor's ``bound`` on the output over ``pools``, checked.

    None for more than ``MOST_POOLS``, for prices above 2^256, which an answer does not hold, for prices that
    do not prove the bound to the last digit, and for pools whose state has no digest.
    """
    if len(pools) > MOST_POOLS or max(prices.values(), default=0) > MAX_UINT256:
        return None

    def certify() -> Certificate | None:
        found = proven_bound(pools, prices, token_in, token_out, amount_in, None, wrapped_native)
        if found != bound:
            log.warning("the bound of a flow is not proven by its prices: %s", found)
            return None
        try:
            named = tuple(
                CertifiedPool(pool.kind, pool.id, (pool.token0, pool.token1), (), state_digest(pool))
                for pool in pools
            )
        except TypeError as error:
            log.warning("a pool has no digest: %s", error)
            return None
        return Certificate(prices, named)

    return await asyncio.to_thread(certify)


def proven_bound(
    pools: Sequence[Pool],
    prices: Mapping[str, int],
    token_in: str,
    token_out: str,
    amount_in: int,
    bought: int | None,
    wrapped_native: str,
) -> int | str:
    """Returns the bound that the prices prove, or why they prove none.

    It is one above the output of ``amount_in``, or below the input that buys ``bought``, the exact output.
    """
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
    swap: CertifiedSwap, pools: Sequence[Pool], wrapped_native: str, digest: Digest = state_digest
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
        _check_states(certificate, pools, digest),
    ]
    ends = swap.token_in, swap.token_out
    bound = proven_bound(pools, certificate.prices, *ends, swap.sold, swap.bought, wrapped_native)
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
    # Pairs of a pool with more than two tokens have one id.
    ids = {(pool.id, frozenset((pool.token0, pool.token1))) for pool in pools}
    once = len(ids) == len(pools) == stated.pools
    found, told = ", ".join(families), ", ".join(stated.families)
    text = f"{len(pools)} pools of {found}; {stated.pools} of {told} are stated"
    return _check("pools", same and once and families == stated.families, text)


def _check_states(certificate: Certificate, pools: Sequence[Pool], digest: Digest) -> CertificateCheck:
    wrong = [
        pool.id for pool, named in zip(pools, certificate.pools, strict=False) if digest(pool) != named.digest
    ]
    if wrong or len(pools) != len(certificate.pools):
        return _check("states", holds=False, text=f"other digests: {', '.join(wrong[:3]) or 'missing pools'}")
    return _check("states", holds=True, text=f"the digests of {len(pools)} pools are those of the chain")


def _check_route(swap: CertifiedSwap, pools: Sequence[Pool], wrapped_native: str) -> CertificateCheck:
    known = {pool.id for pool in pools}
    index = {(pool.id, frozenset((pool.token0, pool.token1))): at for at, pool in enumerate(pools)}
    ends = swap.token_in, swap.token_out
    order = Order(wrapped_native, *ends, swap.sold, UNISWAP_GAS, FREE, _MAX_HOPS, MAX_LEGS)
    legs = []
    for leg in swap.route_legs:
        if leg.pool not in known:
            return _check("route", holds=False, text=f"the pool {leg.pool} is not among those certified")
        at = index.get((leg.pool, frozenset((leg.token_in, leg.token_out))))
        if at is None:
            return _check("route", holds=False, text=f"the pool {leg.pool} does not trade {leg.token_in}")
        legs.append(Leg(at, leg.token_in == pools[at].token0, leg.amount_in, leg.amount_out))
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
