"""The pool provider: lists pools, adds, removes and collects liquidity, tells positions and series."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from quoteway import (
    Address,
    Block,
    Build,
    Chain,
    Context,
    GatewayError,
    InvalidRequest,
    Leg,
    Pool,
    PoolProvider,
    PoolRequest,
    Position,
    Quote,
    Reason,
    SealedQuote,
    Series,
    Step,
    Token,
    UpstreamError,
)
from quoteway.evm import permit2
from quoteway.evm.erc20 import BALANCE_OF
from quoteway.evm.units import format_units

from quoteway_uniswap.commands import RESERVED_RECIPIENTS
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.known_pools import KnownPool, PoolFinder, manager_of
from quoteway_uniswap.liquidity_calls import make_call, spends_of
from quoteway_uniswap.liquidity_state import (
    Holding,
    PairState,
    RangedState,
    Reading,
    read_nfts,
    read_pair,
    read_ranged,
)
from quoteway_uniswap.liquidity_terms import (
    Sides,
    Terms,
    add_to_pair,
    add_to_range,
    collect,
    remove_from_pair,
    remove_from_range,
    sides_of,
    ticks_of,
)
from quoteway_uniswap.logs import ALL_BLOCKS, Logs
from quoteway_uniswap.pool_catalog import PoolCatalog
from quoteway_uniswap.pool_series import INTERVALS_S, Interval, PoolSeries
from quoteway_uniswap.positions import WalletPositions, nft_position, pair_positions
from quoteway_uniswap.prices import UniswapPrices
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.quoting import gas_of
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.taxes import NO_TAX, TransferTaxes

_Item = TypeVar("_Item")

_LABELS = {"v2": "v2 router", "v3": "v3 position manager", "v4": "v4 position manager"}

_GAS_UNITS: Mapping[tuple[str, str], int] = {
    ("v2", "add"): 135_000,
    ("v2", "remove"): 135_000,
    ("v3", "add"): 385_000,
    ("v3", "remove"): 225_000,
    ("v3", "collect"): 150_000,
    ("v4", "add"): 295_000,
    ("v4", "remove"): 145_000,
    ("v4", "collect"): 115_000,
}
"""Means of 1,000 random operations on the devnet, rounded up; an action's limits are simulated."""


@dataclass(slots=True)
class _Desk:
    """What one chain needs."""

    chain: Chain
    finder: PoolFinder
    wallets: WalletPositions
    catalog: PoolCatalog
    series: PoolSeries
    taxes: TransferTaxes


