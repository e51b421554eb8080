"""What the arguments of contract functions mean: descriptions of calls, as data.

Paths follow ERC-7730: ``#.amountIn`` is an argument by its name, ``#.path.[0]`` and ``#.path.[-1]`` are items
of an array or members of a struct by their place, ``@.value``, ``@.from`` and ``@.to`` are members of the
transaction. An address (``0x`` and 40 hex digits) is itself; the zero address is the native coin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quoteway.models.tokens import Address


@dataclass(frozen=True, slots=True)
class SpendRoles:
    """Paths to what a call takes from its sender: the token, the most that it takes, and the least.

    ``token`` None: the calldata does not name it.
    """

    token: str | None
    amount: str
    minimum: str | None = None


@dataclass(frozen=True, slots=True)
class PaymentRoles:
    """Paths to what a call pays: the token, who is paid, the least that the contract pays, the chain id.

    ``token`` None: the calldata does not name it. ``minimum`` None: the contract enforces none. ``chain_id``
    None: it pays on its own chain.
    """

    token: str | None
    recipient: str
    minimum: str | None = None
    chain_id: str | None = None


@dataclass(frozen=True, slots=True)
class CallDescription:
    """What the arguments of one contract function mean.

    Every role is one that the contract itself enforces: a word that the contract ignores has no role.

    - ``declaration``: Solidity-like, with the names that the paths use.
    - ``action``: what the call does for its signer, a key of ``quoteway.evm.calls.ACTIONS``.
    - ``deadline``: Unix time after which the call reverts. Some contracts take the time of the offer instead,
      ``offered_at``, and revert ``accepted_s`` seconds after it.
    - ``pays_until``: Unix time after which nothing is paid on the other chain.
    - ``refund``: who gets a failed transfer back.
    - ``owner``: whose tokens or position the call uses; it must be the sender.
    - ``empty``: arguments that must be empty, such as a message that would call the recipient.
    - ``members``: members of the request or of the build's terms that an argument must equal, by name.
    """

    declaration: str
    action: str
    spends: tuple[SpendRoles, ...] = ()
    pays: tuple[PaymentRoles, ...] = ()
    deadline: str | None = None
    offered_at: str | None = None
    accepted_s: int = 0
    pays_until: str | None = None
    refund: str | None = None
    owner: str | None = None
    empty: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeployedAt:
    """Where a contract is. ``code_hash`` is the Keccak-256 hash of its code there, 0x hex; None: any code.

    The code of a proxy is not that of its implementation.
    """

    chain_id: int
    address: Address
    code_hash: str | None = None


@dataclass(frozen=True, slots=True)
class ContractDescription:
    """The calls of one kind of contract, and where such contracts are."""

    name: str
    calls: tuple[CallDescription, ...]
    deployments: tuple[DeployedAt, ...]
