"""The liquidity source: the pools of a factory, and their state at a block."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

from cachetools import LRUCache, TTLCache
from quoteway import NATIVE, Address, Block, Context, LiquiditySource, Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway.evm.address import parse_address
from quoteway.evm.chain import Call
from quoteway_amm.solidly import SolidlyPool

from quoteway_solidly.deployments import Deployment, Rows, title_of

GET_POOL = function("getPool(address tokenA, address tokenB, bool stable) returns (address)")
GET_FEE = function("getFee(address pool, bool stable) returns (uint256)")
IS_PAUSED = function("isPaused() returns (bool)")
METADATA = function(
    "metadata() returns (uint256 dec0, uint256 dec1, uint256 r0, uint256 r1, bool st, address t0, address t1)"
)
FEE_DENOMINATOR = 10_000
_MOST_POOLS = 20_000
_BLOCKS_KEPT = 4
RECENT_KEYS = 500
"""The most pools that are read in a new block because quotes of the last ``RECENT_S`` asked for them."""
RECENT_S = 60.0
_UNIT_MOST = 10**36

Key = tuple[Address, Address, bool]
"""The tokens in the order of their addresses, and whether the pool is stable."""


class SolidlyPools(LiquiditySource):
    """The pools of two tokens and of each with the base tokens.

    The first quote in a block reads its pools and those of recent quotes: one round trip, two for new pools.
    """

    def __init__(self, context: Context, name: str, rows: Rows) -> None:
        self.id = name
        self.title = title_of(name)
        self.families = (name,)
        self.networks = frozenset(rows)
        self._context = context
        self._rows = rows
        # A pool's address never changes once the factory has made it.
        self._addresses: LRUCache[tuple[int, Key], Address] = LRUCache(_MOST_POOLS)
        self._pools: LRUCache[tuple[int, Address], SolidlyPool] = LRUCache(_MOST_POOLS)
        self._blocks: LRUCache[tuple[int, str], dict[Key, SolidlyPool | None]] = LRUCache(_BLOCKS_KEPT)
        self._recent = {chain: TTLCache[Key, Key](RECENT_KEYS, RECENT_S, context.now) for chain in rows}
        self._one_at_a_time = {chain_id: asyncio.Lock() for chain_id in rows}

    def expected_contracts(self, chain_id: int) -> dict[Address, str]:
        """Returns the factory."""
        return {self._rows[chain_id].factory: f"{self.id.capitalize()} factory"}

    async def pools(
        self, chain_id: int, token_in: Address, token_out: Address, block: Block
    ) -> Sequence[SolidlyPool]:
        """See ``LiquiditySource``. Raises UpstreamError when the chain or the factory cannot be read."""
        keys = [*_keys(self._rows[chain_id], token_in, token_out)]
        recent = self._recent[chain_id]
        async with self._one_at_a_time[chain_id]:
            known = self._blocks.setdefault((chain_id, block.hash), {})
            if any(key not in known for key in keys):
                wanted = [key for key in dict.fromkeys((*keys, *recent)) if key not in known]
                try:
                    await self._add(chain_id, wanted, block, known)
                except _UnreadableError:
                    # A pool that a reorg has undone cannot be read: the factory is asked again, for the
                    # pools of this quote alone.
                    for key in wanted:
                        self._addresses.pop((chain_id, key), None)
                    recent.clear()
                    await self._add(chain_id, [key for key in keys if key not in known], block, known)
        recent.update({key: key for key in keys})
        found = [known[key] for key in keys]
        return [pool for pool in found if pool is not None and pool.has_liquidity]

    async def _add(
        self, chain_id: int, keys: Sequence[Key], block: Block, known: dict[Key, SolidlyPool | None]
    ) -> None:
        """Adds the pools of keys to those known at a block; None where there is none."""
        row = self._rows[chain_id]
        made = [key for key in keys if (chain_id, key) in self._addresses]
        unknown = [key for key in keys if (chain_id, key) not in self._addresses]
        asked = [Call(row.factory, GET_POOL.encode(key), max_output=32) for key in unknown]
        answers = await self._read(chain_id, block, [*asked, *self._states(chain_id, row, made)])
        found = self._read_pools(chain_id, made, answers[len(asked) :])
        new = []
        for key, answer in zip(unknown, answers[: len(asked)], strict=True):
            address = address_in(answer)
            if address is None:
                raise _UnreadableError(self.id)
            if int(address, 16):
                self._addresses[chain_id, key] = address
                new.append(key)
        if new:
            answers = await self._read(chain_id, block, self._states(chain_id, row, new))
            found |= self._read_pools(chain_id, new, answers)
        known |= {key: found.get(key) for key in keys}

    def _states(self, chain_id: int, row: Deployment, keys: Sequence[Key]) -> list[Call]:
        """Returns the calls whose answers ``_read_pools`` takes."""
        calls = [Call(row.factory, IS_PAUSED.encode([]), max_output=32)]
        for key in keys:
            address = self._addresses[chain_id, key]
            calls.append(Call(address, METADATA.encode([]), max_output=7 * 32))
            calls.append(Call(row.factory, GET_FEE.encode([address, key[2]]), max_output=32))
        return calls

    async def _read(self, chain_id: int, block: Block, calls: list[Call]) -> list[bytes]:
        answers = await self._context.chain(chain_id).call_many(calls, block=block)
        read = [answer for answer in answers if isinstance(answer, bytes)]
        if len(read) < len(calls):
            raise _UnreadableError(self.id)
        return read

    def _read_pools(
        self, chain_id: int, keys: Sequence[Key], answers: Sequence[bytes]
    ) -> dict[Key, SolidlyPool]:
        """Returns the pools, the same objects as before where nothing changed; none while paused."""
        found = {}
        try:
            (paused,) = IS_PAUSED.decode_output(answers[0])
            for at, key in enumerate(keys):
                state = METADATA.decode_output(answers[1 + 2 * at])
                (fee,) = GET_FEE.decode_output(answers[2 + 2 * at])
                if not paused:
                    found[key] = self._pool(chain_id, key, state, fee)
        except ValueError as error:
            raise _UnreadableError(self.id) from error
        return found

    def _pool(self, chain_id: int, key: Key, state: Sequence[Any], fee: int) -> SolidlyPool:
        unit0, unit1, reserve0, reserve1, stable, token0, token1 = state
        told = parse_address(token0), parse_address(token1), stable
        if told != key:
            raise ValueError(f"the pool of {key} says that it is of {told}")
        if not (0 < unit0 <= _UNIT_MOST and 0 < unit1 <= _UNIT_MOST):
            raise ValueError(f"the pool of {key} has units {unit0} and {unit1}")
        address = self._addresses[chain_id, key]
        pool = SolidlyPool(
            address, *key[:2], reserve0, reserve1, unit0, unit1, key[2], fee, FEE_DENOMINATOR, self.id
        )
        before = self._pools.get((chain_id, address))
        if before == pool:
            return before
        self._pools[chain_id, address] = pool
        return pool


def _keys(row: Deployment, token_in: Address, token_out: Address) -> Iterator[Key]:
    tokens = {row.wrapped_native if token == NATIVE else token for token in (token_in, token_out)}
    tokens |= {row.wrapped_native, *row.base_tokens}
    ordered = sorted(tokens, key=lambda token: int(token, 16))
    for (low, high), stable in product(combinations(ordered, 2), (False, True)):
        yield low, high, stable


def address_in(answer: object) -> Address | None:
    """Returns the address in an answer; None for a call that failed or answered otherwise."""
    if not isinstance(answer, bytes) or len(answer) != 32 or any(answer[:12]):
        return None
    return parse_address("0x" + answer[12:].hex())


class _UnreadableError(UpstreamError):
    """A contract answers otherwise than a pool or factory."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The pools of {name} could not be read.", reason=Reason.RPC_ERROR)
