"""Exact integer maths of v2, v3 and hookless v4 pools, and best-path routing over them. No I/O."""

from quoteway_amm.concentrated import (
    ConcentratedPool,
    SwapResult,
    next_tick_within_one_word,
    swap_exact_in,
    swap_exact_out,
    word_of_tick,
)
from quoteway_amm.errors import BandExceeded, BandsExceeded
from quoteway_amm.gas import FREE, UNISWAP_GAS, GasModel, GasPrice, HopGas
from quoteway_amm.graph import Edge, Graph
from quoteway_amm.pool import NATIVE, PIPS, Kind, Pool
from quoteway_amm.routing import (
    Hop,
    NoPath,
    Path,
    best_path_exact_in,
    best_path_exact_out,
    native_price,
)
from quoteway_amm.swap_math import combined_fee
from quoteway_amm.tick_math import (
    MAX_SQRT_RATIO,
    MAX_TICK,
    MIN_SQRT_RATIO,
    MIN_TICK,
    sqrt_ratio_at_tick,
    tick_at_sqrt_ratio,
)
from quoteway_amm.v2 import V2Pool, exact_in_taxed, get_amount_in, get_amount_out, taxed_amount

__all__ = [
    "FREE",
    "MAX_SQRT_RATIO",
    "MAX_TICK",
    "MIN_SQRT_RATIO",
    "MIN_TICK",
    "NATIVE",
    "PIPS",
    "UNISWAP_GAS",
    "BandExceeded",
    "BandsExceeded",
    "ConcentratedPool",
    "Edge",
    "GasModel",
    "GasPrice",
    "Graph",
    "Hop",
    "HopGas",
    "Kind",
    "NoPath",
    "Path",
    "Pool",
    "SwapResult",
    "V2Pool",
    "best_path_exact_in",
    "best_path_exact_out",
    "combined_fee",
    "exact_in_taxed",
    "get_amount_in",
    "get_amount_out",
    "native_price",
    "next_tick_within_one_word",
    "sqrt_ratio_at_tick",
    "swap_exact_in",
    "swap_exact_out",
    "taxed_amount",
    "tick_at_sqrt_ratio",
    "word_of_tick",
]