class UniswapPools(PoolProvider):
    """Liquidity of v2, v3 and v4 pools, exact at its block."""

    id = "uniswap"
    title = "Uniswap"
    actions = ("add", "remove", "collect")
    docs = "https://docs.uniswap.org/contracts/v4/guides/position-manager"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lifetime_s: int | None = context.settings.get("lifetime_s")
        self._deployments = configured_deployments(context)
        self.networks = frozenset(self._deployments)
        self._prices = UniswapPrices(context)
        self._desks: dict[int, _Desk] = {}

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The v2 routers and the position managers."""
        return {
            manager: f"{deployment.protocol.title()} {label}"
            for deployment in self._deployments.get(chain_id, ())
            for kind, label in _LABELS.items()
            if (manager := manager_of(deployment, kind)) is not None
        }

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The same contracts, and Permit2, through which the v4 position manager pulls."""
        contracts = self.contracts(chain_id)
        return (permit2.ADDRESS, *contracts) if contracts else ()

    # --- catalog --------------------------------------------------------------------------------------------

    async def pools(self, chain_id: int | None) -> Sequence[Pool]:
        """See ``PoolProvider``. Served from memory while the catalog is fresh."""
        chains = [each for each in self._deployments if chain_id in (None, each)]
        return await self._of_chains([self._desk(each).catalog.rows() for each in chains])

    async def _of_chains(self, parts: Sequence[Awaitable[list[_Item]]]) -> list[_Item]:
        """What the chains give together; one that fails costs the others nothing, all of them raise."""
        outcomes = await asyncio.gather(*parts, return_exceptions=True)
        found = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        for outcome in outcomes:
            if not isinstance(outcome, BaseException):
                continue
            if not found or not isinstance(outcome, GatewayError):
                raise outcome
            self._context.log.warning("a chain is left out: %s", outcome)
        return [item for part in found for item in part]

    async def pool(self, pool_id: str) -> Pool | None:
        """See ``PoolProvider``."""
        known = await self._find(pool_id)
        return None if known is None else await self._desk(known.deployment.chain_id).catalog.row(known)

    async def _find(self, pool_id: str) -> KnownPool | None:
        chain_id, _, own_id = pool_id.partition(":")
        if not chain_id.isdecimal() or int(chain_id) not in self._deployments:
            return None
        return await self._desk(int(chain_id)).finder.find(own_id)

    # --- movements ------------------------------------------------------------------------------------------

    async def quote(self, request: PoolRequest) -> Quote | None:
        """See ``PoolProvider``. Raises InvalidRequest for what the pool or the position does not allow."""
        pool = await self._find(request.pool_id)
        if pool is None or pool.deployment.chain_id != request.chain_id:
            return None
        desk = self._desk(request.chain_id)
        self._check(request, pool)
        sides = sides_of(pool, request)
        block = await desk.chain.head()
        if pool.ref.kind == "v2":
            pair = await read_pair(desk.chain, block, pool)
            terms = await self._pair_terms(desk, block, sides, pair)
            return self._quote(sides, terms, block, _pair_state(pool, pair))
        terms, state = await self._range_terms(desk, block, sides)
        return self._quote(sides, terms, block, _ranged_state(pool, state))

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``PoolProvider``. Raises UpstreamError when the quote's deployment is no longer configured."""
        request, plan = sealed.request, sealed.plan
        if not isinstance(request, PoolRequest):
            raise InvalidRequest("This quote is not of a pool.", reason=Reason.QUOTE_INVALID)
        manager, deployment = self._manager(request.chain_id, plan)
        block = await self._context.chain(request.chain_id).head()
        # A quiet chain's newest block may be old, and the next one carries the wall clock's time.
        deadline = max(block.timestamp, sealed.created_at) + self._context.config.quotes.action_deadline_s
        made = make_call(plan, request.sender, request.recipient, deadline)
        step = Step(
            kind=plan["do"],
            to=manager,
            data=made.data,
            value=made.value,
            chain_id=request.chain_id,
            decoded=made.decoded,
            description=_description(plan, deployment),
            intent=_intent(plan, sealed, deadline),
            target_label=f"{deployment.protocol.title()} {_LABELS[plan['kind']]}",
        )
        return Build((step,), spends_of(plan, manager), sealed.inputs, sealed.outputs, deadline)

    def _manager(self, chain_id: int, plan: Mapping[str, Any]) -> tuple[Address, Deployment]:
        for deployment in self._deployments.get(chain_id, ()):
            manager = manager_of(deployment, plan["kind"])
            if (deployment.protocol, manager) == (plan["protocol"], plan["manager"]) and manager is not None:
                return manager, deployment
        raise UpstreamError(
            "The contract of this quote is no longer configured: request a new quote.",
            reason=Reason.PROVIDER_ERROR,
        )

    def _check(self, request: PoolRequest, pool: KnownPool) -> None:
        if request.action not in pool.actions:
            why = "its hooks may change any amount" if pool.manager else "no contract for it is configured"
            if pool.ref.kind == "v2" and request.action == "collect":
                why = "fees of a v2 pool are part of its shares"
            raise InvalidRequest(
                f"{request.action} is not offered for this pool: {why}.", reason=Reason.UNSUPPORTED_ACTION
            )
        if request.recipient in RESERVED_RECIPIENTS or request.recipient in (
            pool.manager,
            pool.ref.target,
            *(token.address for token in pool.tokens),
        ):
            raise InvalidRequest(
                "What is sent to this recipient would be lost.", reason=Reason.INVALID_FORMAT
            )
        if pool.ref.kind == "v2" and (request.tick_lower is not None or request.tick_upper is not None):
            raise InvalidRequest("A v2 pool has no ticks.", reason=Reason.CONFLICT)

    async def _pair_terms(self, desk: _Desk, block: Block, sides: Sides, state: PairState) -> Terms:
        request, pool = sides.request, sides.pool
        if request.position_id not in (None, pool.id, pool.ref.id):
            raise InvalidRequest("positionId of a v2 pool is the pool's id.", reason=Reason.CONFLICT)
        share = Token(request.chain_id, pool.ref.id, 18, "UNI-V2", f"{_pair_name(pool)} liquidity shares")
        taxes = await asyncio.gather(*(desk.taxes.of(token, block) for token in pool.tokens))
        if sides.native and any(tax != NO_TAX for tax in taxes):
            raise InvalidRequest(
                "A token of this pool keeps part of every transfer: only the wrapped coin works with it.",
                reason=Reason.UNSUPPORTED_TOKEN,
            )
        if request.action == "add":
            await self._require_untaxed(desk, block, pool)
            return add_to_pair(sides, state, share)
        reading = Reading()
        held = reading.add(pool.ref.id, BALANCE_OF, request.sender)
        await reading.run(desk.chain, block)
        out_bps = (taxes[0].from_pool_bps, taxes[1].from_pool_bps)
        return remove_from_pair(sides, state, share, reading.word(held), out_bps)

    async def _require_untaxed(self, desk: _Desk, block: Block, pool: KnownPool) -> None:
        for token in pool.tokens:
            if await desk.taxes.of(token, block) != NO_TAX:
                raise InvalidRequest(
                    f"{token.symbol or token.address} keeps part of every transfer: adding it would lose "
                    "that part, or fail.",
                    reason=Reason.UNSUPPORTED_TOKEN,
                )

    async def _range_terms(self, desk: _Desk, block: Block, sides: Sides) -> tuple[Terms, RangedState]:
        request, pool = sides.request, sides.pool
        manager = pool.manager
        assert manager is not None
        kind = pool.ref.kind
        if request.action == "add":
            await self._require_untaxed(desk, block, pool)
        position = Token(request.chain_id, manager, 0, f"UNI-{kind.upper()}-POS", "Uniswap position")
        if request.action == "add" and request.position_id is None:
            ticks = ticks_of(pool, request)
            (state,) = await read_ranged(desk.chain, block, [pool])
            if not state.sqrt_price_x96:
                raise InvalidRequest(
                    "This pool has no price yet: nobody has initialised it.",
                    reason=Reason.INSUFFICIENT_LIQUIDITY,
                )
            return add_to_range(sides, state, ticks, position, None), state
        holding = await self._holding(desk, block, sides)
        nft, state = holding.nft, holding.state
        own = (nft.tick_lower, nft.tick_upper)
        for asked, tick, name in zip(
            (request.tick_lower, request.tick_upper), own, ("tickLower", "tickUpper"), strict=True
        ):
            if asked is not None and asked != tick:
                raise InvalidRequest(f"{name} of this position is {tick}.", reason=Reason.CONFLICT)
        if request.action == "add":
            return add_to_range(sides, state, own, position, holding), state
        if request.action == "remove":
            return remove_from_range(sides, holding, position), state
        return collect(sides, holding), state

    async def _holding(self, desk: _Desk, block: Block, sides: Sides) -> Holding:
        """The position that the request is about; without a positionId the wallet's only one in the pool."""
        request, pool = sides.request, sides.pool
        if request.position_id is None:
            nfts = await desk.wallets.nfts(block, request.sender, (pool.ref.kind,), pool)
            if len(nfts) != 1:
                named = ", ".join(str(nft.token_id) for nft in nfts[:20])
                have = (
                    f"has several positions in this pool: {named}" if nfts else "has no position in this pool"
                )
                raise InvalidRequest(f"positionId is needed: this wallet {have}.", reason=Reason.MISSING)
        else:
            if not request.position_id.isdecimal() or len(request.position_id) > 78:
                raise InvalidRequest("positionId is the position's number.", reason=Reason.INVALID_FORMAT)
            token_id = int(request.position_id)
            found = await read_nfts(desk.chain, block, pool.deployment, pool.ref.kind, [token_id])
            nfts = [nft for nft in found if nft.pool == pool.ref.id]
            if not nfts:
                raise InvalidRequest("This pool has no position of this number.", reason=Reason.CONFLICT)
            if nfts[0].owner != request.sender:
                raise InvalidRequest("This position belongs to another account.", reason=Reason.CONFLICT)
        (holding,) = await desk.wallets.holdings(block, nfts)
        return holding

    def _quote(self, sides: Sides, terms: Terms, block: Block, state: Mapping[str, Any]) -> Quote:
        pool, request = sides.pool, sides.request
        manager = pool.manager
        assert manager is not None
        plan = {**terms.plan, "manager": manager}
        ticks = terms.tick_range
        return Quote(
            inputs=terms.inputs,
            outputs=terms.outputs,
            block=block,
            plan=plan,
            spends=spends_of(plan, manager),
            slippage_bps=request.slippage_bps,
            gas=gas_of(pool.deployment, _GAS_UNITS[pool.ref.kind, request.action], block),
            warnings=terms.warnings,
            lifetime_s=self._lifetime_s,
            details={
                "poolState": dict(state),
                "dependent": None if terms.dependent is None else self._wire_leg(terms.dependent),
                "liquidityDelta": str(terms.liquidity_delta),
                "range": None if ticks is None else {"tickLower": ticks[0], "tickUpper": ticks[1]},
                "shareOfPool": terms.share_of_pool,
            },
        )

    def _wire_leg(self, leg: Leg) -> dict[str, Any]:
        token = leg.token
        network = self._context.networks.by_chain_id(token.chain_id)
        return {
            "token": {
                "address": token.address,
                "chainId": token.chain_id,
                "network": network.slug if network else f"eip155:{token.chain_id}",
                "symbol": token.symbol,
                "name": token.name,
                "decimals": token.decimals,
                "isNative": token.is_native,
                "logoUri": token.logo_uri,
                "priceUsd": token.price_usd,
            },
            "amount": str(leg.amount),
            "amountMin": None if leg.amount_min is None else str(leg.amount_min),
            "amountMax": None if leg.amount_max is None else str(leg.amount_max),
            "amountUsd": leg.amount_usd,
            "account": leg.account,
        }

    # --- positions and series -------------------------------------------------------------------------------

    async def positions(self, wallet: Address, pool_id: str | None) -> Sequence[Position]:
        """See ``PoolProvider``. v2 shares are looked for in the catalog's pairs."""
        if pool_id is not None:
            pool = await self._find(pool_id)
            return [] if pool is None else await self._positions(pool.deployment.chain_id, wallet, pool)
        return await self._of_chains([self._positions(chain_id, wallet, None) for chain_id in self.networks])

    async def _positions(self, chain_id: int, wallet: Address, pool: KnownPool | None) -> list[Position]:
        desk = self._desk(chain_id)
        block = await desk.chain.head()
        pairs = [pool] if pool is not None else await desk.catalog.known()
        found = await pair_positions(desk.chain, block, wallet, [p for p in pairs if p.ref.kind == "v2"])
        if pool is not None and pool.ref.kind == "v2":
            return found
        holdings = await desk.wallets.holdings(block, await desk.wallets.nfts(block, wallet, pool=pool))
        for holding in holdings:
            if holding.nft.kind == "v4":
                desk.finder.learn(holding.nft.deployment, holding.nft.key)
        pools = await asyncio.gather(*(desk.finder.find(holding.nft.pool) for holding in holdings))
        for holding, known in zip(holdings, pools, strict=True):
            if known is not None and (holding.nft.liquidity or any(holding.fees)):
                found.append(nft_position(known, holding, block))
        return found

    async def series(self, pool_id: str, metric: str, start: int, end: int, interval: str) -> Series | None:
        """See ``PoolProvider``."""
        pool = await self._find(pool_id)
        if pool is None or interval not in INTERVALS_S:
            return None
        desk = self._desk(pool.deployment.chain_id)
        return await desk.series.of(pool, metric, start, end, cast(Interval, interval))

    # --- one chain ------------------------------------------------------------------------------------------

    def _desk(self, chain_id: int) -> _Desk:
        desk = self._desks.get(chain_id)
        if desk is None:
            chain, deployments = self._context.chain(chain_id), self._deployments[chain_id]
            logs, states = Logs(chain), PoolStates(chain)
            # One pool's making and one wallet's tokens are few logs, wherever in the chain they are.
            rare = Logs(chain, ALL_BLOCKS)
            finder = PoolFinder(self._context, chain, deployments, rare)
            series = PoolSeries(self._context, chain, logs, states, self._prices)
            desk = self._desks[chain_id] = _Desk(
                chain,
                finder,
                WalletPositions(self._context, chain, deployments, rare),
                PoolCatalog(self._context, chain, deployments, finder, states, series),
                series,
                TransferTaxes(chain, deployments, self._context.now),
            )
        return desk


