"""Signed webhooks: registrations of callers, and the states that are sent for them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from aiohttp import web

from quoteway.config.webhooks import LIFETIME_S
from quoteway.engine.gateway import Gateway
from quoteway.engine.webhooks.dispatching import Block, Dispatcher, Follower
from quoteway.engine.webhooks.receivers import MAX_URL_CHARS, Receivers
from quoteway.engine.webhooks.registrations import Lease, Progress, Registration, Registrations, id_of
from quoteway.engine.webhooks.signatures import shown_secret
from quoteway.errors import FieldError, Reason, Unauthorized, disabled
from quoteway.web.http import fields
from quoteway.web.http.api_keys import ApiKeys
from quoteway.web.http.event_stream import Event
from quoteway.web.http.operation import KEY, Call, delete, get, post
from quoteway.web.http.schema import RequestSchema, invalid
from quoteway.web.http.webhook_metrics import WebhookMetrics
from quoteway.web.resources.final_transactions import FinalSources, Place
from quoteway.web.resources.live_topics import Key
from quoteway.web.resources.live_transactions import SentTransaction
from quoteway.web.resources.stream import Streams
from quoteway.web.wire.view import Wire
from quoteway.web.wire.webhooks import RegisteredWebhook, Webhook, Webhooks

KINDS: Final = ("transfer", "transaction")


class WebhookBody(RequestSchema):
    url = fields.Text("URL of the receiver", max_length=MAX_URL_CHARS, required=True)
    kind = fields.Choice(
        "What is followed until it is final: a `transfer` to its arrival or refund, or a `transaction`",
        KINDS,
        required=True,
    )
    tx_id = fields.Text(
        "`txId` of the step that the transaction carries out", max_length=4_096, required=True
    )
    hash = fields.HexField("Hash of the broadcast transaction, 32 bytes as 0x hex", 32, 32, required=True)
    confirmations = fields.StrictInteger(
        "Blocks, that of the transaction included, after which it is followed no more; the deployment's "
        "without it",
        1,
        10_000,
    )


class _Listener:
    """Passes the states of a topic on to a follower."""

    def __init__(self, follower: Follower, name: str) -> None:
        self._follower = follower
        self._name = name

    def told(self, key: Key, event: Event) -> None:
        """See ``Listener`` of topics. That a state is not known is no news for a receiver."""
        if event.name == self._name:
            self._follower.told(event.data)

    def ended(self, key: Key) -> None:
        """See ``Listener`` of topics."""
        self._follower.ended()


class WebhookService:
    """The webhooks of one process. They share the topics of the streams."""

    def __init__(self, gateway: Gateway, streams: Streams, metrics: WebhookMetrics) -> None:
        config, rows = gateway.config.webhooks, gateway.runtime.rows
        self._gateway = gateway
        self._streams = streams
        self._sources = FinalSources(gateway, gateway.config.stream, streams.look)
        self.receivers = Receivers(config)
        self.registrations = Registrations(rows, total=config.total, per_key=config.per_key)
        keys = ApiKeys(gateway.config.auth)
        self.dispatcher = Dispatcher(
            config,
            self.registrations,
            Lease(rows, secrets.token_hex(8), config.lease_s),
            self.receivers,
            follow=self.follow,
            key_of=self.key_of,
            is_known=lambda caller: any(key.caller == caller and not key.is_over for key in keys),
            is_ready=lambda: gateway.ready,
            metrics=metrics,
        )

    async def start(self, app: web.Application) -> None:
        """Begins to send, in this process or once the one that sends has ended."""
        self.dispatcher.start()

    async def stop(self, app: web.Application) -> None:
        """Ends what is being sent. The next process sends it again."""
        await self.dispatcher.stop()

    def check(self, kind: str, sent: SentTransaction) -> None:
        """Raises what a stream of the transfer or transaction would raise."""
        self._streams.topic_of(f"{kind}s", sent)

    def key_of(self, registration: Registration) -> bytes:
        """Returns the key of a registration's signatures. Raises ``KeyError``: see ``KeyRing.derive``."""
        _, key = self._gateway.quote_tokens.derive(_label(registration), registration.key_id)
        return key

    @contextlib.contextmanager
    def follow(self, registration: Registration, follower: Follower, told: Block | None) -> Iterator[None]:
        """See ``Follow``."""
        sent = SentTransaction(registration.tx_id, bytes.fromhex(registration.hash[2:]))
        known, confirmations = None if told is None else Place(*told), registration.confirmations
        key = f"{registration.kind}s", f"{sent} until {confirmations} after {known and known.hash}"
        make = self._sources.transfer if registration.kind == "transfer" else self._sources.transaction
        source = make(key, sent, confirmations, known)
        topics, listener = self._streams.topics, _Listener(follower, registration.kind)
        topic = topics.join(key, source, listener)
        self._streams.reserved[key] += 1
        try:
            for _, event in topic.newest:
                listener.told(key, event)
            if topic.is_over:
                listener.ended(key)
            yield
        finally:
            self._streams.reserved[key] -= 1
            if not self._streams.reserved[key]:
                del self._streams.reserved[key]
            topics.leave(topic, listener)


