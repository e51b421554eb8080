"""Honest quotes and builds of every provider, one for each kind of calldata that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from quoteway import (
    NATIVE,
    Build,
    Capability,
    DeployRequest,
    IntegratorFee,
    ManageRequest,
    PoolRequest,
    Quote,
    SwapRequest,
    VaultRequest,
)
from quoteway.models import Action, SealedQuote
from quoteway_uniswap.flow import SwapHop
from quoteway_uniswap.plans import hops_of_plan
from quoteway_uniswap.router import Order, encode_swap

from corrupting.chains import (
    BOT,
    CHAIN_ID,
    FAR_CHAIN_ID,
    FRIEND,
    OWNER,
    USER,
    WHALE,
    StandIn,
    World,
)

KEEPER = "0x4444444444444444444444444444444444444444"
"""A refund account."""
SWAPS = (
    # sold, got, US dollars, recipient, permit2 by signature
    ("ETH", "WETH", 500, USER, False),
    ("WETH", "ETH", 500, FRIEND, False),
    ("ETH", "USDT", 500, FRIEND, False),  # v4
    ("USDC", "ETH", 500, USER, False),  # v3
    ("USDC", "WETH", 2_000, FRIEND, True),
    ("USDC", "USDT", 200_000, USER, False),  # v4
    ("ETH", "TAX", 500, USER, False),  # v2
    ("WETH", "TAX", 500, FRIEND, False),
    ("USDC", "PEPE", 500, USER, True),  # v3, v2
    ("WETH", "GHO", 200_000, FRIEND, False),  # v3, v4, v4
    ("PEPE", "GHO", 500, USER, False),  # v2, v3, v4
    ("DAI", "ETH", 500, FRIEND, True),  # v3, v3
    ("USDT", "ETH", 200_000, FRIEND, False),  # v4, v3
)
CHARGED = (
    # the same, with an integrator's fee
    ("USDC", "ETH", 500, FRIEND, False),
    ("ETH", "USDC", 500, USER, False),
    ("PEPE", "DAI", 500, FRIEND, True),
)
FEE = IntegratorFee(25, "0x5555555555555555555555555555555555555555")
LIFI_SWAPS = (
    ("USDC", "WETH", USER),
    ("USDC", "ETH", FRIEND),
    ("ETH", "USDC", FRIEND),
    ("USDT", "USDC", USER),
)
TRANSFERS = (
    # sold, got, US dollars, recipient, refund account
    ("USDC", "USDC", 900, FRIEND, None),
    ("ETH", "ETH", 700, FRIEND, None),
    ("WETH", "ETH", 700, USER, KEEPER),
    ("USDT", "USDT", 50, USER, None),
)
JOINED = (("WETH", "USDC", 900, FRIEND), ("USDC", "ETH", 900, FRIEND), ("LINK", "USDC", 500, USER))


@dataclass(frozen=True, slots=True)
class Part:
    """What one provider gave for its part of a request."""

    stand_in: StandIn
    sealed: SealedQuote
    quote: Quote | None
    build: Build


@dataclass(frozen=True, slots=True)
class Material:
    """An honest answer: the quote, sealed a block before the newest one, and its builds.

    ``parts`` has one entry a provider. ``moves`` are swaps of the whale that change the price of this
    request, one in each direction.
    """

    name: str
    capability: Capability
    provider: str
    request: Any
    sealed: SealedQuote
    parts: tuple[Part, ...]
    action: Action
    moves: tuple[tuple[bytes, int], ...] = ()

    @property
    def is_joined(self) -> bool:
        return len(self.parts) > 1


class _Recorder:
    """Asks honest questions and keeps what the providers answer."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: list[Material] = []

    async def ask(
        self, name: str, capability: Capability, provider: str, request: Any, hops: Sequence[SwapHop] = ()
    ) -> None:
        """Adds the material of one request. ``hops`` are pools to move; a swap's own without."""
        gateway = self.world.gateway
        answer = await gateway.quoting.quote(capability, request, provider=provider)
        sealed = gateway.quote_tokens.open(capability, answer.sealed.token)
        parts = [await self._part(each) for each in sealed.parts or (sealed,)]
        action = await gateway.building.action(sealed)
        if not hops and provider == "uniswap" and capability is Capability.SWAP:
            hops = hops_of_plan(sealed.plan)
        if parts[0].sealed.provider == "uniswap" and len(parts) > 1:
            hops = hops_of_plan(parts[0].sealed.plan)
        moves = [self._move(hops, back) for back in (False, True)] if hops else []
        self.found.append(
            Material(name, capability, provider, request, sealed, tuple(parts), action, tuple(moves))
        )

    async def _part(self, sealed: SealedQuote) -> Part:
        stand_in = self.world.stand_ins[sealed.capability, sealed.provider]
        quote = await stand_in.true_quote(sealed.request)
        return Part(stand_in, sealed, quote, await stand_in.true_build(sealed))

    def _move(self, hops: Sequence[SwapHop], back: bool) -> tuple[bytes, int]:
        """Returns a swap through the same pools that moves their prices by some percent."""
        if back:
            hops = [replace(hop, token_in=hop.token_out, token_out=hop.token_in) for hop in reversed(hops)]
        wrapped = self.world.manifest.contracts["WETH9"]
        depths = {
            frozenset((pool.token0, pool.token1)): pool.depth_usd
            for pool in sorted(self.world.manifest.pools, key=lambda pool: -pool.depth_usd)
        }
        depth = min((depths.get(frozenset((hop.token_in, hop.token_out)), 1e6) for hop in hops), default=0)
        amount = self.world.units(self.world.symbols[hops[0].token_in], depth / 8)
        ends = hops[0].token_in, hops[-1].token_out
        order = Order(*ends, amount, 1, WHALE, wrapped)
        made = encode_swap("2.1", order, hops, 1 << 40)
        return made.data, made.value


