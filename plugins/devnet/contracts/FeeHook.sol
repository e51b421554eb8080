// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

struct PoolKey {
    address currency0;
    address currency1;
    uint24 fee;
    int24 tickSpacing;
    address hooks;
}

struct SwapParams {
    bool zeroForOne;
    int256 amountSpecified;
    uint160 sqrtPriceLimitX96;
}

interface IPoolManager {
    function updateDynamicLPFee(PoolKey memory key, uint24 newDynamicLPFee) external;
}

/// @title A Uniswap v4 hook that counts swaps and sets the fee of pools with a dynamic one, for tests
/// @dev Anybody may set the fees. Its address must grant beforeSwap and afterSwap alone.
contract FeeHook {
    uint24 private constant OVERRIDE = 0x400000;

    IPoolManager private immutable MANAGER;

    uint256 public begun;
    uint256 public ended;
    uint24 public feeOfSwaps;

    constructor(IPoolManager manager) {
        MANAGER = manager;
    }

    /// Sets the fee that the pool's slot0 has.
    function setFee(PoolKey calldata key, uint24 fee) external {
        MANAGER.updateDynamicLPFee(key, fee);
    }

    /// Makes each swap pay this fee instead, which no state of the pool tells; 0: that of the pool.
    function setFeeOfSwaps(uint24 fee) external {
        feeOfSwaps = fee;
    }

    function beforeSwap(address, PoolKey calldata, SwapParams calldata, bytes calldata)
        external
        returns (bytes4, int256, uint24)
    {
        ++begun;
        return (this.beforeSwap.selector, 0, feeOfSwaps == 0 ? 0 : feeOfSwaps | OVERRIDE);
    }

    function afterSwap(address, PoolKey calldata, SwapParams calldata, int256, bytes calldata)
        external
        returns (bytes4, int128)
    {
        ++ended;
        return (this.afterSwap.selector, 0);
    }
}
