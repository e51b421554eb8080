"""How near a swap is to the best one, and what proves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Address, Block


@dataclass(frozen=True, slots=True)
class CertifiedPool:
    """A pool that a certificate counts.

    ``parameters`` are the further integers by which the provider finds the pool and reads the same part of
    its state. ``digest`` is keccak-256 of that state in the provider's documented encoding, as 0x hex.
    """

    protocol: str
    pool: str
    tokens: tuple[Address, ...]
    parameters: tuple[int, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """What proves a bound: a price per token, and the state of each pool that counts.

    ``prices`` are integers per base unit, all at one scale; that of the wrapped native coin is the native
    coin's too.
    """

    prices: Mapping[str, int]
    pools: tuple[CertifiedPool, ...]


@dataclass(frozen=True, slots=True)
class Optimality:
    """How near a swap is to the best one through the same pools at the same block.

    ``bound`` (base units of the output token): no trade of the input through these ``pools`` (a number), of
    the protocols ``families``, has a greater output, gas aside. It counts the arbitrage that the pools offer
    without any input; ``arbitrage`` bounds that part alone and is not subtracted. ``gap_bps`` is the most
    that the quote misses of the bound, ``net_gap_bps`` the same net of gas; both are rounded up, to at most
    0.01 more. ``block`` is that of the quote. ``method`` is how the route was found: as a ``single_path`` or
    a ``split``. Of an exact output, ``bound`` and ``arbitrage`` are of the input token: no trade that pays
    the output asked for takes less than ``bound``, and the gaps are shares of the input. ``certificate`` is
    for requests that ask for it (``SwapRequest.certificate``), and at most 1,000 pools.
    """

    bound: int
    gap_bps: float
    net_gap_bps: float
    arbitrage: int
    pools: int
    families: tuple[str, ...]
    block: Block
    method: Literal["single_path", "split"]
    certificate: Certificate | None = None
