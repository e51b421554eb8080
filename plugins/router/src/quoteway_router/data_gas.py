"""What a rollup charges for the data of a swap, as gas: so that a leg must pay for its calldata too."""

from __future__ import annotations

from dataclasses import replace

from quoteway import DataPrice
from quoteway_amm import GasModel


def leg_data_units(price: DataPrice | None, gas_price_wei: int | None) -> int:
    """Returns what the data of one more leg costs in gas units at a price of gas, rounded up.

    0 where the network charges nothing for data, or gas costs nothing: no amount of it is worth a fee then.
    """
    if price is None or not gas_price_wei:
        return 0
    return -(-(price.of_legs(2) - price.of_legs(1)) // gas_price_wei)


def with_data_gas(model: GasModel, price: DataPrice | None, gas_price_wei: int | None) -> GasModel:
    """Returns a gas model whose transaction and legs cost what their data does, too."""
    leg = leg_data_units(price, gas_price_wei)
    if price is None or not gas_price_wei or not leg:
        return model
    once = max(-(-price.of_legs(1) // gas_price_wei) - leg, 0)
    hops = {kind: replace(gas, hop=gas.hop + leg) for kind, gas in model.hops.items()}
    return replace(model, transaction=model.transaction + once, hops=hops)
