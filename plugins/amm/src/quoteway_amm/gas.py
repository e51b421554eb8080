"""Gas of a route as data: what the router spends per protocol, hop and tick, and its cost in a token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from quoteway_amm.pool import Kind


@dataclass(frozen=True, slots=True)
class HopGas:
    """Gas units of one protocol: `section` per run of hops (a router command), `hop`, `tick` crossed."""

    section: int
    hop: int
    tick: int = 0


@dataclass(frozen=True, slots=True)
class GasModel:
    """Gas units of a route.

    `transaction` once, `pull` once when the input is a token (its transfer from the sender), `wrap` and
    `unwrap` for every conversion of the native coin along the route, then the hops.
    """

    transaction: int
    pull: int
    wrap: int
    unwrap: int
    hops: Mapping[Kind, HopGas]


@dataclass(frozen=True, slots=True)
class GasPrice:
    """Base units of a token per unit of gas, as a rational."""

    numerator: int
    denominator: int = 1

    def __post_init__(self) -> None:
        if self.numerator < 0 or self.denominator <= 0:
            raise ValueError(f"gas price {self.numerator}/{self.denominator} is negative or undefined")

    @classmethod
    def from_native(cls, wei_per_gas: int, token_per_wei: tuple[int, int]) -> GasPrice:
        """From the chain's gas price and the token's price of one wei, as `native_price` gives it."""
        return cls(wei_per_gas * token_per_wei[0], token_per_wei[1])

    def cost(self, gas_units: int) -> int:
        """Cost of `gas_units` in base units of the token, rounded up."""
        return -(-gas_units * self.numerator // self.denominator)


FREE = GasPrice(0)

UNISWAP_GAS = GasModel(
    transaction=22_000,
    pull=20_000,
    wrap=20_000,
    unwrap=16_000,
    hops=MappingProxyType(
        {
            "v2": HopGas(section=10_000, hop=44_000),
            "v3": HopGas(section=3_000, hop=61_000, tick=31_000),
            "v4": HopGas(section=28_000, hop=48_000, tick=20_000),
        }
    ),
)
"""Swaps through the Universal Router 2.1.0 with Permit2.

Within 2 % of receipts for v2 and v3 of one to three hops and v4 of one, all storage in use already; further
v4 hops are an estimate. The first crossing ever of a tick writes fresh storage and costs twice the figure.
"""
