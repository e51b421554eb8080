"""Catalog entries of providers: pools, vaults, positions of wallets, bridge routes, metrics over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Self, TypeVar

from quoteway.models.amounts import Leg
from quoteway.models.notices import Notice
from quoteway.models.tokens import Address, Block, Token

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool of the catalog. ``id`` is ``{chainId}:{address}`` or, for v4, ``{chainId}:{bytes32}``."""

    id: str
    network: str
    chain_id: int
    protocol: str
    kind: str
    address: str
    tokens: tuple[Token, ...]
    actions: tuple[str, ...]
    source: str
    updated_at: int
    fee_bps: float | None = None
    tvl_usd: float | None = None
    apr: float | None = None
    volume_24h_usd: float | None = None
    fees_24h_usd: float | None = None
    hooks: Address | None = None
    preview: bool = False


@dataclass(frozen=True, slots=True)
class Vault:
    """One vault; ``total_assets`` in base units of its asset.

    ``listed`` False: not in the provider's catalog, but read from the chain by its id.
    """

    id: str
    network: str
    chain_id: int
    address: Address
    name: str
    protocol: str
    strategy: str
    asset: Token
    share: Token
    actions: tuple[str, ...]
    source: str
    updated_at: int
    status: Literal["active", "paused", "retired"] = "active"
    apy: float | None = None
    total_assets: int | None = None
    tvl_usd: float | None = None
    risk_score: float | None = None
    fees_bps: Mapping[str, int | None] = field(default_factory=dict)
    caps: Mapping[str, int | None] | None = None
    is_transactional: bool = True
    preview: bool = False
    listed: bool = True
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolPosition:
    """A wallet's position in a pool: fungible shares or an NFT.

    ``manager`` is the contract whose token ``position_id`` is, of an NFT, where the provider tells it.
    """

    position_id: str
    pool_id: str
    owner: Address
    kind: Literal["fungible", "nft"]
    liquidity: int
    amounts: tuple[Leg, ...]
    uncollected_fees: tuple[Leg, ...]
    block: Block
    share: float | None = None
    tick_range: tuple[int, int] | None = None
    in_range: bool | None = None
    value_usd: float | None = None
    manager: Address | None = None


@dataclass(frozen=True, slots=True)
class VaultPosition:
    """A wallet's shares of a vault in base units.

    ``amounts`` are the assets that a redemption pays now; empty: not known. ``share`` is the fraction of the
    total supply, between 0 and 1.
    """

    vault_id: str
    owner: Address
    shares: int
    amounts: tuple[Leg, ...]
    block: Block
    share: float | None = None
    value_usd: float | None = None


class Incomplete(tuple[T, ...]):
    """Rows that a provider found, where it could not look for all. ``reason`` is one of ``quoteway.Reason``.

    ``positions`` of a provider may return it. The rows are shown, and the provider is named in ``partial``.
    """

    reason: str

    def __new__(cls, rows: Iterable[T], reason: str) -> Self:
        made = super().__new__(cls, rows)
        made.reason = reason
        return made


@dataclass(frozen=True, slots=True)
class BridgeRoute:
    """A pair of tokens on two chains that a bridge serves."""

    from_chain_id: int
    to_chain_id: int
    from_token: Token
    to_token: Token
    bridge: str
    enabled: bool
    min_amount: int | None = None
    max_amount: int | None = None
    estimated_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class InitialisedTick:
    """A tick at which the liquidity in range changes, by ``liquidity_net`` where the price rises over it."""

    tick: int
    liquidity_net: int


@dataclass(frozen=True, slots=True)
class PoolLiquidity:
    """How the liquidity of a pool with ticks lies around its price, at one block.

    ``ticks`` are the initialised ticks from ``known[0]`` to ``known[1]`` (both included), ascending. Ticks
    outside of these are not known. ``liquidity`` is that in range at ``tick``, in the unit of
    ``PoolState.liquidity``.
    """

    pool_id: str
    tick_spacing: int
    sqrt_price_x96: int
    tick: int
    liquidity: int
    ticks: tuple[InitialisedTick, ...]
    known: tuple[int, int]
    block: Block


@dataclass(frozen=True, slots=True)
class SharePrice:
    """What a vault's shares were worth at a block: whole assets of a whole share, as exact decimal text."""

    block: int
    timestamp: int
    price: str


@dataclass(frozen=True, slots=True)
class GrowthWindow:
    """The two share prices between which a yield is computed; None where one is not known."""

    window: str
    first: SharePrice | None
    last: SharePrice | None


@dataclass(frozen=True, slots=True)
class Series:
    """A metric over time. A point without a known value is None.

    ``coverage`` is the span in which values are known, in Unix seconds; the core takes it from the points
    where a provider leaves it None. ``reason`` is set by the core: why the newest read gave no values.
    ``components`` are parts of the value; ``amounts`` are base units by name, exact, over all points.
    ``endpoints`` are the two prices of each window of a yield.
    """

    id: str
    metric: str
    unit: str
    interval: Literal["1h", "1d", "1w"]
    start: int
    end: int
    points: tuple[tuple[int, float | None], ...]
    source: str
    method: str
    updated_at: int
    current: float | None = None
    block: Block | None = None
    preview: bool = False
    gaps: tuple[tuple[int, int], ...] = ()
    components: Mapping[str, float | None] | None = None
    windows: Mapping[str, float | None] | None = None
    coverage: tuple[int, int] | None = None
    reason: str | None = None
    amounts: Mapping[str, int | None] | None = None
    endpoints: tuple[GrowthWindow, ...] | None = None
