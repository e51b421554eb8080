// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

/// Ours, for tests: the published maths of Curve's StableSwap pools for any state. It is not the makers' contract,
/// of which no package registry has a copy.
contract StableSwapMaths {
    uint256 private constant ONE = 1e18;
    uint256 private constant FEE_ONE = 1e10;

    enum Product {
        Each,
        EachPlusOne,
        Last
    }

    struct Pool {
        uint256[] balances;
        uint256[] rates;
        uint256 amplification;
        uint256 fee;
        uint256 offpegFeeMultiplier;
        uint256 aPrecision;
        Product product;
        uint256 rounding;
        bool mustConverge;
        bool keepsPrices;
    }

    error Refused();

    /// What `exchange` of `amountIn` pays. Reverts where the pool would refuse it.
    function exchange(Pool memory pool, uint256 i, uint256 j, uint256 amountIn) external pure returns (uint256) {
        uint256[] memory xp = new uint256[](pool.balances.length);
        for (uint256 k; k < xp.length; k++) {
            xp[k] = pool.balances[k] * pool.rates[k] / ONE;
        }
        uint256 d = invariant(pool, xp);
        uint256 x = xp[i] + amountIn * pool.rates[i] / ONE;
        uint256 y = balanceBeside(pool, xp, d, i, j, x);
        uint256 moved = xp[j] - y - pool.rounding;
        uint256 fee = moved * feeBetween(pool, (xp[i] + x) / 2, (xp[j] + y) / 2) / FEE_ONE;
        if (pool.keepsPrices) {
            xp[i] = x;
            xp[j] = y;
            requirePrices(pool, xp, d);
        }
        return (moved - fee) * ONE / pool.rates[j];
    }

    function invariant(Pool memory pool, uint256[] memory xp) private pure returns (uint256 d) {
        uint256 n = xp.length;
        uint256 sum;
        for (uint256 k; k < n; k++) {
            sum += xp[k];
        }
        d = sum;
        uint256 ann = pool.amplification * n;
        for (uint256 round; round < 255; round++) {
            uint256 product = d;
            for (uint256 k; k < n; k++) {
                uint256 divisor = pool.product == Product.Last ? xp[k] : xp[k] * n;
                product = product * d / (pool.product == Product.EachPlusOne ? divisor + 1 : divisor);
            }
            if (pool.product == Product.Last) product /= n ** n;
            uint256 previous = d;
            d = (ann * sum / pool.aPrecision + product * n) * d
                / ((ann - pool.aPrecision) * d / pool.aPrecision + (n + 1) * product);
            if (near(d, previous)) return d;
        }
        if (pool.mustConverge) revert Refused();
    }

    function balanceBeside(Pool memory pool, uint256[] memory xp, uint256 d, uint256 i, uint256 j, uint256 x)
        private
        pure
        returns (uint256 y)
    {
        uint256 ann = pool.amplification * xp.length;
        uint256 sum;
        uint256 c = d;
        for (uint256 k; k < xp.length; k++) {
            if (k == j) continue;
            uint256 here = k == i ? x : xp[k];
            sum += here;
            c = c * d / (here * xp.length);
        }
        c = c * d * pool.aPrecision / (ann * xp.length);
        sum += d * pool.aPrecision / ann;
        y = d;
        for (uint256 round; round < 255; round++) {
            uint256 previous = y;
            y = (y * y + c) / (2 * y + sum - d);
            if (near(y, previous)) return y;
        }
        if (pool.mustConverge) revert Refused();
    }

    function feeBetween(Pool memory pool, uint256 x, uint256 y) private pure returns (uint256) {
        if (pool.offpegFeeMultiplier <= FEE_ONE) return pool.fee;
        uint256 square = (x + y) ** 2;
        return pool.offpegFeeMultiplier * pool.fee
            / ((pool.offpegFeeMultiplier - FEE_ONE) * 4 * x * y / square + FEE_ONE);
    }

    /// Reverts where the NG pools' update of their price oracle does.
    function requirePrices(Pool memory pool, uint256[] memory xp, uint256 d) private pure {
        uint256 ratio = d / xp.length ** xp.length;
        for (uint256 k; k < xp.length; k++) {
            ratio = ratio * d / xp[k];
        }
        uint256 first = pool.amplification * xp.length * xp[0] / pool.aPrecision;
        for (uint256 k = 1; k < xp.length; k++) {
            ONE * (first + ratio * xp[0] / xp[k]) / (first + ratio);
        }
        if (d >= 2 ** 128) revert Refused();
    }

    function near(uint256 a, uint256 b) private pure returns (bool) {
        return a > b ? a - b <= 1 : b - a <= 1;
    }
}
