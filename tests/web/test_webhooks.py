"""Webhooks: what is registered and refused, what is sent and signed, and what a bad receiver gets."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time

import pytest
from followed_transfers import CONFIRMED, FILLED, HASH, OTHER_HASH, REFUNDED, TransferPlace, sealed_id
from quoteway.config.loading import load_config
from quoteway.config.model import QuotesConfig, SigningKey
from quoteway.config.webhooks import WebhooksConfig
from quoteway.errors import ConfigError
from quoteway.models import TransferState
from quoteway.secrets import Secret
from quoteway.web.resources.stream import STREAMS
from webhook_room import KEY, OTHER_KEY, Hooks, with_webhooks


def signed(secret, received):
    """What the specification says the signature is, from the standard library alone."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{received.id}.{received.headers['webhook-timestamp']}.".encode() + received.body
    return "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


async def test_each_state_of_a_transfer_is_sent_signed_and_once(
    open_hooks, receiver, transfer_place, contract
):
    hooks = await open_hooks()
    answer = await hooks.register()
    made = contract.check("createWebhook", answer)
    assert (answer.status, made["kind"], made["hash"], made["url"]) == (201, "transfer", HASH, hooks.url)
    assert made["secret"].startswith("whsec_")
    assert len(base64.b64decode(made["secret"].removeprefix("whsec_"))) == 32
    await receiver.until(1)
    transfer_place.bridge.state = CONFIRMED
    await receiver.until(2)
    transfer_place.bridge.state = FILLED
    done = await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    contract.check("getWebhook", await hooks.get(made["webhookId"]))
    assert (done["delivered"], done["pending"], done["dropped"], done["lastFailure"]) == (3, 0, 0, None)
    events = [json.loads(each.body) for each in receiver.received]
    assert [each["type"] for each in events] == [
        "transfer.origin_pending",
        "transfer.origin_confirmed",
        "transfer.filled",
    ]
    tracked = (await hooks.api.get(f"/v2/transactions/{made['txId']}?hash={HASH}", **hooks.headers())).body
    assert events[-1]["data"] == tracked
    assert {each["webhookId"] for each in events} == {made["webhookId"]}
    assert len(set(receiver.taken)) == 3
    for each in receiver.received:
        assert each.headers["webhook-signature"] == signed(made["secret"], each)
        assert abs(int(each.headers["webhook-timestamp"]) - time.time()) < 300
        assert each.headers["Content-Type"] == "application/json"
        assert "Authorization" not in each.headers


async def test_a_refund_is_an_end_and_what_follows_an_end_is_not_sent(open_hooks, receiver, transfer_place):
    hooks = await open_hooks()
    transfer_place.bridge.state = REFUNDED
    made = await hooks.registered()
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    looks = len(transfer_place.bridge.asked)
    await asyncio.sleep(0.5)
    assert len(transfer_place.bridge.asked) == looks, "its topic ended with it"
    assert [json.loads(each.body)["type"] for each in receiver.received] == ["transfer.refunded"]


async def test_a_transaction_is_sent_until_it_is_in_a_block(open_hooks, receiver, transfer_place):
    hooks = await open_hooks()
    known = {"eth_getTransactionByHash": None, "eth_getTransactionReceipt": None}
    transfer_place.rpc.answers |= {name: lambda params, name=name: known[name] for name in known}
    await hooks.registered(kind="transaction")
    await receiver.until(1)
    event = json.loads(receiver.received[0].body)
    assert (event["type"], event["data"]["match"]) == ("transaction.unknown", "not_found")


async def test_the_same_request_again_is_the_same_registration(open_hooks, receiver):
    """A client or a proxy whose connection broke sends it again."""
    hooks = await open_hooks()
    one, two = await hooks.registered(), await hooks.registered()
    assert (one["webhookId"], one["secret"]) == (two["webhookId"], two["secret"])
    assert len(await hooks.listed()) == 1
    await hooks.delete(one["webhookId"])
    again = await hooks.registered()
    assert again["webhookId"] == one["webhookId"]
    assert again["secret"] != one["secret"], "a registration that is made anew has a new secret"


