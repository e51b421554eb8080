"""The events of v2 pairs, v3 pools and the v4 PoolManager that an indexer keeps, as data.

The facts of a pool suffice to compute every amount of it again from its creation. Algebra is left out: its
plugins change fees without an event of the pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from quoteway import Address, ChildContracts, Context, EventRule, EventSource

from quoteway_uniswap.deployments import Deployment, V2Deployment, V4Deployment
from quoteway_uniswap.forks import Fork, forks_of
from quoteway_uniswap.provider import configured_deployments

VERSION = 1
"""Increase it when the rows of facts change their meaning: indexers read the sources again."""

CONSTANT_PRODUCT = "constant-product"
CONCENTRATED_V3 = "concentrated-v3"
CONCENTRATED_V4 = "concentrated-v4"

_POOL = {"pool": "@"}
_LP_TRANSFER = EventRule(
    "Transfer(address indexed from, address indexed to, uint256 value)",
    "share_transfer",
    {**_POOL, "sender": "from", "recipient": "to", "amount": "value"},
)
_PAIR_CREATED = "PairCreated(address indexed token0, address indexed token1, address pair, uint256 count)"
_PAIR_RULES = (
    EventRule(
        "Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, "
        "uint256 amount1Out, address indexed to)",
        "swap",
        {
            **_POOL,
            "sender": "sender",
            "recipient": "to",
            "amount0": "amount0In - amount0Out",
            "amount1": "amount1In - amount1Out",
            "in0": "amount0In",
            "in1": "amount1In",
        },
    ),
    EventRule(
        "Mint(address indexed sender, uint256 amount0, uint256 amount1)",
        "liquidity",
        {**_POOL, "owner": "sender", "amount0": "amount0", "amount1": "amount1"},
    ),
    EventRule(
        "Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to)",
        "liquidity",
        {**_POOL, "owner": "to", "amount0": "-amount0", "amount1": "-amount1"},
    ),
    EventRule(
        "Sync(uint112 reserve0, uint112 reserve1)",
        "reserves",
        {**_POOL, "reserve0": "reserve0", "reserve1": "reserve1"},
    ),
    _LP_TRANSFER,
)

_POOL_CREATED = (
    "PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, "
    "address pool)"
)
_V3_SWAP = (
    "address indexed sender, address indexed recipient, int256 amount0, int256 amount1, "
    "uint160 sqrtPriceX96, uint128 liquidity, int24 tick"
)
_OLD_AND_NEW = "feeProtocol0Old", "feeProtocol1Old", "feeProtocol0New", "feeProtocol1New"
_SWAP_COLUMNS = {
    "sender": "sender",
    "sqrt_price_x96": "sqrtPriceX96",
    "liquidity": "liquidity",
    "tick": "tick",
}
_V3_SWAP_COLUMNS = {
    **_POOL,
    **_SWAP_COLUMNS,
    "recipient": "recipient",
    "amount0": "amount0",
    "amount1": "amount1",
}
_NEW_SETTINGS = {**_POOL, "setting0": "feeProtocol0New", "setting1": "feeProtocol1New"}
_RANGE = {"tick_lower": "tickLower", "tick_upper": "tickUpper"}
_V3_RULES = (
    EventRule(
        _POOL_CREATED,
        "pool_created",
        {
            "pool": "pool",
            "token0": "token0",
            "token1": "token1",
            "fee_pips": "fee",
            "tick_spacing": "tickSpacing",
        },
    ),
    EventRule(f"Swap({_V3_SWAP})", "swap", _V3_SWAP_COLUMNS),
    EventRule(
        f"SetFeeProtocol({', '.join(f'uint8 {name}' for name in _OLD_AND_NEW)})",
        "protocol_fee",
        _NEW_SETTINGS,
    ),
    # PancakeV3Pool tells the protocol fees of a swap, whose settings are in parts of 10,000.
    EventRule(
        f"Swap({_V3_SWAP}, uint128 protocolFeesToken0, uint128 protocolFeesToken1)",
        "swap",
        {**_V3_SWAP_COLUMNS, "protocol_fee0": "protocolFeesToken0", "protocol_fee1": "protocolFeesToken1"},
    ),
    EventRule(
        f"SetFeeProtocol({', '.join(f'uint32 {name}' for name in _OLD_AND_NEW)})",
        "protocol_fee",
        {**_NEW_SETTINGS, "parts": "10000"},
    ),
    EventRule(
        "Initialize(uint160 sqrtPriceX96, int24 tick)",
        "pool_initialized",
        {**_POOL, "sqrt_price_x96": "sqrtPriceX96", "tick": "tick"},
    ),
    EventRule(
        "Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, "
        "uint128 amount, uint256 amount0, uint256 amount1)",
        "liquidity",
        {
            **_POOL,
            **_RANGE,
            "owner": "owner",
            "liquidity_delta": "amount",
            "amount0": "amount0",
            "amount1": "amount1",
        },
    ),
    EventRule(
        "Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, "
        "uint256 amount0, uint256 amount1)",
        "liquidity",
        {
            **_POOL,
            **_RANGE,
            "owner": "owner",
            "liquidity_delta": "-amount",
            "amount0": "-amount0",
            "amount1": "-amount1",
        },
    ),
    EventRule(
        "Collect(address indexed owner, address recipient, int24 indexed tickLower, "
        "int24 indexed tickUpper, uint128 amount0, uint128 amount1)",
        "collected",
        {
            **_POOL,
            **_RANGE,
            "owner": "owner",
            "recipient": "recipient",
            "amount0": "amount0",
            "amount1": "amount1",
        },
    ),
    EventRule(
        "CollectProtocol(address indexed sender, address indexed recipient, uint128 amount0, "
        "uint128 amount1)",
        "collected",
        {**_POOL, "recipient": "recipient", "amount0": "amount0", "amount1": "amount1"},
    ),
    EventRule(
        "Flash(address indexed sender, address indexed recipient, uint256 amount0, uint256 amount1, "
        "uint256 paid0, uint256 paid1)",
        "flash",
        {**_POOL, "paid0": "paid0", "paid1": "paid1"},
    ),
)

_V4_POOL = {"pool": "id"}
_V4_RULES = (
    EventRule(
        "Initialize(bytes32 indexed id, address indexed currency0, address indexed currency1, uint24 fee, "
        "int24 tickSpacing, address hooks, uint160 sqrtPriceX96, int24 tick)",
        "pool_created",
        {
            **_V4_POOL,
            "token0": "currency0",
            "token1": "currency1",
            "fee_pips": "fee",
            "tick_spacing": "tickSpacing",
            "hooks": "hooks",
            "sqrt_price_x96": "sqrtPriceX96",
            "tick": "tick",
        },
    ),
    EventRule(
        "Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, "
        "uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)",
        "swap",
        # The amounts of the event are those of the swapper.
        {**_V4_POOL, **_SWAP_COLUMNS, "amount0": "-amount0", "amount1": "-amount1", "fee_pips": "fee"},
    ),
    EventRule(
        "ModifyLiquidity(bytes32 indexed id, address indexed sender, int24 tickLower, int24 tickUpper, "
        "int256 liquidityDelta, bytes32 salt)",
        "liquidity",
        {**_V4_POOL, **_RANGE, "owner": "sender", "liquidity_delta": "liquidityDelta", "salt": "salt"},
    ),
    EventRule(
        "Donate(bytes32 indexed id, address indexed sender, uint256 amount0, uint256 amount1)",
        "donation",
        {**_V4_POOL, "sender": "sender", "amount0": "amount0", "amount1": "amount1"},
    ),
    EventRule(
        "ProtocolFeeUpdated(bytes32 indexed id, uint24 protocolFee)",
        "protocol_fee",
        {**_V4_POOL, "packed": "protocolFee"},
    ),
)


def event_sources(context: Context) -> tuple[EventSource, ...]:
    """Returns the sources of every deployment and fork. Of two rows with one factory the first counts.

    Raises ConfigError for a wrong row.
    """
    found: list[EventSource] = []
    makers: set[tuple[int, Address]] = set()
    for source in _sources(context):
        places = {(source.chain_id, address) for address in source.addresses}
        if not places & makers:
            found.append(source)
            makers |= places
    return tuple(found)


def _sources(context: Context) -> Iterable[EventSource]:
    for chain_id, deployments in configured_deployments(context).items():
        for row in deployments:
            for source in _of_row(chain_id, row):
                yield replace(source, usd_tokens=row.usd_tokens, base_tokens=row.pass_through)
    for forks in forks_of(context).values():
        for chain_id, fork in forks.items():
            yield from _of_fork(chain_id, fork)


def _of_row(chain_id: int, row: Deployment) -> Iterable[EventSource]:
    if row.v2 is not None:
        yield _pairs(row.label("v2"), chain_id, row.v2)
    if row.v3 is not None and row.v3.factory is not None:
        yield _ranges(row.label("v3"), chain_id, row.v3.factory)
    if row.v4 is not None:
        yield _manager(row.label("v4"), chain_id, row.v4)


def _of_fork(chain_id: int, fork: Fork) -> Iterable[EventSource]:
    v2, v3 = fork.deployment.v2, fork.deployment.v3
    if v2 is not None:
        yield _pairs(fork.protocol, chain_id, v2)
    if v3 is not None and v3.factory is not None:
        yield _ranges(fork.protocol, chain_id, v3.factory)


def _pairs(source_id: str, chain_id: int, v2: V2Deployment) -> EventSource:
    fee, remainder = divmod((v2.fee_denominator - v2.fee_numerator) * 1_000_000, v2.fee_denominator)
    created = {"pool": "pair", "token0": "token0", "token1": "token1"}
    if not remainder:
        created["fee_pips"] = str(fee)
    share, parts = v2.protocol_share
    return EventSource(
        id=source_id,
        chain_id=chain_id,
        version=VERSION,
        rules=(EventRule(_PAIR_CREATED, "pool_created", created), *_PAIR_RULES),
        addresses=(v2.factory,),
        children=ChildContracts((v2.factory,), _PAIR_CREATED, "pair"),
        family=CONSTANT_PRODUCT,
        parameters={
            "fee_numerator": v2.fee_numerator,
            "fee_denominator": v2.fee_denominator,
            "protocol_share": share,
            "protocol_parts": parts,
        },
    )


def _ranges(source_id: str, chain_id: int, factory: Address) -> EventSource:
    return EventSource(
        id=source_id,
        chain_id=chain_id,
        version=VERSION,
        rules=_V3_RULES,
        addresses=(factory,),
        children=ChildContracts((factory,), _POOL_CREATED, "pool"),
        family=CONCENTRATED_V3,
    )


def _manager(source_id: str, chain_id: int, v4: V4Deployment) -> EventSource:
    return EventSource(
        id=source_id,
        chain_id=chain_id,
        version=VERSION,
        rules=_V4_RULES,
        addresses=(v4.pool_manager,),
        first_block=v4.since_block,
        family=CONCENTRATED_V4,
    )
