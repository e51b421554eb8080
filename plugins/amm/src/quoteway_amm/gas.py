"""The gas of a route per protocol, hop and tick, and its cost in a token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from quoteway_amm.errors import UnknownFamily
from quoteway_amm.pool import Kind


@dataclass(frozen=True, slots=True)
class HopGas:
    """Gas units of one family: per router command (`section`), per hop, per tick crossed."""

    section: int
    hop: int
    tick: int = 0


@dataclass(frozen=True, slots=True)
class GasModel:
    """Gas units of a route.

    `transaction`: once. `pull`: the transfer of an input token from the sender. `wrap`, `unwrap`: each
    conversion of the native coin along the route.
    """

    transaction: int
    pull: int
    wrap: int
    unwrap: int
    hops: Mapping[Kind, HopGas]

    def of(self, kind: Kind) -> HopGas:
        """Returns the gas of a family's pools. Raises UnknownFamily for one that the model does not have."""
        try:
            return self.hops[kind]
        except KeyError:
            raise UnknownFamily(kind, self.hops) from None

    def __reduce__(self) -> tuple[type[GasModel], tuple[Any, ...]]:
        """Makes a model with a read-only ``hops`` picklable."""
        return GasModel, (self.transaction, self.pull, self.wrap, self.unwrap, dict(self.hops))


@dataclass(frozen=True, slots=True)
class GasPrice:
    """Base units of a token per unit of gas, as a fraction."""

    numerator: int
    denominator: int = 1

    def __post_init__(self) -> None:
        if self.numerator < 0 or self.denominator <= 0:
            raise ValueError(f"gas price {self.numerator}/{self.denominator} must be a fraction of 0 or more")

    @classmethod
    def from_native(cls, wei_per_gas: int, token_per_wei: tuple[int, int]) -> GasPrice:
        """Returns the gas price in a token, from wei per gas and the result of `native_price`."""
        return cls(wei_per_gas * token_per_wei[0], token_per_wei[1])

    def cost(self, gas_units: int) -> int:
        """Returns the cost of `gas_units` in base units of the token, rounded up."""
        return -(-gas_units * self.numerator // self.denominator)


FREE = GasPrice(0)

UNISWAP_GAS = GasModel(
    transaction=22_000,
    pull=20_000,
    wrap=20_000,
    unwrap=16_000,
    hops=MappingProxyType(
        {
            "v2": HopGas(section=10_000, hop=54_000),
            "v3": HopGas(section=3_000, hop=61_000, tick=31_000),
            "v4": HopGas(section=28_000, hop=48_000, tick=20_000),
        }
    ),
)
"""Swaps through the Universal Router 2.1.0 with Permit2.

Measured on storage that is in use, for one to three v2 or v3 hops and one v4 hop; more v4 hops are an
estimate. A v2 hop holds the 10,000 of the pair's price history, written by its first swap of a block. The
first crossing of a tick writes new storage and costs twice as much.
"""
