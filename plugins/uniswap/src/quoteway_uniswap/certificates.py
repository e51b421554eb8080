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

from quoteway import NATIVE, Certificate, CertificateCheck, CertifiedPool, CertifiedSwap
from quoteway.evm.address import address_bytes, keccak256
from quoteway.models import MAX_UINT256
from quoteway_amm import ConcentratedPool, Pool, V2Pool
from quoteway_amm.flow import Flow
from quoteway_router import certificates
from quoteway_router.certificates import MOST_POOLS, proven_bound

from quoteway_uniswap.deployments import Deployment

log = logging.getLogger("quoteway.uniswap.certificates")


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
    found = proven_bound(pools, prices, *ends, flow.amount_in, bought, deployment.wrapped_native)
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


def check_certificate(
    swap: CertifiedSwap, pools: Sequence[Pool], wrapped_native: str
) -> list[CertificateCheck]:
    """Checks the certificate of a swap against ``pools``: the states of its pools at its block, in its order.

    See ``quoteway_router.certificates.check_certificate``; the digests are those of ``state_digest`` here.
    """
    return certificates.check_certificate(swap, pools, wrapped_native, state_digest)
