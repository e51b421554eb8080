"""Small honest providers, one per capability, for tests of the core, of plugins and of clients.

Offline: ``MemoryRpc`` is a chain without contracts, ``FixedRateSwap`` and the catalogs answer from what they
were given. On a real chain: ``HttpRpc`` forwards to the network's endpoints and ``RouterSwap`` swaps through
a Uniswap v2 router. ``ToyPlugin`` turns any of them into a plugin::

    plugin = ToyPlugin(networks=[network], providers=[MemoryRpc({1}), lambda context: FixedRateSwap(context)])
    gateway = await make_gateway({"toy": plugin})
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    Arrival,
    Block,
    BridgeProvider,
    BridgeRoute,
    Build,
    Capability,
    Context,
    DeployRequest,
    FieldError,
    InvalidRequest,
    Leg,
    Network,
    Pool,
    PoolProvider,
    PoolRequest,
    Price,
    PriceSource,
    Provider,
    Quote,
    Reason,
    Relay,
    RpcError,
    RpcUpstream,
    SealedQuote,
    Spend,
    Step,
    SwapProvider,
    SwapRequest,
    Token,
    TokenCatalog,
    TokenProfile,
    UpstreamError,
    Vault,
    VaultProvider,
    VaultRequest,
    hookimpl,
)
from quoteway.evm.abi import Function, function

ProviderOrMaker = Provider | Callable[[Context], Provider]

TOY_TARGET = "0x0000000000000000000000000000000000070701"
"""The contract that offline toys say they call. Nothing is there on any chain."""


class ToyPlugin:
    """A plugin made of provider objects, or of functions that make one from the plugin's context."""

    def __init__(
        self,
        providers: Iterable[ProviderOrMaker] = (),
        *,
        networks: Iterable[Network] = (),
        lifespan: Callable[[Context], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        self._providers = list(providers)
        self._networks = list(networks)
        self._lifespan = lifespan
        self._made: list[Provider] | None = None

    def _of(self, capability: Capability, context: Context) -> list[Provider]:
        if self._made is None:
            self._made = [p if isinstance(p, Provider) else p(context) for p in self._providers]
        return [p for p in self._made if p.capability is capability]

    @hookimpl
    def quoteway_networks(self, context: Context) -> list[Network]:
        return self._networks

    @hookimpl
    def quoteway_lifespan(self, context: Context) -> AbstractAsyncContextManager[Any] | None:
        return self._lifespan(context) if self._lifespan is not None else None

    @hookimpl
    def quoteway_rpc_upstreams(self, context: Context) -> list[Provider]:
        return self._of(Capability.RPC, context)

    @hookimpl
    def quoteway_token_catalogs(self, context: Context) -> list[Provider]:
        return self._of(Capability.TOKENS, context)

    @hookimpl
    def quoteway_swap_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.SWAP, context)

    @hookimpl
    def quoteway_bridge_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.BRIDGE, context)

    @hookimpl
    def quoteway_pool_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.POOL, context)

    @hookimpl
    def quoteway_vault_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.VAULT, context)

    @hookimpl
    def quoteway_metrics_providers(self, context: Context) -> list[Provider]:
        return self._of(Capability.METRICS, context)

    @hookimpl
    def quoteway_price_sources(self, context: Context) -> list[Provider]:
        return self._of(Capability.PRICES, context)

    @hookimpl
    def quoteway_relays(self, context: Context) -> list[Provider]:
        return self._of(Capability.RELAY, context)


# --- chains ---------------------------------------------------------------------------------------------


class MemoryRpc(RpcUpstream):
    """A chain of one block without contracts: its head and id are known, everything else is not offered.

    ``answers`` adds results by method, or functions of the parameters. ``calls`` lists what was asked.
    """

    title = "A chain in memory"

    def __init__(
        self,
        networks: Collection[int],
        answers: Mapping[str, Any] | None = None,
        *,
        provider_id: str = "memory-rpc",
    ) -> None:
        self.id = provider_id
        self.networks = frozenset(networks)
        self.answers = dict(answers or {})
        self.calls: list[tuple[str, Sequence[Any]]] = []

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        self.calls.append((method, params))
        if method in self.answers:
            answer = self.answers[method]
            return answer(params) if callable(answer) else answer
        if method == "eth_chainId":
            return hex(network.chain_id)
        if method == "eth_getBlockByNumber":
            return {
                "number": "0x1",
                "hash": "0x" + "11" * 32,
                "timestamp": "0x65000000",
                "baseFeePerGas": "0x1",
            }
        raise RpcError(-32601, "the method does not exist")


