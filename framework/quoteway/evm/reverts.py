"""Puts the reason of a revert into words that are safe to show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from quoteway.errors import RpcError
from quoteway.evm.abi import Function, decode, function

_ERROR = bytes.fromhex("08c379a0")  # Error(string)
_PANIC = bytes.fromhex("4e487b71")  # Panic(uint256)
_MAX_CHARS = 200
_MAX_NESTING = 4

# Solidity documentation, "Panic via assert and Error via require".
_PANICS = {
    0x00: "generic panic",
    0x01: "assertion failed",
    0x11: "arithmetic overflow or underflow",
    0x12: "division by zero",
    0x21: "value out of range of its enum",
    0x22: "wrongly encoded storage byte array",
    0x31: "pop of an empty array",
    0x32: "array index out of bounds",
    0x41: "out of memory",
    0x51: "call of an uninitialised function",
}

# Custom errors (Solidity documentation, "Errors and the Revert Statement"). Arguments stand in braces, by
# place. ``{reason}`` is the nested revert data in words.
_WORDS: Mapping[str, str] = {
    # Uniswap universal-router: V2SwapRouter, V3SwapRouter, V4Router, Dispatcher, Payments, IUniversalRouter.
    "V2TooLittleReceived()": "the swap gives less than its minimum",
    "V2TooMuchRequested()": "the swap takes more than its maximum",
    "V2InvalidPath()": "the path of the swap is invalid",
    "V3TooLittleReceived()": "the swap gives less than its minimum",
    "V3TooMuchRequested()": "the swap takes more than its maximum",
    "V3InvalidAmountOut()": "the pool cannot give the whole amount",
    "V3InvalidSwap()": "the pool has no liquidity for this swap",
    "V3InvalidCaller()": "the caller is not a pool of this factory",
    "V4TooLittleReceived(uint256,uint256)": "the swap gives {1}, less than its minimum of {0}",
    "V4TooMuchRequested(uint256,uint256)": "the swap takes {1}, more than its maximum of {0}",
    "V4TooLittleReceivedPerHop(uint256,uint256,uint256)": "hop {0} of the swap is below its minimum price",
    "V4TooMuchRequestedPerHop(uint256,uint256,uint256)": "hop {0} of the swap is above its maximum price",
    "TransactionDeadlinePassed()": "the deadline of the transaction has passed",
    "ExecutionFailed(uint256 command,bytes reason)": "command {0} failed: {reason}",
    "InvalidCommandType(uint256)": "the router does not know command {0}",
    "SliceOutOfBounds()": "the input of a command is too short",
    "InsufficientToken()": "the router holds less of the token than it has to pay",
    "InsufficientETH()": "the router holds less of the native coin than it has to pay",
    "InvalidEthSender()": "only the wrapped coin and pools may send the native coin to the router",
    "BalanceTooLow()": "the balance is below the required one",
    "LengthMismatch()": "two lists have different lengths",
    "FromAddressIsNotOwner()": "the tokens do not belong to the sender",
    # Uniswap v4-core and v4-periphery.
    "PoolNotInitialized()": "the pool does not exist",
    "CurrencyNotSettled()": "the pool was not paid in full",
    "SwapAmountCannotBeZero()": "the amount of the swap is zero",
    "DeadlinePassed(uint256)": "the deadline {0} has passed",
    "MaximumAmountExceeded(uint128,uint128)": "it takes {1}, more than the maximum of {0}",
    "MinimumAmountInsufficient(uint128,uint128)": "it gives {1}, less than the minimum of {0}",
    "WrappedError(address,bytes4,bytes reason,bytes)": "the call to {0} failed: {reason}",
    # Permit2.
    "AllowanceExpired(uint256)": "the Permit2 allowance expired at {0}",
    "InsufficientAllowance(uint256)": "the Permit2 allowance is only {0}",
    "ExcessiveInvalidation()": "too many Permit2 nonces are invalidated at once",
    "InvalidNonce()": "the Permit2 nonce is used already",
    "InvalidAmount(uint256)": "the amount is above the permitted {0}",
    "SignatureExpired(uint256)": "the signature expired at {0}",
    "InvalidSignature()": "the signature is invalid",
    "InvalidSignatureLength()": "the signature has a wrong length",
    "InvalidSigner()": "the signature is of another account",
    "InvalidContractSignature()": "the contract account does not accept the signature",
    # ERC-6093.
    "ERC20InsufficientBalance(address,uint256,uint256)": "{0} holds {1} of the token, {2} are needed",
    "ERC20InsufficientAllowance(address,uint256,uint256)": "{0} is allowed {1} of the token, {2} are needed",
    "ERC20InvalidSender(address)": "the token cannot be sent by {0}",
    "ERC20InvalidReceiver(address)": "the token cannot be sent to {0}",
    "ERC20InvalidApprover(address)": "{0} cannot approve",
    "ERC20InvalidSpender(address)": "{0} cannot be approved",
    "ERC721NonexistentToken(uint256)": "the NFT {0} does not exist",
    "ERC721InsufficientApproval(address,uint256)": "{0} is not approved for the NFT {1}",
    "ERC721IncorrectOwner(address,uint256,address)": "the NFT {1} does not belong to {0}",
    "ERC721InvalidReceiver(address)": "the NFT cannot be sent to {0}",
    # OpenZeppelin contracts.
    "ERC4626ExceededMaxDeposit(address,uint256,uint256)": "the deposit of {1} is above the limit of {2}",
    "ERC4626ExceededMaxMint(address,uint256,uint256)": "the mint of {1} is above the limit of {2}",
    "ERC4626ExceededMaxWithdraw(address,uint256,uint256)": "the withdrawal of {1} is above the limit of {2}",
    "ERC4626ExceededMaxRedeem(address,uint256,uint256)": "the redemption of {1} is above the limit of {2}",
    "ERC2612ExpiredSignature(uint256)": "the permit expired at {0}",
    "ERC2612InvalidSigner(address,address)": "the permit is altered, used already, or not signed by {1}",
    "SafeERC20FailedOperation(address)": "a transfer or approval of the token {0} failed",
    "OwnableUnauthorizedAccount(address)": "{0} is not the owner",
    "AccessControlUnauthorizedAccount(address,bytes32)": "{0} lacks the role {1}",
    "EnforcedPause()": "the contract is paused",
    "ReentrancyGuardReentrantCall()": "the contract was entered twice",
    # Across SpokePool.
    "InvalidQuoteTimestamp()": "the quote of the transfer is too old, or from the future",
    "InvalidFillDeadline()": "the fill deadline is too far away, or has passed",
    "InvalidExclusiveRelayer()": "the exclusive relayer is missing",
    "MsgValueDoesNotMatchInputAmount()": "the native coin sent is not the amount of the transfer",
    "DepositsArePaused()": "deposits are paused",
    "MaxTransferSizeExceeded()": "the transfer is above the largest size",
    "DisabledRoute()": "the route is disabled",
}


def revert_data(error: RpcError) -> bytes | None:
    """The revert data in a node's error object (geth and anvil: code 3, hex ``data``); None without."""
    data = error.data
    if not isinstance(data, str) or not data.startswith("0x"):
        return None
    try:
        return bytes.fromhex(data[2:])
    except ValueError:
        return None


