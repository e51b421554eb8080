"""The real app on a real socket, with fake providers on the devnet's own WETH9; and gateways that join a swap
with a transfer.
"""

import contextlib
import json
import socket
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace

import aiohttp
import jsonschema
import pytest
import quoteway.config.model as configuration
from aiohttp import web
from quoteway.engine.gateway import Gateway
from quoteway.errors import UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.models import Token
from quoteway.networks import Endpoint, Network
from quoteway.providers import RpcUpstream
from quoteway.server.serve import make_runner
from quoteway.testing.fakes import (
    FakePlugin,
    HttpRpc,
    ListedTokens,
    RouterSwap,
    WrapBridge,
    WrapPools,
    WrapSwaps,
    WrapTokens,
    WrapVaults,
    pinned,
)
from quoteway.web.app import make_app, openapi_document

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


class WrappingPlugin(FakePlugin):
    """All of them, over the devnet's nodes; of the capabilities beside RPC those in ``kinds``."""

    def __init__(self, devnet):
        self.kinds = ("swap", "bridge", "pool", "vault", "tokens")
        self.weth = weth = devnet.chains["devnet"].contracts["WETH9"]
        spoke_pool = devnet.chains["devnet"].contracts["SpokePool"]
        chain_ids = [chain.chain_id for chain in devnet.chains.values()]
        makers = [
            lambda context: HttpRpc(context, provider_id="fake-rpc"),
            lambda context: WrapSwaps(context, weth, chain_ids),
            lambda context: WrapBridge(context, weth, chain_ids, spoke_pool),
            lambda context: WrapPools(context, weth, chain_ids[:1]),
            lambda context: WrapVaults(context, weth, chain_ids[:1]),
            lambda context: WrapTokens(chain_ids[0], weth),
        ]
        networks = [
            Network(
                slug,
                devnet.chains[slug].chain_id,
                slug,
                wrapped_native=weth,
                explorer_url="https://explorer.example",
                endpoints=(Endpoint(url),),
                contracts=devnet.chains[slug].kinds,
            )
            for slug, url in devnet.urls.items()
        ]
        super().__init__(makers, networks=networks)

    def _of(self, capability, context):
        return super()._of(capability, context) if capability in ("rpc", *self.kinds) else []


class BareNetwork:
    """One network that no RPC upstream really serves: enough to validate input against."""

    @hookimpl
    def quoteway_networks(self):
        return [Network("ethereum", 1, "Ethereum", endpoints=(Endpoint("http://127.0.0.1:9/never"),))]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        class Nowhere(RpcUpstream):
            id, title, networks = "nowhere", "Nowhere", frozenset({1})

            async def forward(self, network, method, params, *, timeout_s):
                raise UpstreamError("No node answered.")

        return [Nowhere()]