async def test_only_the_key_that_registered_sees_and_deletes(open_hooks, refused, contract):
    hooks = await open_hooks()
    made = await hooks.registered()
    webhook_id = made["webhookId"]
    refused(await hooks.get(webhook_id, OTHER_KEY), 404, "not_found")
    refused(await hooks.delete(webhook_id, OTHER_KEY), 404, "not_found")
    assert await hooks.listed(OTHER_KEY) == []
    (row,) = await hooks.listed()
    assert row == (await hooks.get(webhook_id)).body
    assert "secret" not in row
    assert made["secret"] not in json.dumps(await hooks.listed())
    gone = await hooks.delete(webhook_id)
    contract.check("deleteWebhook", gone)
    refused(await hooks.get(webhook_id), 404, "not_found")
    refused(await hooks.delete(webhook_id), 404, "not_found")
    refused(await hooks.get("wh_x"), 422, "validation_error")


async def test_a_deleted_registration_is_sent_nothing_more(open_hooks, receiver, transfer_place):
    hooks = await open_hooks()
    made = await hooks.registered()
    await receiver.until(1)
    await hooks.until(made["webhookId"], lambda each: each["delivered"] == 1)
    await hooks.delete(made["webhookId"])
    async with asyncio.timeout(60):
        while hooks.service.dispatcher._watches:
            await asyncio.sleep(0.02)
    transfer_place.bridge.state = FILLED
    await asyncio.sleep(0.5)
    assert len(receiver.received) == 1
    assert not hooks.api.app[STREAMS].reserved


async def test_without_a_named_key_or_a_section_there_are_no_webhooks(
    open_hooks, serve_app, make_config, transfer_place, refused
):
    hooks = await open_hooks()
    refused(await hooks.register(key=None), 401, "unauthorized")
    refused(await hooks.register(key="wrong"), 401, "unauthorized")
    api = await serve_app(transfer_place.plugins(), config=make_config(), clock=transfer_place.clock)
    body = {"url": hooks.url, "kind": "transfer", "txId": sealed_id(api.gateway), "hash": HASH}
    refused(await api.post("/v2/webhooks", body), 503, "provider_unavailable", "capability_disabled")
    refused(await api.get("/v2/webhooks"), 503, "provider_unavailable", "capability_disabled")


@pytest.mark.parametrize(
    ("changes", "status", "path", "words"),
    [
        ({"url": "ftp://127.0.0.1/x"}, 422, "url", "https://"),
        ({"url": "no url"}, 422, "url", ""),
        ({"url": "https://"}, 422, "url", ""),
        ({"url": "https://a:b@example.com/"}, 422, "url", "password"),
        ({"url": "https://example.com:22/"}, 422, "url", "ports"),
        ({"url": "https://example.com/" + "x" * 2_048}, 422, "url", "2048"),
        ({"url": "https://example.com/\r\nX: y"}, 422, "url", ""),
        ({"kind": "block"}, 422, "kind", "transfer"),
        ({"hash": "0x12"}, 422, "hash", ""),
        ({"txId": "nothing"}, 404, None, "unknown"),
        ({"secret": "mine"}, 422, "secret", ""),
    ],
)
async def test_wrong_registrations_are_refused(open_hooks, refused, changes, status, path, words):
    hooks = await open_hooks()
    answer = await hooks.register(**changes)
    details = refused(answer, status, "validation_error" if status == 422 else "not_found")
    if path is not None:
        assert path in {each["path"] for each in details["fields"]}
    assert words in str(answer.body)
    assert await hooks.listed() == []


async def test_the_numbers_of_registrations_are_limited(open_hooks, refused):
    hooks = await open_hooks(per_key=2, total=3)
    for number in range(2):
        await hooks.registered(url=f"{hooks.url}&n={number}")
    refused(await hooks.register(), 429, "rate_limit_exceeded")
    await hooks.registered(key=OTHER_KEY)
    refused(await hooks.register(key=OTHER_KEY, hash=OTHER_HASH), 503, "provider_unavailable")
    assert (await hooks.register(url=f"{hooks.url}&n=0")).status == 201, "the same one again"


# --- bad receivers ------------------------------------------------------------------------------------------


async def test_a_receiver_that_fails_gets_the_event_again_with_the_same_id(
    open_hooks, receiver, transfer_place
):
    receiver.status = lambda number: 500 if number < 4 else 200
    hooks = await open_hooks()
    transfer_place.bridge.state = FILLED
    made = await hooks.registered()
    done = await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    assert len(receiver.received) == 4
    assert len({each.id for each in receiver.received}) == 1
    assert len({each.body for each in receiver.received}) == 1
    assert (done["delivered"], done["lastFailure"]) == (1, None)
    for each in receiver.received:
        assert each.headers["webhook-signature"] == signed(made["secret"], each)


