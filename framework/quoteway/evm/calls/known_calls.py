"""The calls of the core's contracts whose arguments stand in the calldata itself, by kind of contract.

Sources: Uniswap v2-periphery (UniswapV2Router02), WETH9, EIP-4626, across-protocol/contracts (SpokePool),
lifinance/contracts (GenericSwapFacetV3, AcrossFacetV4), and the managed vault of this project.
"""

from __future__ import annotations

from collections.abc import Mapping

from quoteway.models import NATIVE, CallDescription, PaymentRoles, SpendRoles

# --- WETH9 --------------------------------------------------------------------------------------------------

_WETH9 = (
    CallDescription(
        "deposit()",
        "swap",
        spends=(SpendRoles(NATIVE, "@.value"),),
        pays=(PaymentRoles("@.to", "@.from", "@.value"),),
    ),
    CallDescription(
        "withdraw(uint256 wad)",
        "swap",
        spends=(SpendRoles("@.to", "#.wad"),),
        pays=(PaymentRoles(NATIVE, "@.from", "#.wad"),),
    ),
)

# --- Uniswap v2 ---------------------------------------------------------------------------------------------

_END = "address[] path, address to, uint256 deadline"


def _v2_swap(name: str, sells_coin: bool = False, buys_coin: bool = False) -> CallDescription:
    """Describes an exact-input swap of the router."""
    amount = "" if sells_coin else "uint256 amountIn, "
    sold = SpendRoles(NATIVE, "@.value") if sells_coin else SpendRoles("#.path.[0]", "#.amountIn")
    token = NATIVE if buys_coin else "#.path.[-1]"
    return CallDescription(
        f"{name}({amount}uint256 amountOutMin, {_END})",
        "swap",
        spends=(sold,),
        pays=(PaymentRoles(token, "#.to", "#.amountOutMin"),),
        deadline="#.deadline",
    )


_PAIR_MINS = "uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline"
_COIN_MINS = "uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline"
_SHARES = PaymentRoles(None, "#.to")

_V2_ROUTER = (
    _v2_swap("swapExactTokensForTokens"),
    _v2_swap("swapExactTokensForTokensSupportingFeeOnTransferTokens"),
    _v2_swap("swapExactETHForTokens", sells_coin=True),
    _v2_swap("swapExactETHForTokensSupportingFeeOnTransferTokens", sells_coin=True),
    _v2_swap("swapExactTokensForETH", buys_coin=True),
    _v2_swap("swapExactTokensForETHSupportingFeeOnTransferTokens", buys_coin=True),
    CallDescription(
        "addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, "
        f"{_PAIR_MINS})",
        "add",
        spends=(
            SpendRoles("#.tokenA", "#.amountADesired", "#.amountAMin"),
            SpendRoles("#.tokenB", "#.amountBDesired", "#.amountBMin"),
        ),
        pays=(_SHARES,),
        deadline="#.deadline",
    ),
    CallDescription(
        f"addLiquidityETH(address token, uint256 amountTokenDesired, {_COIN_MINS})",
        "add",
        spends=(
            SpendRoles("#.token", "#.amountTokenDesired", "#.amountTokenMin"),
            SpendRoles(NATIVE, "@.value", "#.amountETHMin"),
        ),
        pays=(_SHARES,),
        deadline="#.deadline",
    ),
    CallDescription(
        f"removeLiquidity(address tokenA, address tokenB, uint256 liquidity, {_PAIR_MINS})",
        "remove",
        spends=(SpendRoles(None, "#.liquidity"),),
        pays=(
            PaymentRoles("#.tokenA", "#.to", "#.amountAMin"),
            PaymentRoles("#.tokenB", "#.to", "#.amountBMin"),
        ),
        deadline="#.deadline",
    ),
    CallDescription(
        f"removeLiquidityETH(address token, uint256 liquidity, {_COIN_MINS})",
        "remove",
        spends=(SpendRoles(None, "#.liquidity"),),
        pays=(
            PaymentRoles("#.token", "#.to", "#.amountTokenMin"),
            PaymentRoles(NATIVE, "#.to", "#.amountETHMin"),
        ),
        deadline="#.deadline",
    ),
)

# --- EIP-4626 -----------------------------------------------------------------------------------------------

# The standard has no limit on what comes back: a preview in the run stands in for it.
_ERC4626 = (
    CallDescription(
        "deposit(uint256 assets, address receiver)",
        "deposit",
        spends=(SpendRoles(None, "#.assets"),),
        pays=(PaymentRoles(None, "#.receiver"),),
    ),
    CallDescription(
        "mint(uint256 shares, address receiver)",
        "mint",
        pays=(PaymentRoles(None, "#.receiver", "#.shares"),),
    ),
    CallDescription(
        "withdraw(uint256 assets, address receiver, address owner)",
        "withdraw",
        pays=(PaymentRoles(None, "#.receiver", "#.assets"),),
        owner="#.owner",
    ),
    CallDescription(
        "redeem(uint256 shares, address receiver, address owner)",
        "redeem",
        spends=(SpendRoles(None, "#.shares"),),
        pays=(PaymentRoles(None, "#.receiver"),),
        owner="#.owner",
    ),
)

# --- managed vault ------------------------------------------------------------------------------------------

