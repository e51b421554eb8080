"""Reads the states of pools at a block, and what the router holds of their coins, in one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quoteway import Address, Block, Chain, Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway.evm.chain import Call
from quoteway_amm.stable_swap import StableSwapPool

from quoteway_curve.pool_facts import STORED_RATES, Answer, PoolFacts, word

_BALANCES = function("balances(uint256 at) returns (uint256)")
_A = function("A() returns (uint256)")
_A_PRECISE = function("A_precise() returns (uint256)")
_FUTURE_A_TIME = function("future_A_time() returns (uint256)")
_FEE = function("fee() returns (uint256)")
_OFFPEG = function("offpeg_fee_multiplier() returns (uint256)")
_BALANCE_OF = function("balanceOf(address account) returns (uint256)")


@dataclass(frozen=True, slots=True)
class States:
    """The pools that can be traded with at a block, why others cannot, and what the router holds."""

    pools: dict[Address, StableSwapPool]
    refused: dict[Address, str]
    held: dict[Address, int]


async def read_states(chain: Chain, pools: Sequence[PoolFacts], router: Address, block: Block) -> States:
    """Reads the pools and the router. Raises UpstreamError or RpcError when the chain cannot be read."""
    reads = [[*_calls(facts)] for facts in pools]
    coins = sorted({coin for facts in pools for coin in facts.coins})
    holdings = [Call(coin, _BALANCE_OF.encode([router]), max_output=32) for coin in coins]
    answers = iter(
        await chain.call_many([*holdings, *(call for each in reads for call in each)], block=block)
    )
    held = {}
    for coin in coins:
        amount = word(next(answers))
        if amount is not None:
            held[coin] = amount
    states = States({}, {}, held)
    for facts, calls in zip(pools, reads, strict=True):
        given = [next(answers) for _ in calls]
        found = _state(facts, given, block) if held.keys() >= {*facts.coins} else "a coin has no balances"
        if isinstance(found, str):
            states.refused[facts.id] = found
        else:
            states.pools[facts.id] = found
    if pools and not held:
        raise UpstreamError("The coins of the pools of Curve could not be read.", reason=Reason.RPC_ERROR)
    return states


def _calls(facts: PoolFacts) -> Iterator[Call]:
    """Yields the calls whose answers ``_state`` takes."""
    for at in range(len(facts.coins)):
        yield Call(facts.id, _BALANCES.encode([at]), max_output=32)
    precise = facts.formula.a_precision > 1
    for each in (_A_PRECISE if precise else _A, _FUTURE_A_TIME, _FEE):
        yield Call(facts.id, each.encode([]), max_output=32)
    if facts.is_ng:
        yield Call(facts.id, _OFFPEG.encode([]), max_output=32)
        yield Call(facts.id, STORED_RATES.encode([]), max_output=32 * (len(facts.coins) + 2))


def _state(facts: PoolFacts, given: Sequence[Answer], block: Block) -> StableSwapPool | str:
    """Returns the state of a pool, or why it cannot be traded with."""
    count = len(facts.coins)
    balances = [word(answer) for answer in given[:count]]
    amplification, future_time, fee = (word(answer) for answer in given[count : count + 3])
    offpeg, rates = 0, facts.rates
    if facts.is_ng:
        told = word(given[count + 3])
        own = _rates(given[count + 4], count)
        if told is None or own is None:
            return "its rates or its fee cannot be read"
        offpeg, rates = told, own
    if amplification is None or future_time is None or fee is None:
        return "its amplification or its fee cannot be read"
    if future_time > block.timestamp:
        # The swap is in a later block, where `A` is another.
        return "its amplification changes with time now"
    known = [balance for balance in balances if balance is not None]
    if len(known) < count:
        return "its balances cannot be read"
    try:
        return StableSwapPool(
            facts.id, facts.coins, tuple(known), rates, amplification, fee, facts.formula, offpeg
        )
    except ValueError as error:
        return str(error)


def _rates(answer: Answer, count: int) -> tuple[int, ...] | None:
    """Returns the rates of an NG pool: an array of as many words as coins, none of them zero."""
    if not isinstance(answer, bytes) or len(answer) != 32 * (count + 2):
        return None
    words = [int.from_bytes(answer[at : at + 32]) for at in range(0, len(answer), 32)]
    return tuple(words[2:]) if words[:2] == [32, count] and all(words[2:]) else None