@dataclass
class Api:
    """A served app and a client of it."""

    url: str
    port: int
    gateway: Gateway
    session: aiohttp.ClientSession
    app: web.Application
    runner: web.AppRunner
    weth: str = ""

    def open_connections(self):
        """How many connections the server has at the moment."""
        return len(self.runner.server.connections)

    async def get(self, path, **kwargs):
        return await self.request("GET", path, **kwargs)

    async def post(self, path, body=None, **kwargs):
        if body is not None:
            kwargs["json"] = body
        return await self.request("POST", path, **kwargs)

    async def request(self, method, path, **kwargs):
        async with self.session.request(method, self.url + path, **kwargs) as response:
            raw = await response.read()
        body = None
        if raw and response.content_type == "application/json":
            body = await response.json()
        return SimpleNamespace(status=response.status, headers=response.headers, raw=raw, body=body)

    def raw(self, request: bytes, *, timeout=60.0) -> bytes:
        """Bytes in, all bytes out: for what a client library would not send. Blocks: call in a thread."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(request)
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while chunk := connection.recv(65_536):
                    received += chunk
        return received


def make_config(**server):
    """The configuration of a deployment with generous limits, so that only tests of limits meet them.
    Unlike the embedded default it answers for every host name.
    """
    limits = configuration.LimitsConfig(quotes="100000/minute", catalog="100000/minute", rpc="100000/minute")
    quotes = configuration.QuotesConfig(competition_timeout_s=20.0)
    server = replace(configuration.ServerConfig(), port=0, **server)
    return configuration.Config(server=server, limits=limits, quotes=quotes, embedded=False)


@pytest.fixture
async def serve_app():
    """``await serve_app({"name": plugin}, config=...)`` gives a ready ``Api``."""
    async with contextlib.AsyncExitStack() as stack:

        async def serve(plugins=None, config=None, clock=None):
            config = config or make_config()
            options = {"clock": clock} if clock else {}
            config = pinned(config, plugins or {})
            gateway = Gateway(config, plugins=plugins or {}, discover=False, **options)
            app = make_app(gateway)
            runner = make_runner(app, config)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            await gateway.started()
            port = runner.addresses[0][1]
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return Api(f"http://127.0.0.1:{port}", port, gateway, session, app, runner)

        yield serve


@pytest.fixture
async def api(serve_app):
    """An app with one network and no capability beyond reads that fail: every input is checked, nothing
    served.
    """
    return await serve_app({"bare": BareNetwork()})


@pytest.fixture
def fake_plugin(devnet):
    return WrappingPlugin(devnet)


@pytest.fixture
def fake_classes():
    return {
        "swap": WrapSwaps,
        "bridge": WrapBridge,
        "pool": WrapPools,
        "vault": WrapVaults,
        "tokens": WrapTokens,
    }


@pytest.fixture
async def fakes(serve_app, fake_plugin):
    """An app whose fake providers serve every capability on the devnet."""
    served = await serve_app({"fakes": fake_plugin})
    served.weth = fake_plugin.weth
    return served


class Contract:
    """The OpenAPI document as the judge of answers: every member documented, every documented member
    there.
    """

    def __init__(self):
        self.document = json.loads(openapi_document())
        schemas = self.document["components"]["schemas"]
        for schema in schemas.values():
            if "properties" in schema:
                schema["additionalProperties"] = False  # open for clients, closed for us
        self.operations = {
            operation["operationId"]: operation
            for methods in self.document["paths"].values()
            for operation in methods.values()
        }

    def check(self, operation_id, answer):
        assert answer.headers["X-Request-ID"]
        response = self.operations[operation_id]["responses"][str(answer.status)]
        if "$ref" in response:  # an error, which all operations share
            response = self.document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        self._validate(response["content"]["application/json"]["schema"], answer.body)
        return answer.body

    def check_data(self, noun, data):
        """The data of an event."""
        self._validate({"$ref": f"#/components/schemas/{noun}"}, data)
        return data

    def _validate(self, schema, data):
        whole = {**schema, "components": self.document["components"]}
        jsonschema.Draft202012Validator(whole).validate(data)


@pytest.fixture(scope="session")
def contract():
    return Contract()


def refused(answer, status, code, reason=None):
    """Asserts an error envelope, complete and bare; returns ``details``."""
    assert answer.status == status, answer.body or answer.raw
    assert set(answer.body) == {"error"}
    error = answer.body["error"]
    assert set(error) <= {"code", "message", "requestId", "details"}
    assert error["code"] == code
    assert error["requestId"] == answer.headers["X-Request-ID"]
    assert answer.headers["Content-Type"] == "application/json"
    details = error.get("details", {})
    if reason is not None:
        assert details["reason"] == reason, error
    for field in details.get("fields", ()):
        assert "Refused:" not in error["message"]
        assert field["message"].endswith((".", "?")), field
        assert ". must" not in error["message"], error
    return details


@pytest.fixture(scope="session", name="refused")
def _refused():
    return refused


@pytest.fixture(scope="session", name="make_config")
def _make_config():
    return make_config


@pytest.fixture
def signing_client(fresh_devnet, serve_app):
    """``await signing_client(*more providers, plugins={"name": (plugin, section)})``."""
    from signing_client import SigningClient, Unwrap

    async def make(*more, unwrap=Unwrap, plugins=None):
        chain = fresh_devnet.chains["devnet"]
        networks = [
            Network(
                slug,
                here.chain_id,
                slug,
                head_poll_s=0.2,
                endpoints=(Endpoint(fresh_devnet.urls[slug]),),
                contracts=here.kinds,
            )
            for slug, here in fresh_devnet.chains.items()
        ]
        networks[0] = replace(networks[0], wrapped_native=chain.contracts["WETH9"])
        tokens = [Token(31337, t.address, t.decimals, t.symbol) for t in chain.tokens]
        router = chain.contracts["UniswapV2Router02"]
        providers = [
            HttpRpc,
            ListedTokens(tokens),
            lambda context: RouterSwap(context, 31337, router),
            lambda context: unwrap(context, chain.contracts["WETH9"]),
            *more,
        ]
        loaded = {"fake": FakePlugin(providers, networks=networks)}
        sections = {}
        for name, (plugin, section) in (plugins or {}).items():
            loaded[name], sections[name] = plugin, section
        config = replace(make_config(), plugin_sections=sections)
        return SigningClient(fresh_devnet, await serve_app(loaded, config=config))

    return make


# --- gateways over the devnet that join a swap with a transfer ----------------------------------------------


@pytest.fixture
def relayer(fresh_devnet):
    from quoteway_devnet.relayer import Relayer

    with Relayer.running(fresh_devnet) as relayer:
        yield relayer


@pytest.fixture
async def make_harness(fresh_devnet, relayer, make_gateway):
    from crossings import PLUGINS, Harness, plugin_sections, read_lists

    async def make(clock=time.time, without=(), more=None, **sections):
        plugins = {name: plugin for name, plugin in PLUGINS.items() if name not in without} | (more or {})
        settings = plugin_sections(fresh_devnet, relayer.port)
        gateway = await make_gateway(
            plugins,
            plugin_sections={name: each for name, each in settings.items() if name in plugins},
            clock=clock,
            **sections,
        )
        await read_lists(gateway)
        return Harness(fresh_devnet, gateway)

    return make


@pytest.fixture
async def harness(make_harness):
    return await make_harness()
