"""Reads the tokens of pools whose events name them by their places alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from quoteway import Chain
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.evm.chain import Call

_MOST: Final = 16
"""Tokens of a pool."""
_POOLS_A_CALL: Final = 20
_READ_GAS: Final = 100_000


class PoolTokens:
    """Asks pools for their tokens, which never change. ``getter`` is a function of one place, from 0."""

    def __init__(self, chain: Chain, getter: str) -> None:
        self._chain = chain
        self._getter = function(f"{getter} returns (address)")

    async def read(self, pools: Collection[bytes], block: int) -> dict[bytes, list[bytes]]:
        """Returns the tokens of each pool in their order, as they are at a block.

        Raises ``UpstreamError`` or ``RpcError`` when the chain cannot be read.
        """
        found: dict[bytes, list[bytes]] = {}
        wanted = sorted(pools)
        if not wanted:
            return found
        at = await self._chain.block(block)
        for first in range(0, len(wanted), _POOLS_A_CALL):
            part = wanted[first : first + _POOLS_A_CALL]
            calls = [
                Call(checksum("0x" + pool.hex()), self._getter.encode([place]), _READ_GAS, max_output=32)
                for pool in part
                for place in range(_MOST)
            ]
            words = [erc20.word(answer) for answer in await self._chain.call_many(calls, block=at)]
            for number, pool in enumerate(part):
                found[pool] = _tokens(words[number * _MOST : (number + 1) * _MOST])
        return found


def _tokens(words: list[int | None]) -> list[bytes]:
    """Returns the tokens up to the first place that has none."""
    tokens: list[bytes] = []
    for word in words:
        if not word or word >> 160:
            break
        tokens.append(word.to_bytes(20))
    return tokens
