"""Create the pools of ``tables.POOLS`` and give them liquidity."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from quoteway import NATIVE
from quoteway.evm.abi import encode, encode_call
from quoteway.evm.address import create2_address, keccak256

from quoteway_devnet.manifest import Pool
from quoteway_devnet.prices import liquidity, pool_price, sqrt_price_x96, tick_range
from quoteway_devnet.tables import NATIVE_SYMBOL, PoolRow, TokenRow
from quoteway_devnet.transactions import DEPLOYER, Transactions

V2_PAIR_INIT_CODE_HASH = bytes.fromhex("96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f")
V3_POOL_INIT_CODE_HASH = bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54")
V3_TICK_SPACINGS = {100: 1, 500: 10, 3000: 60, 10000: 200}

_DEADLINE_S = 2**40
_POOL_KEY = "(address,address,uint24,int24,address)"
# v4-periphery, libraries/Actions.sol
_MINT_POSITION, _SETTLE_PAIR, _SWEEP = 0x02, 0x0D, 0x14


@dataclass(frozen=True, slots=True)
class Site:
    """The chain being built: its transactions; contracts, tokens and what describes a token by name.

    The native coin is ``NATIVE_SYMBOL`` and has the row of its wrapped form.
    """

    transactions: Transactions
    contracts: Mapping[str, str]
    tokens: Mapping[str, str]
    rows: Mapping[str, TokenRow]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """A pool row with its tokens in the pool's order."""

    row: PoolRow
    symbol0: str
    symbol1: str
    token0: str
    token1: str
    row0: TokenRow
    row1: TokenRow

    @property
    def price(self) -> Fraction:
        return pool_price(self.row0, self.row1)

    def amounts(self, share_pct: int) -> tuple[int, int]:
        """Return the two amounts of that share of the depth, in base units."""
        usd = Fraction(self.row.depth_usd * share_pct, 200)
        return self.row0.base_units(usd), self.row1.base_units(usd)

    def __str__(self) -> str:
        return f"{self.row.protocol} {self.row.a}/{self.row.b} {self.row.fee}"


def create_pools(site: Site, rows: tuple[PoolRow, ...]) -> tuple[Pool, ...]:
    """Queue every transaction of every pool, mine them, and return the pools."""
    ordered = [_sorted(site, row) for row in rows]
    _approve_position_managers(site, ordered)
    for pool in ordered:
        if pool.row.protocol == "v2":
            _create_v2(site, pool)
        elif pool.row.protocol == "v3":
            _create_v3(site, pool)
        else:
            _create_v4(site, pool)
    site.transactions.flush()
    return tuple(_describe(site, pool) for pool in ordered)


def _sorted(site: Site, row: PoolRow) -> _Sorted:
    # Pools sort tokens by number; a comparison of mixed-case text would differ.
    (_, token0, symbol0), (_, token1, symbol1) = sorted(
        (int(site.tokens[symbol], 16), site.tokens[symbol], symbol) for symbol in (row.a, row.b)
    )
    return _Sorted(row, symbol0, symbol1, token0, token1, site.rows[symbol0], site.rows[symbol1])


def _approve_position_managers(site: Site, pools: list[_Sorted]) -> None:
    used = sorted(
        {s for p in pools if p.row.protocol != "v2" for s in (p.symbol0, p.symbol1)} - {NATIVE_SYMBOL}
    )
    send = site.transactions.later
    permit2, v4 = site.contracts["Permit2"], site.contracts["PositionManager"]
    for symbol in used:
        token = site.tokens[symbol]
        for spender in (site.contracts["NonfungiblePositionManager"], permit2):
            send(f"approving {symbol}", token, encode_call("approve(address,uint256)", [spender, 2**256 - 1]))
        grant = encode_call("approve(address,address,uint160,uint48)", [token, v4, 2**160 - 1, 2**48 - 1])
        send(f"approving {symbol} in Permit2", permit2, grant)


