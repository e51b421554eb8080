"""The events of the configured pools that an indexer keeps, as data.

The pools name their coins by their places alone, so the facts have places and no tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from quoteway import Context, EventRule, EventSource

from quoteway_curve.deployments import deployments_of

SOURCE = "curve-stableswap"
VERSION = 2
"""Increase it when the rows of facts change their meaning: indexers read the source again."""

_SIZES = range(2, 9)
"""How many coins pools of the releases before NG may have: an event of theirs is another for each number."""

_SWAP = EventRule(
    "TokenExchange(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, "
    "uint256 tokens_bought)",
    "token_swap",
    {
        "pool": "@",
        "sender": "buyer",
        "place_in": "sold_id",
        "place_out": "bought_id",
        "amount_in": "tokens_sold",
        "amount_out": "tokens_bought",
    },
)
# Of a swap with coins under a meta pool the log has amounts of these, not what the pool got and paid.
_SWAP_UNDERLYING = EventRule(
    "TokenExchangeUnderlying(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, "
    "uint256 tokens_bought)",
    "token_swap",
    {"pool": "@", "sender": "buyer"},
)
_CHANGE = {"pool": "@", "place": "#", "owner": "provider", "share_supply": "token_supply"}
# NG tells which coin was taken; the releases before do not, and no rule makes a row of theirs.
_REMOVED_ONE = EventRule(
    "RemoveLiquidityOne(address indexed provider, int128 token_id, uint256 token_amount, "
    "uint256 coin_amount, uint256 token_supply)",
    "token_liquidity",
    {**_CHANGE, "place": "token_id", "amount": "-coin_amount"},
)


def _changes(array: str, *, always_fees: bool) -> Iterator[EventRule]:
    """Yields the rules of changes of liquidity. ``array`` is the type of the amounts.

    Pools of NG leave the fees out, as an empty array, of the first deposit and of what is paid in proportion.
    """
    for name, sign, invariant in (
        ("AddLiquidity", "", "uint256 invariant, "),
        ("RemoveLiquidity", "-", ""),
        ("RemoveLiquidityImbalance", "-", "uint256 invariant, "),
    ):
        columns = {**_CHANGE, "amount": f"{sign}token_amounts[]"}
        if always_fees or name == "RemoveLiquidityImbalance":
            columns["fee"] = "fees[]"
        yield EventRule(
            f"{name}(address indexed provider, {array} token_amounts, {array} fees, {invariant}"
            "uint256 token_supply)",
            "token_liquidity",
            columns,
        )


_RULES = (
    _SWAP,
    _SWAP_UNDERLYING,
    _REMOVED_ONE,
    *_changes("uint256[]", always_fees=False),
    *(rule for size in _SIZES for rule in _changes(f"uint256[{size}]", always_fees=True)),
)


def event_sources(context: Context) -> tuple[EventSource, ...]:
    """Returns the source of each network with pools. Raises ConfigError for a wrong row."""
    return tuple(
        EventSource(
            id=SOURCE,
            chain_id=chain_id,
            version=VERSION,
            rules=_RULES,
            addresses=tuple(pool.address for pool in row.pools),
            family=SOURCE,
            tokens_by="coins(uint256)",
        )
        for chain_id, row in deployments_of(context).items()
    )
