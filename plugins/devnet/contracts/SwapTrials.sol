// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

interface IBalance {
    function balanceOf(address account) external view returns (uint256);
}

/// Tries many swaps in one call, each on the same state: for tests. Its code is put at the account that swaps.
contract SwapTrials {
    struct Swap {
        address target;
        uint256 value;
        bytes data;
        address tokenIn;
        address tokenOut;
        address recipient;
    }

    /// How a swap ended: what it took, paid, used, and left at its target.
    error Tried(uint256 spent, uint256 received, uint256 gasUsed, uint256 leftIn, uint256 leftOut);

    error Reverted(bytes reason);

    receive() external payable {}

    function tryAll(Swap[] calldata swaps) external returns (bytes[] memory outcomes) {
        outcomes = new bytes[](swaps.length);
        for (uint256 i = 0; i < swaps.length; i++) {
            try this.tryOne(swaps[i]) {}
            catch (bytes memory outcome) {
                outcomes[i] = outcome;
            }
        }
    }

    /// Always reverts, so that the next swap begins where this one did.
    function tryOne(Swap calldata swap) external {
        uint256 held = _balance(swap.tokenIn, address(this));
        uint256 had = _balance(swap.tokenOut, swap.recipient);
        uint256 gasBefore = gasleft();
        (bool done, bytes memory reason) = swap.target.call{value: swap.value}(swap.data);
        uint256 gasUsed = gasBefore - gasleft();
        if (!done) revert Reverted(reason);
        revert Tried(
            held - _balance(swap.tokenIn, address(this)),
            _balance(swap.tokenOut, swap.recipient) - had,
            gasUsed,
            _balance(swap.tokenIn, swap.target),
            _balance(swap.tokenOut, swap.target)
        );
    }

    function _balance(address token, address account) private view returns (uint256) {
        return token == address(0) ? account.balance : IBalance(token).balanceOf(account);
    }
}
