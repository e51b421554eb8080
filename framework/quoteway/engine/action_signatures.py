"""Signs the answers of action requests, and verifies them without the gateway.

The signature is a compact JWS (RFC 7515) with Ed25519 (RFC 8037) over a JWT (RFC 7519): ``iss`` is
``quotes.issuer``, ``aud`` is ``action``, ``iat`` and ``exp`` are the action's, and ``action`` is the answer
without its member ``jws``. The public keys are a JWK Set (RFC 7517).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from quoteway import models
from quoteway.config.model import Config
from quoteway.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "EdDSA"
TYPE = "qw-action+jwt"
AUDIENCE = "action"
KEYS_PATH = "/.well-known/jwks.json"
MAX_JWS_CHARS = 8 * 1024 * 1024
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class SignatureRefused(Exception):  # noqa: N818 - says why
    """A JWS is not one that the given keys signed."""


class ActionSigner:
    """The keys of one deployment. The first signs; the public halves of all are in ``key_set``."""

    def __init__(self, keys: Sequence[tuple[str, Ed25519PrivateKey]], *, issuer: str) -> None:
        from jwt.algorithms import OKPAlgorithm

        self._key_id, self._key = keys[0]
        self._issuer = issuer
        self.key_set: Mapping[str, Any] = {
            "keys": [
                OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
                | {"kid": key_id, "alg": ALGORITHM, "use": "sig"}
                for key_id, key in keys
            ]
        }

    @classmethod
    def of(cls, config: Config) -> ActionSigner | None:
        """Returns the signer of a configuration; None without ``actions.keys``. Raises ``ConfigError``."""
        named = config.actions.keys
        if not named:
            return None
        if len({key.id for key in named}) != len(named):
            raise ConfigError("actions.keys: two keys have the same id; give each key an id of its own")
        return cls(
            [(key.id, _private_key(key.id, key.private_key.reveal())) for key in named],
            issuer=config.quotes.issuer,
        )

    def sign(self, action: models.Action, answer: Mapping[str, Any]) -> str:
        """Returns the JWS of ``answer``, the wire object of ``action``; the same for the same answer."""
        from jwt.api_jws import PyJWS

        claims = {
            "iss": self._issuer,
            "aud": AUDIENCE,
            "iat": action.created_at,
            "exp": action.expires_at,
            "action": {name: value for name, value in answer.items() if name != "jws"},
        }
        headers = {"kid": self._key_id, "typ": TYPE}
        return PyJWS().encode(orjson.dumps(claims), self._key, algorithm=ALGORITHM, headers=headers)


def _private_key(key_id: str, pem: str) -> Ed25519PrivateKey:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise ConfigError(
            "actions.keys needs the package cryptography: install quoteway[signing], or remove actions.keys"
        ) from None
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(
            f"actions.keys: the private_key of {key_id!r} is no unencrypted Ed25519 key in PEM: "
            "make one with `openssl genpkey -algorithm ed25519`"
        )
    return key


def signed_claims(jws: str, key_set: object) -> Mapping[str, Any]:
    """Returns the claims of an authentic JWS, expired or not: a reader compares ``exp`` with its own clock.

    ``key_set`` is a JWK Set as parsed JSON. Raises ``SignatureRefused``.
    """
    import jwt
    from jwt.api_jws import PyJWS

    if len(jws) > MAX_JWS_CHARS or not _SHAPE.fullmatch(jws):
        raise SignatureRefused("it is no compact JWS")
    try:
        header = jwt.get_unverified_header(jws)
        keys = jwt.PyJWKSet.from_dict(key_set)  # type: ignore[arg-type] # what is no JWK Set raises
    except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as error:
        raise SignatureRefused(f"its header or the key set cannot be read ({error})") from None
    if header.get("alg") != ALGORITHM or header.get("typ") != TYPE:
        raise SignatureRefused(f"its header is not of type {TYPE} and algorithm {ALGORITHM}")
    named = [key for key in keys.keys if key.key_id == header.get("kid") and key.key_type == "OKP"]
    if len(named) != 1:
        raise SignatureRefused(
            f"the key set has {len(named)} Ed25519 keys with the kid {header.get('kid')!r}"
        )
    try:
        payload = PyJWS().decode(jws, named[0].key, algorithms=[ALGORITHM])
        claims = orjson.loads(payload)
    except (jwt.PyJWTError, ValueError):
        raise SignatureRefused("the key did not sign these bytes") from None
    if not isinstance(claims, Mapping) or claims.get("aud") != AUDIENCE:
        raise SignatureRefused("it signs something else than an action")
    return claims