_MANAGED_VAULT = (
    CallDescription("harvest()", "harvest"),
    CallDescription("pause()", "pause"),
    CallDescription("unpause()", "unpause"),
    CallDescription("setBot(address bot)", "setBot", members={"bot": "#.bot"}),
    CallDescription("setCap(uint256 cap)", "setCap", members={"amount": "#.cap"}),
    CallDescription("addStrategy(address strategy)", "addStrategy", members={"strategy": "#.strategy"}),
    CallDescription("removeStrategy(address strategy)", "removeStrategy", members={"strategy": "#.strategy"}),
    CallDescription(
        "rebalance(address from, address to, uint256 assets, uint256 minTotalAssets)",
        "rebalance",
        members={"source": "#.from", "strategy": "#.to", "assets": "#.assets"},
    ),
)

_MANAGED_VAULT_FACTORY = (
    CallDescription(
        "deploy(address asset, address owner, address bot, address strategy, bytes32 salt)",
        "deploy",
        members={
            "asset": "#.asset",
            "owner": "#.owner",
            "bot": "#.bot",
            "strategy": "#.strategy",
            "salt": "#.salt",
        },
    ),
)

# --- Across and LI.FI ---------------------------------------------------------------------------------------

_QUOTE_TIME_BUFFER_S = 3600
"""SpokePool.depositQuoteTimeBuffer of all deployments. A deposit does not revert for a past fillDeadline."""


def _across(name: str, account: str) -> CallDescription:
    """Describes a deposit into a SpokePool; ``account`` is the type of its accounts.

    A message would call the recipient with bytes that no quote promises.
    """
    return CallDescription(
        f"{name}({account} depositor, {account} recipient, {account} inputToken, {account} outputToken, "
        f"uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, {account} exclusiveRelayer, "
        "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)",
        "transfer",
        spends=(SpendRoles("#.inputToken", "#.inputAmount"),),
        pays=(
            PaymentRoles("#.outputToken", "#.recipient", "#.outputAmount", chain_id="#.destinationChainId"),
        ),
        offered_at="#.quoteTimestamp",
        accepted_s=_QUOTE_TIME_BUFFER_S,
        pays_until="#.fillDeadline",
        refund="#.depositor",
        empty=("#.message",),
    )


_SWAP_DATA = (
    "(address callTo, address approveTo, address sendingAssetId, address receivingAssetId,"
    " uint256 fromAmount, bytes callData, bool requiresDeposit)"
)
_BRIDGE_DATA = (
    "(bytes32 transactionId, string bridge, string integrator, address referrer, address sendingAssetId,"
    " address receiver, uint256 minAmount, uint256 destinationChainId, bool hasSourceSwaps,"
    " bool hasDestinationCall)"
)
_ACROSS_DATA = (
    "(bytes32 receiverAddress, bytes32 refundAddress, bytes32 sendingAssetId, bytes32 receivingAssetId,"
    " uint256 outputAmount, uint128 outputAmountMultiplier, bytes32 exclusiveRelayer, uint32 quoteTimestamp,"
    " uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
)


def _lifi_swap(name: str, many: bool) -> CallDescription:
    """Describes a swap of GenericSwapFacet or GenericSwapFacetV3.

    It checks what came out against ``minAmountOut`` and sends it to ``receiver``: the calls inside need no
    reading.
    """
    first, last = ("#.swapData.[0]", "#.swapData.[-1]") if many else ("#.swapData", "#.swapData")
    return CallDescription(
        f"{name}(bytes32 transactionId, string integrator, string referrer, address receiver, "
        f"uint256 minAmountOut, {_SWAP_DATA}{'[]' if many else ''} swapData)",
        "swap",
        spends=(SpendRoles(f"{first}.[2]", f"{first}.[4]"),),
        pays=(PaymentRoles(f"{last}.[3]", "#.receiver", "#.minAmountOut"),),
    )


_LIFI = (
    *(
        _lifi_swap(f"swapTokens{count}V3{ends}", many=count == "Multiple")
        for count in ("Single", "Multiple")
        for ends in ("ERC20ToERC20", "ERC20ToNative", "NativeToERC20")
    ),
    _lifi_swap("swapTokensGeneric", many=True),
    CallDescription(
        f"startBridgeTokensViaAcrossV4({_BRIDGE_DATA} bridgeData, {_ACROSS_DATA} acrossData)",
        "transfer",
        spends=(SpendRoles("#.bridgeData.[4]", "#.bridgeData.[6]"),),
        pays=(
            PaymentRoles(
                "#.acrossData.[3]", "#.acrossData.[0]", "#.acrossData.[4]", chain_id="#.bridgeData.[7]"
            ),
        ),
        offered_at="#.acrossData.[7]",
        accepted_s=_QUOTE_TIME_BUFFER_S,
        pays_until="#.acrossData.[8]",
        refund="#.acrossData.[1]",
        empty=("#.acrossData.[10]", "#.bridgeData.[8]", "#.bridgeData.[9]"),
    ),
)

DESCRIBED: Mapping[str, tuple[CallDescription, ...]] = {
    "weth9": _WETH9,
    "uniswap.v2-router": _V2_ROUTER,
    "erc4626": _ERC4626,
    "managed-vault": (*_ERC4626, *_MANAGED_VAULT),
    "managed-vault.factory": _MANAGED_VAULT_FACTORY,
    "across.spoke-pool": (_across("depositV3", "address"), _across("deposit", "bytes32")),
    "lifi.diamond": _LIFI,
}
"""By kind of contract."""