class HttpRpc(RpcUpstream):
    """Forwards to the first endpoint of each network."""

    title = "The network's endpoints"

    def __init__(self, context: Context, *, provider_id: str = "http-rpc") -> None:
        self.id = provider_id
        self.networks = frozenset(network.chain_id for network in context.networks if network.endpoints)
        self._context = context

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        import aiohttp

        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        endpoint = network.endpoints[0]
        limit = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self._context.http.post(
                endpoint.url, json=body, headers=endpoint.headers, timeout=limit
            ) as response:
                answer = await response.json()
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise UpstreamError(f"No node of {network.name} answers.", retryable=True) from None
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error.get("code", 0), error.get("message", ""), error.get("data"))
        return answer["result"]


# --- swaps ----------------------------------------------------------------------------------------------


def swap_quote(request: SwapRequest, amount_out: int, block: Any, **more: Any) -> Quote:
    """An honest quote of ``amount_out`` base units for a swap request, its minimum as the slippage says."""
    minimum = amount_out * (10_000 - request.slippage_bps) // 10_000
    return Quote(
        inputs=(Leg(request.token_in, request.amount_in, request.sender),),
        outputs=(Leg(request.token_out, amount_out, request.recipient, amount_min=minimum),),
        block=block,
        plan=more.pop("plan", {}),
        slippage_bps=request.slippage_bps,
        **more,
    )


def step_of(
    call: Function, args: Sequence[Any], *, to: Address, chain_id: int, value: int = 0, intent: str = ""
) -> Step:
    """A provider's step that calls ``call`` with ``args``, described as the guard wants it."""
    return Step(
        kind="call",
        to=to,
        data=call.encode(args),
        value=value,
        chain_id=chain_id,
        decoded=call.describe(args),
        description=intent or call.signature,
        intent=intent or call.signature,
    )


