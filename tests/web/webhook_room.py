"""A receiver of webhooks on loopback, which a test makes fail, and gateways that send to it."""

import asyncio
import contextlib
from dataclasses import dataclass, field, replace

from aiohttp import web
from followed_transfers import HASH, TransferPlace, sealed_id
from quoteway.config.keys import NamedKey
from quoteway.config.model import AuthConfig, StoreConfig, StreamConfig
from quoteway.config.webhooks import WebhooksConfig
from quoteway.secrets import Secret
from quoteway.web.resources.webhooks import SERVICE

KEY = "4f1c9a07e2d85b36c0a7914ed3f8625b"
OTHER_KEY = "9d0b7c51e2f84a36c0a7914ed3f86e17"
DEADLINE_S = 90
LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass
class Received:
    """One request to a receiver."""

    headers: dict
    body: bytes

    @property
    def id(self):
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """Answers with ``status`` (a function of the number of the request, or a number) after ``delay_s``."""

    status: object = 204
    delay_s: float = 0.0
    headers: dict = field(default_factory=dict)
    received: list = field(default_factory=list)
    port: int = 0
    body: object = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook?t=topsecretpath"

    async def answer(self, request):
        body = await request.read()
        self.received.append(Received(dict(request.headers), body))
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        status = self.status(len(self.received)) if callable(self.status) else self.status
        if self.body is not None:
            response = web.StreamResponse(status=status)
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                while True:
                    await response.write(self.body)
                    await asyncio.sleep(0)
            return response
        return web.Response(status=status, headers=self.headers)

    async def until(self, count, of=None):
        """Waits for so many requests."""
        async with asyncio.timeout(DEADLINE_S):
            while len(self.received if of is None else of(self.received)) < count:
                await asyncio.sleep(0.01)

    @property
    def taken(self):
        return [each.id for each in self.received]


@contextlib.asynccontextmanager
async def receiving(port=0, ssl_context=None, **behaviour):
    receiver = Receiver(**behaviour)
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", receiver.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=ssl_context).start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        await runner.cleanup()


@dataclass
class Hooks:
    """A served gateway with webhooks, and a client with a named key."""

    api: object
    place: TransferPlace
    url: str

    @property
    def service(self):
        return self.api.app[SERVICE]

    def headers(self, key=KEY):
        return {"headers": {"Authorization": f"Bearer {key}"}} if key else {}

    async def register(self, key=KEY, **changes):
        body = {"url": self.url, "kind": "transfer", "txId": sealed_id(self.api.gateway), "hash": HASH}
        body |= changes
        return await self.api.post("/v2/webhooks", body, **self.headers(key))

    async def registered(self, **changes):
        answer = await self.register(**changes)
        assert answer.status == 201, answer.body
        return answer.body

    async def get(self, webhook_id, key=KEY):
        return await self.api.get(f"/v2/webhooks/{webhook_id}", **self.headers(key))

    async def listed(self, key=KEY):
        return (await self.api.get("/v2/webhooks", **self.headers(key))).body["data"]

    async def delete(self, webhook_id, key=KEY):
        return await self.api.request("DELETE", f"/v2/webhooks/{webhook_id}", **self.headers(key))

    async def until(self, webhook_id, look):
        async with asyncio.timeout(DEADLINE_S):
            while not look(answer := (await self.get(webhook_id)).body):
                await asyncio.sleep(0.02)
        return answer


def section(port, **changes):
    """A section of the configuration that permits receivers on loopback."""
    fast = {"first_retry_s": 0.05, "timeout_s": 2.0, "lease_s": 2.0, "confirmations": 1}
    allowed = {"enabled": True, "ports": (port,), "private_networks": LOOPBACK}
    return WebhooksConfig(**(fast | allowed | changes))


def with_webhooks(config, port, store=None, quotes=None, **changes):
    auth = AuthConfig(keys=(NamedKey("bot", key=Secret(KEY)), NamedKey("other", key=Secret(OTHER_KEY))))
    return replace(
        config,
        webhooks=section(port, **changes),
        stream=StreamConfig(transaction_interval_s=0.05),
        auth=auth,
        store=StoreConfig(url=None if store is None else str(store)),
        **({} if quotes is None else {"quotes": quotes}),
    )
