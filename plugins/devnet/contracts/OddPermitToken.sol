// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {PermitToken} from "./PermitToken.sol";

/// @title A token whose permit is not what EIP-2612 says, in one way, for local chains
contract OddPermitToken is PermitToken {
    enum Oddity {
        OtherDomain,
        PermitOfDai,
        DoesNothing,
        Refuses
    }

    error PermitsArePaused();

    Oddity public immutable oddity;

    constructor(string memory name_, string memory symbol_, uint8 decimals_, Oddity oddity_)
        PermitToken(name_, symbol_, decimals_)
    {
        oddity = oddity_;
    }

    function version() external pure returns (string memory) {
        return "1";
    }

    /// What it says of its domain, which DOMAIN_SEPARATOR() has another name of.
    function eip712Domain()
        public
        view
        override
        returns (bytes1 fields, string memory named, string memory, uint256, address, bytes32, uint256[] memory)
    {
        named = oddity == Oddity.OtherDomain ? "Another name" : name();
        return (hex"0f", named, "1", block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    function name() public view override returns (string memory) {
        return oddity == Oddity.OtherDomain ? "Another name" : super.name();
    }

    function PERMIT_TYPEHASH() external view returns (bytes32) {
        return oddity == Oddity.PermitOfDai
            ? keccak256("Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)")
            : keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        public
        override
    {
        if (oddity == Oddity.Refuses) revert PermitsArePaused();
        if (oddity != Oddity.DoesNothing) super.permit(owner, spender, value, deadline, v, r, s);
    }
}
