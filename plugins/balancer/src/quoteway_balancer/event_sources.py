"""The events of the Vaults that an indexer keeps, as data: of all pools of a Vault, whoever made them.

The Vault of v2 logs everything that pools gain and pay, in base units of the tokens. That of v3 logs swaps,
changes of liquidity, their fees, and the share of these that leaves the pool. The share that a pool begins
with is logged by the controller of fees, and fees of yield by nobody.
"""

from __future__ import annotations

from quoteway import Address, Context, EventRule, EventSource

from quoteway_balancer.deployments import (
    Deployment,
    DeploymentV3,
    configured_deployments,
    configured_v3,
)

VERSION = 2
"""Increase it when the rows of facts change their meaning: indexers read the sources again."""

_POOL = {"pool": "poolId"}
_ITEM = {"place": "#"}
_AMOUNTS = {
    "token_in": "tokenIn",
    "token_out": "tokenOut",
    "amount_in": "amountIn",
    "amount_out": "amountOut",
}
_RULES = (
    EventRule(
        "PoolRegistered(bytes32 indexed poolId, address indexed poolAddress, uint8 specialization)",
        "pool_created",
        _POOL,
    ),
    # A pool may register tokens later than others: the places are those of one log.
    EventRule(
        "TokensRegistered(bytes32 indexed poolId, address[] tokens, address[] assetManagers)",
        "pool_token",
        {**_POOL, **_ITEM, "token": "tokens[]"},
    ),
    # The Vault logs neither who swaps nor the fee.
    EventRule(
        "Swap(bytes32 indexed poolId, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, "
        "uint256 amountOut)",
        "token_swap",
        {**_POOL, **_AMOUNTS},
    ),
    EventRule(
        "PoolBalanceChanged(bytes32 indexed poolId, address indexed liquidityProvider, address[] tokens, "
        "int256[] deltas, uint256[] protocolFeeAmounts)",
        "token_liquidity",
        {
            **_POOL,
            **_ITEM,
            "owner": "liquidityProvider",
            "token": "tokens[]",
            "amount": "deltas[]",
            "protocol_fee": "protocolFeeAmounts[]",
        },
    ),
    # What an asset manager has counts as the pool's: both deltas together are what the pool gained or lost.
    EventRule(
        "PoolBalanceManaged(bytes32 indexed poolId, address indexed assetManager, address indexed token, "
        "int256 cashDelta, int256 managedDelta)",
        "token_liquidity",
        {
            **_POOL,
            "place": "0",
            "owner": "assetManager",
            "token": "token",
            "amount": "cashDelta + managedDelta",
        },
    ),
)

_POOL_V3 = {"pool": "pool"}
_CHANGE_V3 = {**_POOL_V3, **_ITEM, "owner": "liquidityProvider", "share_supply": "totalSupply"}
_HOOK_FLAGS = ", ".join(["bool"] * 10)
_REGISTERED_V3 = (
    "PoolRegistered(address indexed pool, address indexed factory, (address token, uint8 tokenType, "
    "address rateProvider, bool paysYieldFees)[] tokenConfig, uint256 swapFeePercentage, "
    "uint32 pauseWindowEndTime, (address, address, address) roleAccounts, "
    f"({_HOOK_FLAGS}, address) hooksConfig, (bool, bool, bool, bool) liquidityManagement)"
)
_RULES_V3 = (
    EventRule(_REGISTERED_V3, "pool_created", _POOL_V3),
    EventRule(
        _REGISTERED_V3,
        "pool_token",
        {
            **_POOL_V3,
            **_ITEM,
            "token": "tokenConfig[].token",
            "pays_yield_fees": "tokenConfig[].paysYieldFees",
        },
    ),
    # The fee is always one of the token sold.
    EventRule(
        "Swap(address indexed pool, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, "
        "uint256 amountOut, uint256 swapFeePercentage, uint256 swapFeeAmount)",
        "token_swap",
        {**_POOL_V3, **_AMOUNTS, "fee_in": "swapFeeAmount"},
    ),
    *(
        EventRule(
            f"{name}(address indexed pool, address indexed liquidityProvider, uint8 indexed kind, "
            f"uint256 totalSupply, uint256[] {amounts}, uint256[] swapFeeAmountsRaw)",
            "token_liquidity",
            {**_CHANGE_V3, "amount": f"{sign}{amounts}[]", "fee": "swapFeeAmountsRaw[]"},
        )
        for name, amounts, sign in (
            ("LiquidityAdded", "amountsAddedRaw", ""),
            ("LiquidityRemoved", "amountsRemovedRaw", "-"),
        )
    ),
    *(
        EventRule(
            f"{name}(address indexed pool, {data})",
            "pool_setting",
            {**_POOL_V3, "setting": setting, "value": "value"},
        )
        for setting, name, data in (
            ("swap_fee_share", "InitialPoolAggregateSwapFeePercentage", "uint256 value, bool isExempt"),
            ("swap_fee_share", "AggregateSwapFeePercentageChanged", "uint256 value"),
            ("yield_fee_share", "InitialPoolAggregateYieldFeePercentage", "uint256 value, bool isExempt"),
            ("yield_fee_share", "AggregateYieldFeePercentageChanged", "uint256 value"),
            ("recovery_mode", "PoolRecoveryModeStateChanged", "bool value"),
        )
    ),
)


def event_sources(context: Context) -> tuple[EventSource, ...]:
    """Returns the sources of the configured Vaults. Raises ConfigError for a wrong row."""
    v2, v3 = configured_deployments(context).values(), configured_v3(context).values()
    return (
        *(_source(row, "balancer-v2", _RULES, row.vault) for row in v2),
        *(_source(row, "balancer-v3", _RULES_V3, row.vault, *row.fee_controllers) for row in v3),
    )


def _source(
    row: Deployment | DeploymentV3, name: str, rules: tuple[EventRule, ...], *addresses: Address
) -> EventSource:
    return EventSource(
        id=name,
        chain_id=row.chain_id,
        version=VERSION,
        rules=rules,
        addresses=addresses,
        first_block=row.since_block or 0,
        family=name,
    )
