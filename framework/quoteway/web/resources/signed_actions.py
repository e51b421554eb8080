"""The answer of every request for an action."""

from __future__ import annotations

from quoteway import models
from quoteway.web.http.operation import Call
from quoteway.web.wire.actions import Action
from quoteway.web.wire.view import Wire


def signed_answer(call: Call, action: models.Action) -> Wire:
    """Returns the wire object of an action, signed where the deployment has a key for it."""
    answer, signer = Action.render(action, call.networks), call.gateway.action_signer
    return answer if signer is None else answer | {"jws": signer.sign(action, answer)}
