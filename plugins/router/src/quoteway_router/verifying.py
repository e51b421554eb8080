"""Reads the pools of a certificate again, from the executor's sources at its block, and checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from quoteway import (
    Block,
    CertificateCheck,
    CertifiedPool,
    CertifiedSwap,
    Chain,
    Context,
    Executor,
    Reason,
    UpstreamError,
)
from quoteway_amm import ConcentratedPool, Pool
from quoteway_amm.bound import pool_profits

from quoteway_router.certificates import check_certificate


async def block_of(chain: Chain, swap: CertifiedSwap) -> Block | CertificateCheck:
    """Returns the block of a certificate as the chain has it, or what is wrong with the stated one.

    Raises UpstreamError when the node does not have it.
    """
    block = swap.block
    header = await chain.header(block.hash)
    if header is None:
        raise UpstreamError(
            f"The node does not have block {block.number} ({block.hash}): it is not synced so far, the block "
            "was reorganised away, or the node has deleted it. Give --rpc an archive node of this network.",
            reason=Reason.RPC_ERROR,
        )
    if header.block.number != block.number:
        text = f"the block {block.hash} has the number {header.block.number}, {block.number} is stated"
        return CertificateCheck("block", holds=False, text=text)
    return header.block


def pruned(swap: CertifiedSwap) -> UpstreamError:
    """Returns the error of a node that does not give the state of the block of a certificate."""
    return UpstreamError(
        f"The node does not give the state of block {swap.block.number}: it has probably deleted it. Give "
        "--rpc an archive node of this network.",
        reason=Reason.RPC_ERROR,
    )


async def verify_executor_certificate(
    context: Context, executor: Executor, swap: CertifiedSwap
) -> list[CertificateCheck]:
    """Returns the results of the checks, in the order in which they build on one another.

    The certificate is believed nothing: its pools are looked for among those that the sources find.
    Raises UpstreamError when the node does not have the block or its state, or a source does not give enough
    of it.
    """
    certificate = swap.optimality.certificate
    network = context.networks.by_chain_id(swap.chain_id)
    if certificate is None or network is None or network.wrapped_native is None:
        return [CertificateCheck("certificate", holds=False, text="the answer has none")]
    block = await block_of(context.chain(swap.chain_id), swap)
    if isinstance(block, CertificateCheck):
        return [block]
    found = await context.liquidity.pools(executor, swap.chain_id, swap.token_in, swap.token_out, block)
    if found.missing:
        raise pruned(swap)
    try:
        pools = _named(certificate.pools, cast("tuple[Pool, ...]", found.pools))
    except ValueError as error:
        return [CertificateCheck("pools", holds=False, text=str(error))]
    short = _known_too_little(pools, certificate.prices, network.wrapped_native)
    if short is not None:
        raise UpstreamError(
            f"Fewer ticks of the pool {short} are read than the bound needs: it cannot be checked.",
            reason=Reason.RPC_ERROR,
        )
    return check_certificate(swap, pools, network.wrapped_native)


def _named(named: Sequence[CertifiedPool], found: Sequence[Pool]) -> list[Pool]:
    """Returns the pools of a certificate. Raises ValueError for one that is not among those found."""
    known: dict[tuple[str, str, tuple[str, ...]], Pool] = {
        (pool.kind, pool.id, (pool.token0, pool.token1)): pool for pool in found
    }
    pools = []
    for each in named:
        pool = known.get((each.protocol, each.pool, each.tokens))
        if pool is None or each.parameters:
            raise ValueError(f"{each.pool} is no pool of {each.protocol} that is found with these tokens")
        pools.append(pool)
    return pools


def _known_too_little(pools: Sequence[Pool], prices: Mapping[str, int], wrapped_native: str) -> str | None:
    """Returns the id of a pool whose best trade at the prices leaves the ticks that were read; None: none."""
    ticked = [pool for pool in pools if isinstance(pool, ConcentratedPool)]
    try:
        profits = pool_profits(ticked, prices, wrapped_native)
        return next((ticked[each.index].id for each in profits if each.exceeded), None)
    except KeyError:  # a token without a price: the check of the bound says so
        return None
