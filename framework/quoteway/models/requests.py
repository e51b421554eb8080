"""What callers ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway.models.tokens import Address, Token


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """Sell exactly ``amount_in`` base units of ``token_in``; also the request of a bridge transfer.

    ``permit2_signature`` asks for the Permit2 allowance as typed data to sign rather than as a transaction.
    ``refund_to`` is who is paid back when a transfer to another chain does not arrive; None: the sender.
    """

    chain_id: int
    to_chain_id: int
    token_in: Token
    token_out: Token
    amount_in: int
    sender: Address
    recipient: Address
    slippage_bps: int
    permit2_signature: bool = False
    refund_to: Address | None = None

    @property
    def is_cross_chain(self) -> bool:
        return self.chain_id != self.to_chain_id

    @property
    def refund_account(self) -> Address:
        """Who is paid back on the origin chain."""
        return self.sender if self.refund_to is None else self.refund_to


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """Add, remove or collect liquidity. ``amount`` None stands for ``"max"``.

    ``use_native`` gives and takes the chain's own coin where the pool holds its wrapped form; an ``asset``
    that is the native coin says so too.
    """

    pool_id: str
    chain_id: int
    action: str
    asset: Address
    amount: int | None
    sender: Address
    recipient: Address
    slippage_bps: int
    tick_lower: int | None = None
    tick_upper: int | None = None
    position_id: str | None = None
    use_native: bool = False


@dataclass(frozen=True, slots=True)
class VaultRequest:
    """Deposit, withdraw, mint or redeem. ``amount`` None stands for ``"max"``."""

    vault_id: str
    chain_id: int
    action: str
    asset: Address
    amount: int | None
    sender: Address
    recipient: Address
    slippage_bps: int


MANAGE_ACTIONS: Mapping[str, Literal["amount", "bot", "strategy"] | None] = {
    "harvest": None,
    "claim": None,
    "pause": None,
    "unpause": None,
    "setFee": "amount",
    "setCap": "amount",
    "setOperator": "bot",
    "setBot": "bot",
    "addStrategy": "strategy",
    "removeStrategy": "strategy",
}
"""The management actions of vaults, each with the member that it needs."""


@dataclass(frozen=True, slots=True)
class ManageRequest:
    """One of ``MANAGE_ACTIONS``, or ``rebalance``.

    ``amount`` None stands for ``"max"`` or not given. ``bot`` is the account that ``setBot`` and
    ``setOperator`` name, ``strategy`` what is added, removed or moved into.
    """

    vault_id: str
    chain_id: int
    action: str
    sender: Address
    asset: Address | None = None
    amount: int | None = None
    slippage_bps: int = 0
    strategy: str | None = None
    bot: Address | None = None


@dataclass(frozen=True, slots=True)
class DeployRequest:
    """Deploy a managed vault."""

    chain_id: int
    asset: Address
    owner: Address
    strategy: str
    bot: Address | None = None


Request: TypeAlias = SwapRequest | PoolRequest | VaultRequest | ManageRequest | DeployRequest
