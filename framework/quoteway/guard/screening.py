"""What screening plugins are told of an action, and which of their answers count as a verdict."""

from __future__ import annotations

import re

from quoteway.guard.model_types import flaw
from quoteway.guard.policy_facts import Facts
from quoteway.models import ScreenedAccount, ScreeningRequest, ScreeningVerdict

_CODE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


def request_of(action_id: str, facts: Facts) -> ScreeningRequest:
    """Returns what screening plugins are told of an action."""
    own = facts.network
    accounts = [
        ScreenedAccount(own, facts.sender, "sender"),
        *(ScreenedAccount(network, address, "recipient") for network, address in facts.recipients),
        *(ScreenedAccount(own, grant.spender, "spender") for grant in facts.grants),
        *(ScreenedAccount(own, call.contract, "contract") for call in facts.calls if call.contract),
    ]
    return ScreeningRequest(
        action_id,
        facts.kind,
        own,
        facts.providers,
        tuple(dict.fromkeys(accounts)),
        tuple(dict.fromkeys((*((own, paid.token) for paid in facts.paid), *facts.received))),
    )


def is_verdict(answer: object) -> bool:
    """Returns whether a plugin's answer has the types and the code of a verdict."""
    if flaw(answer, ScreeningVerdict) is not None or not isinstance(answer, ScreeningVerdict):
        return False
    return answer.code is None if answer.allowed else _CODE.fullmatch(answer.code or "") is not None
