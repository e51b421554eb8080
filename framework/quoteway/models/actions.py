"""Builds of providers, and the actions that the core makes from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from quoteway.models.amounts import Approval, Issue, Leg, Notice, Spend
from quoteway.models.requests import Capability
from quoteway.models.terms import BuildTerms
from quoteway.models.tokens import Address, Block, Json


@dataclass(frozen=True, slots=True)
class Argument:
    """One decoded argument. ``value`` is int, str (0x hex for bytes), bool, or nested lists of these."""

    name: str
    type: str
    value: Any


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """A decoded call: canonical signature, e.g. ``transfer(address,uint256)``, and its arguments.

    ``inner`` lists nested calls (router commands), for display. ``opaque`` marks calldata of unknown ABI from
    an upstream. Then the signature is the selector in 0x hex and the only argument is the remaining bytes
    (``quoteway.evm.abi.opaque_call``). ``inner`` may then hold one decoding of the whole call, which must
    encode to the same bytes. The guard accepts an opaque call only for a request on one chain, and judges it
    by its simulation.
    """

    signature: str
    args: tuple[Argument, ...]
    inner: tuple[DecodedCall, ...] = ()
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One unsigned transaction with the data to check it.

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
    """A call that returns, as one 32-byte word, the amount of ``token`` that ``account`` will pay or receive.

    The simulation runs it just before the transactions, on the same state and with the same timestamp. The
    guard rejects a worse outcome. Example: ERC-4626 ``previewDeposit``.
    """

    account: Address
    token: Address
    to: Address
    data: bytes


@dataclass(frozen=True, slots=True)
class Arrival:
    """The positions in the calldata of the provider's step ``step`` of the output on another chain.

    Each member is a path into the step's decoded arguments: the argument's index, then the index of each
    struct member or array item below it. A provider must derive them from the function, never from its
    upstream. The guard compares the values with the sealed quote. For a function that the core knows, it
    rejects positions that differ from the core's. ``refund`` is the position of the refund account; None: the
    function has none.
    """

    step: int
    chain_id: tuple[int, ...]
    recipient: tuple[int, ...]
    token: tuple[int, ...]
    amount_min: tuple[int, ...]
    refund: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """A provider's transactions for a sealed quote, in order, without approvals.

    ``inputs`` and ``outputs`` repeat the quote's; the minimum of an output may not be below the sealed one.
    The guard compares the simulation with ``previews``. ``arrivals`` has one entry per output on another
    chain, in the same order; the guard checks these outputs in the calldata, because a simulation cannot show
    them. ``terms`` are those of the request's kind.
    """

    steps: tuple[Step, ...]
    spends: tuple[Spend, ...]
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    deadline: int | None = None
    signatures: tuple[SignatureRequest, ...] = ()
    issues: tuple[Issue, ...] = ()
    warnings: tuple[Notice, ...] = ()
    terms: BuildTerms | None = None
    previews: tuple[Preview, ...] = ()
    arrivals: tuple[Arrival, ...] = ()

    @property
    def is_opaque(self) -> bool:
        """Returns whether an upstream made any of the calldata."""
        return any(step.decoded.opaque for step in self.steps)


@dataclass(frozen=True, slots=True)
class AssetChange:
    """The change of an account's token balance in base units; positive for a gain."""

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
    """The simulation of an action's transactions, in order, on the chain's state at ``block``.

    ``gas_used`` has one entry per transaction. ``assumptions`` name the overridden state
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStep(Step):
    """A step with the members that the gateway adds.

    ``tx_id`` is the signed commitment to the transaction. ``target_label`` is the provider's name of the
    target, or else the gateway's. ``code_hash`` is keccak-256 of the target's code as 0x hex; None when the
    code was not read. ``gas_limit`` is None when it is not known.
    """

    index: int
    tx_id: str
    code_hash: str | None
    gas_limit: int | None

    @classmethod
    def of(cls, step: Step, *, index: int, tx_id: str, code_hash: str | None, gas_limit: int | None) -> Self:
        """Returns the step at ``index`` of an action with the added members."""
        given = {member.name: getattr(step, member.name) for member in fields(Step)}
        return cls(**given, index=index, tx_id=tx_id, code_hash=code_hash, gas_limit=gas_limit)


@dataclass(frozen=True, slots=True)
class ActionPart:
    """One provider's part of an action: ``steps`` transactions from ``first_step`` on, approvals included."""

    capability: Capability
    provider: str
    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    steps: int
    first_step: int = 0

    @property
    def indices(self) -> range:
        """The indices of the part's steps in the action."""
        return range(self.first_step, self.first_step + self.steps)


@dataclass(frozen=True, slots=True)
class Action:
    """A built, checked and simulated quote: the transactions to sign, in order.

    ``parts`` has one entry per provider; together they contain every step. ``action_id``
    is a hash of the chain, the sender and every transaction in order.
    """

    action_id: str
    capability: Capability
    provider: str
    chain_id: int
    sender: Address
    steps: tuple[ActionStep, ...]
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
    terms: BuildTerms | None = None
