// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {StableSwapMaths} from "./StableSwapMaths.sol";

interface IDecimals {
    function decimals() external view returns (uint8);
}

/// Ours, for tests: a pool with the interface of Curve's StableSwap pools, over the published maths. It is not the
/// makers' contract, of which no package registry has a copy. A pool answers the functions of its release alone, and
/// logs the events of its release: arrays have a fixed length before NG. Changes of liquidity cost no fee.
contract StableSwapPool {
    event TokenExchange(
        address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought
    );
    event AddLiquidity(
        address indexed provider, uint256[] token_amounts, uint256[] fees, uint256 invariant, uint256 token_supply
    );
    event RemoveLiquidity(
        address indexed provider, uint256[] token_amounts, uint256[] fees, uint256 token_supply
    );
    event RemoveLiquidityImbalance(
        address indexed provider, uint256[] token_amounts, uint256[] fees, uint256 invariant, uint256 token_supply
    );
    event RemoveLiquidityOne(
        address indexed provider, int128 token_id, uint256 token_amount, uint256 coin_amount, uint256 token_supply
    );

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
    uint256 private supply;

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
        bool first = supply == 0;
        for (uint256 k; k < amounts.length; k++) {
            balances[k] += amounts[k];
            _take(k, amounts[k]);
        }
        supply += _worth(amounts);
        if (RELEASE == Release.NG) {
            // The makers' pools tell no fees of the first deposit.
            emit AddLiquidity(msg.sender, amounts, new uint256[](first ? 0 : amounts.length), supply, supply);
        } else {
            _log("AddLiquidity", ",uint256,uint256)", amounts, abi.encode(supply, supply));
        }
    }

    /// Pays a share of all balances, in parts of 1e18.
    function remove(uint256 share) external {
        uint256[] memory amounts = new uint256[](balances.length);
        for (uint256 k; k < amounts.length; k++) {
            amounts[k] = balances[k] * share / 1e18;
            _pay(k, amounts[k]);
        }
        supply -= supply * share / 1e18;
        if (RELEASE == Release.NG) {
            emit RemoveLiquidity(msg.sender, amounts, new uint256[](0), supply);
        } else {
            _log("RemoveLiquidity", ",uint256)", amounts, abi.encode(supply));
        }
    }

    function removeImbalance(uint256[] calldata amounts) external {
        for (uint256 k; k < amounts.length; k++) {
            _pay(k, amounts[k]);
        }
        supply -= _worth(amounts);
        if (RELEASE == Release.NG) {
            emit RemoveLiquidityImbalance(msg.sender, amounts, new uint256[](amounts.length), supply, supply);
        } else {
            _log("RemoveLiquidityImbalance", ",uint256,uint256)", amounts, abi.encode(supply, supply));
        }
    }

    function removeOne(int128 i, uint256 amount) external {
        require(RELEASE == Release.NG);
        uint256 burned = amount * rates[uint256(int256(i))] / 1e18;
        _pay(uint256(int256(i)), amount);
        supply -= burned;
        emit RemoveLiquidityOne(msg.sender, i, burned, amount, supply);
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
        _take(sold, dx);
        _call(coins[bought], abi.encodeWithSignature("transfer(address,uint256)", msg.sender, dy));
        emit TokenExchange(msg.sender, i, dx, j, dy);
    }

    /// Logs an event with two arrays of a fixed length: amounts, and fees of nothing.
    function _log(string memory name, string memory rest, uint256[] memory amounts, bytes memory more) private {
        bytes memory array = abi.encodePacked("uint256[", bytes1(uint8(48 + amounts.length)), "]");
        bytes32 topic = keccak256(abi.encodePacked(name, "(address,", array, ",", array, rest));
        bytes memory data = abi.encodePacked(amounts, new uint256[](amounts.length), more);
        assembly {
            log2(add(data, 32), mload(data), topic, caller())
        }
    }

    function _worth(uint256[] calldata amounts) private view returns (uint256 worth) {
        for (uint256 k; k < amounts.length; k++) {
            worth += amounts[k] * rates[k] / 1e18;
        }
    }

    function _take(uint256 k, uint256 amount) private {
        _call(
            coins[k],
            abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, address(this), amount)
        );
    }

    function _pay(uint256 k, uint256 amount) private {
        balances[k] -= amount;
        _call(coins[k], abi.encodeWithSignature("transfer(address,uint256)", msg.sender, amount));
    }

    function _call(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "TRANSFER");
    }
}
