// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ManagedVault} from "./ManagedVault.sol";

/// @title Deploys managed vaults at predictable addresses
/// @notice UNAUDITED. Anyone may deploy for anyone: the address commits to all arguments (CREATE2), so the vault does
/// not depend on the sender.
contract ManagedVaultFactory {
    ManagedVault[] public vaults;
    mapping(address => bool) public isVault;

    event VaultDeployed(
        address indexed vault, address indexed asset, address indexed owner, address bot, address strategy, bytes32 salt
    );

    function deploy(IERC20 asset, address owner, address bot, IERC4626 strategy, bytes32 salt)
        external
        returns (ManagedVault vault)
    {
        vault = new ManagedVault{salt: salt}(asset, owner, bot, strategy);
        vaults.push(vault);
        isVault[address(vault)] = true;
        emit VaultDeployed(address(vault), address(asset), owner, bot, address(strategy), salt);
    }

    function vaultCount() external view returns (uint256) {
        return vaults.length;
    }

    /// @notice CREATE2's init code hash: of the creation code followed by the constructor's arguments.
    function initCodeHash(IERC20 asset, address owner, address bot, IERC4626 strategy) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(type(ManagedVault).creationCode, abi.encode(asset, owner, bot, strategy)));
    }

    function predict(IERC20 asset, address owner, address bot, IERC4626 strategy, bytes32 salt)
        external
        view
        returns (address)
    {
        bytes32 digest =
            keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, initCodeHash(asset, owner, bot, strategy)));
        return address(uint160(uint256(digest)));
    }
}
