"""One provider per capability that wraps the native coin through WETH9, for real chains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    BridgeProvider,
    BridgeRoute,
    Build,
    Context,
    DeployRequest,
    Leg,
    ManageRequest,
    Pool,
    PoolProvider,
    PoolRequest,
    Quote,
    SealedQuote,
    Series,
    Step,
    SwapProvider,
    SwapRequest,
    Token,
    TokenCatalog,
    TokenProfile,
    TransferState,
    TransferTerms,
    Vault,
    VaultProvider,
    VaultRequest,
)
from quoteway.evm.abi import function
from quoteway.testing.fakes.swaps import FAKE_TARGET

UPDATED_AT = 1_700_000_000


class Wrapping:
    """Quotes and builds a WETH9 ``deposit``: one wei in, one wei out."""

    DEPOSIT = function("deposit()")

    def __init__(self, context: Context, weth: Address, chain_ids: Iterable[int]) -> None:
        self.context = context
        self.weth = weth
        self.networks = frozenset(chain_ids)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns WETH9."""
        return {self.weth: "WETH9"}

    def slug(self, chain_id: int) -> str:
        """Returns the name of the network."""
        network = self.context.networks.by_chain_id(chain_id)
        assert network is not None
        return network.slug

    async def wrap(
        self,
        request: Any,
        amount: int,
        *,
        recipient: Address,
        to_chain: int | None = None,
        terms: TransferTerms | None = None,
    ) -> Quote:
        """Returns a quote for wrapping ``amount`` wei, paid out on ``to_chain``."""
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
            terms=terms,
        )

    async def build(self, sealed: SealedQuote) -> Build:
        """Returns the deposit."""
        amount = sum(leg.amount for leg in sealed.inputs)
        step = Step(self.weth, self.DEPOSIT.encode([]), amount, sealed.request.chain_id)
        return Build(steps=(step,), spends=(), inputs=sealed.inputs, outputs=sealed.outputs)


class WrapSwaps(Wrapping, SwapProvider):
    """Swaps the native coin for its wrapped token."""

    id, title = "fake-swaps", "Fake swaps"

    async def quote(self, request: SwapRequest) -> Quote | None:
        ends = request.token_in.address, request.token_out.address
        if ends != (NATIVE, self.weth) or request.is_cross_chain:
            return None
        return await self.wrap(request, request.amount_in, recipient=request.recipient)


class WrapBridge(Wrapping, BridgeProvider):
    """Sends the native coin through an Across ``SpokePool``, whose calldata states the output."""

    id, title = "fake-bridge", "Fake bridge"
    SEND = function(
        "depositV3(address depositor, address recipient, address inputToken, address outputToken, "
        "uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, address exclusiveRelayer, "
        "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
    )

    def __init__(
        self, context: Context, weth: Address, chain_ids: Iterable[int], spoke_pool: Address = FAKE_TARGET
    ) -> None:
        super().__init__(context, weth, chain_ids)
        self.spoke_pool = spoke_pool

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return {self.spoke_pool: "SpokePool"}

    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        ends = [(a, b) for a in sorted(self.networks) for b in sorted(self.networks) if a != b]
        return [
            BridgeRoute(a, b, Token(a, NATIVE, 18, "ETH"), Token(b, self.weth, 18, "WETH"), "fake", True)
            for a, b in ends
            if from_chain_id in (None, a) and to_chain_id in (None, b)
        ]

    async def quote(self, request: SwapRequest) -> Quote | None:
        if request.token_in.address != NATIVE:
            return None
        return await self.wrap(
            request,
            request.amount_in,
            recipient=request.recipient,
            to_chain=request.to_chain_id,
            terms=TransferTerms(estimated_seconds=12),
        )

    async def build(self, sealed: SealedQuote) -> Build:
        request, (given,), (got,) = sealed.request, sealed.inputs, sealed.outputs
        assert isinstance(request, SwapRequest)
        at = sealed.block.timestamp
        args = [
            *(request.refund_account, got.account, self.weth, got.token.address),
            *(given.amount, got.amount_min, got.token.chain_id, NATIVE, at, at + 3600, 0, b""),
        ]
        made = await super().build(sealed)
        step = replace(made.steps[0], to=self.spoke_pool, data=self.SEND.encode(args))
        return replace(made, steps=(step,))

    async def track(self, chain_id: int, transaction_hash: str) -> TransferState | None:
        return TransferState("origin_pending") if transaction_hash.startswith("0xaa") else None


