"""Reads what never changes about the configured pools: coins, decimals, and whether the release fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quoteway import Address, Block, Chain
from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.evm.chain import Call, CallFailed
from quoteway_amm.stable_swap import StableSwapFormula

from quoteway_curve.deployments import POOL_RELEASES, PoolRow

_COINS = function("coins(uint256 at) returns (address)")
_DECIMALS = function("decimals() returns (uint8)")
_A_PRECISE = function("A_precise() returns (uint256)")
STORED_RATES = function("stored_rates() returns (uint256[])")
_OFFPEG = function("offpeg_fee_multiplier() returns (uint256)")
NATIVE_COIN = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"
"""How old pools name the native coin."""
_MOST_COINS = 8
_MOST_DECIMALS = 18
_RATE_DIGITS = 36

Answer = bytes | CallFailed


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A pool that can be used. ``rates`` are those of pools without rates of their own."""

    id: Address
    coins: tuple[Address, ...]
    rates: tuple[int, ...]
    formula: StableSwapFormula
    is_ng: bool


async def read_facts(
    chain: Chain, rows: Sequence[PoolRow], block: Block
) -> tuple[dict[Address, PoolFacts], dict[Address, str]]:
    """Returns the facts of the pools, and why each other one cannot be used.

    Raises UpstreamError or RpcError when the chain cannot be read.
    """
    calls = [call for row in rows for call in _calls(row.address)]
    answers = await chain.call_many(calls, block=block)
    size = len(calls) // max(len(rows), 1)
    coins, refused = {}, {}
    for at, row in enumerate(rows):
        found = _coins(row, answers[at * size : (at + 1) * size])
        if isinstance(found, str):
            refused[row.address] = found
        else:
            coins[row.address] = found
    tokens = sorted({coin for each in coins.values() for coin in each})
    asked = [Call(token, _DECIMALS.encode([]), max_output=32) for token in tokens]
    decimals = {}
    if asked:
        told = await chain.call_many(asked, block=block)
        decimals = {token: word(answer) for token, answer in zip(tokens, told, strict=True)}
    facts = {}
    for row in rows:
        if row.address in coins:
            made = _facts(row, coins[row.address], decimals)
            if isinstance(made, str):
                refused[row.address] = made
            else:
                facts[row.address] = made
    return facts, refused


def _calls(pool: Address) -> list[Call]:
    coins = [Call(pool, _COINS.encode([at]), max_output=32) for at in range(_MOST_COINS + 1)]
    more = [Call(pool, each.encode([]), max_output=32) for each in (_A_PRECISE, _OFFPEG)]
    return [*coins, *more, Call(pool, STORED_RATES.encode([]), max_output=32 * (_MOST_COINS + 2))]


def _coins(row: PoolRow, answers: Sequence[Answer]) -> tuple[Address, ...] | str:
    """Returns the pool's coins, or why it cannot be used."""
    coins = []
    for answer in answers[: _MOST_COINS + 1]:
        coin = word(answer)
        if not coin or coin >= 2**160:
            break
        coins.append(checksum(f"0x{coin:040x}"))
    precise, offpeg, rates = (bool(isinstance(each, bytes) and each) for each in answers[_MOST_COINS + 1 :])
    is_ng = POOL_RELEASES[row.release].is_ng
    if not 2 <= len(coins) <= _MOST_COINS or len(set(coins)) < len(coins):
        return f"it does not have 2 to {_MOST_COINS} different coins"
    if row.coins and row.coins != tuple(coins):
        return f"it has the coins {', '.join(coins)}, its row has {', '.join(row.coins)}"
    if NATIVE_COIN in coins:
        return "it holds the native coin, which is not supported"
    if precise != (row.release != "3pool") or offpeg != is_ng or rates != is_ng:
        return f"its functions are not those of release {row.release}"
    return tuple(coins)


def _facts(
    row: PoolRow, coins: tuple[Address, ...], decimals: Mapping[Address, int | None]
) -> PoolFacts | str:
    rates = []
    for coin in coins:
        digits = decimals[coin]
        if digits is None or digits > _MOST_DECIMALS:
            return f"its coin {coin} does not tell decimals of up to {_MOST_DECIMALS}"
        rates.append(10 ** (_RATE_DIGITS - digits))
    release = POOL_RELEASES[row.release]
    return PoolFacts(row.address, coins, tuple(rates), release.formula, release.is_ng)


def word(answer: Answer) -> int | None:
    """Returns the one word of an answer; None for a call that failed or answered otherwise."""
    return int.from_bytes(answer) if isinstance(answer, bytes) and len(answer) == 32 else None
