// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {StableSwapMaths} from "./StableSwapMaths.sol";

interface IDecimals {
    function decimals() external view returns (uint8);
}

/// Ours, for tests: a pool with the interface of Curve's StableSwap pools, over the published maths. It is not the
/// makers' contract, of which no package registry has a copy. A pool answers the functions of its release alone.
contract StableSwapPool {
    enum Release {
        ThreePool,
        Template,
        NG
    }

    StableSwapMaths private immutable MATHS;
    Release private immutable RELEASE;
    uint256 private immutable AMPLIFICATION;
    uint256 private immutable MULTIPLIER;
    uint256 public immutable fee;
    uint256 public future_A_time;
    address[] public coins;
    uint256[] public balances;
    uint256[] private rates;

    constructor(
        StableSwapMaths maths,
        address[] memory tokens,
        Release release,
        uint256 amplification,
        uint256 swapFee,
        uint256 multiplier
    ) {
        (MATHS, RELEASE, AMPLIFICATION, MULTIPLIER) = (maths, release, amplification, multiplier);
        (fee, coins, balances) = (swapFee, tokens, new uint256[](tokens.length));
        for (uint256 k; k < tokens.length; k++) {
            rates.push(10 ** (36 - IDecimals(tokens[k]).decimals()));
        }
    }

    function A() external view returns (uint256) {
        return AMPLIFICATION;
    }

    function A_precise() external view returns (uint256) {
        require(RELEASE != Release.ThreePool);
        return AMPLIFICATION * 100;
    }

    function stored_rates() external view returns (uint256[] memory) {
        require(RELEASE == Release.NG);
        return rates;
    }

    function offpeg_fee_multiplier() external view returns (uint256) {
        require(RELEASE == Release.NG);
        return MULTIPLIER;
    }

    function setRate(uint256 k, uint256 rate) external {
        rates[k] = rate;
    }

    function setRampUntil(uint256 time) external {
        future_A_time = time;
    }

    function add(uint256[] calldata amounts) external {
        for (uint256 k; k < amounts.length; k++) {
            balances[k] += amounts[k];
            _call(
                coins[k],
                abi.encodeWithSignature(
                    "transferFrom(address,address,uint256)", msg.sender, address(this), amounts[k]
                )
            );
        }
    }

    function exchange(int128 i, int128 j, uint256 dx, uint256 minDy) external {
        (uint256 sold, uint256 bought) = (uint256(int256(i)), uint256(int256(j)));
        bool precise = RELEASE != Release.ThreePool;
        uint256 dy = MATHS.exchange(
            StableSwapMaths.Pool(
                balances,
                rates,
                precise ? AMPLIFICATION * 100 : AMPLIFICATION,
                fee,
                MULTIPLIER,
                precise ? 100 : 1,
                RELEASE == Release.NG ? StableSwapMaths.Product.Last : StableSwapMaths.Product.Each,
                1,
                precise,
                RELEASE == Release.NG
            ),
            sold,
            bought,
            dx
        );
        require(dy >= minDy, "Exchange resulted in fewer coins than expected");
        balances[sold] += dx;
        balances[bought] -= dy;
        _call(
            coins[sold],
            abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, address(this), dx)
        );
        _call(coins[bought], abi.encodeWithSignature("transfer(address,uint256)", msg.sender, dy));
    }

    function _call(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "TRANSFER");
    }
}
