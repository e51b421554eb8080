"""The functions of EIP-4626; each comment quotes the rule of the standard that the plugin relies on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from quoteway.evm.abi import Function, function

Operation: TypeAlias = Literal["deposit", "mint", "withdraw", "redeem"]

ASSET = function("asset() returns (address)")
TOTAL_ASSETS = function("totalAssets() returns (uint256)")
CONVERT_TO_ASSETS = function("convertToAssets(uint256 shares) returns (uint256)")
CONVERT_TO_SHARES = function("convertToShares(uint256 assets) returns (uint256)")
# Not in the standard: Pausable of OpenZeppelin Contracts.
PAUSED = function("paused() returns (bool)")

CALLS: Mapping[Operation, Function] = {
    "deposit": function("deposit(uint256 assets, address receiver) returns (uint256 shares)"),
    "mint": function("mint(uint256 shares, address receiver) returns (uint256 assets)"),
    "withdraw": function(
        "withdraw(uint256 assets, address receiver, address owner) returns (uint256 shares)"
    ),
    "redeem": function("redeem(uint256 shares, address receiver, address owner) returns (uint256 assets)"),
}
"""The calls that are sent. Deposit and withdraw take exact assets, mint and redeem exact shares."""

# "MUST return as close to and no more than the exact amount of Vault shares that would be minted in a deposit
# call in the same transaction" (previewDeposit); no fewer assets (previewMint), no fewer shares
# (previewWithdraw), no more assets (previewRedeem). Fees included, limits not.
PREVIEWS: Mapping[Operation, Function] = {
    "deposit": function("previewDeposit(uint256 assets) returns (uint256 shares)"),
    "mint": function("previewMint(uint256 shares) returns (uint256 assets)"),
    "withdraw": function("previewWithdraw(uint256 assets) returns (uint256 shares)"),
    "redeem": function("previewRedeem(uint256 shares) returns (uint256 assets)"),
}

# "MUST factor in both global and user-specific limits, like if deposits are entirely disabled (even
# temporarily) it MUST return 0"; 2^256 - 1 where there is none. The argument is the receiver of shares, or
# their owner.
LIMITS: Mapping[Operation, Function] = {
    "deposit": function("maxDeposit(address receiver) returns (uint256 assets)"),
    "mint": function("maxMint(address receiver) returns (uint256 shares)"),
    "withdraw": function("maxWithdraw(address owner) returns (uint256 assets)"),
    "redeem": function("maxRedeem(address owner) returns (uint256 shares)"),
}

OPERATIONS: tuple[Operation, ...] = ("deposit", "mint", "withdraw", "redeem")

READ_GAS = 10_000_000
"""Gas of a read: a vault of vaults reads all of them."""
