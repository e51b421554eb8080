// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {MintableToken} from "./MintableToken.sol";

/// @title An ERC-20 that burns 1 % of every transfer, so that the receiver gets less than was sent.
contract FeeOnTransferToken is MintableToken {
    uint256 public constant FEE_BPS = 100;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) MintableToken(name_, symbol_, decimals_) {}

    function _move(address from, address to, uint256 value) internal override {
        uint256 fee = value * FEE_BPS / 10_000;
        super._move(from, to, value - fee);
        super._move(from, address(0), fee);
        totalSupply -= fee;
        balanceOf[address(0)] = 0;
    }
}