class FixedRateSwap(SwapProvider):
    """Swaps anything at ``numerator / denominator`` base units out per base unit in.

    Its transactions lead nowhere.
    """

    SWAP = function(
        "swap(address tokenIn, address tokenOut, uint256 amountIn, uint256 amountOutMin, address recipient)"
    )

    def __init__(
        self,
        context: Context,
        *,
        provider_id: str = "fixed-rate",
        networks: Collection[int] | None = None,
        numerator: int = 1,
        denominator: int = 1,
    ) -> None:
        self.id = provider_id
        self.title = f"Fixed rate {numerator}/{denominator}"
        self.networks = frozenset(
            networks if networks is not None else (n.chain_id for n in context.networks)
        )
        self._context = context
        self._rate = numerator, denominator

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {TOY_TARGET: "Toy exchange"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return (TOY_TARGET,)

    async def quote(self, request: SwapRequest) -> Quote | None:
        block = await self._context.chain(request.chain_id).head()
        numerator, denominator = self._rate
        amount_out = request.amount_in * numerator // denominator
        return swap_quote(request, amount_out, block, spends=self._spends(request)) if amount_out else None

    async def build(self, sealed: SealedQuote) -> Build:
        request, (got,) = sealed.request, sealed.outputs
        assert isinstance(request, SwapRequest)
        args = [
            request.token_in.address,
            request.token_out.address,
            request.amount_in,
            got.amount_min,
            request.recipient,
        ]
        value = request.amount_in if request.token_in.is_native else 0
        step = step_of(self.SWAP, args, to=TOY_TARGET, chain_id=request.chain_id, value=value, intent="Swap")
        return Build((step,), self._spends(request), sealed.inputs, sealed.outputs)

    def _spends(self, request: SwapRequest) -> tuple[Spend, ...]:
        if request.token_in.is_native:
            return ()
        return (Spend(request.token_in.address, request.amount_in, TOY_TARGET),)


class RouterSwap(SwapProvider):
    """Swaps one ERC-20 token for another through one pool of a Uniswap v2 router (``UniswapV2Router02``)."""

    title = "Uniswap v2 router"
    AMOUNTS_OUT = function("getAmountsOut(uint256 amountIn, address[] path) returns (uint256[] amounts)")
    SWAP = function(
        "swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to,"
        " uint256 deadline)"
    )

    def __init__(
        self, context: Context, chain_id: int, router: Address, *, provider_id: str = "router"
    ) -> None:
        self.id = provider_id
        self.networks = frozenset({chain_id})
        self.router = router
        self._context = context

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {self.router: "Uniswap v2 router"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return (self.router,)

    async def quote(self, request: SwapRequest) -> Quote | None:
        if request.token_in.is_native or request.token_out.is_native:
            return None
        chain = self._context.chain(request.chain_id)
        block = await chain.head()
        path = [request.token_in.address, request.token_out.address]
        try:
            output = await chain.call(
                self.router, self.AMOUNTS_OUT.encode([request.amount_in, path]), block=block
            )
        except RpcError:
            return None  # there is no such pool, or it is too small
        ((_, amount_out),) = self.AMOUNTS_OUT.decode_output(output)
        spends = (Spend(path[0], request.amount_in, self.router),)
        return swap_quote(request, amount_out, block, spends=spends, plan={"path": path})

    async def build(self, sealed: SealedQuote) -> Build:
        (sold,), (got,) = sealed.inputs, sealed.outputs
        # From the quote, not from the clock: the same token gives the same bytes.
        deadline = sealed.created_at + self._context.config.quotes.action_deadline_s
        args = [sold.amount, got.amount_min, sealed.plan["path"], got.account, deadline]
        step = step_of(self.SWAP, args, to=self.router, chain_id=sold.token.chain_id, intent="Swap")
        spends = (Spend(sold.token.address, sold.amount, self.router),)
        return Build((step,), spends, sealed.inputs, sealed.outputs, deadline)


# --- catalogs -------------------------------------------------------------------------------------------


class ListedTokens(TokenCatalog):
    """The tokens it was given."""

    title = "Listed tokens"

    def __init__(self, tokens: Iterable[Token], *, provider_id: str = "listed-tokens") -> None:
        self.id = provider_id
        self._tokens = {(token.chain_id, token.address): token for token in tokens}
        self.networks = frozenset(chain_id for chain_id, _ in self._tokens)

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        return [self._profile(t) for t in self._tokens.values() if chain_id in (None, t.chain_id)]

    async def profile(self, token_id: str) -> TokenProfile | None:
        return next((p for p in await self.tokens(None) if p.id == token_id), None)

    async def token(self, chain_id: int, address: Address) -> Token | None:
        return self._tokens.get((chain_id, address))

    @staticmethod
    def _profile(token: Token) -> TokenProfile:
        symbol = token.symbol or "unknown"
        return TokenProfile(f"{token.chain_id}:{token.address}", token.name or symbol, symbol, 0, (token,))


class ListedPrices(PriceSource):
    """The prices it was given, in US dollars by token address, on every network it was given."""

    title = "Listed prices"

    def __init__(
        self, networks: Collection[int], usd: Mapping[Address, float], *, provider_id: str = "listed-prices"
    ) -> None:
        self.id = provider_id
        self.networks = frozenset(networks)
        self.usd = dict(usd)
        self.asked: list[Sequence[Address]] = []

    async def prices(
        self, chain_id: int, addresses: Sequence[Address], block: Block
    ) -> Mapping[Address, Price]:
        self.asked.append(addresses)
        return {a: Price(self.usd[a], self.id, block, 1.0) for a in addresses if a in self.usd}


class NodeRelay(Relay):
    """Broadcasts through the network's own RPC upstream."""

    title = "Node relay"

    def __init__(self, context: Context, *, provider_id: str = "node-relay") -> None:
        self.id = provider_id
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._context = context

    async def submit(self, chain_id: int, signed_payload: bytes) -> str:
        raw = "0x" + signed_payload.hex()
        sent: str = await self._context.chain(chain_id).request("eth_sendRawTransaction", [raw], shared=False)
        return sent


class ListedPools(PoolProvider):
    """The pools it was given; read only."""

    title = "Listed pools"

    def __init__(self, pools: Iterable[Pool], *, provider_id: str = "listed-pools") -> None:
        self.id = provider_id
        self._pools = {pool.id: pool for pool in pools}
        self.networks = frozenset(pool.chain_id for pool in self._pools.values())

    async def pools(self, chain_id: int | None) -> Sequence[Pool]:
        return [pool for pool in self._pools.values() if chain_id in (None, pool.chain_id)]

    async def pool(self, pool_id: str) -> Pool | None:
        return self._pools.get(pool_id)

    async def quote(self, request: PoolRequest) -> Quote | None:
        return None


class ListedVaults(VaultProvider):
    """The ERC-4626 vaults it was given; takes deposits one share for one unit of the asset."""

    title = "Listed vaults"
    actions = ("deposit",)
    DEPOSIT = function("deposit(uint256 assets, address receiver)")

    def __init__(
        self, context: Context, vaults: Iterable[Vault], *, provider_id: str = "listed-vaults"
    ) -> None:
        self.id = provider_id
        self._context = context
        self._vaults = {vault.id: vault for vault in vaults}
        self.networks = frozenset(vault.chain_id for vault in self._vaults.values())

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {vault.address: vault.name for vault in self._vaults.values() if vault.chain_id == chain_id}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return tuple(self.contracts(chain_id))

    async def vaults(self, chain_id: int | None) -> Sequence[Vault]:
        return [vault for vault in self._vaults.values() if chain_id in (None, vault.chain_id)]

    async def vault(self, vault_id: str) -> Vault | None:
        return self._vaults.get(vault_id)

    async def quote(self, request: VaultRequest | DeployRequest) -> Quote | None:
        if not isinstance(request, VaultRequest) or request.action != "deposit" or request.amount is None:
            return None
        vault = self._vaults.get(request.vault_id)
        if vault is None:
            return None
        return Quote(
            inputs=(Leg(vault.asset, request.amount, request.sender),),
            outputs=(Leg(vault.share, request.amount, request.recipient, amount_min=request.amount),),
            block=await self._context.chain(vault.chain_id).head(),
            plan={"vault": vault.address},
            spends=(Spend(vault.asset.address, request.amount, vault.address),),
        )

    async def build(self, sealed: SealedQuote) -> Build:
        (paid,), (got,) = sealed.inputs, sealed.outputs
        vault = sealed.plan["vault"]
        step = step_of(self.DEPOSIT, [paid.amount, got.account], to=vault, chain_id=paid.token.chain_id)
        return Build((step,), (Spend(paid.token.address, paid.amount, vault),), sealed.inputs, sealed.outputs)


class ListedRoutes(BridgeProvider):
    """A bridge of the native coin, one for one, over given routes. Its transactions lead nowhere."""

    title = "Listed routes"
    SEND = function("send(uint256 toChainId, address recipient, address token, uint256 amountMin)")

    def __init__(
        self, context: Context, routes: Iterable[BridgeRoute], *, provider_id: str = "listed-routes"
    ) -> None:
        self.id = provider_id
        self._context = context
        self._routes = tuple(routes)
        ends = [(route.from_chain_id, route.to_chain_id) for route in self._routes]
        self.networks = frozenset(chain_id for pair in ends for chain_id in pair)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {TOY_TARGET: "Toy bridge"}

    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        return [
            route
            for route in self._routes
            if from_chain_id in (None, route.from_chain_id) and to_chain_id in (None, route.to_chain_id)
        ]

    async def quote(self, request: SwapRequest) -> Quote | None:
        if request.refund_account != request.sender:
            text = "refundAddress must be the sender: this bridge refunds nobody else."
            finding = FieldError("refundAddress", Reason.CONFLICT, text)
            raise InvalidRequest(text, reason=Reason.CONFLICT, fields=[finding])
        served = await self.routes(request.chain_id, request.to_chain_id)
        if not served or request.token_in.address != NATIVE or request.token_out.address != NATIVE:
            return None
        return swap_quote(request, request.amount_in, await self._context.chain(request.chain_id).head())

    async def build(self, sealed: SealedQuote) -> Build:
        (paid,), (got,) = sealed.inputs, sealed.outputs
        network = self._context.networks.by_chain_id(got.token.chain_id)
        token = (network.wrapped_native if network else None) or got.token.address
        args = [got.token.chain_id, got.account, token, got.amount_min]
        step = step_of(self.SEND, args, to=TOY_TARGET, chain_id=paid.token.chain_id, value=paid.amount)
        arrival = Arrival(0, chain_id=(0,), recipient=(1,), token=(2,), amount_min=(3,))
        return Build((step,), (), sealed.inputs, sealed.outputs, arrivals=(arrival,))