async def test_states_are_sent_in_order_also_after_failures(open_hooks, receiver, transfer_place):
    receiver.status = 503
    hooks = await open_hooks()
    made = await hooks.registered()
    await receiver.until(1)
    for number, state in enumerate((CONFIRMED, FILLED), 2):
        transfer_place.bridge.state = state
        await hooks.until(made["webhookId"], lambda each, number=number: each["pending"] == number)
    receiver.status = 200
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    kinds = [json.loads(each.body)["type"] for each in receiver.received]
    assert kinds == sorted(
        kinds, key=["transfer.origin_pending", "transfer.origin_confirmed", "transfer.filled"].index
    )
    assert kinds[-2:] == ["transfer.origin_confirmed", "transfer.filled"]


async def test_a_receiver_that_is_down_gets_the_event_when_it_is_up(serve_app, make_config, transfer_place):
    from webhook_room import receiving

    async with receiving() as first:
        port = first.port
    config = with_webhooks(make_config(), port)
    api = await serve_app(transfer_place.plugins(), config=config, clock=transfer_place.clock)
    hooks = Hooks(api, transfer_place, f"http://127.0.0.1:{port}/hook")
    transfer_place.bridge.state = FILLED
    made = await hooks.registered()
    await hooks.until(made["webhookId"], lambda each: each["lastFailure"] == "connection")
    async with receiving(port) as receiver:
        await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
        assert len(receiver.received) == 1


async def test_a_slow_receiver_fails_in_time_and_an_endless_answer_is_cut(
    open_hooks, receiver, transfer_place
):
    receiver.delay_s = 30.0
    hooks = await open_hooks(timeout_s=1.0)
    transfer_place.bridge.state = FILLED
    made = await hooks.registered()
    await hooks.until(made["webhookId"], lambda each: each["lastFailure"] == "timeout")
    receiver.delay_s, receiver.status, receiver.body = 0.0, 200, b"x" * 65_536
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")


async def test_a_redirect_is_not_followed(open_hooks, receiver, transfer_place):
    receiver.status, receiver.headers = 302, {"Location": "/elsewhere"}
    hooks = await open_hooks()
    made = await hooks.registered()
    answer = await hooks.until(made["webhookId"], lambda each: each["lastFailure"] is not None)
    assert answer["lastFailure"] == "redirect"
    await receiver.until(2)
    assert len({each.id for each in receiver.received}) == 1


async def test_gone_ends_a_registration(open_hooks, receiver, transfer_place, refused):
    receiver.status = 410
    hooks = await open_hooks()
    made = await hooks.registered()
    async with asyncio.timeout(60):
        while (await hooks.get(made["webhookId"])).status == 200:
            await asyncio.sleep(0.02)
    assert len(receiver.received) == 1


async def test_an_event_that_is_never_taken_is_dropped_in_the_end(open_hooks, receiver, transfer_place):
    receiver.status = 500
    hooks = await open_hooks(give_up_s=5)
    transfer_place.bridge.state = FILLED
    made = await hooks.registered()
    done = await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    assert (done["delivered"], done["dropped"], done["lastFailure"]) == (0, 1, "status 500")
    assert 2 <= len(receiver.received) <= 9, "each pause is longer than the one before"


async def test_a_receiver_says_when_it_wants_to_be_asked_again(open_hooks, receiver, transfer_place):
    receiver.status, receiver.headers = (lambda number: 429 if number == 1 else 200), {"Retry-After": "2"}
    hooks = await open_hooks()
    transfer_place.bridge.state = FILLED
    made = await hooks.registered()
    await receiver.until(1)
    began = time.monotonic()
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    assert time.monotonic() - began > 1.0


