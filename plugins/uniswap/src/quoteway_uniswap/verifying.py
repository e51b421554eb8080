"""Reads the pools of a certificate from the chain, at its block, and checks the certificate against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoteway import (
    CertificateCheck,
    CertifiedPool,
    CertifiedSwap,
    Chain,
    RpcError,
)
from quoteway.evm.abi import function
from quoteway.evm.chain import Call
from quoteway_amm import ConcentratedPool, Pool
from quoteway_router.verifying import block_of, pruned

from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef, v2_pool, v3_pool, v4_pool
from quoteway_uniswap.certificates import check_certificate
from quoteway_uniswap.deployments import Deployment, PoolKey
from quoteway_uniswap.pool_reader import PoolReader
from quoteway_uniswap.state import joined

_TICK_SPACING = function("tickSpacing() returns (int24)")
_LONGEST_BAND = 8
"""How many answers of the lens the ticks of one pool may need."""


async def verify_certificate(
    chain: Chain, rows: Sequence[Deployment], swap: CertifiedSwap
) -> list[CertificateCheck]:
    """Returns the results of the checks, in the order in which they build on one another.

    The certificate is believed nothing: ids of pools follow from ``rows``, the deployments of the network.
    Raises UpstreamError when the node does not have the block or its state.
    """
    certificate = swap.optimality.certificate
    if certificate is None:
        return [CertificateCheck("certificate", holds=False, text="the answer has none")]
    block = await block_of(chain, swap)
    if isinstance(block, CertificateCheck):
        return [block]
    try:
        row, refs = _refs_of(rows, certificate.pools)
        await _check_spacings(chain, swap, refs)
    except ValueError as error:
        return [CertificateCheck("pools", holds=False, text=str(error))]
    except RpcError as error:
        raise pruned(swap) from error
    try:
        pools = await _read(PoolReader(chain), swap, refs, certificate.pools)
    except RpcError as error:
        raise pruned(swap) from error
    except ValueError as error:
        return [CertificateCheck("states", holds=False, text=str(error))]
    return check_certificate(swap, pools, row.wrapped_native)


def _refs_of(rows: Sequence[Deployment], pools: Sequence[CertifiedPool]) -> tuple[Deployment, list[PoolRef]]:
    """Returns the row of the pools, and the pools. Raises ValueError for one that is not the row's."""
    protocols = {pool.protocol.rpartition("-")[0] for pool in pools}
    row = next((row for row in rows if protocols == {row.protocol}), None)
    if row is None:
        names = ", ".join(sorted(protocols)) or "none"
        raise ValueError(f"this installation has no row of the protocol on this network: {names}")
    refs = []
    for pool in pools:
        ref = _ref_of(row, pool)
        if ref is None or ref.id != pool.pool:
            raise ValueError(f"{pool.pool} is no pool of {pool.protocol} with these tokens and parameters")
        refs.append(ref)
    return row, refs


def _ref_of(row: Deployment, pool: CertifiedPool) -> PoolRef | None:
    """Returns the pool that tokens and parameters name; None for those of no pool."""
    kind = pool.protocol.rpartition("-")[2]
    if len(pool.tokens) != 2 or len(pool.parameters) != (0 if kind == "v2" else 4):
        return None
    if kind == "v2":
        return None if row.v2 is None else v2_pool(row.v2, *pool.tokens)
    fee, spacing, word_lo, word_hi = pool.parameters
    in_range = 0 <= fee < 1 << 24 and 0 < spacing < 1 << 15
    if not in_range or not all(-(1 << 15) <= word < 1 << 15 for word in (word_lo, word_hi)):
        return None
    if kind == "v3" and row.v3 is not None:
        return v3_pool(row.v3, *pool.tokens, fee, spacing)
    if kind == "v4" and row.v4 is not None:
        return v4_pool(row.v4, PoolKey(*pool.tokens, fee, spacing))
    return None


async def _check_spacings(chain: Chain, swap: CertifiedSwap, refs: Sequence[PoolRef]) -> None:
    """Raises ValueError for a v3 pool with another tick spacing: its address does not tell it."""
    asked = [ref for ref in refs if ref.kind == "v3"]
    calls = [Call(ref.id, _TICK_SPACING.encode(()), max_output=32) for ref in asked]
    for ref, answer in zip(asked, await chain.call_many(calls, block=swap.block), strict=True):
        if not isinstance(answer, bytes) or int.from_bytes(answer) != ref.tick_spacing:
            raise ValueError(f"the pool {ref.id} does not exist with the tick spacing {ref.tick_spacing}")


async def _read(
    reader: PoolReader, swap: CertifiedSwap, refs: Sequence[PoolRef], named: Sequence[CertifiedPool]
) -> list[Pool]:
    """Returns the states, with the bitmap words that the certificate says. Raises ValueError for a pool that
    cannot trade, or whose words cannot be read.
    """
    questions = [_question(ref, pool) for ref, pool in zip(refs, named, strict=True)]
    states = await reader.read(swap.block, questions)
    return [
        await _completed(reader, swap, question, state, pool)
        for question, state, pool in zip(questions, states, named, strict=True)
    ]


def _question(ref: PoolRef, pool: CertifiedPool) -> lens.Question:
    if ref.kind == "v2":
        return lens.first_look(ref)
    _, _, first, last = pool.parameters
    return lens.Question(ref, 0, 0) if first > last else lens.Question(ref, 0, last - first, first)


async def _completed(
    reader: PoolReader, swap: CertifiedSwap, question: lens.Question, state: lens.State, pool: CertifiedPool
) -> Pool:
    if state is None or isinstance(state, lens.Empty):
        raise ValueError(f"the pool {pool.pool} cannot trade at block {swap.block.number}")
    if not isinstance(state, ConcentratedPool):
        return state
    _, _, first, last = pool.parameters
    if first > last:
        return replace(state, ticks=(), word_lo=first, word_hi=last)
    for _ in range(_LONGEST_BAND):
        if state.word_hi >= last or state.word_lo > state.word_hi:
            break
        # An answer has a limit of size: the rest comes in further ones.
        more = lens.Question(question.ref, 0, last - state.word_hi - 1, state.word_hi + 1)
        (answer,) = await reader.read_alone(swap.block, (more,))
        if not isinstance(answer, ConcentratedPool):
            break
        state = joined(state, answer)
    if (state.word_lo, state.word_hi) != (first, last):
        raise ValueError(f"the node does not give all ticks of the pool {pool.pool}")
    return state
