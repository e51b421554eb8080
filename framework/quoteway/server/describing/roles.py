"""Finds the roles of a call's arguments. Only what runs of the call prove is a role.

Recipients come first: from then on every payment goes to an account of its own, so that balances tell what
is taken and paid. Then minimums, which are set to zero for the search of amounts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quoteway.evm.address import unused_address
from quoteway.models import NATIVE, Address, CallDescription, PaymentRoles, SpendRoles
from quoteway.server.describing.arguments import CallArgument, replaced
from quoteway.server.describing.errors import CannotDescribe
from quoteway.server.describing.flows import Flow, Probe
from quoteway.server.describing.trials import STRANGER, Trials

LEAST_AMOUNT = 1_000
"""The least amount in base units that proves something: smaller ones are equal by chance."""
MOST_SHOWN = 12
"""How many arguments without a role are named."""
VAULT_ACTIONS = frozenset({"deposit", "mint", "withdraw", "redeem"})
"""Actions on a vault that the request names: its tokens need no path."""
_WORDS: Mapping[str, frozenset[str]] = {
    "deadline": frozenset({"deadline", "expiry", "expiration", "expires"}),
    "minimum": frozenset({"min", "minimum", "least"}),
    "amount": frozenset({"amount", "amounts", "assets", "shares", "liquidity", "max", "maximum", "wad"}),
    "recipient": frozenset({"to", "recipient", "receiver", "beneficiary", "dst"}),
    "owner": frozenset({"owner", "from", "payer"}),
}
"""The words in names of arguments by the role that they lead to expect; the first role counts."""
_FAILED: Mapping[str, str] = {
    "deadline": "the call does not revert when it has just passed, or also reverts before",
    "minimum": "the call does not revert as soon as it is above an amount",
    "amount": "no amount that is taken or paid follows it",
    "recipient": "an account in its place is not paid",
    "owner": "the sender's tokens are taken with another account in its place",
}


@dataclass(frozen=True, slots=True)
class Unproved:
    """A role that an argument should have, and why it has not been proved."""

    path: str
    role: str
    why: str


@dataclass(frozen=True, slots=True)
class Roles:
    """What was found of a call. ``notes`` are limits of the contract, for who reads the description."""

    description: CallDescription
    unproved: tuple[Unproved, ...]
    notes: tuple[str, ...]


def stand_in(argument: CallArgument) -> Address:
    """Returns the account that is put in place of an address, to see whether it is paid."""
    return unused_address(f"quoteway.describe.{argument.path}")


@dataclass
class RoleSearch:
    """The search for the roles of one call.

    ``arguments`` are those that a path can name. ``settled`` are the places of those that are done with.
    """

    trials: Trials
    arguments: Sequence[CallArgument]
    action: str
    flows: list[Flow] = field(default_factory=list, init=False)
    settled: set[tuple[int, ...]] = field(default_factory=set, init=False)
    unproved: list[Unproved] = field(default_factory=list, init=False)
    notes: list[str] = field(default_factory=list, init=False)
    deadline: str | None = field(default=None, init=False)
    owner: str | None = field(default=None, init=False)
    empty: list[str] = field(default_factory=list, init=False)

    async def find(self, values: Sequence[Any]) -> Roles:
        """Returns the roles of the arguments ``values``.

        Raises ``CannotDescribe`` when the call reverts or moves no token, ``UpstreamError`` when the node
        does not answer.
        """
        base = await self.trials.run(values)
        if base.reason is not None:
            raise CannotDescribe(
                f"the transaction reverts ({base.reason}): give one that succeeds. --transaction runs on the "
                "state before its block, --data at the head. Name tokens that the call takes with --token"
            )
        if not base.changes:
            raise CannotDescribe("the transaction moves no token: nothing can be proved of its arguments")
        probe = await self._recipients(Probe(self.trials, tuple(values), base))
        await self._flows(probe)
        await self._limits(probe)
        await self._amounts(probe)
        await self._limits_of_halves(probe)
        for flow in list(self.flows):
            await self._token(probe, flow)
        await self._deadline(probe)
        await self._owner(probe)
        self._rest()
        return Roles(self._description(), tuple(self.unproved), tuple(self.notes))

    # --- accounts -------------------------------------------------------------------------------------------

    async def _recipients(self, probe: Probe) -> Probe:
        """Puts an account of its own in place of each recipient, and returns the call that pays them."""
        values = probe.values
        for argument in self._of_type("address"):
            account = stand_in(argument)
            outcome = await probe.run(argument, account)
            paid = [token for (to, token), change in outcome.changes.items() if to == account and change > 0]
            if paid:
                self._settle(argument)
                values = replaced(values, argument.place, account)
                self.flows += [Flow(account, token, 0, False, argument.path) for token in paid]
        base = await self.trials.run(values)
        if base.reason is not None:
            raise CannotDescribe(
                f"the transaction reverts when it pays other accounts ({base.reason}): describe it by hand"
            )
        return Probe(self.trials, values, base)

    async def _flows(self, probe: Probe) -> None:
        """Collects what the call takes from the sender and pays, by the balances."""
        sender = self.trials.example.sender
        taken = []
        for (account, token), change in probe.base.changes.items():
            if account == sender and change < 0:
                taken.append(Flow(sender, token, 0, True))
            elif account == sender:
                await self._payment_to_sender(probe, token)
        kept = []
        for flow in (*taken, *self.flows):
            flow.amount = flow.moved(probe.base)
            if flow.amount >= LEAST_AMOUNT:
                kept.append(flow)
                continue
            role, path = ("amount", "@.from") if flow.taken else ("recipient", flow.recipient or "@.from")
            why = f"only {flow.amount} base units of {flow.token} move: use a larger transaction"
            self.unproved.append(Unproved(path, role, why))
        if not kept:
            raise CannotDescribe(
                f"the transaction moves less than {LEAST_AMOUNT} base units of each token: use a larger one"
            )
        self.flows = kept

    async def _payment_to_sender(self, probe: Probe, token: Address) -> None:
        """Adds a payment that no argument directs, if another sender gets it too."""
        other = await self.trials.run(probe.values, sender=STRANGER)
        if other.changes.get((STRANGER, token), 0) > 0:
            self.flows.append(Flow(self.trials.example.sender, token, 0, False, "@.from"))
            return
        why = f"another sender is not paid {token} ({other.reason or 'it gets nothing'})"
        self.unproved.append(Unproved("@.from", "recipient", why))

    async def _owner(self, probe: Probe) -> None:
        """Finds the argument that must be the sender, or the call takes nothing from it."""
        for argument in self._of_type("address"):
            if argument.value != self.trials.example.sender or self.owner is not None:
                continue
            outcome = await probe.run(argument, STRANGER)
            taken = [flow for flow in self.flows if flow.taken]
            if taken and all(not outcome.ok or not flow.moved(outcome) for flow in taken):
                self.owner = self._settle(argument)

    # --- amounts --------------------------------------------------------------------------------------------

    async def _limits(self, probe: Probe) -> None:
        """Finds minimums and maximums, and sets the minimums to zero."""
        minimums = []
        for argument in self._numbers():
            fitting = [flow for flow in self.flows if await probe.is_minimum(argument, flow)]
            if self._only(argument, fitting, "minimum"):
                fitting[0].minimum = self._settle(argument)
                minimums.append(argument)
                continue
            fitting = [flow for flow in self.flows if await probe.is_maximum(argument, flow)]
            if self._only(argument, fitting, "amount"):
                fitting[0].limit = self._settle(argument)
        for argument in minimums:
            await probe.use(replaced(probe.values, argument.place, 0))

    async def _amounts(self, probe: Probe) -> None:
        """Finds the arguments that are amounts: the most that is taken, and the least that is paid."""
        for flow in self.flows:
            if flow.taken and flow.token == NATIVE:
                flow.limit = "@.value"  # the chain itself takes no more
        for argument in self._numbers():
            free = [flow for flow in self.flows if (flow.limit if flow.taken else flow.minimum) is None]
            fitting = [flow for flow in free if await probe.is_amount(argument, flow)]
            if not self._only(argument, fitting, "amount"):
                continue
            (flow,) = fitting
            if flow.taken:
                flow.limit = self._settle(argument)
            else:
                flow.minimum = self._settle(argument)

    async def _limits_of_halves(self, probe: Probe) -> None:
        """Finds the minimums that bind when another amount is the scarce one, as those of a pool's tokens."""
        for argument in list(self._once()):
            scarce = [flow for flow in self.flows if flow.taken and flow.limit == argument.path]
            if not scarce or not [flow for flow in self.flows if flow.taken and flow.minimum is None]:
                continue
            values = replaced(probe.values, argument.place, scarce[0].amount // 2)
            halved = Probe(self.trials, values, await self.trials.run(values))
            moved = [(flow, replace(flow, amount=flow.moved(halved.base))) for flow in self.flows]
            other = [each for each in moved if each[1].amount >= LEAST_AMOUNT and not each[0].minimum]
            for number in self._numbers():
                fitting = [flow for flow, now in other if await halved.is_minimum(number, now)]
                if len(fitting) == 1 and fitting[0].taken:
                    fitting[0].minimum = self._settle(number)

    def _only(self, argument: CallArgument, fitting: Sequence[Flow], role: str) -> bool:
        """Returns whether one amount fits an argument. Of several equal ones none is proved."""
        if len(fitting) > 1:
            why = f"{len(fitting)} amounts are equal to it: use a transaction in which they differ"
            self.unproved.append(Unproved(self._settle(argument), role, why))
        return len(fitting) == 1

    async def _token(self, probe: Probe, flow: Flow) -> None:
        """Finds the argument that names a flow's token: the first of one taken, the last of one paid."""
        if flow.token == NATIVE:
            flow.named_at = NATIVE
            await self._without_choice(probe, flow)
            return
        named = [each for each in self.arguments if each.type == "address" and each.value == flow.token]
        for argument in named if flow.taken else reversed(named):
            outcome = await probe.run(argument, STRANGER)
            if not outcome.ok or flow.moved(outcome) != flow.amount:
                flow.named_at = self._settle(argument)
                return
        if named:
            why = f"{flow.token} also moves with another address in its place"
            self._leave_out(flow, Unproved(named[0].path, "token", why))
        elif self.action not in VAULT_ACTIONS and flow.token == self.trials.example.to:
            flow.named_at = "@.to"
            await self._without_choice(probe, flow)

    async def _without_choice(self, probe: Probe, flow: Flow) -> None:
        """Leaves a flow of the native coin or of the contract's own token out if a flag turns it off."""
        for argument in self._of_type("bool"):
            outcome = await probe.run(argument, not argument.value)
            if outcome.ok and not flow.moved(outcome):
                why = f"it chooses whether {flow.token} moves, or another token"
                self._leave_out(flow, Unproved(self._settle(argument), "token", why))
                return

    # --- the rest -------------------------------------------------------------------------------------------

    async def _deadline(self, probe: Probe) -> None:
        block_s = math.ceil(self.trials.chain.network.block_time_s)
        now = self.trials.example.block.timestamp
        for argument in self._numbers():
            if self.deadline is None and await probe.is_deadline(argument, now - 1, now + block_s + 1):
                self.deadline = self._settle(argument)

    def _rest(self) -> None:
        """Notes the limits that the contract does not have, and the roles that names lead to expect.

        What is empty must stay so: bytes and lists, and a price at which the call would stop.
        """
        for flow in self.flows:
            if flow.taken and flow.limit is None:
                self.notes.append(f"no limit is proved of what it takes of {flow.token}")
            if not flow.taken and flow.minimum is None:
                self.notes.append(f"no minimum is proved of what it pays of {flow.token}")
        for argument in self._once():
            role = self._expected(argument)
            if role is not None and argument.place not in self.settled:
                self.unproved.append(Unproved(self._settle(argument), role, _FAILED[role]))
        for argument in self._once():
            stops = argument.value == 0 and argument.bits and "limit" in argument.words
            if (argument.is_empty or stops) and argument.place not in self.settled:
                self.empty.append(self._settle(argument))
        silent = self._silent()
        if silent:
            self.notes.append(f"without a role: {silent}")
        for flow in [each for each in self.flows if each.named_at is None]:
            if silent:
                why = f"no path names {flow.token}, and one of these may choose it"
                self._leave_out(flow, Unproved(silent, "token", why))
            elif self.action not in VAULT_ACTIONS:
                self.notes.append(f"no argument names {flow.token}")

    def _leave_out(self, flow: Flow, why: Unproved) -> None:
        """Takes an amount out of the description: with a wrong token its limits would be of another one."""
        self.unproved.append(why)
        self.flows.remove(flow)

    def _silent(self) -> str:
        """Returns the paths of the arguments without a role; of one that has none at all, its own."""
        spoken = {place[0] for place in self.settled}
        found: dict[str, None] = {}
        for argument in self._once():
            if argument.place not in self.settled:
                whole = argument.place[0] not in spoken
                found[argument.path.partition(".[")[0] if whole else argument.path] = None
        paths = [*found]
        more = f" and {len(paths) - MOST_SHOWN} more" if len(paths) > MOST_SHOWN else ""
        return ", ".join(paths[:MOST_SHOWN]) + more

    def _description(self) -> CallDescription:
        taken = [flow for flow in self.flows if flow.taken]
        paid = [flow for flow in self.flows if not flow.taken]
        return CallDescription(
            self.trials.function.declaration,
            self.action,
            spends=tuple(SpendRoles(flow.named_at, flow.limit, flow.minimum) for flow in taken if flow.limit),
            pays=tuple(
                PaymentRoles(flow.named_at, flow.recipient, flow.minimum) for flow in paid if flow.recipient
            ),
            deadline=self.deadline,
            owner=self.owner,
            empty=tuple(self.empty),
        )

    def _settle(self, argument: CallArgument) -> str:
        """Marks an argument as one that is done with, and returns its path."""
        self.settled.add(argument.place)
        return argument.path

    def _of_type(self, type_: str) -> Iterator[CallArgument]:
        """Yields the arguments of a type that have no role so far, each place once."""
        return (each for each in self._once() if each.type == type_ and each.place not in self.settled)

    def _numbers(self) -> Iterator[CallArgument]:
        return (each for each in self._once() if each.bits and each.place not in self.settled)

    def _once(self) -> Iterable[CallArgument]:
        """Returns the arguments, each place by its first path only."""
        first: dict[tuple[int, ...], CallArgument] = {}
        for argument in self.arguments:
            first.setdefault(argument.place, argument)
        return first.values()

    def _expected(self, argument: CallArgument) -> str | None:
        """Returns the role that an argument should have by its type and name; None when it needs none."""
        roles: tuple[str, ...] = ()
        if argument.bits:
            roles = ("deadline", "minimum", "amount")
        elif argument.type == "address" and argument.value not in self.trials.tokens:
            roles = ("recipient", "owner") if argument.value == self.trials.example.sender else ("recipient",)
        return next((role for role in roles if _WORDS[role] & {*argument.words}), None)
