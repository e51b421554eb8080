"""Signed webhooks: registrations of the API key.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from typing import Unpack

from quoteway_client.calls import Call, segment
from quoteway_client.models.webhooks import RegisteredWebhook, Webhook, WebhookBody, Webhooks
from quoteway_client.resource import Awaited, Blocking, Resource, ResourceAsync


def create_webhook(**body: Unpack[WebhookBody]) -> Call[RegisteredWebhook]:
    """Send the states of a transfer or transaction to a URL.

    Each state is sent as a POST, signed as Standard Webhooks says, again until it is taken: until its
    block has `confirmations`, also that its block is gone. The same request again is answered with the
    same registration. Needs an API key with a name; 503 `capability_disabled` where the deployment
    sends no webhooks. docs/how-to/receive-webhooks.md has more.
    """
    return Call("POST", "/v2/webhooks", RegisteredWebhook, body=body)


def list_webhooks() -> Call[Webhooks]:
    """Webhooks of the API key.

    Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks.
    docs/how-to/receive-webhooks.md has more.
    """
    return Call("GET", "/v2/webhooks", Webhooks)


def get_webhook(webhook_id: str) -> Call[Webhook]:
    """One webhook.

    Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks.
    docs/how-to/receive-webhooks.md has more.

    ``webhook_id``: Id of the registration.
    """
    return Call("GET", f"/v2/webhooks/{segment(webhook_id)}", Webhook)


def delete_webhook(webhook_id: str) -> Call[Webhook]:
    """Send no more events of a webhook.

    Answers what it was. An event that is being sent may still arrive. Needs an API key with a name; 503
    `capability_disabled` where the deployment sends no webhooks. docs/how-to/receive-webhooks.md has
    more.

    ``webhook_id``: Id of the registration.
    """
    return Call("DELETE", f"/v2/webhooks/{segment(webhook_id)}", Webhook)


class WebhooksOperations(Resource):
    """Signed webhooks: registrations of the API key."""

    create = Blocking(create_webhook)
    list = Blocking(list_webhooks)
    get = Blocking(get_webhook)
    delete = Blocking(delete_webhook)


class AsyncWebhooksOperations(ResourceAsync):
    """Signed webhooks: registrations of the API key."""

    create = Awaited(create_webhook)
    list = Awaited(list_webhooks)
    get = Awaited(get_webhook)
    delete = Awaited(delete_webhook)
