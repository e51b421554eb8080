"""The members of a swap's request that charge a fee for who brings it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import validates_schema

from quoteway.errors import Reason
from quoteway.models import IntegratorFee
from quoteway.web.http import fields
from quoteway.web.http.name_fields import AccountField
from quoteway.web.http.schema import RequestSchema, refuse_all

MOST_BPS = 1_000
"""The most that any deployment may allow; ``[quotes] max_fee_bps`` is that of this one."""
_BPS = (
    "Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are net of it. With "
    "`exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it. Needs `feeRecipient`"
)
_RECIPIENT = "Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`. Needs `feeBps`"


class FeeBody(RequestSchema):
    """An optional fee, which the transactions pay. A provider whose transactions do not is not asked."""

    fee_bps = fields.StrictInteger(_BPS, 1, MOST_BPS, example=25)
    fee_recipient = AccountField(_RECIPIENT, places=("from_chain", "network"))

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def check_fee(self, data: Mapping[str, Any], original: Mapping[str, Any], **kwargs: Any) -> None:
        refused: dict[str, tuple[Reason, str]] = {}
        for given, missing in (("feeBps", "feeRecipient"), ("feeRecipient", "feeBps")):
            if original.get(given) not in (None, "") and original.get(missing) in (None, ""):
                refused[missing] = (Reason.MISSING, f"is required with {given}")
        paid = data.get("fee_recipient")
        for name, account in (("address", data.get("address")), ("toAddress", data.get("to_address"))):
            if paid is not None and paid == account:
                text = f"must be another account than {name}: its fee would come out of its own swap"
                refused["feeRecipient"] = (Reason.CONFLICT, text)
        if refused:
            raise refuse_all(refused)


class FeeQuery(FeeBody):
    """The same in a query string."""

    fee_bps = fields.QueryInteger(_BPS, 1, MOST_BPS, example=25)


def fee_in(members: Mapping[str, Any]) -> IntegratorFee | None:
    """Returns the fee of a loaded body or query; None without one."""
    bps = members.get("fee_bps")
    return None if bps is None else IntegratorFee(bps, members["fee_recipient"])
