"""What screening plugins are asked about an action, and their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway.models.tokens import Address

AccountRole: TypeAlias = Literal["sender", "recipient", "spender", "contract"]


@dataclass(frozen=True, slots=True)
class ScreenedAccount:
    """An address of an action on a network, and what it is to the action.

    ``network`` is the slug. ``address`` has its checksum. ``role`` is what the address does: the ``sender``
    signs. A ``recipient`` gets something, a ``spender`` has an allowance, and a transaction calls a
    ``contract``.
    """

    network: str
    address: Address
    role: AccountRole


@dataclass(frozen=True, slots=True)
class ScreeningRequest:
    """An action as the custody policy sees it. Networks are named by their slugs.

    ``action_id`` is the action's. ``providers`` are the ids of those of its parts. ``kind`` is ``swap``,
    ``bridge``, ``pool``, ``vault`` or ``revocation``; ``bridge`` is every action that pays on another
    network. ``network`` is that of the transactions. ``accounts`` has every address once a role. ``tokens``
    are pairs of network and address of what is paid, approved or received; the zero address is the native
    coin.
    """

    action_id: str
    kind: str
    network: str
    providers: tuple[str, ...]
    accounts: tuple[ScreenedAccount, ...]
    tokens: tuple[tuple[str, Address], ...]


@dataclass(frozen=True, slots=True)
class ScreeningVerdict:
    """Whether a screening plugin allows an action.

    ``allowed`` is the verdict. ``code`` says why not: 1 to 64 lowercase letters, digits, dots, dashes and
    underscores. Clients see it. An action that is allowed has none.
    """

    allowed: bool
    code: str | None = None
