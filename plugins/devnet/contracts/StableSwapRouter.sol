// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

interface IExchange {
    function exchange(int128 i, int128 j, uint256 dx, uint256 minDy) external;

    function balanceOf(address account) external view returns (uint256);
}

/// Ours, for tests: swaps between ERC-20 tokens by pools' `exchange`, with the interface of Curve's Router NG 1.0 and
/// 1.1. As theirs, it goes on with all that it holds of a coin, and keeps one base unit of the last. It is not the
/// makers' contract, of which no package registry has a copy.
contract StableSwapRouter {
    mapping(address => mapping(address => bool)) private approved;

    function exchange(
        address[11] calldata route,
        uint256[5][5] calldata swapParams,
        uint256 amount,
        uint256 minDy,
        address[5] calldata,
        address receiver
    ) external payable returns (uint256) {
        require(msg.value == 0);
        address sold = route[0];
        address bought;
        _call(
            sold,
            abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, address(this), amount)
        );
        for (uint256 k; k < 5; k++) {
            address pool = route[2 * k + 1];
            bought = route[2 * k + 2];
            if (!approved[sold][pool]) {
                _call(sold, abi.encodeWithSignature("approve(address,uint256)", pool, type(uint256).max));
                approved[sold][pool] = true;
            }
            uint256[5] calldata params = swapParams[k];
            require(params[2] == 1 && (params[3] == 1 || params[3] == 10), "Bad swap type");
            IExchange(pool).exchange(int128(uint128(params[0])), int128(uint128(params[1])), amount, 0);
            amount = IExchange(bought).balanceOf(address(this));
            require(amount != 0, "Received nothing");
            if (k == 4 || route[2 * k + 3] == address(0)) break;
            sold = bought;
        }
        amount -= 1;
        require(amount >= minDy, "Slippage");
        _call(bought, abi.encodeWithSignature("transfer(address,uint256)", receiver, amount));
        return amount;
    }

    function _call(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "TRANSFER");
    }
}
