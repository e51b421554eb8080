"""Builds of providers, and the actions that the core makes from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from quoteway.models.amounts import Approval, Issue, Leg, Spend
from quoteway.models.notices import Notice
from quoteway.models.permits import PermitOffer
from quoteway.models.requests import Capability
from quoteway.models.terms import BuildTerms
from quoteway.models.tokens import Address, Block, Json

if TYPE_CHECKING:
    from quoteway.models.quotes import SealedQuote


class Encodes(Protocol):
    """Encodes the calldata of a contract function, as ``quoteway.evm.abi.Function`` does."""

    def encode(self, args: Sequence[Any]) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Argument:
    """One decoded argument. ``value`` is int, str (0x hex for bytes), bool, or nested lists of these."""

    name: str
    type: str
    value: Any


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """A decoded call: canonical signature, e.g. ``transfer(address,uint256)``, and its arguments.

    ``inner`` lists nested calls (router commands). ``opaque`` marks calldata that the core cannot decode: the
    signature is the selector in 0x hex and the only argument is the bytes that follow it.
    """

    signature: str
    args: tuple[Argument, ...]
    inner: tuple[DecodedCall, ...] = ()
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One unsigned transaction. ``value`` is in wei. The core reads from its bytes what it means."""

    to: Address
    data: bytes
    value: int
    chain_id: int


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
class Build:
    """A provider's transactions for a sealed quote, in order, without approvals.

    ``inputs`` and ``outputs`` repeat the quote's; the minimum of an output may not be below the sealed one.
    The guard compares the simulation with ``previews``. ``deadline`` is the Unix time until which the
    transactions are valid, no later than one in the calldata. ``terms`` are those of the request's kind.
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

    @classmethod
    def call(
        cls,
        sealed: SealedQuote,
        function: Encodes,
        to: Address,
        args: Sequence[Any],
        *,
        spends: tuple[Spend, ...] | None = None,
        **more: Any,
    ) -> Self:
        """Returns the build of a sealed quote whose one transaction calls ``function`` of ``to``.

        ``function`` is ``quoteway.evm.abi.function("swap(uint256 amount, address to)")``. Its value is what
        the quote takes of the native coin. ``spends`` are by default the quote's ERC-20 inputs, taken by
        ``to``; give () for a call that needs no allowance, as a vault burns its own shares. ``more`` are
        further members of ``Build``. Raises ``ValueError`` when an argument does not fit its type.
        """
        value = sum(leg.most for leg in sealed.inputs if leg.token.is_native)
        if spends is None:
            erc20 = (leg for leg in sealed.inputs if not leg.token.is_native)
            spends = tuple(Spend(leg.token.address, leg.most, to) for leg in erc20)
        return cls(
            steps=(Step(to, function.encode(args), value, sealed.request.chain_id),),
            spends=spends,
            inputs=sealed.inputs,
            outputs=sealed.outputs,
            **more,
        )


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
class DescribedStep(Step):
    """A transaction with what the core says of it.

    ``kind`` is an action of ``quoteway.evm.calls`` or one of ``APPROVAL_KINDS``. ``decoded`` encodes to
    ``data`` byte for byte. ``intent`` is one sentence for the signer, made from the calldata.
    ``descriptor`` is the ERC-7730 descriptor of the function as JSON, where the core has one.
    """

    kind: str
    decoded: DecodedCall
    description: str
    intent: str
    target_label: str | None = None
    approval: Approval | None = None
    descriptor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStep(DescribedStep):
    """A step of an action.

    ``tx_id`` is the signed commitment to the transaction. ``code_hash`` is keccak-256 of the target's code as
    0x hex; None when the code was not read. ``gas_limit`` is None when it is not known.
    """

    index: int
    tx_id: str
    code_hash: str | None
    gas_limit: int | None

    @classmethod
    def of(
        cls, step: DescribedStep, *, index: int, tx_id: str, code_hash: str | None, gas_limit: int | None
    ) -> Self:
        """Returns the step at ``index`` of an action with the added members."""
        given = {member.name: getattr(step, member.name) for member in fields(DescribedStep)}
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
class Payee:
    """An account that an action pays, pays back or pays a fee, or gives a role, and the network of it."""

    chain_id: int
    account: Address


@dataclass(frozen=True, slots=True)
class Violation:
    """What a custody policy does not allow of an action.

    ``rule`` is the member of the policy file; ``subject`` the address, name or selector that it is about.
    """

    rule: str
    message: str
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """A built, checked and simulated quote: the transactions to sign, in order.

    ``parts`` has one entry per provider; together they contain every step. ``action_id``
    is a hash of the chain, the sender and every transaction in order. ``capability`` None: a revocation of
    allowances, which the gateway itself makes; it has no parts. ``l1_fee_wei`` is what a rollup charges for
    the data of all transactions on its parent chain; None: it charges none, or the fee is not known.
    ``permit_offers`` are the permits whose signatures can take the place of approvals. ``payees`` are all
    accounts that get something. ``price_impact_bps`` is the quote's. ``policy_digest`` is that of the custody
    policy that allows the action; None: the deployment has no policy.
    """

    action_id: str
    capability: Capability | None
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
    l1_fee_wei: int | None = None
    permit_offers: tuple[PermitOffer, ...] = ()
    payees: tuple[Payee, ...] = ()
    price_impact_bps: int | None = None
    policy_digest: str | None = None