SERVICE: web.AppKey[WebhookService] = web.AppKey("webhooks", WebhookService)

_ABOUT = (
    "Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks. "
    "docs/how-to/receive-webhooks.md has more."
)
_post = partial(post, failures=(404,), needs_key=True)
_get = partial(get, needs_key=True)


class WebhookPath(RequestSchema):
    webhook_id = fields.Text(
        "Id of the registration", pattern="wh_[0-9a-f]{16}_[0-9a-f]{24}", max_length=44, required=True
    )


@_post(
    "/v2/webhooks",
    "Send the states of a transfer or transaction to a URL",
    RegisteredWebhook,
    status=201,
    body=WebhookBody,
    description="Each state is sent as a POST, signed as Standard Webhooks says, again until it is taken: "
    "until its block has `confirmations`, also that its block is gone. The same request again is answered "
    f"with the same registration. {_ABOUT}",
)
async def create_webhook(call: Call) -> Wire:
    service, caller = _service(call)
    gateway, body = call.gateway, call.body
    sent = SentTransaction(body["tx_id"], body["hash"])
    commitment = gateway.quote_tokens.open_transaction(sent.tx_id)
    service.check(body["kind"], sent)
    refusal = await service.receivers.check(body["url"])
    if refusal is not None:
        raise invalid(FieldError("url", Reason.OUT_OF_RANGE, refusal))
    now, hash_ = int(gateway.runtime.clock()), "0x" + sent.hash.hex()
    confirmations = body.get("confirmations")
    webhook_id = id_of(caller, body["kind"], sent.tx_id, hash_, body["url"], confirmations)
    nonce = secrets.token_hex(16)
    new = Registration(
        webhook_id=webhook_id,
        caller=caller,
        kind=body["kind"],
        tx_id=sent.tx_id,
        hash=hash_,
        url=body["url"],
        nonce=nonce,
        key_id=gateway.quote_tokens.derive("webhook")[0],
        created_at=now,
        expires_at=min(now + LIFETIME_S, commitment.expires_at),
        confirmations=confirmations or gateway.config.webhooks.confirmations,
    )
    kept = await service.registrations.add(new, gateway.config.webhooks.most_age_s)
    try:
        secret = shown_secret(service.key_of(kept))
    except KeyError:
        text = "The registration is older than the keys of the deployment: delete it, and make it again."
        raise invalid(FieldError("url", Reason.CONFLICT, text)) from None
    return RegisteredWebhook.of(call.networks, **await _members(service, kept), secret=secret)


@_get("/v2/webhooks", "Webhooks of the API key", Webhooks, description=_ABOUT)
async def list_webhooks(call: Call) -> Wire:
    service, caller = _service(call)
    found = await service.registrations.of(caller)
    rows = [Webhook.of(call.networks, **await _members(service, each)) for each in found]
    return {"data": rows}


@_get(
    "/v2/webhooks/{webhookId}",
    "One webhook",
    Webhook,
    path_schema=WebhookPath,
    description=_ABOUT,
    failures=(404,),
)
async def get_webhook(call: Call) -> Wire:
    service, caller = _service(call)
    found = await service.registrations.get(caller, call.path["webhook_id"])
    return Webhook.of(call.networks, **await _members(service, found))


@delete(
    "/v2/webhooks/{webhookId}",
    "Send no more events of a webhook",
    Webhook,
    path_schema=WebhookPath,
    needs_key=True,
    description=f"Answers what it was. An event that is being sent may still arrive. {_ABOUT}",
    failures=(404,),
)
async def delete_webhook(call: Call) -> Wire:
    service, caller = _service(call)
    found = await service.registrations.get(caller, call.path["webhook_id"])
    answer = Webhook.of(call.networks, **await _members(service, found))
    await service.registrations.delete(found.webhook_id)
    return answer


def _service(call: Call) -> tuple[WebhookService, str]:
    """Returns the webhooks and the caller. Raises ``ProviderUnavailable`` where they are off."""
    service = call.request.app.get(SERVICE)
    if service is None:
        raise disabled("This deployment sends no webhooks.")
    key = call.request.get(KEY)
    if key is None or not key.is_named:
        text = "Webhooks need an API key that the operator has given a name."
        raise Unauthorized(text, headers={"WWW-Authenticate": "Bearer"})
    return service, key.caller


async def _members(service: WebhookService, registration: Registration) -> dict[str, Any]:
    progress: Progress = await service.registrations.progress(registration)
    return {
        **asdict(registration),
        "state": "active" if progress.done_at is None else "done",
        "delivered": progress.delivered,
        "pending": len(progress.pending),
        "dropped": progress.dropped,
        "last_failure": progress.last_failure,
    }


def _label(registration: Registration) -> str:
    return f"webhook {registration.webhook_id} {registration.nonce}"


OPERATIONS = (create_webhook, list_webhooks, get_webhook, delete_webhook)
