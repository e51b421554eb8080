"""Swaps through a contract that quotes, swaps and enforces the minimum itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from quoteway.context import Context
from quoteway.errors import Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway.models import (
    Address,
    Build,
    Call,
    CallDescription,
    CallFailed,
    ContractDescription,
    DeployedAt,
    Json,
    Quote,
    SealedQuote,
    SwapRequest,
)
from quoteway.providers import SwapProvider

READ_GAS = 5_000_000
MAX_OUTPUT_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class SwapOrder:
    """What the transaction of a sealed quote has to do: amounts in base units, ``deadline`` in Unix seconds.

    ``plan`` is the one that was quoted.
    """

    request: SwapRequest
    plan: Mapping[str, Json]
    amount_in: int
    minimum: int
    recipient: Address
    deadline: int


class ContractSwaps(SwapProvider):
    """Sells exact amounts through one contract on each network, to which the sender gives the allowance.

    A subclass has ``id`` and ``title``, and

    - ``quoting``: the declaration of the function that says what a sale pays, with ``returns``. Its first
      value is the output in base units; of an array, the last item.
    - ``swapping``: the function that swaps, with the roles of its arguments. The minimum, the recipient and
      the deadline are roles that the contract enforces. Return ``describe()`` of the provider from the hook
      ``quoteway_call_descriptions``: the operator reads and pins it.

    Every quote is of the best of ``plans``, all read at one block in one round trip. The native coin has no
    route: its wrapped form has.
    """

    quoting: ClassVar[str]
    swapping: ClassVar[CallDescription]

    def __init__(self, context: Context, contracts: Mapping[int, Address]) -> None:
        self.context = context
        self.contract_of = contracts
        self.networks = frozenset(contracts)

    @abstractmethod
    def quote_args(self, request: SwapRequest, plan: Mapping[str, Json]) -> Sequence[Any]:
        """Returns the arguments of ``quoting`` for one plan."""

    @abstractmethod
    def swap_args(self, order: SwapOrder) -> Sequence[Any]:
        """Returns the arguments of ``swapping``."""

    def plans(self, request: SwapRequest) -> Sequence[Mapping[str, Json]]:
        """Returns the ways to swap that are compared, such as pools of different fees: one by default.

        A plan is compact JSON, which ``swap_args`` gets again. An empty list: the request has no route.
        """
        return ({},)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        contract = self.contract_of.get(chain_id)
        return {} if contract is None else {contract: self.title}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return tuple(self.contracts(chain_id))

    def describe(self) -> ContractDescription:
        """Returns what the contract's swap means, for ``quoteway_call_descriptions``."""
        places = tuple(DeployedAt(chain_id, address) for chain_id, address in self.contract_of.items())
        return ContractDescription(self.title, (self.swapping,), places)

    async def quote(self, request: SwapRequest) -> Quote | None:
        """Returns the quote of the plan that pays most; None when each one reverts or pays nothing."""
        if request.token_in.is_native or request.token_out.is_native:
            return None
        contract, plans = self.contract_of[request.chain_id], self.plans(request)
        if not plans:
            return None
        chain, asks = self.context.chain(request.chain_id), function(self.quoting)
        reads = [
            Call(contract, asks.encode(self.quote_args(request, plan)), READ_GAS, MAX_OUTPUT_BYTES)
            for plan in plans
        ]
        block = await chain.head()
        answers = await chain.call_many(reads, block=block)
        paid = [self._output(answer) for answer in answers]
        best = max(range(len(plans)), key=paid.__getitem__)
        if not paid[best]:
            return None
        return Quote.exact_in(request, paid[best], block, spender=contract, plan=plans[best])

    async def build(self, sealed: SealedQuote) -> Build:
        """Returns the one transaction of the quote."""
        request = sealed.request
        assert isinstance(request, SwapRequest)
        lasts_s = self.context.config.quotes.action_deadline_s
        deadline = sealed.deadline or max(sealed.block.timestamp, sealed.created_at) + lasts_s
        (sold,), (bought,) = sealed.inputs, sealed.outputs
        order = SwapOrder(
            request, sealed.plan, sold.amount, bought.amount_min or 0, request.recipient, deadline
        )
        return Build.call(
            sealed,
            function(self.swapping.declaration),
            self.contract_of[request.chain_id],
            self.swap_args(order),
            deadline=deadline if self.swapping.deadline is not None else None,
        )

    def _output(self, answer: bytes | CallFailed) -> int:
        """Returns what a sale pays; 0 when the contract refuses it."""
        if isinstance(answer, CallFailed) or not answer:
            return 0
        try:
            first = function(self.quoting).decode_output(answer)[0]
            return int(first[-1] if isinstance(first, tuple) else first)
        except (ValueError, IndexError):
            text = f"The contract of {self.title} answered something else than its declaration returns."
            raise UpstreamError(text, reason=Reason.PROVIDER_ERROR) from None
