"""The real app on a real socket, with toy plugins: small, honest providers on the devnet's own WETH9."""

import contextlib
import json
import socket
from dataclasses import dataclass, replace
from types import SimpleNamespace

import aiohttp
import jsonschema
import pytest
import quoteway.config as configuration
from aiohttp import web
from quoteway.errors import UpstreamError
from quoteway.evm.abi import function
from quoteway.gateway import Gateway
from quoteway.hookspecs import hookimpl
from quoteway.models import (
    NATIVE,
    Arrival,
    BridgeRoute,
    Build,
    Leg,
    Pool,
    Quote,
    Series,
    Step,
    Token,
    TokenProfile,
    Vault,
)
from quoteway.networks import Endpoint, Network
from quoteway.providers import (
    BridgeProvider,
    PoolProvider,
    RpcUpstream,
    SwapProvider,
    TokenCatalog,
    VaultProvider,
)
from quoteway.serve import make_runner
from quoteway.testing.toys import HttpRpc, ToyPlugin
from quoteway.web.app import make_app, openapi_document
from quoteway_devnet.manifest import chain_manifests

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
DEPOSIT = function("deposit()")
SEND = function(
    "depositV3(address depositor, address recipient, address inputToken, address outputToken, "
    "uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, address exclusiveRelayer, "
    "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
)


class Wrapping:
    """Quotes and builds a WETH9 ``deposit``: one wei in, one wei out, on every capability alike."""

    def __init__(self, context, weth, chain_ids):
        self.context = context
        self.weth = weth
        self.networks = frozenset(chain_ids)

    def contracts(self, chain_id):
        return {self.weth: "WETH9"}

    async def wrap(self, request, amount, *, recipient, to_chain=None, details=None):
        chain = self.context.chain(request.chain_id)
        coin = Token(request.chain_id, NATIVE, 18, "ETH", "Ether")
        share = Token(to_chain or request.chain_id, self.weth, 18, "WETH", "Wrapped Ether")
        sender = getattr(request, "sender", None) or request.owner
        return Quote(
            inputs=(Leg(coin, amount, sender),),
            outputs=(Leg(share, amount, recipient, amount_min=amount),),
            block=await chain.head(),
            plan={"kind": "wrap"},
            slippage_bps=getattr(request, "slippage_bps", 0),
            details=details or {},
        )

    async def build(self, sealed):
        data = DEPOSIT.encode([])
        amount = sum(leg.amount for leg in sealed.inputs)
        step = Step(
            kind=sealed.capability.value,
            to=self.weth,
            data=data,
            value=amount,
            chain_id=sealed.request.chain_id,
            decoded=DEPOSIT.describe([]),
            description="Wrap the native coin",
            intent=f"Wrap {amount} wei",
        )
        return Build(steps=(step,), spends=(), inputs=sealed.inputs, outputs=sealed.outputs)


class ToySwaps(Wrapping, SwapProvider):
    id, title = "toy-swaps", "Toy swaps"

    async def quote(self, request):
        if (
            request.token_in.address != NATIVE
            or request.token_out.address != self.weth
            or request.is_cross_chain
        ):
            return None
        return await self.wrap(request, request.amount_in, recipient=request.recipient)


class ToyBridge(Wrapping, BridgeProvider):
    id, title = "toy-bridge", "Toy bridge"

    async def routes(self, from_chain_id, to_chain_id):
        ends = [(a, b) for a in sorted(self.networks) for b in sorted(self.networks) if a != b]
        return [
            BridgeRoute(a, b, Token(a, NATIVE, 18, "ETH"), Token(b, self.weth, 18, "WETH"), "toy", True)
            for a, b in ends
            if from_chain_id in (None, a) and to_chain_id in (None, b)
        ]

    async def quote(self, request):
        if request.token_in.address != NATIVE:
            return None
        details = {"estimatedSeconds": 12, "fillDeadline": None, "refund": None}
        return await self.wrap(
            request,
            request.amount_in,
            recipient=request.recipient,
            to_chain=request.to_chain_id,
            details=details,
        )

    async def build(self, sealed):
        """A deposit into the devnet's own SpokePool: no lesser call says what arrives on another chain."""
        (given,), (got,) = sealed.inputs, sealed.outputs
        at = sealed.block.timestamp
        args = [
            *(
                sealed.request.refund_account,
                got.account,
                self.weth,
                got.token.address,
                given.amount,
                got.amount_min,
            ),
            *(got.token.chain_id, NATIVE, at, at + 3600, 0, b""),
        ]
        made = await super().build(sealed)
        step = replace(made.steps[0], to=self.pool, data=SEND.encode(args), decoded=SEND.describe(args))
        arrival = Arrival(0, chain_id=(6,), recipient=(1,), token=(3,), amount_min=(5,), refund=(0,))
        return replace(made, steps=(step,), arrivals=(arrival,))

    def contracts(self, chain_id):
        return {self.pool: "SpokePool"}

    @property
    def pool(self):
        return chain_manifests()["devnet"].contracts["SpokePool"]

    async def track(self, chain_id, transaction_hash):
        return {"status": "origin_pending"} if transaction_hash.startswith("0xaa") else None


