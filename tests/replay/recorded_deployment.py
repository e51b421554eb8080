"""A deployment over fake nodes that records its requests, with an operator and a caller of it."""

import orjson
from marshmallow import Schema, fields
from quoteway import Network, SwapProvider, Token, UpstreamError, hookimpl
from quoteway.config.model import AuthConfig, Config, LimitsConfig, QuotesConfig, ServerConfig, SigningKey
from quoteway.engine.bundles import read_bundle
from quoteway.errors import Reason
from quoteway.networks import Endpoint
from quoteway.secrets import Secret, SecretField
from quoteway.server.replay import replay
from quoteway.testing.fakes import FakePlugin, ListedTokens, MemoryRpc

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SOLD, BOUGHT = "0x" + "a1" * 20, "0x" + "b2" * 20
TOKENS = [Token(1, SOLD, 6, "SOLD", "Sold", listed=True), Token(1, BOUGHT, 18, "BGHT", "Bought", listed=True)]
ASKED = {"network": "mainnet", "fromToken": SOLD, "toToken": BOUGHT, "amount": "1000000", "address": WALLET}

OPERATOR_KEY = "Zk3vT9xQ2mB7nL5cR8wY4pH6"
API_KEY = "qJ8rW2nX5vB9mK4tL7cF3gD6"
NODE_KEY = "n0dEkEyThAtOpEnsTheNode4711"
HEADER_KEY = "h3aderKeyOfTheNodeThatNobodySees"
PLUGIN_KEY = "pLuG1nKeyOfAnUpstreamService99"
SIGNING_KEY = "5f3c8a1e9b7d2460f1c3e5a7092b4d6e8f10325476a9bcde"
CALLERS_KEY = "aCallersOwnKeyThatItSentByMistake"
SESSION = "aSessionThatAPluginHasFromItsUpstream"
SECRETS = (SESSION, OPERATOR_KEY, API_KEY, NODE_KEY, HEADER_KEY, PLUGIN_KEY, SIGNING_KEY, CALLERS_KEY)


class Upstream(SwapProvider):
    """Asks an HTTP service and the chain, and has no route: the words of both are in its failure."""

    id, title, networks = "upstream-swap", "Upstream", frozenset({1})

    def __init__(self, context):
        self._context, self._url = context, context.settings["url"]

    async def quote(self, request):
        key = self._context.settings["key"].reveal()
        headers = {"Authorization": f"Bearer {key}", "X-Session": SESSION}
        body = {"amount": str(request.amount_in), "apiKey": key}
        async with self._context.http.post(self._url, json=body, headers=headers) as response:
            answer = orjson.loads(b"".join([chunk async for chunk in response.content.iter_chunked(100)]))
        balance = await self._context.chain(1).request("eth_getBalance", [SOLD, "latest"])
        raise UpstreamError(
            f"The service says {answer['price']}, the chain {int(balance, 16)}, at {self._context.now()}.",
            reason=Reason.NO_ROUTE,
        )

    async def build(self, quote):
        raise UpstreamError("never built")


class UpstreamSettings(Schema):
    url = fields.String(required=True)
    key = SecretField(required=True)


class UpstreamPlugin(FakePlugin):
    @hookimpl
    def quoteway_settings(self):
        return UpstreamSettings


class Nodes(MemoryRpc):
    """Nodes whose balances can be changed, and which may fail once."""

    def __init__(self, networks):
        super().__init__(networks, tokens=TOKENS)
        self.balance, self.failures = 77, 0
        self.answers["eth_getBalance"] = self._balance

    def _balance(self, params):
        if self.failures:
            self.failures -= 1
            raise UpstreamError("No node answered at https://node.example.", reason=Reason.PROVIDER_TIMEOUT)
        return hex(self.balance)


def plugins_of(nodes):
    endpoint = Endpoint(f"https://node.example/v3/{NODE_KEY}", {"X-Key": HEADER_KEY}, "first")
    return {
        "upstream": UpstreamPlugin([Upstream]),
        "nodes": FakePlugin(
            [nodes, ListedTokens(TOKENS)], networks=[Network("mainnet", 1, "Mainnet", endpoints=(endpoint,))]
        ),
    }


def deployment(url, **server):
    return Config(
        server=ServerConfig(port=0, capture=3, capture_key=Secret(OPERATOR_KEY), **server),
        limits=LimitsConfig(quotes="10000/minute", catalog="10000/minute", wrong_keys="3/minute"),
        quotes=QuotesConfig(competition_timeout_s=20.0, keys=(SigningKey("k", Secret(SIGNING_KEY)),)),
        auth=AuthConfig(keys=(Secret(API_KEY),)),
        plugin_sections={"upstream": {"url": url, "key": Secret(PLUGIN_KEY)}},
        embedded=False,
    )


class Room:
    """A served deployment with its nodes, and an operator and a caller of it."""

    def __init__(self, api, nodes, folder):
        self.api, self.nodes, self.folder = api, nodes, folder

    async def ask(self, request_id, method="POST", path="/v2/swaps/quote", body=None):
        headers = {"Authorization": f"Bearer {API_KEY}", "X-Request-ID": request_id}
        async with self.api.session.request(
            method, self.api.url + path, json=body, headers=headers
        ) as answer:
            return answer.status, await answer.json()

    async def capture(self, request_id, key=OPERATOR_KEY):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        place = f"{self.api.url}/operator/captures/{request_id}"
        async with self.api.session.get(place, headers=headers) as answer:
            return answer.status, await answer.read()

    async def bundle(self, request_id):
        status, raw = await self.capture(request_id)
        assert status == 200, raw
        path = self.folder / "bundle.json"
        path.write_bytes(raw)
        return path

    async def replay(self, path, **changes):
        return await replay(read_bundle(path), plugins={"upstream": UpstreamPlugin([Upstream])}, **changes)
