"""Providers that answer from given data, and a relay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from quoteway import (
    NATIVE,
    Address,
    Block,
    BridgeProvider,
    BridgeRoute,
    Build,
    Context,
    DeployRequest,
    FieldError,
    InvalidRequest,
    Leg,
    ManageRequest,
    Pool,
    PoolProvider,
    PoolRequest,
    Price,
    PriceSource,
    Quote,
    Reason,
    Relay,
    SealedQuote,
    Spend,
    SwapRequest,
    Token,
    TokenCatalog,
    TokenProfile,
    Vault,
    VaultProvider,
    VaultRequest,
)
from quoteway.evm.abi import function
from quoteway.testing.fakes.swaps import FAKE_TARGET, SEND, step_of, swap_quote


class ListedTokens(TokenCatalog):
    """Lists given tokens."""

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
    """Returns given prices, in US dollars by token address, on every given network; they are anchored."""

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
        return {a: Price(self.usd[a], self.id, block, 1.0, anchored=True) for a in addresses if a in self.usd}


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
    """Lists given pools; quotes nothing."""

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
    """Lists given ERC-4626 vaults; quotes deposits at one share per unit of the asset."""

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

    async def quote(self, request: VaultRequest | ManageRequest | DeployRequest) -> Quote | None:
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
    """Bridges the native coin 1:1 over given routes. Its transactions call no real contract."""

    title = "Listed routes"
    SEND = function(SEND)

    def __init__(
        self, context: Context, routes: Iterable[BridgeRoute], *, provider_id: str = "listed-routes"
    ) -> None:
        self.id = provider_id
        self._context = context
        self._routes = tuple(routes)
        ends = [(route.from_chain_id, route.to_chain_id) for route in self._routes]
        self.networks = frozenset(chain_id for pair in ends for chain_id in pair)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {FAKE_TARGET: "Fake bridge"}

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
        step = step_of(self.SEND, args, to=FAKE_TARGET, chain_id=paid.token.chain_id, value=paid.amount)
        return Build((step,), (), sealed.inputs, sealed.outputs)