async def test_a_flood_of_states_is_bounded_and_the_newest_is_sent(open_hooks, receiver, transfer_place):
    receiver.status = 500
    hooks = await open_hooks(first_retry_s=1.0)
    made = await hooks.registered()
    await receiver.until(1)
    for number in range(12):
        transfer_place.bridge.state = TransferState("fill_pending", 7, 8, str(number))
        look = lambda each, number=number: each["pending"] + each["dropped"] == number + 2  # noqa: E731
        answer = await hooks.until(made["webhookId"], look)
    assert answer["pending"] <= 8
    assert answer["dropped"] == 13 - answer["pending"]
    receiver.status = 200
    await hooks.until(made["webhookId"], lambda each: each["pending"] == 0)
    assert json.loads(receiver.received[-1].body)["data"]["depositId"] == "11"


# --- secrets ------------------------------------------------------------------------------------------------


async def test_secrets_and_urls_are_in_no_log_answer_or_metric(open_hooks, receiver, transfer_place, caplog):
    caplog.set_level(logging.DEBUG)
    receiver.status = lambda number: 500 if number < 3 else 200
    hooks = await open_hooks()
    made = await hooks.registered()
    transfer_place.bridge.state = FILLED
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    metrics = (await hooks.api.get("/metrics")).raw.decode()
    assert 'quoteway_webhook_attempts_total{outcome="taken"}' in metrics
    assert 'quoteway_webhook_attempts_total{outcome="failed"}' in metrics
    said = "\n".join(record.getMessage() + str(record.__dict__) for record in caplog.records)
    for secret in (made["secret"], made["secret"].removeprefix("whsec_"), "topsecretpath", KEY):
        assert secret not in said
        assert secret not in metrics
    assert made["webhookId"] in said
    rows = hooks.service.registrations._rows
    values = [await rows.get("core:webhooks", each) for each in await rows.keys("core:webhooks")]
    assert not any(made["secret"].removeprefix("whsec_").encode() in value for value in values)


def test_the_defaults_send_to_nobody():
    config = WebhooksConfig()
    assert not config.enabled
    assert config.private_networks == ()


@pytest.mark.parametrize(
    ("left_out", "words"),
    [("QUOTEWAY_STORE__URL", "store.url"), ("QUOTEWAY_AUTH__KEYS", "auth.keys with a name"), (None, None)],
)
def test_a_configuration_that_would_lose_webhooks_is_refused(tmp_path, monkeypatch, left_out, words):
    monkeypatch.chdir(tmp_path)
    environ = {
        "QUOTEWAY_WEBHOOKS__ENABLED": "true",
        "QUOTEWAY_STORE__URL": "store.sqlite3",
        "QUOTEWAY_AUTH__KEYS": '[{name = "bot", key = {env = "BOT"}}]',
        "QUOTEWAY_QUOTES__KEYS": '[{id = "k1", secret = {env = "RING"}}]',
        "BOT": KEY,
        "RING": "8be0d3f7a61c54294f1c9a07e2d85b36c0a7914ed3f8625b",
    }
    environ.pop(left_out, None)
    if words is None:
        assert load_config(None, environ).webhooks.enabled
        return
    with pytest.raises(ConfigError, match=words):
        load_config(None, environ)


@pytest.mark.parametrize("network", ["10.0.0.0/33", "localhost", "https://x"])
def test_a_private_network_that_is_none_is_refused(tmp_path, monkeypatch, network):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="private_networks"):
        load_config(None, {"QUOTEWAY_WEBHOOKS__PRIVATE_NETWORKS": f'["{network}"]'})


async def test_a_key_of_the_ring_that_is_gone_ends_its_registrations(
    serve_app, make_config, transfer_place, receiver, tmp_path
):
    def ring(name):
        return QuotesConfig(
            keys=(SigningKey(name, Secret(f"8be0d3f7a61c54294f1c9a07e2d85b36c0a7914e{name}")),)
        )

    store = tmp_path / "store.sqlite3"
    one = with_webhooks(make_config(), receiver.port, store, ring("k1xyzabc"))
    api = await serve_app(transfer_place.plugins(), config=one, clock=transfer_place.clock)
    made = await Hooks(api, transfer_place, receiver.url).registered()
    await receiver.until(1)
    await api.runner.cleanup()
    place = TransferPlace()
    two = with_webhooks(make_config(), receiver.port, store, ring("k2xyzabc"))
    api = await serve_app(place.plugins(), config=two, clock=place.clock)
    hooks = Hooks(api, place, receiver.url)
    async with asyncio.timeout(90):
        while (await hooks.get(made["webhookId"])).body.get("state") == "active":
            await asyncio.sleep(0.05)
    assert len(receiver.received) == 1