class WrapPools(Wrapping, PoolProvider):
    """Lists seven pools of the native coin and WETH9, the first at the address of WETH9."""

    id, title = "fake-pools", "Fake pools"
    actions = ("add",)
    count = 7

    def entry(self, number: int) -> Pool:
        """Returns the row of the pool with this number, from 0."""
        chain_id = min(self.networks)
        address = f"0x{number:040x}" if number else self.weth
        return Pool(
            id=f"{chain_id}:{address}",
            network=self.slug(chain_id),
            chain_id=chain_id,
            protocol="fake",
            kind="wrap",
            address=address,
            tokens=(Token(chain_id, NATIVE, 18, "ETH"), Token(chain_id, self.weth, 18, "WETH")),
            actions=self.actions,
            source="chain",
            updated_at=UPDATED_AT,
            tvl_usd=None if number == 3 else float(100 * number),
        )

    async def pools(self, chain_id: int | None) -> Sequence[Pool]:
        return [self.entry(number) for number in range(self.count)]

    async def pool(self, pool_id: str) -> Pool | None:
        return next((entry for entry in await self.pools(None) if entry.id == pool_id), None)

    async def quote(self, request: PoolRequest) -> Quote | None:
        assert request.amount is not None
        return await self.wrap(request, request.amount, recipient=request.recipient)

    async def series(self, pool_id: str, metric: str, start: int, end: int, interval: Any) -> Series | None:
        if metric == "volume":
            return None
        points = ((start, 1.5), (end, None))
        return Series(pool_id, metric, "usd", interval, start, end, points, "chain", "state", UPDATED_AT)


class WrapVaults(Wrapping, VaultProvider):
    """Lists one vault whose share is the wrapped token."""

    id, title = "fake-vaults", "Fake vaults"
    actions = ("deposit",)
    manage_actions = ("harvest",)

    @property
    def vault_id(self) -> str:
        """Returns the id of its vault."""
        return f"{min(self.networks)}:{self.weth}"

    async def vaults(self, chain_id: int | None) -> Sequence[Vault]:
        mine = min(self.networks)
        return [
            Vault(
                id=self.vault_id,
                network=self.slug(mine),
                chain_id=mine,
                address=self.weth,
                name="Fake vault",
                protocol="fake",
                strategy="wrap",
                asset=Token(mine, NATIVE, 18, "ETH"),
                share=Token(mine, self.weth, 18, "WETH"),
                actions=self.actions,
                source="chain",
                updated_at=UPDATED_AT,
            )
        ]

    async def vault(self, vault_id: str) -> Vault | None:
        return (await self.vaults(None))[0] if vault_id == self.vault_id else None

    async def quote(self, request: VaultRequest | ManageRequest | DeployRequest) -> Quote | None:
        if isinstance(request, VaultRequest):
            assert request.amount is not None
            return await self.wrap(request, request.amount, recipient=request.recipient)
        return Quote((), (), await self.context.chain(request.chain_id).head(), {})


class WrapTokens(TokenCatalog):
    """Lists the native coin and its wrapped token."""

    id, title = "fake-tokens", "Fake tokens"

    def __init__(self, chain_id: int, weth: Address) -> None:
        self.networks = frozenset({chain_id})
        self.listed = [
            TokenProfile("eth", "Ether", "ETH", UPDATED_AT, (Token(chain_id, NATIVE, 18, "ETH"),), rank=2),
            TokenProfile(
                "weth", "Wrapped Ether", "WETH", UPDATED_AT, (Token(chain_id, weth, 18, "WETH"),), rank=1
            ),
        ]

    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        return self.listed

    async def profile(self, token_id: str) -> TokenProfile | None:
        return next((profile for profile in self.listed if profile.id == token_id), None)

    async def token(self, chain_id: int, address: Address) -> Token | None:
        found = [token for profile in self.listed for token in profile.contracts]
        return next(
            (token for token in found if (token.chain_id, token.address) == (chain_id, address)), None
        )