async def gather(world: World, *, small: bool = False) -> list[Material]:
    """Returns the material. ``small``: the part that needs no positions, in a second or two."""
    recorder = _Recorder(world)
    world.arm_whale()
    world.copy_contracts()
    positions = {} if small else await _prepare(world)
    world.clock.stop()
    await _swaps(recorder, SWAPS[2:9:2] if small else SWAPS)
    await _swaps(recorder, CHARGED[:1] if small else CHARGED, FEE)
    await _transfers(recorder, TRANSFERS[:1] if small else TRANSFERS)
    await _lifi(recorder)
    await _vaults(recorder, small)
    if not small:
        await _joined(recorder)
        await _pools(recorder, positions)
        await _management(recorder)
    # The chain goes on by one block: from now on the quotes are those of an older block.
    world.rpc("evm_mine")
    return recorder.found


async def _swaps(
    recorder: _Recorder, rows: Sequence[tuple[str, str, int, str, bool]], fee: IntegratorFee | None = None
) -> None:
    world = recorder.world
    for sold, got, usd, recipient, signed in rows:
        ends = world.token(sold), world.token(got)
        amount = world.units(sold, usd)
        request = SwapRequest(CHAIN_ID, CHAIN_ID, *ends, amount, USER, recipient, 50, signed, fee=fee)
        name = f"swap {sold} {got}{' signed' if signed else ''}{' with a fee' if fee else ''}"
        await recorder.ask(name, Capability.SWAP, "uniswap", request)


async def _lifi(recorder: _Recorder) -> None:
    world = recorder.world
    for sold, got, recipient in LIFI_SWAPS:
        ends = world.token(sold), world.token(got)
        request = SwapRequest(CHAIN_ID, CHAIN_ID, *ends, world.units(sold, 900), USER, recipient, 50)
        wrapped = world.manifest.contracts["WETH9"]
        path = [wrapped if token.is_native else token.address for token in ends]
        hops = [SwapHop("v2", *path, 3000)]
        await recorder.ask(f"lifi swap {sold} {got}", Capability.SWAP, "lifi", request, hops)
    for symbol in ("USDC", "ETH"):
        ends = world.token(symbol), world.token(symbol, FAR_CHAIN_ID)
        request = SwapRequest(CHAIN_ID, FAR_CHAIN_ID, *ends, world.units(symbol, 900), USER, FRIEND, 50)
        await recorder.ask(f"lifi transfer {symbol}", Capability.BRIDGE, "lifi", request)


