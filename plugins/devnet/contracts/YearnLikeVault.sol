// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// Ours, for tests: a vault with `deposit` and `withdraw` as in Yearn's vaults of version 2, and other names than
/// EIP-4626 for the rest. Assets sent to it are its yield. It is not the makers' contract, and locks no profit.
contract YearnLikeVault is ERC20 {
    using SafeERC20 for IERC20Metadata;

    IERC20Metadata public immutable token;

    constructor(IERC20Metadata token_) ERC20("Yearn-like vault", "yvLIKE") {
        token = token_;
    }

    function decimals() public view override returns (uint8) {
        return token.decimals();
    }

    function totalAssets() public view returns (uint256) {
        return token.balanceOf(address(this));
    }

    function sharesForAmount(uint256 amount) public view returns (uint256) {
        return totalSupply() == 0 ? amount : amount * totalSupply() / totalAssets();
    }

    function amountForShares(uint256 shares) public view returns (uint256) {
        return totalSupply() == 0 ? shares : shares * totalAssets() / totalSupply();
    }

    function deposit(uint256 amount, address recipient) external returns (uint256 shares) {
        shares = sharesForAmount(amount);
        require(shares > 0, "NOTHING");
        token.safeTransferFrom(msg.sender, address(this), amount);
        _mint(recipient, shares);
    }

    function withdraw(uint256 maxShares, address recipient) external returns (uint256 value) {
        value = amountForShares(maxShares);
        require(value > 0, "NOTHING");
        _burn(msg.sender, maxShares);
        token.safeTransfer(recipient, value);
    }
}
