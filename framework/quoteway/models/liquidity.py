"""Liquidity that plugins contribute: pools as a solver uses them, and the flows that an executor encodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from quoteway.models.tokens import Address, Block


class LiquidityPool(Protocol):
    """A pool at one block: an object that never changes and can be pickled.

    ``kind`` is its family. ``id`` is the contract's address or another text of at most 66 characters, its own
    on its network. The pairs of a pool with more than two tokens have its id: a flow has one of them at most.
    Tokens are EIP-55 addresses. It also has ``exact_in``, ``exact_out``, ``mid_price``,
    ``swap_fee_pips``, ``has_liquidity`` and ``curve``: ``quoteway_amm.Pool`` says what they return, and
    ``quoteway_amm`` has classes for common formulas.
    """

    @property
    def kind(self) -> str:
        """Returns the family of the pool, a key of ``Executor.leg_gas``."""

    @property
    def id(self) -> str:
        """Returns its address or another text, unique on its network."""

    @property
    def token0(self) -> Address:
        """Returns the address of its first token."""

    @property
    def token1(self) -> Address:
        """Returns the address of its second token."""


@dataclass(frozen=True, slots=True)
class PoolsFound:
    """The pools that sources gave for one executor. ``missing`` are the sources that gave no answer."""

    pools: tuple[LiquidityPool, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowLeg:
    """One pool of a flow, by its family and id.

    ``fee_pips`` is the fee withheld from the input, in hundredths of a basis point. ``amount_in`` is in base
    units, and 0 for the last leg out of each token: it takes what is left there.
    """

    kind: str
    pool: str
    token_in: Address
    token_out: Address
    fee_pips: int
    amount_in: int


@dataclass(frozen=True, slots=True)
class FlowOrder:
    """A flow to encode as one transaction.

    It takes ``amount_in`` of ``token_in`` through the legs, in their order, and pays ``recipient`` at least
    ``amount_out_min`` of ``token_out``, else it reverts. Each leg into a token comes before each leg out of
    it. ``token_in`` and ``token_out`` are as requested: ``NATIVE`` where the legs have the wrapped coin.
    ``deadline`` is in Unix seconds.
    """

    chain_id: int
    legs: tuple[FlowLeg, ...]
    token_in: Address
    token_out: Address
    amount_in: int
    amount_out_min: int
    sender: Address
    recipient: Address
    deadline: int
    block: Block