class ToyPools(Wrapping, PoolProvider):
    id, title = "toy-pools", "Toy pools"
    actions = ("add",)
    count = 7

    def entry(self, number):
        chain_id = min(self.networks)
        address = f"0x{number:040x}" if number else self.weth
        network = self.context.networks.by_chain_id(chain_id)
        tokens = (Token(chain_id, NATIVE, 18, "ETH"), Token(chain_id, self.weth, 18, "WETH"))
        return Pool(
            id=f"{chain_id}:{address}",
            network=network.slug,
            chain_id=chain_id,
            protocol="toy",
            kind="wrap",
            address=address,
            tokens=tokens,
            actions=self.actions,
            source="chain",
            updated_at=1_700_000_000,
            tvl_usd=None if number == 3 else float(100 * number),
        )

    async def pools(self, chain_id):
        return [self.entry(number) for number in range(self.count)]

    async def pool(self, pool_id):
        return next((entry for entry in await self.pools(None) if entry.id == pool_id), None)

    async def quote(self, request):
        return await self.wrap(request, request.amount, recipient=request.recipient)

    async def series(self, pool_id, metric, start, end, interval):
        if metric == "volume":
            return None
        points = ((start, 1.5), (end, None))
        return Series(pool_id, metric, "usd", interval, start, end, points, "chain", "state", 1_700_000_000)


class ToyVaults(Wrapping, VaultProvider):
    id, title = "toy-vaults", "Toy vaults"
    actions = ("deposit",)
    manage_actions = ("harvest",)

    @property
    def vault_id(self):
        return f"{min(self.networks)}:{self.weth}"

    async def vaults(self, chain_id):
        mine = min(self.networks)
        return [
            Vault(
                id=self.vault_id,
                network=self.context.networks.by_chain_id(mine).slug,
                chain_id=mine,
                address=self.weth,
                name="Toy vault",
                protocol="toy",
                strategy="wrap",
                asset=Token(mine, NATIVE, 18, "ETH"),
                share=Token(mine, self.weth, 18, "WETH"),
                actions=self.actions,
                source="chain",
                updated_at=1_700_000_000,
            )
        ]

    async def vault(self, vault_id):
        return (await self.vaults(None))[0] if vault_id == self.vault_id else None

    async def quote(self, request):
        if getattr(request, "action", None) in self.actions:
            return await self.wrap(request, request.amount, recipient=request.recipient)
        return Quote((), (), await self.context.chain(request.chain_id).head(), {})


class ToyTokens(TokenCatalog):
    id, title = "toy-tokens", "Toy tokens"

    def __init__(self, chain_id, weth):
        self.networks = frozenset({chain_id})
        self.listed = [
            TokenProfile("eth", "Ether", "ETH", 1_700_000_000, (Token(chain_id, NATIVE, 18, "ETH"),), rank=2),
            TokenProfile(
                "weth", "Wrapped Ether", "WETH", 1_700_000_000, (Token(chain_id, weth, 18, "WETH"),), rank=1
            ),
        ]

    async def tokens(self, chain_id):
        return self.listed

    async def profile(self, token_id):
        return next((profile for profile in self.listed if profile.id == token_id), None)

    async def token(self, chain_id, address):
        found = [token for profile in self.listed for token in profile.contracts]
        return next(
            (token for token in found if (token.chain_id, token.address) == (chain_id, address)), None
        )


class WrappingPlugin(ToyPlugin):
    """All of them, over the devnet's nodes; of the capabilities beside RPC those in ``kinds``."""

    def __init__(self, devnet):
        self.kinds = ("swap", "bridge", "pool", "vault", "tokens")
        self.weth = weth = devnet.chains["devnet"].contracts["WETH9"]
        chain_ids = [chain.chain_id for chain in devnet.chains.values()]
        makers = [
            lambda context: HttpRpc(context, provider_id="toy-rpc"),
            lambda context: ToySwaps(context, weth, chain_ids),
            lambda context: ToyBridge(context, weth, chain_ids),
            lambda context: ToyPools(context, weth, chain_ids[:1]),
            lambda context: ToyVaults(context, weth, chain_ids[:1]),
            lambda context: ToyTokens(chain_ids[0], weth),
        ]
        networks = [
            Network(
                slug,
                devnet.chains[slug].chain_id,
                slug,
                wrapped_native=weth,
                explorer_url="https://explorer.example",
                endpoints=(Endpoint(url),),
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
    """A configuration with generous limits, so that only the tests of limits meet them, on a busy machine
    too.
    """
    limits = configuration.LimitsConfig(quotes="100000/minute", catalog="100000/minute", rpc="100000/minute")
    quotes = configuration.QuotesConfig(competition_timeout_s=20.0)
    server = replace(configuration.ServerConfig(), port=0, **server)
    return configuration.Config(server=server, limits=limits, quotes=quotes)


@pytest.fixture
async def serve_app():
    """``await serve_app({"name": plugin}, config=...)`` gives a ready ``Api``."""
    async with contextlib.AsyncExitStack() as stack:

        async def serve(plugins=None, config=None, clock=None):
            config = config or make_config()
            options = {"clock": clock} if clock else {}
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
def toy_plugin(devnet):
    return WrappingPlugin(devnet)


@pytest.fixture
def toy_classes():
    return {"swap": ToySwaps, "bridge": ToyBridge, "pool": ToyPools, "vault": ToyVaults, "tokens": ToyTokens}


@pytest.fixture
async def toys(serve_app, toy_plugin):
    """An app whose toy providers serve every capability on the devnet."""
    served = await serve_app({"toys": toy_plugin})
    served.weth = toy_plugin.weth
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
        schema = {
            **response["content"]["application/json"]["schema"],
            "components": self.document["components"],
        }
        jsonschema.Draft202012Validator(schema).validate(answer.body)
        return answer.body


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
    return details


@pytest.fixture(scope="session", name="refused")
def _refused():
    return refused


@pytest.fixture(scope="session", name="make_config")
def _make_config():
    return make_config