def _pair_name(pool: KnownPool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


def _pair_state(pool: KnownPool, state: PairState) -> dict[str, Any]:
    return {
        "kind": "v2",
        "feeBps": pool.ref.fee / 100,
        "reserves": [str(state.reserve0), str(state.reserve1)],
        "sqrtPriceX96": None,
        "tick": None,
        "liquidity": str(state.total_supply),
    }


def _ranged_state(pool: KnownPool, state: RangedState) -> dict[str, Any]:
    return {
        "kind": pool.ref.kind,
        "feeBps": state.lp_fee / 100,
        "reserves": None,
        "sqrtPriceX96": str(state.sqrt_price_x96),
        "tick": state.tick,
        "liquidity": str(state.liquidity),
    }


def _description(plan: Mapping[str, Any], deployment: Deployment) -> str:
    what = {"add": "Add liquidity to", "remove": "Remove liquidity from", "collect": "Collect fees of"}
    position = plan.get("token_id")
    name = f", position {position}" if position is not None else ""
    return f"{what[plan['do']]} {deployment.protocol.title()} {plan['kind']} pool {plan['pool']}{name}"


def _intent(plan: Mapping[str, Any], sealed: SealedQuote, deadline: int) -> str:
    until = datetime.fromtimestamp(deadline, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    paid = " and ".join(_named(leg, leg.amount) for leg in sealed.inputs)
    got = " and ".join(_named(leg, leg.amount_min or 0) for leg in sealed.outputs)
    to = f", sent to {sealed.outputs[0].account}" if sealed.outputs else ""
    if plan["do"] == "add":
        return f"Add up to {paid} as liquidity{f' for at least {got}' if got else ''}{to}, before {until}"
    verb = "Remove liquidity" if plan["do"] == "remove" else "Collect fees"
    return f"{verb} for at least {got or 'nothing'}{to}, before {until}"


def _named(leg: Leg, amount: int) -> str:
    return f"{format_units(amount, leg.token.decimals)} {leg.token.symbol or leg.token.address}"
