"""The logs of position managers, for an indexer: who owns a position token, and what it took in and paid.

The pool of a v3 position does not say which of the manager's tokens a change of liquidity is for. The manager
does. In v4 the pool's own event names the token by its salt.
"""

from __future__ import annotations

from collections.abc import Iterator

from quoteway import Address, Context, EventRule, EventSource

from quoteway_uniswap.known_pools import manager_of
from quoteway_uniswap.provider import configured_deployments

_TRANSFERS = EventRule(
    "Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
    "nft_transfer",
    {"collection": "@", "sender": "from", "recipient": "to", "token_id": "tokenId"},
)
_POSITION = {"contract": "@", "token_id": "tokenId"}
_V3_FLOWS = (
    EventRule(
        "IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)",
        "position_flow",
        _POSITION | {"liquidity_delta": "liquidity", "principal0": "amount0", "principal1": "amount1"},
    ),
    EventRule(
        "DecreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)",
        "position_flow",
        _POSITION | {"liquidity_delta": "-liquidity", "principal0": "-amount0", "principal1": "-amount1"},
    ),
    EventRule(
        "Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1)",
        "position_flow",
        _POSITION
        | {"liquidity_delta": "0", "principal0": "0", "principal1": "0"}
        | {"paid0": "amount0", "paid1": "amount1"},
    ),
)
"""Of NonfungiblePositionManager. What ``DecreaseLiquidity`` takes out is owed until ``Collect`` pays it."""


def position_sources(context: Context) -> Iterator[EventSource]:
    """Returns the sources of the v3 and v4 position managers, each manager once.

    Raises ConfigError for a wrong row.
    """
    for deployments in configured_deployments(context).values():
        seen: set[Address] = set()
        for deployment in deployments:
            for kind, rules in (("v3", (_TRANSFERS, *_V3_FLOWS)), ("v4", (_TRANSFERS,))):
                manager = manager_of(deployment, kind)
                if manager is None or manager in seen:
                    continue
                seen.add(manager)
                since = deployment.v4.since_block if kind == "v4" and deployment.v4 is not None else 0
                yield EventSource(
                    id=f"{deployment.label(kind)}-positions",
                    chain_id=deployment.chain_id,
                    version=1,
                    rules=rules,
                    addresses=(manager,),
                    first_block=since,
                )