async def _transfers(recorder: _Recorder, rows: Sequence[tuple[str, str, int, str, str | None]]) -> None:
    world = recorder.world
    for sold, got, usd, recipient, refund_to in rows:
        ends = world.token(sold), world.token(got, FAR_CHAIN_ID)
        amount = world.units(sold, usd)
        request = SwapRequest(CHAIN_ID, FAR_CHAIN_ID, *ends, amount, USER, recipient, 50, refund_to=refund_to)
        await recorder.ask(f"across {sold} {got}", Capability.BRIDGE, "across", request)


async def _joined(recorder: _Recorder) -> None:
    world = recorder.world
    lifi = world.stand_ins[Capability.BRIDGE, "lifi"]
    for index, (sold, got, usd, recipient) in enumerate(JOINED):
        lifi.quotes = (lambda request: None) if index else None  # its fee is lower than that of Across
        ends = world.token(sold), world.token(got, FAR_CHAIN_ID)
        request = SwapRequest(CHAIN_ID, FAR_CHAIN_ID, *ends, world.units(sold, usd), USER, recipient, 50)
        await recorder.ask(f"joined {sold} {got}", Capability.SWAP, "swap+bridge", request)
    lifi.quotes = None


# --- pools --------------------------------------------------------------------------------------------------

POOLS = (
    ("v2", "USDC", {}),
    ("v2", "WETH", {"use_native": True}),
    ("v3", "USDC", {}),
    ("v3", "USDC", {"use_native": True}),
    ("v4", "USDC", {}),
)
"""Kind, asset of the request, and its other members: all in the pools of WETH or ETH and USDC."""


def _pool(world: World, kind: str) -> Any:
    coin = NATIVE if kind == "v4" else world.manifest.contracts["WETH9"]
    wanted = {coin, world.token("USDC").address}
    return next(
        pool
        for pool in world.manifest.pools
        if pool.protocol == f"uniswap-{kind}"
        and {pool.token0, pool.token1} == wanted
        and pool.hooks == NATIVE
    )


def _of_pool(
    world: World, kind: str, action: str, asset: str, amount: int | None, **more: Any
) -> PoolRequest:
    pool = _pool(world, kind)
    address = asset if asset.startswith("0x") else world.token(asset).address
    request = PoolRequest(f"{CHAIN_ID}:{pool.id}", CHAIN_ID, action, address, amount, USER, USER, 50)
    return replace(request, **more)


async def _prepare(world: World) -> dict[str, str]:
    """Opens a position of each kind that earns fees, and enters the vaults. Returns position ids by kind."""
    found = {}
    for kind in ("v2", "v3", "v4"):
        request = _of_pool(world, kind, "add", "USDC", world.units("USDC", 5_000))
        await world.perform(Capability.POOL, request, "uniswap")
        if kind != "v2":
            provider = world.stand_ins[Capability.POOL, "uniswap"].provider
            await world.gateway.runtime.chain(CHAIN_ID).head(fresh=True)
            (position,) = await provider.positions(USER, request.pool_id)
            found[kind] = position.position_id
        for sold, got in (("WETH", "USDC"), ("USDC", "WETH")):
            coins = [NATIVE if s == "WETH" and kind == "v4" else world.token(s).address for s in (sold, got)]
            pool = _pool(world, kind)
            hop = SwapHop(kind, *coins, pool.fee, pool.tick_spacing)
            amount = world.units(sold, 50_000)
            order = Order(*coins, amount, 1, WHALE, world.manifest.contracts["WETH9"])
            data = encode_swap("2.1", order, [hop], 1 << 40)
            world.send(WHALE, world.manifest.contracts["UniversalRouter"], data.data, data.value)
    usdc = world.token("USDC").address
    for vault, provider in (("steady-usdc", "erc4626"), ("managed-usdc", "managedvault")):
        address = world.vaults[vault].address
        request = VaultRequest(f"{CHAIN_ID}:{address}", CHAIN_ID, "deposit", usdc, 10**10, USER, USER, 50)
        await world.perform(Capability.VAULT, request, provider)
    return found


