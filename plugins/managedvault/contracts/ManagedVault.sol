// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {ERC20, IERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title An ERC-4626 vault whose owner and bot spread its assets over other ERC-4626 vaults
/// @notice UNAUDITED. The owner chooses the strategies and is trusted with the assets: a strategy can lose them.
/// @dev New deposits stay idle until `rebalance` or `harvest` invests them. Withdrawals take idle assets first, then from
/// the strategies in their order. They work while the vault is paused: nobody can lock the depositors' assets.
/// Strategies are valued at what redeeming would pay (previewRedeem), so a loss lowers the share price at once.
contract ManagedVault is ERC4626, Ownable, Pausable, ReentrancyGuard {
    using SafeERC20 for IERC20;

    uint256 public constant MAX_STRATEGIES = 8;

    /// @notice May rebalance, harvest and pause, as the owner may. The zero address: no bot.
    address public bot;
    /// @notice Deposits are refused beyond this many assets.
    uint256 public cap = type(uint256).max;
    /// @notice Total assets when `harvest` was last called.
    uint256 public harvestedAssets;

    IERC4626[] private _strategies;

    event BotSet(address bot);
    event CapSet(uint256 cap);
    event StrategyAdded(address indexed strategy);
    event StrategyRemoved(address indexed strategy, uint256 assets);
    event Rebalanced(address indexed from, address indexed to, uint256 assets);
    event Harvested(uint256 assetsBefore, uint256 assetsNow, uint256 invested);

    error NotOwnerOrBot(address caller);
    error UnknownStrategy(address strategy);
    error StrategyExists(address strategy);
    error WrongAsset(address strategy);
    error TooManyStrategies();
    error NothingToMove();
    error TaxedTransfer();
    error LossTooHigh(uint256 totalAssets, uint256 minimum);

    modifier onlyOwnerOrBot() {
        if (msg.sender != owner() && (bot == address(0) || msg.sender != bot)) revert NotOwnerOrBot(msg.sender);
        _;
    }

    constructor(IERC20 asset_, address owner_, address bot_, IERC4626 strategy_)
        ERC20("Quoteway managed vault", "qwMV")
        ERC4626(asset_)
        Ownable(owner_)
    {
        bot = bot_;
        _addStrategy(strategy_);
    }

    // --- reads -------------------------------------------------------------------------------------------------

    function strategies() external view returns (IERC4626[] memory) {
        return _strategies;
    }

    function idleAssets() public view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this));
    }

    /// @notice The assets that redeeming a strategy's shares would pay now.
    function strategyAssets(IERC4626 strategy) public view returns (uint256) {
        return strategy.previewRedeem(strategy.balanceOf(address(this)));
    }

    function totalAssets() public view override returns (uint256 total) {
        total = idleAssets();
        for (uint256 i = 0; i < _strategies.length; i++) total += strategyAssets(_strategies[i]);
    }

    /// @notice The assets that can be withdrawn now.
    function liquidAssets() public view returns (uint256 liquid) {
        liquid = idleAssets();
        for (uint256 i = 0; i < _strategies.length; i++) liquid += _strategies[i].maxWithdraw(address(this));
    }

    function maxDeposit(address) public view override returns (uint256) {
        if (paused()) return 0;
        if (cap == type(uint256).max) return cap;
        uint256 total = totalAssets();
        return total < cap ? cap - total : 0;
    }

    function maxMint(address receiver) public view override returns (uint256) {
        uint256 assets = maxDeposit(receiver);
        return assets == type(uint256).max ? assets : _convertToShares(assets, Math.Rounding.Floor);
    }

    function maxWithdraw(address holder) public view override returns (uint256) {
        return Math.min(_convertToAssets(balanceOf(holder), Math.Rounding.Floor), liquidAssets());
    }

    function maxRedeem(address holder) public view override returns (uint256) {
        uint256 shares = balanceOf(holder);
        uint256 liquid = liquidAssets();
        return _convertToAssets(shares, Math.Rounding.Floor) <= liquid
            ? shares
            : Math.min(shares, _convertToShares(liquid, Math.Rounding.Floor));
    }

    // --- management --------------------------------------------------------------------------------------------

    function setBot(address bot_) external onlyOwner {
        bot = bot_;
        emit BotSet(bot_);
    }

    function setCap(uint256 cap_) external onlyOwner {
        cap = cap_;
        emit CapSet(cap_);
    }

    /// @notice Stops deposits, rebalancing and harvesting. Withdrawals stay open.
    function pause() external onlyOwnerOrBot {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }

    function addStrategy(IERC4626 strategy) external onlyOwner {
        _addStrategy(strategy);
    }

    /// @notice Redeems all shares of a strategy and removes it.
    function removeStrategy(IERC4626 strategy) external onlyOwner nonReentrant {
        uint256 index = _indexOf(strategy);
        uint256 shares = strategy.balanceOf(address(this));
        uint256 assets = shares == 0 ? 0 : strategy.redeem(shares, address(this), address(this));
        _strategies[index] = _strategies[_strategies.length - 1];
        _strategies.pop();
        emit StrategyRemoved(address(strategy), assets);
    }

    /// @notice Moves assets between strategies; the vault's own address means its idle assets.
    /// @param assets how much, or the greatest uint256 for all that can be moved
    /// @param minTotalAssets reverts when the vault is worth less afterwards, which bounds the cost of the move
    function rebalance(address from, address to, uint256 assets, uint256 minTotalAssets)
        external
        onlyOwnerOrBot
        whenNotPaused
        nonReentrant
    {
        if (assets == type(uint256).max) {
            assets = from == address(this) ? idleAssets() : IERC4626(from).maxWithdraw(address(this));
        }
        if (assets == 0 || from == to) revert NothingToMove();
        if (from != address(this)) {
            _indexOf(IERC4626(from));
            IERC4626(from).withdraw(assets, address(this), address(this));
        }
        if (to != address(this)) {
            _indexOf(IERC4626(to));
            _invest(IERC4626(to), assets);
        }
        uint256 total = totalAssets();
        if (total < minTotalAssets) revert LossTooHigh(total, minTotalAssets);
        emit Rebalanced(from, to, assets);
    }

    /// @notice Invests idle assets in the first strategy and records the vault's total assets.
    function harvest() external onlyOwnerOrBot whenNotPaused nonReentrant {
        uint256 idle = idleAssets();
        if (idle != 0 && _strategies.length != 0) _invest(_strategies[0], idle);
        else idle = 0;
        uint256 total = totalAssets();
        emit Harvested(harvestedAssets, total, idle);
        harvestedAssets = total;
    }

    // --- inside ------------------------------------------------------------------------------------------------

    /// @dev Virtual shares: an inflation attack on the first deposit, by a donation, costs a million times its gain.
    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        uint256 idle = idleAssets();
        super._deposit(caller, receiver, assets, shares);
        // The other depositors would pay the fee of a fee-on-transfer token.
        if (idleAssets() - idle != assets) revert TaxedTransfer();
    }

    function _withdraw(address caller, address receiver, address holder, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        uint256 idle = idleAssets();
        for (uint256 i = 0; i < _strategies.length && idle < assets; i++) {
            uint256 pulled = Math.min(assets - idle, _strategies[i].maxWithdraw(address(this)));
            if (pulled == 0) continue;
            _strategies[i].withdraw(pulled, address(this), address(this));
            idle += pulled;
        }
        super._withdraw(caller, receiver, holder, assets, shares);
    }

    function _invest(IERC4626 strategy, uint256 assets) private {
        IERC20(asset()).forceApprove(address(strategy), assets);
        strategy.deposit(assets, address(this));
        IERC20(asset()).forceApprove(address(strategy), 0);
    }

    function _addStrategy(IERC4626 strategy) private {
        if (strategy.asset() != asset() || address(strategy) == address(this)) revert WrongAsset(address(strategy));
        if (_strategies.length == MAX_STRATEGIES) revert TooManyStrategies();
        for (uint256 i = 0; i < _strategies.length; i++) {
            if (_strategies[i] == strategy) revert StrategyExists(address(strategy));
        }
        _strategies.push(strategy);
        emit StrategyAdded(address(strategy));
    }

    function _indexOf(IERC4626 strategy) private view returns (uint256) {
        for (uint256 i = 0; i < _strategies.length; i++) {
            if (_strategies[i] == strategy) return i;
        }
        revert UnknownStrategy(address(strategy));
    }
}
