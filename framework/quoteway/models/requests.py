"""Requests of callers, and the capabilities of the providers that serve them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias, get_args

from quoteway.models.routing import RoutingLimits
from quoteway.models.tokens import Address, Token


class Capability(StrEnum):
    """A capability of a provider. Its value is also the audience (``aud``) of its quote tokens."""

    SWAP = "swap"
    """Swaps."""
    BRIDGE = "bridge"
    """Transfers of tokens to other networks."""
    POOL = "pool"
    """Pools, and adding and removing liquidity."""
    VAULT = "vault"
    """Vaults, and deposits and withdrawals."""
    TOKENS = "tokens"
    """Lists and profiles of tokens."""
    METRICS = "metrics"
    """Values over time, and the past of wallets."""
    PRICES = "prices"
    """Prices of tokens in US dollars."""
    RPC = "rpc"
    """JSON-RPC calls."""
    RELAY = "relay"
    """Broadcasts of signed transactions."""
    LIQUIDITY = "liquidity"
    """Pools that swaps may be routed through."""
    EXECUTION = "execution"
    """Contracts that execute swaps through such pools."""
    SCREENING = "screening"
    """Verdicts on actions, for the custody policy."""


Side: TypeAlias = Literal["exactIn", "exactOut"]
"""Which amount of a swap is exact."""
SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(frozen=True, slots=True)
class IntegratorFee:
    """A share in basis points, for who brings a swap to the gateway: of what the pools pay, or of what they
    take for an exact output."""

    bps: int
    recipient: Address

    def of(self, amount: int) -> int:
        """Returns the fee on what the pools pay or take, rounded down as contracts do. Both in base units."""
        return amount * self.bps // 10_000


@dataclass(frozen=True, slots=True)
class SwapRequest:
    """A swap or bridge transfer of exactly ``amount_in`` base units of ``token_in``.

    With ``amount_out`` it is a swap for at least that many base units of ``token_out``, and for no less input
    than that takes: ``amount_in`` is then 0. Only providers with ``exact_out`` are asked for it.
    ``permit2_signature`` asks for a signed Permit2 permit instead of a transaction. ``refund_to`` is the
    account that receives the refund of a failed transfer to another chain; None: the sender. ``routing``
    limits the route of a swap. ``fee`` is taken from the output, and the recipient gets the rest; of an exact
    output it is paid in ``token_in`` beside what the pools take, the amount as it was quoted.
    ``certificate`` asks for ``Optimality.certificate``; a quote token does not keep it.
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
    routing: RoutingLimits = field(default_factory=RoutingLimits)
    fee: IntegratorFee | None = None
    amount_out: int | None = None
    certificate: bool = False

    @property
    def side(self) -> Side:
        """Returns which amount is exact: ``exactIn`` or ``exactOut``."""
        return "exactIn" if self.amount_out is None else "exactOut"

    @property
    def amount(self) -> int:
        """The exact amount: of ``token_in``, or of ``token_out`` with ``exactOut``."""
        return self.amount_in if self.amount_out is None else self.amount_out

    @property
    def is_cross_chain(self) -> bool:
        """Returns whether the output arrives on another network."""
        return self.chain_id != self.to_chain_id

    @property
    def refund_account(self) -> Address:
        """The account that receives a refund on the origin chain."""
        return self.sender if self.refund_to is None else self.refund_to


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """A request to add or remove liquidity or collect fees. ``amount`` None means ``"max"``.

    ``use_native`` pays and receives the native coin instead of its wrapped token. A native ``asset`` has the
    same effect.
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
    """A request to deposit, withdraw, mint or redeem. ``amount`` None means ``"max"``."""

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
"""The management actions of vaults, each with the request member that it requires."""


@dataclass(frozen=True, slots=True)
class ManageRequest:
    """A request for one of ``MANAGE_ACTIONS`` or ``rebalance``.

    ``amount`` None means ``"max"`` or not given. ``bot`` is the account for ``setBot`` and ``setOperator``.
    ``strategy`` is the strategy to add, remove or rebalance into.
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
    """A request to deploy a managed vault."""

    chain_id: int
    asset: Address
    owner: Address
    strategy: str
    bot: Address | None = None

    @property
    def sender(self) -> Address:
        """Returns the account that signs, which is the owner."""
        return self.owner


Request: TypeAlias = SwapRequest | PoolRequest | VaultRequest | ManageRequest | DeployRequest


def limits_of(request: Request) -> RoutingLimits:
    """Returns the limits on the route of a swap; of other requests none."""
    return request.routing if isinstance(request, SwapRequest) else RoutingLimits()
