// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {YieldVault} from "./YieldVault.sol";

/// @title An ERC-4626 vault with configurable deviations, for tests
contract OddVault is YieldVault {
    using SafeERC20 for IERC20;

    struct Oddity {
        bool convertReverts; // convertToAssets and convertToShares revert
        bool previewReverts;
        bool paused; // all limits are zero
        uint256 cap; // of total assets; 0: none
        uint256 liquid; // assets that can be withdrawn at once; 0: all
        uint256 entryFeeBps; // included in previews
        uint256 exitFeeBps;
        uint256 hiddenEntryBps; // not included in previews
        uint256 hiddenExitBps;
        uint256 hiddenGiftBps; // deposits mint more than previewed
        uint256 perSecond; // assets earned per second, without a transaction
    }

    address private constant FEES = address(0xFee);
    Oddity public oddity;
    uint256 public since;

    constructor(IERC20 asset_) YieldVault(asset_, "Odd vault", "ODD") {}

    function become(Oddity calldata oddity_) external {
        oddity = oddity_;
        since = block.timestamp;
    }

    function totalAssets() public view override returns (uint256) {
        return super.totalAssets() + (block.timestamp - since) * oddity.perSecond;
    }

    function convertToAssets(uint256 shares) public view override returns (uint256) {
        require(!oddity.convertReverts, "no conversion");
        return super.convertToAssets(shares);
    }

    function convertToShares(uint256 assets) public view override returns (uint256) {
        require(!oddity.convertReverts, "no conversion");
        return super.convertToShares(assets);
    }

    function maxDeposit(address) public view override returns (uint256) {
        if (oddity.paused) return 0;
        uint256 total = totalAssets();
        if (oddity.cap == 0) return type(uint256).max;
        return total < oddity.cap ? oddity.cap - total : 0;
    }

    function maxMint(address receiver) public view override returns (uint256) {
        uint256 assets = maxDeposit(receiver);
        return assets == type(uint256).max ? assets : previewDeposit(assets);
    }

    function maxWithdraw(address holder) public view override returns (uint256) {
        if (oddity.paused) return 0;
        uint256 assets = previewRedeem(balanceOf(holder));
        return oddity.liquid == 0 ? assets : Math.min(assets, oddity.liquid);
    }

    function maxRedeem(address holder) public view override returns (uint256) {
        if (oddity.paused) return 0;
        return oddity.liquid == 0 ? balanceOf(holder) : Math.min(balanceOf(holder), previewWithdraw(oddity.liquid));
    }

    // Fees as in OpenZeppelin's ERC4626Fees: on top of, or out of, the assets that move.

    function previewDeposit(uint256 assets) public view override returns (uint256) {
        require(!oddity.previewReverts, "no preview");
        return super.previewDeposit(assets - _feeOnTotal(assets, oddity.entryFeeBps));
    }

    function previewMint(uint256 shares) public view override returns (uint256) {
        uint256 assets = super.previewMint(shares);
        return assets + _feeOnRaw(assets, oddity.entryFeeBps);
    }

    function previewWithdraw(uint256 assets) public view override returns (uint256) {
        return super.previewWithdraw(assets + _feeOnRaw(assets, oddity.exitFeeBps));
    }

    function previewRedeem(uint256 shares) public view override returns (uint256) {
        require(!oddity.previewReverts, "no preview");
        uint256 assets = super.previewRedeem(shares);
        return assets - _feeOnTotal(assets, oddity.exitFeeBps);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        uint256 minted = shares * (10_000 - oddity.hiddenEntryBps + oddity.hiddenGiftBps) / 10_000;
        super._deposit(caller, receiver, assets, minted);
        uint256 fee = _feeOnTotal(assets, oddity.entryFeeBps);
        if (fee != 0) IERC20(asset()).safeTransfer(FEES, fee);
    }

    function _withdraw(address caller, address receiver, address holder, uint256 assets, uint256 shares)
        internal
        override
    {
        uint256 paid = assets * (10_000 - oddity.hiddenExitBps) / 10_000;
        super._withdraw(caller, receiver, holder, paid, shares);
        uint256 fee = _feeOnRaw(assets, oddity.exitFeeBps);
        if (fee != 0) IERC20(asset()).safeTransfer(FEES, fee);
    }

    function _feeOnRaw(uint256 assets, uint256 bps) private pure returns (uint256) {
        return Math.mulDiv(assets, bps, 10_000, Math.Rounding.Ceil);
    }

    function _feeOnTotal(uint256 assets, uint256 bps) private pure returns (uint256) {
        return Math.mulDiv(assets, bps, bps + 10_000, Math.Rounding.Ceil);
    }
}
