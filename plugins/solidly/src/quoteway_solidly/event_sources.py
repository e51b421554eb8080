"""The events of factories and their pools that an indexer keeps, as data."""

from __future__ import annotations

from quoteway import ChildContracts, Context, EventRule, EventSource

from quoteway_solidly.deployments import deployments_of

FAMILY = "solidly"
VERSION = 1
"""Increase it when the rows of facts change their meaning: indexers read the sources again."""

_CREATED = (
    "PoolCreated(address indexed token0, address indexed token1, bool indexed stable, address pool, "
    "uint256 count)"
)
_POOL = {"pool": "@"}
_AMOUNTS = {"amount0": "amount0", "amount1": "amount1"}
_RULES = (
    EventRule(
        _CREATED,
        "pool_created",
        {"pool": "pool", "token0": "token0", "token1": "token1", "is_stable": "stable"},
    ),
    # The fee is part of the inputs, and leaves the pool in the same call: see the next rule.
    EventRule(
        "Swap(address indexed sender, address indexed to, uint256 amount0In, uint256 amount1In, "
        "uint256 amount0Out, uint256 amount1Out)",
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
        "Fees(address indexed sender, uint256 amount0, uint256 amount1)",
        "fee",
        {**_POOL, **_AMOUNTS, "sender": "sender"},
    ),
    EventRule(
        "Mint(address indexed sender, uint256 amount0, uint256 amount1)",
        "liquidity",
        {**_POOL, **_AMOUNTS, "owner": "sender"},
    ),
    EventRule(
        "Burn(address indexed sender, address indexed to, uint256 amount0, uint256 amount1)",
        "liquidity",
        {**_POOL, "owner": "to", "amount0": "-amount0", "amount1": "-amount1"},
    ),
    EventRule(
        "Sync(uint256 reserve0, uint256 reserve1)",
        "reserves",
        {**_POOL, "reserve0": "reserve0", "reserve1": "reserve1"},
    ),
    EventRule(
        "Claim(address indexed sender, address indexed recipient, uint256 amount0, uint256 amount1)",
        "collected",
        {**_POOL, **_AMOUNTS, "owner": "sender", "recipient": "recipient"},
    ),
)


def event_sources(context: Context) -> tuple[EventSource, ...]:
    """Returns the source of each configured factory. Raises ConfigError for a wrong row."""
    return tuple(
        EventSource(
            id=name,
            chain_id=chain_id,
            version=VERSION,
            rules=_RULES,
            addresses=(row.factory,),
            children=ChildContracts((row.factory,), _CREATED, "pool"),
            family=FAMILY,
        )
        for name, rows in deployments_of(context).items()
        for chain_id, row in rows.items()
    )
