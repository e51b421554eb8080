// SPDX-License-Identifier: GPL-2.0-or-later
pragma solidity 0.8.26;

/// @title PancakePoolDeployer: deploys the pools of PancakeSwap v3, for tests
/// @notice Ours: the makers' deployer is in no package. It does what their IPancakeV3PoolDeployer says. The init code
/// of the pool is theirs, so that pools have the addresses that their periphery computes from this deployer.
contract PancakePoolDeployer {
    struct Parameters {
        address factory;
        address token0;
        address token1;
        uint24 fee;
        int24 tickSpacing;
    }

    Parameters public parameters;
    address public factory;
    bytes private initCode;

    /// Takes the factory and the pool's init code, once.
    function setUp(address factory_, bytes calldata initCode_) external {
        require(factory == address(0), "set up already");
        factory = factory_;
        initCode = initCode_;
    }

    function deploy(address factory_, address token0, address token1, uint24 fee, int24 tickSpacing)
        external
        returns (address pool)
    {
        require(msg.sender == factory, "not the factory");
        parameters = Parameters(factory_, token0, token1, fee, tickSpacing);
        bytes memory code = initCode;
        bytes32 salt = keccak256(abi.encode(token0, token1, fee));
        assembly ("memory-safe") {
            pool := create2(0, add(code, 32), mload(code), salt)
        }
        require(pool != address(0), "not deployed");
        delete parameters;
    }
}
