"""What the gateway and its providers say to each other: frozen, slotted dataclasses.

Amounts are ``int`` base units. Addresses are EIP-55 strings; the native coin is the zero address
(``NATIVE``). Times are Unix seconds. Shapes on the wire are made from these in ``quoteway.web`` and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

NATIVE = "0x0000000000000000000000000000000000000000"
MAX_UINT256 = (1 << 256) - 1

Address: TypeAlias = str
Json: TypeAlias = Any


class Capability(StrEnum):
    """What a provider can do. The value is also the audience (``aud``) of the quote tokens of that
    capability."""

    SWAP = "swap"
    BRIDGE = "bridge"
    POOL = "pool"
    VAULT = "vault"
    TOKENS = "tokens"
    METRICS = "metrics"
    PRICES = "prices"
    RPC = "rpc"
    RELAY = "relay"


# --- what there is ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """The block every number of one answer was read at."""

    number: int
    hash: str
    timestamp: int
    base_fee_wei: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """An ERC-20 token or, at ``NATIVE``, the chain's own coin. Unknown facts are None, never guessed."""

    chain_id: int
    address: Address
    decimals: int
    symbol: str | None = None
    name: str | None = None
    logo_uri: str | None = None
    price_usd: float | None = None

    @property
    def is_native(self) -> bool:
        return self.address == NATIVE


@dataclass(frozen=True, slots=True)
class Price:
    """What one whole token is worth in US dollars, read at ``block``.

    ``usd`` None: the source knows the token and gives no price (too little depth). ``confidence`` is between
    0 and 1, by the source's own measure; None when it has none.
    """

    usd: float | None
    source: str
    block: Block
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TokenProfile:
    """The token-by-id profile of the contract. ``id`` is a short slug; unknown members are None."""

    id: str
    name: str
    symbol: str
    updated_at: int
    contracts: tuple[Token, ...]
    ucid: str | None = None
    description: str | None = None
    issuer: str | None = None
    logo_uri: str | None = None
    website: str | None = None
    whitepaper: str | None = None
    rank: int | None = None
    holders: int | None = None
    price_usd: float | None = None
    price_change_24h_pct: float | None = None
    market_cap_usd: float | None = None
    fdv_usd: float | None = None
    volume_24h_usd: float | None = None
    circulating_supply: str | None = None
    total_supply: str | None = None
    max_supply: str | None = None
    audit_score: float | None = None
    tags: tuple[str, ...] = ()
    socials: tuple[tuple[str, str], ...] = ()
    listed: bool = True


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

    ``listed`` False: not of the provider's catalog, found on the chain when asked for by id.
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
class Position:
    """What a wallet holds in a pool: fungible shares or an NFT."""

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


@dataclass(frozen=True, slots=True)
class Series:
    """A metric over time. A point whose value the chain cannot give is None, never a guess."""

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


# --- what is asked ----------------------------------------------------------------------------------------


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
    """Deposit, withdraw, mint, redeem, or a management action; ``bot`` is the account that ``setBot`` names.

    ``amount`` None stands for ``"max"`` or not given.
    """

    vault_id: str
    chain_id: int
    action: str
    asset: Address | None
    amount: int | None
    sender: Address
    recipient: Address
    slippage_bps: int
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


Request: TypeAlias = SwapRequest | PoolRequest | VaultRequest | DeployRequest


