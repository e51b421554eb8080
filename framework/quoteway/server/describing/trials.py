"""Runs variations of one transaction on the chain's state and says what each of them moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from quoteway.evm import erc20
from quoteway.evm.abi import Function, decode, function
from quoteway.evm.address import unused_address
from quoteway.evm.assumed_balance import assume_balance
from quoteway.evm.chain import Call, RpcChain, SimulatedCall, SimulationUnsupported
from quoteway.models import NATIVE, Address, Step
from quoteway.server.describing.errors import CannotDescribe
from quoteway.server.describing.transaction import Example
from quoteway.simulation.run import Segment, simulate

STRANGER = unused_address("quoteway.describe.stranger")
"""Sends the transaction in place of its sender, or stands in place of an address among the arguments."""
MOST_TOKENS = 24
MOST_ACCOUNTS = 48
_GETTERS = ("asset()", "token()", "token0()", "token1()", "coins(uint256)")
"""Functions of contracts that name the tokens they take."""
_MOST_ASSUMED = 1 << 112
"""More than any real amount: greater arguments are no amounts, or mean "all"."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did: ``changes`` are the balances' in base units, by account and token, without zeros.

    ``reason`` None: it succeeded.
    """

    reason: str | None
    changes: Mapping[tuple[Address, Address], int]

    @property
    def ok(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class _Means:
    """What a sender is given for the runs: balances that it lacks, and allowances for the contract."""

    needs: Mapping[Address, int]
    approvals: Sequence[Step]


@dataclass
class Trials:
    """Variations of the transaction ``example`` of ``function``.

    The senders hold and allow enough of the tokens that may be taken: ``tokens``, those among the arguments,
    and those that the contract names itself.
    """

    chain: RpcChain
    example: Example
    function: Function
    tokens: Sequence[Address]
    accounts: Sequence[Address]
    wanted: int
    _watched: list[Address] = field(default_factory=lambda: [NATIVE], init=False)
    _means: dict[Address, _Means] = field(default_factory=dict, init=False)
    _known: dict[tuple[Any, Address], Outcome] = field(default_factory=dict, init=False)

    @classmethod
    async def of(
        cls,
        chain: RpcChain,
        example: Example,
        function: Function,
        values: Sequence[Any],
        *,
        named: Iterable[Address],
        numbers: Iterable[int],
        watched: Iterable[Address] = (),
        tokens: Iterable[Address] = (),
    ) -> Trials:
        """Runs the transaction once, to know which tokens move.

        ``values`` are its arguments; ``named`` and ``numbers`` the addresses and the unsigned integers among
        them. ``watched`` are further accounts whose balances tell something, ``tokens`` what it may take.
        """
        accounts = [*dict.fromkeys(each for each in named if each != NATIVE)][:MOST_ACCOUNTS]
        asked = dict.fromkeys([*accounts, example.to, *await _named_by(chain, example)])
        known = await erc20.read_tokens(chain, [*asked], example.block)
        taken = [*dict.fromkeys([*tokens, *known])][:MOST_TOKENS]
        wanted = 4 * max([1, *(number for number in numbers if number < _MOST_ASSUMED)])
        everyone = [*dict.fromkeys([example.sender, STRANGER, *accounts, *watched])]
        made = cls(chain, example, function, taken, everyone, wanted)
        await made._watch(values)
        return made

    async def run(self, values: Sequence[Any], *, sender: Address | None = None) -> Outcome:
        """Returns what the transaction does with other arguments, or sent by another account.

        Raises ``CannotDescribe`` when the node does not run transactions, ``UpstreamError`` when it does not
        answer.
        """
        key = tuple(values), sender or self.example.sender
        if key not in self._known:
            pairs = [(account, token) for account in self.accounts for token in self._watched]
            self._known[key] = (await self._simulated(values, key[1], pairs))[0]
        return self._known[key]

    async def _watch(self, values: Sequence[Any]) -> None:
        _, moved = await self._simulated(values, self.example.sender, [])
        self._watched = [*dict.fromkeys([NATIVE, *moved, *self.tokens])][: 2 * MOST_TOKENS]

    async def _simulated(
        self, values: Sequence[Any], sender: Address, watch: Sequence[tuple[Address, Address]]
    ) -> tuple[Outcome, Sequence[Address]]:
        """Returns the outcome and the tokens that were transferred."""
        if sender not in self._means:
            self._means[sender] = await self._means_of(sender)
        means, example = self._means[sender], self.example
        step = Step(example.to, self.function.encode(values), example.value, self.chain.network.chain_id)
        run = await simulate(
            self.chain,
            example.block,
            sender,
            [Segment((*means.approvals, step))],
            watch=watch,
            needs=means.needs,
        )
        whole, (segment,) = run.whole, run.segments
        if whole.status == "skipped":
            raise CannotDescribe(
                f"the node cannot run the transaction ({whole.skip_reason}): give --rpc, a node that has "
                "eth_simulateV1"
            )
        reason = (whole.revert_reason or "reverted") if whole.status == "reverted" else None
        changes = {(each.account, each.token): each.delta for each in whole.asset_changes if each.delta}
        return Outcome(reason, changes), [transfer.token for transfer in segment.trace.transfers]

    async def _means_of(self, sender: Address) -> _Means:
        chain, block, contract = self.chain, self.example.block, self.example.to
        reads = [erc20.balance_read(sender, token) for token in (NATIVE, *self.tokens)]
        reads += [erc20.allowance_read(token, sender, contract) for token in self.tokens]
        words = [erc20.word(output) or 0 for output in await chain.call_many(reads, block=block)]
        coins, *others = words
        held, allowed = others[: len(self.tokens)], others[len(self.tokens) :]
        needs = {NATIVE: self.example.value} if coins < self.example.value else {}
        steps: list[Step] = []
        for token, balance, allowance in zip(self.tokens, held, allowed, strict=True):
            lacks = balance < self.wanted
            if lacks and await assume_balance(chain, token, sender, self.wanted, block) is not None:
                needs[token] = self.wanted
            if allowance < self.wanted:
                # Tokens such as USDT refuse to change an allowance that is not zero.
                amounts = (0, self.wanted) if allowance else (self.wanted,)
                data = [erc20.APPROVE.encode([contract, amount]) for amount in amounts]
                steps += [Step(token, each, 0, chain.network.chain_id) for each in data]
        return _Means(needs, await self._accepted(sender, steps))

    async def _accepted(self, sender: Address, steps: Sequence[Step]) -> list[Step]:
        """Returns the approvals that do not revert: not everything with a supply can be allowed."""
        if not steps:
            return []
        calls = [SimulatedCall(sender, step.to, step.data) for step in steps]
        try:
            results = await self.chain.simulate(calls, block=self.example.block)
        except SimulationUnsupported as error:
            raise CannotDescribe(
                f"the node cannot run transactions ({error.reason}): give --rpc, one with eth_simulateV1"
            ) from None
        return [step for step, result in zip(steps, results, strict=True) if result.ok]


async def _named_by(chain: RpcChain, example: Example) -> list[Address]:
    """Returns the addresses that the contract's getters of tokens answer."""
    calls = []
    for getter in _GETTERS:
        asked = function(getter)
        data = [asked.encode([at]) for at in range(4)] if asked.types else [asked.encode([])]
        calls += [Call(example.to, each, max_output=32) for each in data]
    found: list[Address] = []
    for answer in await chain.call_many(calls, block=example.block):
        with suppress(ValueError):
            found += decode(["address"], answer) if isinstance(answer, bytes) else ()
    return [each for each in found if each != NATIVE]
