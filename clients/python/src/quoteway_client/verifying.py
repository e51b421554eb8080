"""Verifies the gateway's signature of an action. Needs ``quoteway-client[verify]``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from quoteway_client import wire
from quoteway_client.errors import SignatureInvalid

if TYPE_CHECKING:
    from quoteway_client.acting import AnyAction

A = TypeVar("A", bound="AnyAction")
KEYS_PATH = "/.well-known/jwks.json"


def verify_action(action: A, keys: Mapping[str, Any], *, issuer: str = "quoteway") -> A:
    """Returns the action that the gateway signed, which is the same as ``action``: sign that one.

    ``keys`` is the gateway's JWK Set, got over a way that is trusted and kept; ``issuer`` its
    ``quotes.issuer``. Raises ``SignatureInvalid`` without a signature, with a false or expired one, and for
    an action that differs from what was signed.
    """
    import jwt

    if action.jws is None:
        raise SignatureInvalid("the action has no signature: the gateway's operator sets [actions] keys")
    try:
        header = jwt.get_unverified_header(action.jws)
        named = [key for key in jwt.PyJWKSet.from_dict(dict(keys)).keys if key.key_id == header.get("kid")]
        if header.get("alg") != "EdDSA" or header.get("typ") != "qw-action+jwt" or len(named) != 1:
            raise SignatureInvalid("the signature is of no key of the set, or of another kind")
        claims = jwt.decode(
            action.jws,
            named[0].key,
            algorithms=["EdDSA"],
            audience="action",
            issuer=issuer,
            options={"require": ["exp", "iss", "aud"], "verify_iat": False},
        )
        signed = wire.convert({**claims["action"], "jws": None}, type(action))
    except (jwt.PyJWTError, msgspec.MsgspecError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise SignatureInvalid(f"the signature of the action does not hold: {error}") from None
    if signed != msgspec.structs.replace(action, jws=None):
        raise SignatureInvalid("the action differs from the one that the gateway signed")
    if signed.expires_at.timestamp() <= time.time():
        raise SignatureInvalid(f"the action expired at {signed.expires_at.isoformat()}")
    return signed
