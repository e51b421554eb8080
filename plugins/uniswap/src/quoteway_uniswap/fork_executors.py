"""Executors of forks: what they have in common, and which class serves which kind of router."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from quoteway import (
    NATIVE,
    Address,
    Block,
    Context,
    Executor,
    FlowOrder,
    InvalidRequest,
    Step,
)
from quoteway.evm.abi import Function, function
from quoteway.evm.chain import Call, CallFailed

from quoteway_uniswap.candidates import PoolRef, sorted_pair
from quoteway_uniswap.forks import Fork

FACTORY = function("factory() returns (address)")


@dataclass(frozen=True, slots=True)
class Check:
    """A call of a contract, the answer that a row implies, and what to correct when another one comes."""

    contract: Address
    called: Function
    given: tuple[object, ...]
    expected: object
    members: str


class ForkExecutor(Executor):
    """One fork on its networks: paths through its own pools, with the native coin at the ends."""

    most_legs = 4
    splits = False
    takes_coin = True
    hop_gas: int
    """Gas units of one pool of a path."""

    def __init__(self, context: Context, forks: Mapping[int, Fork]) -> None:
        self._context = context
        self._forks = forks
        first = next(iter(forks.values()))
        self.id, self.title = first.protocol, first.title
        self.networks = frozenset(forks)
        self.leg_gas = {first.protocol: self.hop_gas}

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the router."""
        fork = self._forks.get(chain_id)
        return {} if fork is None else {fork.deployment.router: f"{fork.title} router"}

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the router, the factory and what deploys the pools."""
        fork = self._forks.get(chain_id)
        return {} if fork is None else fork.expected

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns the router."""
        fork = self._forks.get(chain_id)
        return () if fork is None else (fork.deployment.router,)

    async def refusal(self, chain_id: int, block: Block) -> str | None:
        """Returns what the router is not that the row says; None when it is all of it."""
        fork = self._forks[chain_id]
        checks = tuple(self.checks(fork))
        reads = [Call(each.contract, each.called.encode(each.given), max_output=32) for each in checks]
        answers = await self._context.chain(chain_id).call_many(reads, block=block)
        for check, answer in zip(checks, answers, strict=True):
            name = check.called.signature.partition("(")[0]
            if isinstance(answer, CallFailed) or len(answer) != 32:
                return f"correct {check.members}: {check.contract} does not answer {name}"
            (found,) = check.called.decode_output(answer)
            if found != check.expected:
                told = "0x" + found.hex() if isinstance(found, bytes) else found
                return f"correct {check.members}: {check.contract} answers {name} with {told}"
        return None

    @abstractmethod
    def checks(self, fork: Fork) -> Iterable[Check]:
        """Yields what must be as the row says."""

    async def encode(self, order: FlowOrder) -> Step:
        """See ``Executor``."""
        fork = self._forks.get(order.chain_id)
        if fork is None:
            raise InvalidRequest(f"{self.title} has no row for chain {order.chain_id}.")
        data = self.calldata(fork, order, self._path(fork, order))
        value = order.amount_in if order.token_in == NATIVE else 0
        return Step(fork.deployment.router, data, value, order.chain_id)

    @abstractmethod
    def calldata(self, fork: Fork, order: FlowOrder, path: Sequence[PoolRef]) -> bytes:
        """Returns the call of the router for an order through the pools of a path."""

    @abstractmethod
    def pool(self, fork: Fork, token0: Address, token1: Address, fee_pips: int) -> PoolRef:
        """Returns the fork's pool of two tokens. Raises ValueError when the fork can have none."""

    def _path(self, fork: Fork, order: FlowOrder) -> list[PoolRef]:
        """Returns the pools of an order. Raises InvalidRequest unless they are the fork's, in one path."""
        wrapped = fork.deployment.wrapped_native
        at, pools = wrapped if order.token_in == NATIVE else order.token_in, list[PoolRef]()
        for leg in order.legs:
            if (leg.kind, leg.token_in, leg.amount_in) != (self.id, at, 0):
                raise InvalidRequest(f"{self.title} executes one path through its own pools.")
            try:
                pool = self.pool(fork, *sorted_pair(leg.token_in, leg.token_out), leg.fee_pips)
            except ValueError as error:
                raise InvalidRequest(f"{self.title} has no such pool: {error}.") from None
            if pool.id != leg.pool:
                raise InvalidRequest(f"{leg.pool} is no pool of {self.title}.")
            pools.append(pool)
            at = leg.token_out
        if not pools or at != (wrapped if order.token_out == NATIVE else order.token_out):
            raise InvalidRequest("The pools of this order do not lead to what is bought.")
        return pools


def tokens_of(fork: Fork, order: FlowOrder) -> list[Address]:
    """Returns the tokens of a path, the native coin by its wrapped form."""
    return [order.legs[0].token_in, *(leg.token_out for leg in order.legs)]


def executors_of(context: Context, forks: Mapping[str, Mapping[int, Fork]]) -> list[ForkExecutor]:
    """Returns an executor for each protocol."""
    from quoteway_uniswap.fork_algebra_router import AlgebraRouterSwaps
    from quoteway_uniswap.fork_v2_router import V2RouterSwaps
    from quoteway_uniswap.fork_v3_router import V3RouterSwaps

    made: Mapping[str, type[ForkExecutor]] = {
        "v2-router02": V2RouterSwaps,
        "v3-router": V3RouterSwaps,
        "algebra-router": AlgebraRouterSwaps,
    }
    return [made[next(iter(rows.values())).router_kind](context, rows) for rows in forks.values()]