# --- what is quoted ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leg:
    """An amount of a token that an account gives or gets. ``amount_min`` is what the chain enforces for
    outputs."""

    token: Token
    amount: int
    account: Address
    amount_min: int | None = None
    amount_max: int | None = None
    amount_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee in the quote. ``included`` tells that ``outputs`` are already net of it."""

    name: str
    kind: Literal["protocol", "integrator", "bridge", "lp", "gas"]
    token: Token
    amount: int
    included: bool
    bps: float | None = None
    amount_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Gas:
    """Gas of the whole ordered list in gas units; prices and cost in wei of the native coin."""

    units: int
    limit: int
    max_fee_per_gas_wei: int | None = None
    l1_fee_wei: int | None = None
    cost_wei: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """An allowance that a quote or a step is about. ``current`` None: not read."""

    token: Address
    spender: Address
    required: int
    current: int | None = None
    needed: bool | None = None
    needs_reset: bool | None = None


@dataclass(frozen=True, slots=True)
class Hop:
    """One pool on a path: pool id or address, amounts in base units."""

    provider: str
    protocol: str
    pool: str
    token_in: Address
    token_out: Address
    amount_in: int
    amount_out: int
    fee_bps: float | None = None


@dataclass(frozen=True, slots=True)
class RoutePath:
    """A share (basis points of the input) that takes these hops one after the other."""

    bps: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """What stands between the wallet and execution. ``code`` is one of the closed list in the API docs."""

    code: Literal[
        "insufficient_balance",
        "insufficient_allowance",
        "allowance_reset_needed",
        "transfer_tax",
        "high_price_impact",
        "unverified_target",
        "smart_account",
    ]
    token: Address | None = None
    actual: int | None = None
    required: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: a code for programs, a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What a provider answers to a request, all of it read at ``block``.

    ``plan`` is compact JSON (pool ids, splits; never calldata, never secrets; at most 2 KB) that ``build``
    gets back. ``spends`` is what the transactions will take from the sender and through whom. ``net_output``
    ranks competing quotes: the minimum output less gas in base units of the output token (None: the minimum
    itself). ``details`` are additive response members of the capability (``poolState``, ``vault``,
    ``refund``...), already in wire form but for the
    tokens and legs in them.
    """

    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    block: Block
    plan: Mapping[str, Json]
    spends: tuple[Spend, ...] = ()
    slippage_bps: int = 0
    fees: tuple[Fee, ...] = ()
    gas: Gas | None = None
    route: tuple[RoutePath, ...] | None = None
    price_impact_bps: int | None = None
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()
    net_output: int | None = None
    lifetime_s: int | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one provider did in a competition. ``reason`` is a code of the registry, never the provider's own
    text."""

    provider: str
    outcome: Literal["quoted", "no_route", "failed", "timeout"]
    amount_out: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SealedQuote:
    """What a quote token holds, opened: the caller's consent. ``build`` gets it and must honour every
    minimum.

    ``parts`` are the quotes, each of one provider, that the core joined into this one, in the order in which
    they are carried out; none: it is a provider's own.
    """

    capability: Capability
    provider: str
    request: Request
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    slippage_bps: int
    plan: Mapping[str, Json]
    block: Block
    created_at: int
    expires_at: int
    token: str = ""
    parts: tuple[SealedQuote, ...] = ()


# --- what is built ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Argument:
    """One decoded argument. ``value`` is int, str (0x hex for bytes), bool, or nested lists of these."""

    name: str
    type: str
    value: Any


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """A call in words: canonical signature, e.g. ``transfer(address,uint256)``, and its arguments.

    ``inner`` lists calls packed inside (router commands), for display. ``opaque``: calldata that an upstream
    made and nobody here vouches for. Its signature is the bare selector in 0x hex and its one argument the
    bytes that follow (``quoteway.evm.abi.opaque_call``); ``inner`` may then hold one reading of the whole,
    which must encode to the same bytes. The guard lets such a call pass only for a request on one chain, and
    only on what its run does.
    """

    signature: str
    args: tuple[Argument, ...]
    inner: tuple[DecodedCall, ...] = ()
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One unsigned transaction with what a person and a program need to check it.

    ``decoded`` must re-encode to ``data`` byte for byte (the guard compares). ``intent`` is one sentence for
    the signer.
    """

    kind: str
    to: Address
    data: bytes
    value: int
    chain_id: int
    decoded: DecodedCall
    description: str
    intent: str
    target_label: str | None = None
    approval: Approval | None = None
    gas_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Spend:
    """The provider's transactions pull ``amount`` of ERC-20 ``token`` from the sender through ``spender``.

    The core turns this into exact approval steps, only as the live allowance requires. With
    ``permit2_spender`` set, ``spender`` is the Permit2 contract and ``permit2_spender`` who pulls through it
    (Uniswap Permit2, AllowanceTransfer); ``permit2_signed`` then tells that the main step carries the signed
    permit itself.
    """

    token: Address
    amount: int
    spender: Address
    permit2_spender: Address | None = None
    permit2_signed: bool = False