def _create_v2(site: Site, pool: _Sorted) -> None:
    factory = site.contracts["UniswapV2Factory"]
    send = site.transactions.later
    send(f"creating {pool}", factory, encode_call("createPair(address,address)", [pool.token0, pool.token1]))
    # Uniswap v2-periphery, UniswapV2Library.pairFor
    salt = keccak256(bytes.fromhex(pool.token0[2:] + pool.token1[2:]))
    pair = create2_address(factory, salt, V2_PAIR_INIT_CODE_HASH)
    # Without the router: its transfer of a fee-on-transfer token would change the pair's price.
    for symbol, amount in zip((pool.symbol0, pool.symbol1), pool.amounts(100), strict=True):
        name = "transfer" if site.rows[symbol].behaviour == "wrapped" else "mint"
        send(f"funding {pool}", site.tokens[symbol], encode_call(f"{name}(address,uint256)", [pair, amount]))
    send(f"minting {pool}", pair, encode_call("mint(address)", [DEPLOYER]))


def _create_v3(site: Site, pool: _Sorted) -> None:
    manager = site.contracts["NonfungiblePositionManager"]
    send = site.transactions.later
    create = encode_call(
        "createAndInitializePoolIfNecessary(address,address,uint24,uint160)",
        (pool.token0, pool.token1, pool.row.fee, sqrt_price_x96(pool.price)),
    )
    send(f"creating {pool}", manager, create)
    for bounds in pool.row.ranges:
        ticks = tick_range(pool.price, bounds, V3_TICK_SPACINGS[pool.row.fee])
        mint = encode_call(
            "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))",
            [
                (
                    *(pool.token0, pool.token1, pool.row.fee, *ticks),
                    *(*pool.amounts(bounds.share_pct), 0, 0, DEPLOYER, _DEADLINE_S),
                )
            ],
        )
        send(f"minting {pool} {ticks}", manager, mint)


def _create_v4(site: Site, pool: _Sorted) -> None:
    manager = site.contracts["PositionManager"]
    send = site.transactions.later
    key = _pool_key(site, pool)
    start = sqrt_price_x96(pool.price)
    send(f"creating {pool}", manager, encode_call(f"initializePool({_POOL_KEY},uint160)", [key, start]))
    for bounds in pool.row.ranges:
        ticks = tick_range(pool.price, bounds, pool.row.tick_spacing)
        amounts = pool.amounts(bounds.share_pct)
        mint = encode(
            [_POOL_KEY, "int24", "int24", "uint256", "uint128", "uint128", "address", "bytes"],
            [key, *ticks, liquidity(pool.price, ticks, *amounts), *amounts, DEPLOYER, b""],
        )
        settle = encode(["address", "address"], [pool.token0, pool.token1])
        actions, parameters, value = bytes([_MINT_POSITION, _SETTLE_PAIR]), [mint, settle], 0
        if pool.symbol0 == NATIVE_SYMBOL:
            # The native coin is the lowest currency of all, so it can only be currency0.
            actions += bytes([_SWEEP])
            parameters.append(encode(["address", "address"], [pool.token0, DEPLOYER]))
            value = amounts[0]
        plan = encode(["bytes", "bytes[]"], [actions, parameters])
        modify = encode_call("modifyLiquidities(bytes,uint256)", [plan, _DEADLINE_S])
        send(f"minting {pool} {ticks}", manager, modify, value)


def _pool_key(site: Site, pool: _Sorted) -> tuple[str, str, int, int, str]:
    hooks = site.contracts["IdleHook"] if pool.row.hooked else NATIVE
    return (pool.token0, pool.token1, pool.row.fee, pool.row.tick_spacing, hooks)


def _describe(site: Site, pool: _Sorted) -> Pool:
    row, read = pool.row, site.transactions.read
    tick_spacing, hooks = row.tick_spacing, NATIVE
    if row.protocol == "v2":
        factory = site.contracts["UniswapV2Factory"]
        (identity,) = read(factory, "getPair(address,address) returns (address)", pool.token0, pool.token1)
    elif row.protocol == "v3":
        factory = site.contracts["UniswapV3Factory"]
        declaration = "getPool(address,address,uint24) returns (address)"
        (identity,) = read(factory, declaration, pool.token0, pool.token1, row.fee)
        tick_spacing = V3_TICK_SPACINGS[row.fee]
    else:
        key = _pool_key(site, pool)
        identity, hooks = "0x" + keccak256(encode([_POOL_KEY], [key])).hex(), key[4]
    return Pool(
        protocol=f"uniswap-{row.protocol}",
        id=identity,
        pair=f"{row.a}/{row.b}",
        token0=pool.token0,
        token1=pool.token1,
        fee=row.fee,
        tick_spacing=tick_spacing,
        hooks=hooks,
        depth_usd=row.depth_usd,
    )
