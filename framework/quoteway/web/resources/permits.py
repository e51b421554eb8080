"""The members about EIP-2612 permits in the request of an action."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError

from quoteway.engine.permits import PermitChoice
from quoteway.errors import FieldError, Reason
from quoteway.models import Permit, SignedPermit
from quoteway.web.http import fields
from quoteway.web.http.fields import Member
from quoteway.web.http.schema import RequestSchema, refuse

MAX_PERMITS = 8


class NonceField(fields.Amount):
    """A nonce as a decimal string."""

    example = "0"

    def parse(self, value: Any) -> int | None:
        if not isinstance(value, str) or not re.fullmatch(self.patterns[0], value):
            raise refuse(Reason.INVALID_FORMAT, 'must be a string of decimal digits such as "0"')
        return super().parse(value)


class PermitsField(Member[tuple[SignedPermit, ...]]):
    """Signed permits, as ``permitOffers`` has them, each with its signature."""

    members: Mapping[str, Member[Any]] = {
        "token": fields.AddressField("Token of the permit"),
        "spender": fields.AddressField("Account that may take the token"),
        "value": fields.Amount("Allowance, in base units of `token`"),
        "nonce": NonceField("Nonce of the permit. Decimal digits"),
        "deadline": fields.StrictInteger("Unix time until which the token accepts it", 0, (1 << 53) - 1),
        "signature": fields.HexField("Signature by the account that pays: r, s and v, as 0x hex", 65, 65),
    }
    schema = {
        "type": "array",
        "maxItems": MAX_PERMITS,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": list(members),
            "properties": {name: dict(member.metadata) for name, member in members.items()},
        },
    }

    def parse(self, value: Any) -> tuple[SignedPermit, ...]:
        if not isinstance(value, list) or len(value) > MAX_PERMITS:
            raise refuse(Reason.INVALID_FORMAT, f"must be a list of at most {MAX_PERMITS} signed permits")
        return tuple(self._item(at, item) for at, item in enumerate(value, 1))

    def _item(self, at: int, item: Any) -> SignedPermit:
        if not isinstance(item, dict) or item.keys() != self.members.keys():
            names = ", ".join(self.members)
            text = (
                f"item {at} must be an object of exactly {names}: a permit of permitOffers and its signature"
            )
            raise refuse(Reason.INVALID_FORMAT, text)
        read = {}
        for name, member in self.members.items():
            try:
                read[name] = member.parse(item[name])
            except ValidationError as error:
                refused = next(each for each in error.messages if isinstance(each, FieldError))
                raise refuse(refused.reason, f"item {at} {name} {refused.message}") from None
        signature = read.pop("signature")
        return SignedPermit(Permit(**read), signature)


class PermitsBody(RequestSchema):
    """What the body of an action that may need approvals can have."""

    offer_permits = fields.StrictBoolean(
        "Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place "
        "of (EIP-2612), the data to sign",
        load_default=False,
    )
    permits = PermitsField(
        "Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its "
        "`signature` added",
        load_default=(),
    )


def permits_in(body: Mapping[str, Any]) -> PermitChoice:
    """Returns the choice in the body of an action; none in that of an action that takes no permits."""
    return PermitChoice(body.get("offer_permits", False), body.get("permits", ()))