async def _pools(recorder: _Recorder, positions: dict[str, str]) -> None:
    world = recorder.world
    for kind, asset, more in POOLS:
        pool = _pool(world, kind)
        hops = [SwapHop(kind, pool.token0, pool.token1, pool.fee, pool.tick_spacing)]
        native = " native" if more else ""

        async def ask(verb: str, request: PoolRequest) -> None:
            await recorder.ask(f"{kind} {verb}{native}", Capability.POOL, "uniswap", request, hops)  # noqa: B023

        ranged = {} if kind == "v2" else {"position_id": positions[kind]}
        add = _of_pool(world, kind, "add", asset, world.units(asset, 2_000), **more)
        await ask("add", add if kind == "v3" else replace(add, recipient=FRIEND))
        if kind != "v2":
            await ask("increase", replace(add, recipient=USER, **ranged))
            await ask(
                "collect", _of_pool(world, kind, "collect", NATIVE, None, recipient=FRIEND, **ranged, **more)
            )
        part = _of_pool(world, kind, "remove", asset, world.units(asset, 500), **ranged, **more)
        await ask("remove", replace(part, recipient=FRIEND))
        await ask("remove all", replace(part, amount=None))
    for kind, lower, upper in (("v3", -240_000, 240_000), ("v4", -201_000, -192_000)):
        pool = _pool(world, kind)
        hops = [SwapHop(kind, pool.token0, pool.token1, pool.fee, pool.tick_spacing)]
        request = _of_pool(
            world, kind, "add", "USDC", world.units("USDC", 300), tick_lower=lower, tick_upper=upper
        )
        await recorder.ask(f"{kind} add in a range", Capability.POOL, "uniswap", request, hops)


# --- vaults -------------------------------------------------------------------------------------------------


async def _vaults(recorder: _Recorder, small: bool) -> None:
    world, usdc = recorder.world, recorder.world.token("USDC").address
    vaults = [("steady-usdc", "erc4626"), ("managed-usdc", "managedvault")]
    for vault, provider in vaults[:1] if small else vaults:
        address = world.vaults[vault].address
        for action in ("deposit", "mint") if small else ("deposit", "mint", "withdraw", "redeem"):
            asset = address if action in ("mint", "redeem") else usdc
            decimals = 10**6 if action in ("deposit", "withdraw") else 10 ** _decimals(world, address)
            recipient = USER if action in ("deposit", "redeem") else FRIEND
            request = VaultRequest(
                f"{CHAIN_ID}:{address}", CHAIN_ID, action, asset, 700 * decimals, USER, recipient, 50
            )
            await recorder.ask(f"{provider} {action}", Capability.VAULT, provider, request)


def _decimals(world: World, vault: str) -> int:
    return int(world.rpc("eth_call", {"to": vault, "data": "0x313ce567"}, "latest"), 16)


async def _management(recorder: _Recorder) -> None:
    world = recorder.world
    usdc, strategies = world.token("USDC").address, world.vaults["managed-usdc"].strategies
    address = world.vaults["managed-usdc"].address
    for action, members in (
        ("harvest", {}),
        ("pause", {"sender": BOT}),
        ("setBot", {"bot": FRIEND}),
        ("setCap", {"amount": 10**15}),
        ("removeStrategy", {"strategy": strategies[-1]}),
        ("rebalance", {"strategy": strategies[-1], "amount": 10**9, "asset": usdc, "slippage_bps": 50}),
    ):
        made = ManageRequest(f"{CHAIN_ID}:{address}", CHAIN_ID, action, OWNER)
        await recorder.ask(f"manage {action}", Capability.VAULT, "managedvault", replace(made, **members))
    request = DeployRequest(CHAIN_ID, usdc, USER, "steady-usdc", BOT)
    await recorder.ask("deploy", Capability.VAULT, "managedvault", request)
