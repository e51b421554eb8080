"""Seals and opens quote tokens and transaction ids.

A token is a JWT (HS256 only; RFC 8725). Its ``kid`` names a key of the ring, ``aud`` is the capability, and
``typ`` separates quote tokens from transaction ids. A quote token holds the request, the legs with their
minimums and the provider's compact plan; never calldata or secrets. Claims are compressed when that is
shorter. They are decompressed only after the signature is verified, up to a size limit.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import jwt

from quoteway import models
from quoteway.config.model import MIN_KEY_BYTES
from quoteway.engine.quote_rows import quote_from_row, quote_to_row
from quoteway.errors import ConfigError, FieldError, InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.evm.address import keccak256
from quoteway.guard.quotes import plain_plan

MAX_TOKEN_CHARS = 4096
TRANSACTION_LIFETIME_S = 7 * 24 * 3600

_ALGORITHM = "HS256"
_QUOTE_TYPE = "qw-quote+jwt"
_TRANSACTION_TYPE = "qw-tx+jwt"
"""They stand for the form of the content too. Give a new form a new type where gateways of before could
misread it: they refuse that as unknown."""
_MAX_INFLATED_BYTES = 65_536
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TransactionCommitment:
    """The content of a ``txId``: one built step, to compare with a broadcast transaction.

    ``outputs`` are the quoted outputs (token, account, amount in base units), in the last step only.
    ``blanks`` are the (offset, length) ranges of calldata where the wallet inserts a signature. ``data_hash``
    is computed with zeros there (``calldata_hash``).
    """

    chain_id: int
    sender: str
    to: str
    value: int
    data_hash: str
    action_id: str
    index: int
    expires_at: int
    outputs: tuple[tuple[str, str, int], ...] = ()
    blanks: tuple[tuple[int, int], ...] = ()


_COMMITTED = tuple(f.name for f in fields(TransactionCommitment) if f.name != "expires_at")


class KeyRing:
    """The signing keys. The first key signs; every key verifies."""

    def __init__(self, keys: Sequence[tuple[str, bytes]]) -> None:
        if not keys:
            raise ConfigError("quotes.keys is empty: give at least one key of 32 bytes or more")
        for key_id, secret in keys:
            if len(secret) < MIN_KEY_BYTES:
                raise ConfigError(
                    f"quotes.keys: the secret of key {key_id!r} has {len(secret)} bytes, expected at least "
                    f"{MIN_KEY_BYTES}: make one with `openssl rand -hex 32`"
                )
        self._keys = dict(keys)
        if len(self._keys) != len(keys):
            raise ConfigError("quotes.keys: two keys have the same id; give each key an id of its own")
        self._current = keys[0][0]

    @classmethod
    def random(cls) -> KeyRing:
        """Returns a ring with one random key. Its tokens are invalid after a restart."""
        return cls([("ephemeral", secrets.token_bytes(MIN_KEY_BYTES))])

    def derive(self, label: bytes, key_id: str | None = None) -> tuple[str, bytes]:
        """Returns a key of 32 bytes for one purpose, made of the named key of the ring, and that one's id.

        Without ``key_id`` it is made of the key that signs. Raises ``KeyError`` for an id that is not there.
        """
        name = self._current if key_id is None else key_id
        # No token is signed over this: what is signed of a token begins with the base64 of "{".
        return name, hmac.digest(self._keys[name], b"quoteway key: " + label, hashlib.sha256)

    def sign(self, claims: Mapping[str, Any], kind: str) -> str:
        headers = {"kid": self._current, "typ": kind}
        return jwt.encode(dict(claims), self._keys[self._current], algorithm=_ALGORITHM, headers=headers)

    def verify(self, token: str, kind: str, audience: str, issuer: str) -> Mapping[str, Any]:
        """Returns the claims of an authentic token, expired or not. Raises ``jwt.InvalidTokenError``."""
        if len(token) > MAX_TOKEN_CHARS or not _SHAPE.fullmatch(token):
            raise jwt.DecodeError("not a token")
        if any(_b64(_unb64(segment)) != segment for segment in token.split(".")):
            raise jwt.DecodeError("not the canonical encoding")
        header = jwt.get_unverified_header(token)
        key = self._keys.get(str(header.get("kid")))
        if key is None or header.get("typ") != kind or header.get("alg") != _ALGORITHM:
            raise jwt.InvalidTokenError("unknown key, type or algorithm")
        options: Any = {"require": ["exp", "iat", "aud", "iss"], "verify_exp": False, "verify_iat": False}
        claims: Mapping[str, Any] = jwt.decode(
            token, key, algorithms=[_ALGORITHM], audience=audience, issuer=issuer, options=options
        )
        return claims


def plain_quote(quote: models.SealedQuote) -> models.SealedQuote:
    """Returns the quote with its plans as a token gives them back.

    Raises ``UpstreamError`` for a plan that is too large or not plain JSON.
    """
    parts = tuple(replace(part, plan=plain_plan(part.plan)) for part in quote.parts)
    return replace(quote, plan=plain_plan(quote.plan), parts=parts)


class Sealer:
    """Seals and opens tokens for one deployment (``issuer``)."""

    def __init__(self, ring: KeyRing, *, issuer: str, clock: Callable[[], float] = time.time) -> None:
        self._ring = ring
        self._issuer = issuer
        self._clock = clock

    def seal(self, quote: models.SealedQuote) -> models.SealedQuote:
        """Returns the quote with its ``token``. Raises ``UpstreamError`` when the token is too long.

        Where the pools that the request names do not fit, the token says so instead: the plan has the route.
        Raises ``InvalidRequest`` when the quote can be refreshed, which needs these pools.
        """
        quote = plain_quote(quote)
        token = self._seal(quote)
        if len(token) > MAX_TOKEN_CHARS:
            token = self._seal(_without_pool_lists(quote))
            if len(token) <= MAX_TOKEN_CHARS and quote.refresh_terms is not None:
                text = "needs a shorter request: the pools that it names do not fit the quote token"
                field = FieldError("refreshableUntil", Reason.CONFLICT, text)
                raise InvalidRequest(field.sentence, reason=field.reason, fields=(field,))
        if len(token) <= MAX_TOKEN_CHARS:
            return replace(quote, token=token)
        raise UpstreamError("The route does not fit a quote token.", reason=Reason.PROVIDER_ERROR)

    def _seal(self, quote: models.SealedQuote) -> str:
        content = _pack(quote_to_row(quote))
        return self._sign(_QUOTE_TYPE, quote.capability.value, quote.created_at, quote.expires_at, content)

    def open(
        self, capability: models.Capability, token: str, *, allow_expired: bool = False
    ) -> models.SealedQuote:
        """Returns the quote in a token.

        Raises ``NotFound``: ``quote_expired`` for an authentic expired token, ``quote_invalid`` for a token
        that no key of the ring signed for this issuer and capability.
        """
        try:
            claims = self._ring.verify(token, _QUOTE_TYPE, capability.value, self._issuer)
            quote = quote_from_row(capability, _unpack(claims), claims, token)
        except (jwt.PyJWTError, ValueError, KeyError, TypeError, IndexError, zlib.error, RecursionError):
            # `from None`: the cause would put token bytes in a log
            raise NotFound("The quote is unknown: request a new one.", reason=Reason.QUOTE_INVALID) from None
        now, terms = self._clock(), quote.refresh_terms
        if quote.expires_at <= now and not allow_expired:
            remedy = "request a new one" if terms is None or terms.until <= now else "refresh it"
            raise NotFound(f"The quote has expired: {remedy}.", reason=Reason.QUOTE_EXPIRED)
        return quote

    def open_refreshable(self, token: str) -> models.SealedQuote:
        """Returns the quote of a swap in a token, expired or not, that has ``refresh_terms``.

        Raises ``NotFound`` as ``open`` does, ``quote_expired`` when the terms have ended, and
        ``InvalidRequest`` (``conflict``) for a quote without them.
        """
        quote = self.open(models.Capability.SWAP, token, allow_expired=True)
        terms = quote.refresh_terms
        if terms is None:
            text = "The quote cannot be refreshed: request a new one, with refreshableUntil."
            raise InvalidRequest(text, reason=Reason.CONFLICT)
        if terms.until <= self._clock():
            text = f"The quote could be refreshed until {terms.until} (Unix seconds): request a new one."
            raise NotFound(text, reason=Reason.QUOTE_EXPIRED)
        return quote

    def derive(self, purpose: str, key_id: str | None = None) -> tuple[str, bytes]:
        """Returns a key for one purpose of this deployment: see ``KeyRing.derive``."""
        return self._ring.derive(f"{self._issuer}\0{purpose}".encode(), key_id)

    def seal_transaction(self, commitment: TransactionCommitment) -> str:
        """Returns the ``txId`` of one built step, issued when its action was created."""
        issued_at = commitment.expires_at - TRANSACTION_LIFETIME_S
        content = {"c": [getattr(commitment, name) for name in _COMMITTED]}
        return self._sign(_TRANSACTION_TYPE, "tx", issued_at, commitment.expires_at, content)

    def _sign(self, kind: str, audience: str, iat: int, exp: int, content: Mapping[str, Any]) -> str:
        claims = {"iss": self._issuer, "aud": audience, "iat": iat, "exp": exp, **content}
        return self._ring.sign(claims, kind)

    def open_transaction(self, token: str) -> TransactionCommitment:
        """Returns the commitment of a ``txId``. Raises ``NotFound`` when it is not authentic or expired."""
        try:
            claims = self._ring.verify(token, _TRANSACTION_TYPE, "tx", self._issuer)
            values = dict(zip(_COMMITTED, claims["c"], strict=True))
            values["outputs"] = tuple((token, account, int(n)) for token, account, n in values["outputs"])
            values["blanks"] = tuple((int(offset), int(length)) for offset, length in values["blanks"])
            commitment = TransactionCommitment(**values, expires_at=int(claims["exp"]))
        except (jwt.PyJWTError, ValueError, KeyError, TypeError, RecursionError):
            raise NotFound("The transaction id is unknown.", reason=Reason.QUOTE_INVALID) from None
        if commitment.expires_at <= self._clock():
            raise NotFound("The transaction id has expired.", reason=Reason.QUOTE_EXPIRED)
        return commitment


def _without_pool_lists(quote: models.SealedQuote) -> models.SealedQuote:
    """Returns the content of a token that names no pools, but says which of the two lists it leaves out."""
    request = quote.request
    if isinstance(request, models.SwapRequest):
        limits = request.routing
        omitted = tuple(name for name in ("pools", "exclude_pools") if name in limits.given)
        request = replace(request, routing=replace(limits, pools=(), exclude_pools=(), omitted=omitted))
    return replace(quote, request=request, parts=tuple(_without_pool_lists(part) for part in quote.parts))


def same_request(one: models.Request, other: models.Request) -> bool:
    """Returns whether two requests are equal. Ignores the labels of tokens, which catalogs may change, and
    the tick range that ``one`` has from its quote where ``other`` leaves it open."""
    if isinstance(one, models.PoolRequest) and isinstance(other, models.PoolRequest):
        open_range = other.tick_lower is None and other.tick_upper is None
        one = replace(one, tick_lower=None, tick_upper=None) if open_range else one
    return type(one) is type(other) and _without_labels(one) == _without_labels(other)


def _without_labels(request: models.Request) -> list[Any]:
    values = (getattr(request, f.name) for f in fields(request))
    return [value.unit if isinstance(value, models.Token) else value for value in values]


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _pack(content: Any) -> dict[str, Any]:
    """Returns the content as a JSON claim, or compressed when that is shorter."""
    text = json.dumps(content, separators=(",", ":"))
    squeezed = _b64(zlib.compress(text.encode(), 9))
    return {"z": squeezed} if len(squeezed) < len(text) else {"q": content}


def _unpack(claims: Mapping[str, Any]) -> Any:
    if "q" in claims:
        return claims["q"]
    inflater = zlib.decompressobj()
    text = inflater.decompress(_unb64(claims["z"]), _MAX_INFLATED_BYTES)
    if inflater.unconsumed_tail:
        raise ValueError("decompressed claims exceed the size limit")
    return json.loads(text)


# --- transaction ids ---------------------------------------------------------------------------------------


def blanked(data: bytes, blanks: Iterable[tuple[int, int]]) -> bytes:
    """Returns calldata with zeros in the (offset, length) ranges of ``blanks``."""
    found = bytearray(data)
    for offset, length in blanks:
        if offset + length <= len(data):
            found[offset : offset + length] = bytes(length)
    return bytes(found)


def calldata_hash(data: bytes, blanks: Iterable[tuple[int, int]] = ()) -> str:
    """Returns keccak-256 of calldata as 0x hex, with zeros in the (offset, length) ranges of ``blanks``."""
    return "0x" + keccak256(blanked(data, blanks)).hex()


def action_id(chain_id: int, sender: models.Address, steps: Iterable[models.Step]) -> str:
    """Returns keccak-256 of chain id, sender and all transactions in order, as 0x hex."""
    parts = [chain_id.to_bytes(32), bytes.fromhex(sender[2:])]
    for step in steps:
        parts += [bytes.fromhex(step.to[2:]), step.value.to_bytes(32), keccak256(step.data)]
    return "0x" + keccak256(b"".join(parts)).hex()


def blanks_of(signatures: Iterable[models.SignatureRequest], index: int) -> tuple[tuple[int, int], ...]:
    """Returns the (offset, length) ranges of the calldata of one step of an action where signatures go."""
    return tuple((each.offset, each.length) for each in signatures if each.step == index)


def commitment_of(
    step: models.Step,
    index: int,
    part: models.ActionPart | None,
    action_id: str,
    sender: models.Address,
    signatures: Iterable[models.SignatureRequest],
    created_at: int,
) -> TransactionCommitment:
    """Returns the commitment for the ``txId`` of one step.

    ``index`` and ``signatures`` refer to the whole action; ``part`` is the part that contains the step. The
    last step of each part holds the outputs of the part.
    """
    blanks = blanks_of(signatures, index)
    outputs: tuple[tuple[str, str, int], ...] = ()
    if part is not None and index == part.indices[-1]:
        # For a token that is also an input, the chain shows only the net change: omit it.
        paid_in = {leg.token.address for leg in part.inputs}
        outputs = tuple(
            (leg.token.address, leg.account, leg.amount)
            for leg in part.outputs
            if leg.token.chain_id == step.chain_id and leg.token.address not in paid_in
        )
    return TransactionCommitment(
        step.chain_id,
        sender,
        step.to,
        step.value,
        calldata_hash(step.data, blanks),
        action_id,
        index,
        created_at + TRANSACTION_LIFETIME_S,
        outputs,
        blanks,
    )
