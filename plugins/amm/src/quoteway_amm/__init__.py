"""Exact integer maths of v2, v3 and hookless v4 pools, and best-path routing. No I/O."""

from quoteway_amm.algebra import AlgebraPool
from quoteway_amm.concentrated import ConcentratedPool
from quoteway_amm.concentrated_state import ConcentratedState, next_tick_within_one_word, word_of_tick
from quoteway_amm.curve import Curve, Segment
from quoteway_amm.errors import BandExceeded, BandsExceeded, UnknownFamily
from quoteway_amm.gas import FREE, UNISWAP_GAS, GasModel, GasPrice, HopGas
from quoteway_amm.graph import Edge, Graph
from quoteway_amm.liquidity import (
    MINIMUM_LIQUIDITY,
    amounts_for_liquidity,
    amounts_to_mint,
    amounts_used,
    fee_growth_inside,
    fees_earned,
    full_range,
    least,
    least_amounts_paid,
    least_amounts_used,
    liquidity_for_amounts,
    liquidity_paying,
    nearest_usable_tick,
    settled_amounts,
    tokens_owed,
    v2_amounts_burned,
    v2_amounts_used,
    v2_protocol_shares,
    v2_shares_minted,
)
from quoteway_amm.pool import NATIVE, PIPS, Kind, Pool
from quoteway_amm.routing import (
    Hop,
    NoPath,
    Path,
    best_path_exact_in,
    best_path_exact_out,
    native_price,
)
from quoteway_amm.swap_fees import fees_of_swap
from quoteway_amm.swap_loop import SwapResult, swap_exact_in, swap_exact_out
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
    "MINIMUM_LIQUIDITY",
    "MIN_SQRT_RATIO",
    "MIN_TICK",
    "NATIVE",
    "PIPS",
    "UNISWAP_GAS",
    "AlgebraPool",
    "BandExceeded",
    "BandsExceeded",
    "ConcentratedPool",
    "ConcentratedState",
    "Curve",
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
    "Segment",
    "SwapResult",
    "UnknownFamily",
    "V2Pool",
    "amounts_for_liquidity",
    "amounts_to_mint",
    "amounts_used",
    "best_path_exact_in",
    "best_path_exact_out",
    "combined_fee",
    "exact_in_taxed",
    "fee_growth_inside",
    "fees_earned",
    "fees_of_swap",
    "full_range",
    "get_amount_in",
    "get_amount_out",
    "least",
    "least_amounts_paid",
    "least_amounts_used",
    "liquidity_for_amounts",
    "liquidity_paying",
    "native_price",
    "nearest_usable_tick",
    "next_tick_within_one_word",
    "settled_amounts",
    "sqrt_ratio_at_tick",
    "swap_exact_in",
    "swap_exact_out",
    "taxed_amount",
    "tick_at_sqrt_ratio",
    "tokens_owed",
    "v2_amounts_burned",
    "v2_amounts_used",
    "v2_protocol_shares",
    "v2_shares_minted",
    "word_of_tick",
]