def revert_reason(data: bytes, levels: int = _MAX_NESTING) -> str:
    """The text of ``Error(string)``, the meaning of ``Panic(uint256)`` or of a known custom error with its
    name, else the selector. The contract chooses its text freely: it is cut and made printable. An error
    inside another is read ``levels`` deep.
    """
    if not data:
        return "reverted without a reason"
    if len(data) < 4:
        return "reverted with unreadable data"
    selector, body = data[:4], data[4:]
    try:
        if selector == _ERROR:
            (message,) = decode(["string"], body)
            shown = "".join(char if char.isprintable() else "?" for char in message[:_MAX_CHARS])
            return shown or "reverted with an empty reason"
        if selector == _PANIC:
            (code,) = decode(["uint256"], body)
            return f"{_PANICS.get(code, 'panic')} (panic 0x{code:02x})"
        known = known_errors().get(selector)
        if known is not None and levels:
            return _in_words(*known, data, levels)
    except ValueError:
        pass
    return f"custom error 0x{selector.hex()}"


def _in_words(error: Function, words: str, data: bytes, levels: int) -> str:
    values = error.decode(data)
    shown = ["0x" + value.hex() if isinstance(value, bytes) else value for value in values]
    if "reason" in error.names:
        nested = values[error.names.index("reason")]
        return words.format(*shown, reason=revert_reason(nested, levels - 1))
    return f"{words.format(*shown)} ({error.signature.partition('(')[0]})"


@cache
def known_errors() -> Mapping[bytes, tuple[Function, str]]:
    """The errors by selector: their declaration and the words."""
    declared = [(function(signature), words) for signature, words in _WORDS.items()]
    return {error.selector: (error, words) for error, words in declared}
