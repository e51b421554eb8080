// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

/// Ours, for tests: the published maths of Solidly's descendants (Velodrome v2, Aerodrome) for any state. It is
/// not the makers' contract, of which no package registry has a copy.
contract SolidlyMaths {
    uint256 private constant ONE = 1e18;

    struct Pool {
        uint256 reserve0;
        uint256 reserve1;
        uint256 unit0;
        uint256 unit1;
        bool isStable;
        uint256 fee;
        uint256 feeDenominator;
    }

    error Refused();

    /// What a swap of `amountIn` pays. Reverts where the pool would refuse it.
    function swap(Pool memory pool, bool zeroForOne, uint256 amountIn) external pure returns (uint256 paid) {
        uint256 traded = amountIn - amountIn * pool.fee / pool.feeDenominator;
        paid = pool.isStable ? stableOutput(pool, zeroForOne, traded) : volatileOutput(pool, zeroForOne, traded);
        (uint256 after0, uint256 after1) = zeroForOne
            ? (pool.reserve0 + traded, pool.reserve1 - paid)
            : (pool.reserve0 - paid, pool.reserve1 + traded);
        bool isEmptied = after0 == 0 || after1 == 0;
        if (paid == 0 || isEmptied || level(pool, after0, after1) < level(pool, pool.reserve0, pool.reserve1)) {
            revert Refused();
        }
    }

    function volatileOutput(Pool memory pool, bool zeroForOne, uint256 traded) private pure returns (uint256) {
        (uint256 from, uint256 to) = ordered(zeroForOne, pool.reserve0, pool.reserve1);
        return traded * to / (from + traded);
    }

    function stableOutput(Pool memory pool, bool zeroForOne, uint256 traded) private pure returns (uint256) {
        (uint256 unitIn, uint256 unitOut) = ordered(zeroForOne, pool.unit0, pool.unit1);
        (uint256 from, uint256 to) =
            ordered(zeroForOne, pool.reserve0 * ONE / pool.unit0, pool.reserve1 * ONE / pool.unit1);
        from += traded * ONE / unitIn;
        return (to - root(pool, from, level(pool, pool.reserve0, pool.reserve1), to)) * unitOut / ONE;
    }

    /// The least reserve beside `x` that keeps the invariant, by Newton's method from `y`.
    function root(Pool memory pool, uint256 x, uint256 target, uint256 y) private pure returns (uint256) {
        for (uint256 round; round < 255; round++) {
            uint256 here = curve(x, y);
            bool isBelow = here < target;
            uint256 step = (isBelow ? target - here : here - target) * ONE / slope(x, y);
            if (step == 0) {
                if (isBelow) {
                    if (level(pool, x, y + 1) > target) return y + 1;
                } else if (here == target || curve(x, y - 1) < target) {
                    return y;
                }
                step = 1;
            }
            y = isBelow ? y + step : y - step;
        }
        revert Refused();
    }

    function level(Pool memory pool, uint256 x, uint256 y) private pure returns (uint256) {
        return pool.isStable ? curve(x * ONE / pool.unit0, y * ONE / pool.unit1) : x * y;
    }

    function curve(uint256 x, uint256 y) private pure returns (uint256) {
        return (x * y / ONE) * (x * x / ONE + y * y / ONE) / ONE;
    }

    function slope(uint256 x, uint256 y) private pure returns (uint256) {
        return 3 * x * (y * y / ONE) / ONE + (x * x / ONE) * x / ONE;
    }

    function ordered(bool isOrder, uint256 a, uint256 b) private pure returns (uint256, uint256) {
        return isOrder ? (a, b) : (b, a);
    }
}
