"""What a rollup charges for a transaction's data on the chain that it settles on (L1), beside its own gas.

OP-stack chains charge by the length that FastLZ makes of the transaction, from the Fjord upgrade on. Source:
optimism, GasPriceOracle 1.3.0 (``_getL1FeeFjord``); the operator fee of Isthmus is not in it. Arbitrum
charges by the length that Brotli makes of the calldata, for which that of FastLZ stands here: its fee is an
estimate, and its nodes count it as gas. Source: nitro, ArbGasInfo.getPricesInWei.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cachetools import LRUCache

from quoteway.errors import GatewayError
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.chain import RpcChain
from quoteway.evm.fastlz import compressed_length
from quoteway.models import Block, Call, Step
from quoteway.networks import L1FeeKind

log = logging.getLogger("quoteway.evm")

_READ_S = 2.0
"""How long the prices of a block are waited for: they are no reason to refuse a quote."""
_MOST_WEI = 1 << 80
_FIRST_LEG_BYTES, _LEG_BYTES = 220, 45
"""What a swap's transaction that is not built yet compresses to: with one pool, and for each further one.
Measured on calldata of the Universal Router."""


class L1Price(Protocol):
    """Prices of data at one block."""

    def of(self, steps: Iterable[Step]) -> int:
        """Returns the fee of built transactions in wei."""

    def of_legs(self, legs: int) -> int:
        """Returns an estimate in wei of the fee of a swap through so many pools."""


# --- OP stack -----------------------------------------------------------------------------------------------

_ORACLE = "0x420000000000000000000000000000000000000F"
_GETTERS = ("isFjord", "l1BaseFee", "baseFeeScalar", "blobBaseFee", "blobBaseFeeScalar")
_SIGNATURE_BYTES = 68
"""What the oracle adds for the signature."""


@dataclass(frozen=True, slots=True)
class OpStackPrice:
    """``scaled`` is ``feeScaled`` of the GasPriceOracle: wei per compressed byte, times 10^6."""

    scaled: int

    def of(self, steps: Iterable[Step]) -> int:
        return sum(self.of_length(compressed_length(unsigned(step))) for step in steps)

    def of_legs(self, legs: int) -> int:
        return self.of_length(_length_of(legs))

    def of_length(self, length: int) -> int:
        """Returns the fee of an unsigned transaction that FastLZ compresses to ``length`` bytes."""
        size = max(836_500 * (length + _SIGNATURE_BYTES) - 42_585_600, 100_000_000)
        return size * self.scaled // 10**12


def _op_stack(words: Sequence[int]) -> OpStackPrice | None:
    is_fjord, base_fee, base_scalar, blob_fee, blob_scalar = words
    return OpStackPrice(base_scalar * 16 * base_fee + blob_scalar * blob_fee) if is_fjord else None


def unsigned(step: Step) -> bytes:
    """Returns an unsigned EIP-1559 transaction with nonce, gas and fees of a usual length."""
    fields = [
        _integer(step.chain_id),
        _text(b"\x3a\x9c"),  # nonce
        _text(b"\x0f\x42\x41"),  # maxPriorityFeePerGas
        _text(b"\x3b\x9a\xca\x17"),  # maxFeePerGas
        _text(b"\x04\x93\xe1"),  # gas limit
        _text(address_bytes(step.to)),
        _integer(step.value),
        _text(step.data),
        b"\xc0",  # access list
    ]
    body = b"".join(fields)
    return b"\x02" + _prefix(len(body), 0xC0) + body


def _integer(value: int) -> bytes:
    return _text(value.to_bytes((value.bit_length() + 7) // 8))


def _text(data: bytes) -> bytes:
    """Returns the RLP of bytes (Yellow Paper, appendix B)."""
    return data if len(data) == 1 and data[0] < 0x80 else _prefix(len(data), 0x80) + data


def _prefix(length: int, offset: int) -> bytes:
    if length < 56:
        return bytes([offset + length])
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes([offset + 55 + len(size)]) + size


# --- Arbitrum -----------------------------------------------------------------------------------------------

_GAS_INFO = "0x000000000000000000000000000000000000006C"


@dataclass(frozen=True, slots=True)
class ArbitrumPrice:
    """Wei for a transaction without calldata, and for each compressed byte of calldata."""

    transaction_wei: int
    byte_wei: int

    def of(self, steps: Iterable[Step]) -> int:
        return sum(self.transaction_wei + compressed_length(step.data) * self.byte_wei for step in steps)

    def of_legs(self, legs: int) -> int:
        return self.transaction_wei + _length_of(legs) * self.byte_wei


# --- prices of a block --------------------------------------------------------------------------------------

_READS: Mapping[L1FeeKind, tuple[Call, ...]] = {
    "op-stack": tuple(Call(_ORACLE, function(f"{name}() returns (uint256)").encode([])) for name in _GETTERS),
    "arbitrum": (Call(_GAS_INFO, function("getPricesInWei() returns (uint256)").encode([])),),
}


def _length_of(legs: int) -> int:
    return _FIRST_LEG_BYTES + _LEG_BYTES * max(legs - 1, 0)


@dataclass(frozen=True, slots=True)
class L1Prices:
    """The prices of the chains' newest blocks, each read once."""

    _known: LRUCache[str, L1Price | None] = field(default_factory=lambda: LRUCache(256))
    _reading: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def at_head(self, chain: RpcChain) -> L1Price | None:
        """Returns the prices at the head, as ``at`` does."""
        if chain.network.l1_fee is None:
            return None
        try:
            return await self.at(chain, await chain.head())
        except GatewayError:
            return None

    async def at(self, chain: RpcChain, block: Block) -> L1Price | None:
        """Returns the prices at ``block``. None: the network charges nothing, or they cannot be read."""
        kind = chain.network.l1_fee
        if kind is None:
            return None
        # Providers and the core ask at once: who comes second waits for the answer of the first.
        async with self._reading[chain.network.slug]:
            if block.hash in self._known:
                return self._known[block.hash]
            try:
                async with asyncio.timeout(_READ_S):
                    answers = await chain.call_many(_READS[kind], block=block)
                    price = self._known[block.hash] = _price(kind, answers)
            except (GatewayError, TimeoutError, ValueError) as error:
                log.warning("the L1 fee of %s is not known: %s", chain.network.slug, error or "no answer")
                return None
        return price


def _price(kind: L1FeeKind, answers: Sequence[object]) -> L1Price | None:
    """Raises ``ValueError`` for answers that are none."""
    outputs = [answer for answer in answers if isinstance(answer, bytes) and answer and not len(answer) % 32]
    if len(outputs) != len(answers):
        raise ValueError("the contract that tells it does not answer")
    if kind == "op-stack":
        return _op_stack([_word(output, 0) for output in outputs])
    return ArbitrumPrice(_word(outputs[0], 0), _word(outputs[0], 1))


def _word(output: bytes, at: int) -> int:
    """Returns a number. Raises ``ValueError`` for one that is no price."""
    word = int.from_bytes(output[32 * at : 32 * (at + 1)])
    if word >= _MOST_WEI:
        raise ValueError(f"{word} is no price in wei")
    return word
