"""The ids of polling filters: signed criteria and a starting point, so that any worker answers for them."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import jwt

from quoteway.engine.quote_tokens import MAX_TOKEN_CHARS, KeyRing
from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.web.rpc.answers import FilterNotFound

_TYPE: Final = "qw-filter+jwt"
_AUDIENCE: Final = "filter"
RESTART_S: Final = 3_600
"""How long after its creation a filter begins anew when no worker knows how far it has got."""

Checkpoint = tuple[int, str]
"""A block's number and hash."""


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """What an id says: the filter's chain, kind and criteria, and the head at its creation."""

    chain_id: int
    kind: Literal["logs", "blocks"]
    start: Checkpoint
    created_at: int
    criteria: Mapping[str, Any]
    key: str
    """The name of its row in the store of cursors."""


class FilterIds:
    """Seals and opens ids: a JWT of the quote keys (its own ``typ``), written as 0x hex.

    Clients take an id for a quantity or an opaque string, and hex without a leading zero is both.
    """

    def __init__(self, keys: KeyRing, issuer: str, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._issuer = issuer
        self._clock = clock

    def seal(
        self, chain_id: int, kind: Literal["logs", "blocks"], start: Checkpoint, criteria: Mapping[str, Any]
    ) -> str:
        """A new id. Raises ``InvalidRequest`` when the criteria do not fit one."""
        now = int(self._clock())
        claims = {
            "iss": self._issuer,
            "aud": _AUDIENCE,
            "iat": now,
            "exp": now + RESTART_S,
            "c": chain_id,
            "k": kind,
            "b": start,
            "q": criteria,
            "n": secrets.token_urlsafe(9),
        }
        token = self._keys.sign(claims, _TYPE)
        if len(token) > MAX_TOKEN_CHARS:
            text = "names more addresses and topics than a filter can have (about 50): use eth_getLogs"
            refused = FieldError("params[0]", Reason.OUT_OF_RANGE, text)
            raise InvalidRequest(refused.sentence, reason=refused.reason, fields=[refused])
        return f"0x{token.encode().hex()}"

    def open(self, filter_id: Any, chain_id: int) -> FilterSpec:
        """What an id says. Raises ``FilterNotFound`` for one that is not ours, or of another chain."""
        try:
            if not isinstance(filter_id, str) or len(filter_id) > 2 + 2 * MAX_TOKEN_CHARS:
                raise ValueError("no id")
            token = bytes.fromhex(filter_id.removeprefix("0x")).decode("ascii")
            claims = self._keys.verify(token, _TYPE, _AUDIENCE, self._issuer)
            if claims["c"] != chain_id:
                raise ValueError("another chain")
            number, block_hash = claims["b"]
            key = hashlib.sha256(token.encode()).hexdigest()[:32]
            return FilterSpec(chain_id, claims["k"], (number, block_hash), claims["iat"], claims["q"], key)
        except (jwt.PyJWTError, ValueError, KeyError, TypeError):
            raise filter_not_found() from None

    def age_s(self, spec: FilterSpec) -> float:
        return self._clock() - spec.created_at


def filter_not_found() -> FilterNotFound:
    """geth's words, by which clients know that they need a new filter."""
    return FilterNotFound("filter not found", reason=Reason.QUOTE_INVALID)
