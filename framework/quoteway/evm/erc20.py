"""ERC-20 tokens (EIP-20): functions, metadata, balances and transfer tax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from quoteway import models
from quoteway.context import Chain
from quoteway.evm.abi import event_topic, function
from quoteway.evm.address import unused_address
from quoteway.evm.token_text import shown_name, shown_symbol
from quoteway.models import NATIVE, Address, At, Block, Call, NativeBalance, Read, SimulatedCall, Token

APPROVE = function("approve(address spender, uint256 amount) returns (bool)")
"""Sets what a spender may take. Some tokens return nothing: do not decode the output."""
ALLOWANCE = function("allowance(address owner, address spender) returns (uint256)")
"""What a spender may take of an owner's tokens, in base units."""
BALANCE_OF = function("balanceOf(address account) returns (uint256)")
"""The balance of an account, in base units."""
TRANSFER = function("transfer(address to, uint256 amount) returns (bool)")
"""Sends tokens of the caller. Some tokens return nothing: do not decode the output."""
DECIMALS = function("decimals() returns (uint8)")
"""How many decimals a whole token has."""
SYMBOL = function("symbol() returns (string)")
"""The symbol. Some old tokens return ``bytes32``."""
NAME = function("name() returns (string)")
"""The name. Some old tokens return ``bytes32``."""
TOTAL_SUPPLY = function("totalSupply() returns (uint256)")
"""All tokens that exist, in base units."""

TRANSFER_EVENT = event_topic("Transfer(address,address,uint256)")
"""The first topic of the log of a transfer."""
APPROVAL_EVENT = event_topic("Approval(address,address,uint256)")
"""The first topic of the log of an approval."""

_MAX_TEXT_BYTES = 1_024
_NAMED_BYTES = 160


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token as its contract describes it, with the symbol and name that may be shown.

    ``raw_symbol`` and ``raw_name`` are the contract's as they are, to find look-alikes and links. Never show
    them.
    """

    token: Token
    raw_symbol: str | None = None
    raw_name: str | None = None


async def token_facts(chain: Chain, address: Address, block: At | None = "latest") -> Token | None:
    """Reads a token's metadata in one round trip; None when the address is no ERC-20 token.

    ``NATIVE`` gives the network's coin without a request.
    """
    network = chain.network
    if address == NATIVE:
        return Token(
            network.chain_id, NATIVE, network.native_decimals, network.native_symbol, network.native_name
        )
    found = await read_tokens(chain, [address], block)
    return found[address].token if found else None


async def read_tokens(
    chain: Chain, addresses: Sequence[Address], block: At | None = "latest"
) -> dict[Address, TokenFacts]:
    """Reads the metadata of tokens in one round trip. Leaves out addresses that are no ERC-20 token.

    A token has ``decimals`` (at most 255) and ``totalSupply``. ``symbol`` and ``name`` may be ``string`` or,
    as in old tokens such as MKR, ``bytes32``; those that may not be shown (``token_text``) are None.
    """
    reads = [read for address in addresses for read in metadata_reads(address)]
    outputs = iter(await chain.call_many(reads, block=block))
    found: dict[Address, TokenFacts] = {}
    for address, decimals, supply, symbol, name in zip(addresses, *[outputs] * 4, strict=True):
        places = word(decimals)
        if places is not None and places <= 255 and word(supply) is not None:
            found[address] = facts_of(chain.network.chain_id, address, places, symbol, name)
    return found


def metadata_reads(address: Address) -> tuple[Call, ...]:
    """The reads of a token's decimals, total supply, symbol and name."""
    return (
        Call(address, DECIMALS.encode([])),
        Call(address, TOTAL_SUPPLY.encode([])),
        Call(address, SYMBOL.encode([]), max_output=_MAX_TEXT_BYTES),
        Call(address, NAME.encode([]), max_output=_MAX_TEXT_BYTES),
    )


def facts_of(chain_id: int, address: Address, decimals: int, symbol: object, name: object) -> TokenFacts:
    """The facts of a token by the outputs of ``symbol()`` and ``name()``."""
    raw_symbol, raw_name = text(symbol), text(name)
    token = Token(chain_id, address, decimals, shown_symbol(raw_symbol), shown_name(raw_name))
    return TokenFacts(token, raw_symbol, raw_name)


async def read_names(
    chain: Chain, tokens: Sequence[Address], block: At | None = "latest"
) -> list[tuple[object, object]]:
    """The outputs of ``symbol()`` and ``name()`` of each token, of at most 96 bytes of text. One call up to
    70 tokens."""
    reads = [
        Call(token, method.encode([]), max_output=_NAMED_BYTES)
        for token in tokens
        for method in (SYMBOL, NAME)
    ]
    outputs = iter(await chain.call_many(reads, block=block))
    return list(zip(outputs, outputs, strict=True))


@lru_cache(maxsize=8192)
def balance_read(account: Address, token: Address) -> Read:
    """The read of the account's balance of a token (``NATIVE``: the chain's coin)."""
    return NativeBalance(account) if token == NATIVE else Call(token, BALANCE_OF.encode([account]))


@lru_cache(maxsize=8192)
def allowance_read(token: Address, owner: Address, spender: Address) -> Read:
    """The read of the owner's allowance for a spender."""
    return Call(token, ALLOWANCE.encode([owner, spender]))


async def transfer_tax(
    chain: Chain, token: Address, holder: Address, amount: int, block: Block | None = None
) -> tuple[int, int] | None:
    """Simulates a transfer: what leaves ``holder`` and what the recipient gets, in base units.

    A plain token gives ``(amount, amount)``. ``holder`` must have the amount, as a pool of the token does.
    None when the node has no ``eth_simulateV1`` or the transfer fails.
    """
    block = block or await chain.head()
    receiver = unused_address("quoteway.transfer_tax")
    reads = [
        SimulatedCall(NATIVE, token, BALANCE_OF.encode([account]), gas=500_000)
        for account in (holder, receiver)
    ]
    transfer = SimulatedCall(holder, token, TRANSFER.encode([receiver, amount]))
    try:
        results = await chain.simulate([*reads, transfer, *reads], block=block)
    except models.SimulationUnsupported:
        return None
    if not all(result.ok for result in results):
        return None
    sent_before, got_before, _, sent_after, got_after = (word(result.output) for result in results)
    if sent_before is None or got_before is None or sent_after is None or got_after is None:
        return None
    return sent_before - sent_after, got_after - got_before


def word(output: object) -> int | None:
    """The first word of a call's output as an integer; None when the call failed or gave less."""
    return int.from_bytes(output[:32], "big") if isinstance(output, bytes) and len(output) >= 32 else None


def text(output: object) -> str | None:
    """The text in the output of ``symbol()`` or ``name()``; None without one."""
    if not isinstance(output, bytes) or len(output) < 32:
        return None
    raw = output[:32].rstrip(b"\0") if len(output) == 32 else _string(output)
    try:
        return (raw or b"").decode().strip() or None
    except UnicodeDecodeError:
        return None


def _string(output: bytes) -> bytes | None:
    """The bytes of an ABI ``string``, with or without padding: some tokens omit it."""
    start = int.from_bytes(output[:32], "big") + 32
    if start > len(output):
        return None
    end = start + int.from_bytes(output[start - 32 : start], "big")
    return output[start:end] if end <= len(output) else None
