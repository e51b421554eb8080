"""The SpokePool's calls, events and hashes (across-protocol/contracts 5.0.27, ``SpokePool.sol``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quoteway import Address
from quoteway.evm import abi
from quoteway.evm.abi import event_topic, function
from quoteway.evm.address import address_bytes, checksum, keccak256

DEPOSIT = function(
    "depositV3(address depositor, address recipient, address inputToken, address outputToken, "
    "uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, address exclusiveRelayer, "
    "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
)
FILL_STATUSES = function("fillStatuses(bytes32 relayHash) returns (uint256)")
QUOTE_TIME_BUFFER = function("depositQuoteTimeBuffer() returns (uint32)")
FILL_DEADLINE_BUFFER = function("fillDeadlineBuffer() returns (uint32)")

FUNDS_DEPOSITED = event_topic(
    "FundsDeposited(bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,uint32,bytes32,bytes32,"
    "bytes32,bytes)"
)
FILLED_RELAY = event_topic(
    "FilledRelay(bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint32,uint32,bytes32,bytes32,"
    "bytes32,bytes32,bytes32,(bytes32,bytes32,uint256,uint8))"
)
REFUND_EXECUTED = event_topic(
    "ExecutedRelayerRefundRoot(uint256,uint256,uint256[],uint32,uint32,address,address[],bool,address)"
)

REQUESTED_SLOW_FILL, FILLED = 1, 2
"""V3SpokePoolInterface.FillStatus; 0: unfilled."""
MAX_EXCLUSIVITY_PERIOD_S = 31_536_000
"""Up to this value the exclusivity parameter is a duration from the deposit; above it, a Unix time."""
DELEGATED_CODE = bytes.fromhex("ef0100")
"""EIP-7702: an account whose code starts with this is a wallet, paid in the native coin."""

_DEPOSITED_DATA = (
    *("bytes32", "bytes32", "uint256", "uint256", "uint32", "uint32", "uint32"),
    *("bytes32", "bytes32", "bytes"),
)
_REFUND_DATA = ("uint256", "uint256[]", "address", "address[]", "bool", "address")
_RELAY = "(bytes32,bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,bytes)"


@dataclass(frozen=True, slots=True)
class Deposit:
    """A deposit as its event describes it. Accounts and tokens are 32 bytes: some chains have no EVM
    addresses."""

    origin_chain_id: int
    destination_chain_id: int
    deposit_id: int
    depositor: bytes
    recipient: bytes
    token_in: bytes
    token_out: bytes
    amount_in: int
    amount_out: int
    fill_deadline: int
    relay_hash: bytes
    """The key of ``fillStatuses`` on the destination (``getV3RelayHash``)."""


def read_deposit(origin_chain_id: int, topics: Sequence[str], data: bytes) -> Deposit:
    """Reads the deposit in a ``FundsDeposited`` log. Raises ValueError."""
    destination, deposit_id = int(topics[1], 16), int(topics[2], 16)
    depositor = bytes.fromhex(topics[3][2:])
    values = abi.decode(_DEPOSITED_DATA, data)
    token_in, token_out, amount_in, amount_out, _, fill_deadline, exclusive_until, *rest = values
    recipient, relayer, message = rest
    relay = (
        *(depositor, recipient, relayer, token_in, token_out, amount_in, amount_out),
        *(origin_chain_id, deposit_id, fill_deadline, exclusive_until, message),
    )
    return Deposit(
        origin_chain_id,
        destination,
        deposit_id,
        depositor,
        recipient,
        token_in,
        token_out,
        amount_in,
        amount_out,
        fill_deadline,
        keccak256(abi.encode((_RELAY, "uint256"), (relay, destination))),
    )


def refunds(entry: Mapping[str, Any]) -> tuple[Address, dict[Address, int], bool]:
    """Reads an ``ExecutedRelayerRefundRoot`` log: the token, the amount of each account, and whether payments
    failed and must be claimed. Raises ValueError."""
    data = bytes.fromhex(entry["data"][2:])
    _, amounts, token, accounts, deferred, _ = abi.decode(_REFUND_DATA, data)
    paid: dict[Address, int] = {}
    for account, amount in zip(accounts, amounts, strict=True):
        paid[account] = paid.get(account, 0) + amount
    return token, paid, deferred


def word_of(address: Address) -> bytes:
    """Returns an address as bytes32."""
    return bytes(12) + address_bytes(address)


def address_of(word: bytes) -> Address:
    """Returns the address in the low 20 bytes of a word."""
    return checksum("0x" + word[12:].hex())
