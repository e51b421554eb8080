"""What an index knows of wallets: where to look on a chain, never what is there now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quoteway.models.tokens import Address

__all__ = [
    "HourPrice",
    "IndexReach",
    "KnownEvent",
    "OwnedNfts",
    "PositionFlow",
    "PositionFlows",
    "ReceivedToken",
    "TokenHours",
    "TokenTransfer",
    "WalletTokens",
    "WalletTransfers",
]


@dataclass(frozen=True, slots=True)
class IndexReach:
    """The blocks of which an index has every event that an answer is made of, both inclusive.

    ``from_start``: there is none before ``first`` either.
    """

    first: int
    last: int
    from_start: bool


@dataclass(frozen=True, slots=True)
class ReceivedToken:
    """An ERC-20 token that a wallet received: ``received`` and ``sent`` are numbers of transfers.

    ``given_to``, of a token that the wallet never sent, is the number of its transfers in the transaction
    that gave it to the wallet last; 0 where it is not known. ``kind`` says that the token is a pair of a
    known factory, or the shares of a vault that the wallet has used.
    """

    token: Address
    received: int
    sent: int
    given_to: int = 0
    kind: Literal["token", "pair", "vault"] = "token"


@dataclass(frozen=True, slots=True)
class WalletTokens:
    """The tokens that a wallet received in ``reach``, those that it sent too first. ``left_out``: how many
    more there are."""

    reach: IndexReach
    received: tuple[ReceivedToken, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class TokenTransfer:
    """An ERC-20 transfer in base units. ``transaction_hash`` is 0x and 64 small hexadecimal digits."""

    token: Address
    sender: Address
    recipient: Address
    amount: int
    block: int
    log_index: int
    timestamp: int
    transaction_hash: str


@dataclass(frozen=True, slots=True)
class WalletTransfers:
    """Transfers from and to a wallet, newest first. ``more``: older ones of ``reach`` were left out."""

    reach: IndexReach
    transfers: tuple[TokenTransfer, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class OwnedNfts:
    """The ids of the tokens of a collection that a wallet owned at the last block of ``reach``.

    ``token_ids`` is in ascending order, ``had`` are those that it once had and has no more.
    """

    reach: IndexReach
    token_ids: tuple[int, ...]
    had: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PositionFlow:
    """What a position took in (positive amounts) or paid out (negative), as its contract logged it.

    ``liquidity_delta`` is the change of its liquidity or shares. ``principal`` are the amounts of that
    liquidity, ``paid`` what was paid out of what the position was owed, fees included; each in the order of
    the position's tokens, None where the event does not say.
    """

    block: int
    log_index: int
    timestamp: int
    transaction_hash: str
    liquidity_delta: int
    principal: tuple[int, ...] | None
    paid: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PositionFlows:
    """The flows of one position in ``reach``, oldest first. ``more``: newer ones were left out."""

    reach: IndexReach
    flows: tuple[PositionFlow, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class HourPrice:
    """The US dollars of a whole token at the end of the hour that begins at ``hour``."""

    hour: int
    usd: float


@dataclass(frozen=True, slots=True)
class TokenHours:
    """Prices of a token by hour, oldest first. An hour without a price is left out."""

    token: Address
    hours: tuple[HourPrice, ...]


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """An event of a known protocol in a transaction: ``kind`` is the fact, ``source`` the event source.

    ``subject`` is what it is about: a pool or vault by its id without the chain, or a bridge.
    """

    transaction_hash: str
    kind: str
    source: str
    subject: str