@dataclass(frozen=True, slots=True)
class SignatureRequest:
    """EIP-712 data to sign. The signature (65 bytes, r ‖ s ‖ v) replaces ``length`` bytes at ``offset`` in
    the calldata of the provider's step ``step`` (index among the provider's own steps; the core moves it past
    the approvals)."""

    kind: str
    typed_data: Mapping[str, Json]
    step: int
    offset: int
    length: int = 65


@dataclass(frozen=True, slots=True)
class Preview:
    """A call whose answer (one word) is what ``account`` will pay or get of ``token``, as the contract says.

    It is made in the simulated run just before the transactions, on the same state and at the same time; the
    guard refuses a run that does worse (ERC-4626 ``previewDeposit`` and its kin).
    """

    account: Address
    token: Address
    to: Address
    data: bytes


@dataclass(frozen=True, slots=True)
class Arrival:
    """Where the calldata of the provider's step ``step`` says what arrives on another chain.

    Each member is a path into the step's decoded arguments: the argument's index, then the index of each
    struct member or array item below it. The paths are the provider's own knowledge of the function, never
    an upstream's word; the guard compares what stands there with the sealed quote, and refuses other places
    than the core's own for a function it knows. ``refund`` is where the account stands that is paid back if
    nothing arrives; None: the function names none.
    """

    step: int
    chain_id: tuple[int, ...]
    recipient: tuple[int, ...]
    token: tuple[int, ...]
    amount_min: tuple[int, ...]
    refund: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """What a provider answers to a sealed quote: its own transactions in order, without approvals.

    ``inputs`` and ``outputs`` restate the quote; the minimum of an output may not be below the sealed one.
    ``previews`` let the guard hold the run against the contract's own word; ``arrivals``, one for each output
    on another chain in their order, let it hold the calldata against what no run can show.
    """

    steps: tuple[Step, ...]
    spends: tuple[Spend, ...]
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    deadline: int | None = None
    signatures: tuple[SignatureRequest, ...] = ()
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict)
    previews: tuple[Preview, ...] = ()
    arrivals: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class AssetChange:
    """What an account gained (positive) or lost (negative) of a token in a simulation, base units."""

    account: Address
    token: Address
    delta: int


@dataclass(frozen=True, slots=True)
class AllowanceChange:
    """An ERC-20 allowance before and after a simulation, base units."""

    owner: Address
    token: Address
    spender: Address
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """The ordered run of an action on the chain's state at ``block``.

    ``gas_used`` has one entry per transaction. ``assumptions`` name what was overridden to run it at all
    (``balance:<token>``, ``native_balance``, ``permit2_signature``). ``skip_reason`` says why status is
    ``skipped``.
    """

    status: Literal["success", "reverted", "skipped"]
    block: Block | None
    gas_used: tuple[int, ...] = ()
    asset_changes: tuple[AssetChange, ...] = ()
    allowance_changes: tuple[AllowanceChange, ...] = ()
    assumptions: tuple[str, ...] = ()
    revert_reason: str | None = None
    reverted_step: int | None = None
    skip_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ActionPart:
    """One provider's part of an action: its next ``steps`` transactions, approvals included."""

    capability: Capability
    provider: str
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class Action:
    """A built, guarded and simulated quote: what the caller signs, in order.

    ``parts`` has one entry for each provider that took part, and together they have every step.
    """

    capability: Capability
    provider: str
    chain_id: int
    sender: Address
    steps: tuple[Step, ...]
    signatures: tuple[SignatureRequest, ...]
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    parts: tuple[ActionPart, ...]
    simulation: Simulation
    created_at: int
    expires_at: int
    block: Block
    deadline: int | None = None
    quote_token: str | None = None
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict)

    def part_of(self, index: int) -> tuple[ActionPart, bool]:
        """The part that a step belongs to, and whether the step is the last of it."""
        left = index
        for part in self.parts:
            if left < part.steps:
                return part, left == part.steps - 1
            left -= part.steps
        raise IndexError(index)
