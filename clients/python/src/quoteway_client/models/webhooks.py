"""Models of webhooks.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from typing import Literal, Required, TypedDict

from quoteway_client.wire import Model


class WebhookBody(TypedDict, total=False):
    """Body of a request: `WebhookBody` of the document."""

    url: Required[str]
    """URL of the receiver."""
    kind: Required[Literal["transfer", "transaction"]]
    """What is followed until it is final: a `transfer` to its arrival or refund, or a `transaction`."""
    tx_id: Required[str]
    """`txId` of the step that the transaction carries out."""
    hash: Required[str]
    """Hash of the broadcast transaction, 32 bytes as 0x hex."""
    confirmations: int
    """Blocks, that of the transaction included, after which it is followed no more; the deployment's
    without it.
    """


class RegisteredWebhook(Model, frozen=True, kw_only=True):
    """A registration as it is answered when it is made, with its secret."""

    webhook_id: str
    """Id of the registration."""
    kind: str
    """What is followed: a `transfer` to another network, or a `transaction`."""
    tx_id: str
    """`txId` of the step that the transaction carries out."""
    hash: str
    """Hash of the transaction."""
    url: str
    """URL of the receiver."""
    state: str
    """`done`: the last event was taken, or dropped. More may be added within v2."""
    delivered: int
    """Number of events that the receiver has taken."""
    pending: int
    """Number of events that wait to be taken."""
    dropped: int
    """Number of events that are sent no more: not taken for too long, or too many waited."""
    last_failure: str | None
    """Why the newest attempt failed: `timeout`, `connection`, `tls`, `redirect`, `not_allowed`, or
    `status` and a number. Null when it succeeded, and before the first.
    """
    confirmations: int
    """Blocks, that of the transaction included, after which it is followed no more."""
    created_at: int
    """Time of the registration. Unix seconds."""
    expires_at: int
    """Time after which no new state is sent: when `txId` expires. Unix seconds."""
    secret: str
    """Secret of the signatures, as Standard Webhooks has it: `whsec_` and base64. No other answer has it."""


class Webhook(Model, frozen=True, kw_only=True):
    """A registration: the states of a transfer or transaction are sent to `url`."""

    webhook_id: str
    """Id of the registration."""
    kind: str
    """What is followed: a `transfer` to another network, or a `transaction`."""
    tx_id: str
    """`txId` of the step that the transaction carries out."""
    hash: str
    """Hash of the transaction."""
    url: str
    """URL of the receiver."""
    state: str
    """`done`: the last event was taken, or dropped. More may be added within v2."""
    delivered: int
    """Number of events that the receiver has taken."""
    pending: int
    """Number of events that wait to be taken."""
    dropped: int
    """Number of events that are sent no more: not taken for too long, or too many waited."""
    last_failure: str | None
    """Why the newest attempt failed: `timeout`, `connection`, `tls`, `redirect`, `not_allowed`, or
    `status` and a number. Null when it succeeded, and before the first.
    """
    confirmations: int
    """Blocks, that of the transaction included, after which it is followed no more."""
    created_at: int
    """Time of the registration. Unix seconds."""
    expires_at: int
    """Time after which no new state is sent: when `txId` expires. Unix seconds."""


class Webhooks(Model, frozen=True, kw_only=True):
    """`Webhooks` of the document."""

    data: tuple[Webhook, ...]
    """Registrations of the API key, the newest first."""
