"""How swaps that were mined are grouped."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["PairClass", "SizeClass"]

PairClass: TypeAlias = Literal["dollars", "dollar", "other", "unknown"]
"""Both tokens are within 2 % of a US dollar, one is, none is, or a price is not known."""

SizeClass: TypeAlias = Literal["under100", "under1k", "under10k", "under100k", "under1M", "over1M", "unknown"]
"""The US dollars sold."""
