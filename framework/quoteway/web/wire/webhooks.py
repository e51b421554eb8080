"""What a caller has registered for webhooks, and the events that are sent."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import text
from quoteway.web.wire.view import View, nullable, required


class Webhook(View):
    """A registration: the states of a transfer or transaction are sent to `url`."""

    webhook_id = required(fields.String, description="Id of the registration")
    kind = required(
        fields.String,
        enum=["transfer", "transaction"],
        description="What is followed: a `transfer` to another network, or a `transaction`",
    )
    tx_id = required(fields.String, description="`txId` of the step that the transaction carries out")
    hash = required(fields.String, description="Hash of the transaction")
    url = required(fields.String, description="URL of the receiver")
    state = required(
        fields.String,
        enum=["active", "done"],
        description="`done`: the last event was taken, or dropped. More may be added within v2",
    )
    delivered = required(fields.Integer, description="Number of events that the receiver has taken")
    pending = required(fields.Integer, description="Number of events that wait to be taken")
    dropped = required(
        fields.Integer,
        description="Number of events that are sent no more: not taken for too long, or too many waited",
    )
    last_failure = nullable(
        fields.String,
        description="Why the newest attempt failed: `timeout`, `connection`, `tls`, `redirect`, "
        "`not_allowed`, or `status` and a number. Null when it succeeded, and before the first",
    )
    confirmations = required(
        fields.Integer,
        description="Blocks, that of the transaction included, after which it is followed no more",
    )
    created_at = required(text.UnixTime, description="Time of the registration")
    expires_at = required(
        text.UnixTime, description="Time after which no new state is sent: when `txId` expires"
    )


class RegisteredWebhook(Webhook):
    """A registration as it is answered when it is made, with its secret."""

    secret = required(
        fields.String,
        description="Secret of the signatures, as Standard Webhooks has it: `whsec_` and base64. No other "
        "answer has it",
    )


class Webhooks(View):
    data = required([Webhook], description="Registrations of the API key, the newest first")
