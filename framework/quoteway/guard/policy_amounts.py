"""What an action adds to the amounts per time of a custody policy: pure, of facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil

from quoteway.guard.policy_facts import Facts
from quoteway.guard.policy_file import AmountPerTime, Policy
from quoteway.models import NATIVE, Violation


@dataclass(frozen=True, slots=True)
class Charge:
    """What an action adds to one limit, and the most that may be used within its window, in base units.

    ``scope`` is whose amounts are added up: the sender, or all accounts of a rule.
    """

    limit: AmountPerTime
    rule: str
    scope: str
    amount: int
    most: int
    decimals: int

    @property
    def counter(self) -> str:
        """Returns the name of what adds up: the same for every limit that counts the same amounts."""
        limit = self.limit
        return f"{limit.network}/{limit.token}/{limit.window_s}/{limit.per}/{self.scope}"


def charges_of(policy: Policy, facts: Facts) -> tuple[Charge, ...]:
    """Returns what an action adds to the limits of the rule that decides it.

    A token whose decimals are not known has none: ``decide`` refuses it.
    """
    rule = policy.rule_of(facts.sender)
    if rule is None:
        return ()
    return tuple(
        Charge(
            limit,
            rule.name,
            facts.sender if limit.per == "sender" else rule.name,
            paid.amount,
            int(Fraction(limit.amount) * 10**paid.decimals),
            paid.decimals,
        )
        for limit in rule.amounts_per_time or ()
        for paid in facts.paid
        if (limit.network, limit.token) == (facts.network, paid.token) and paid.decimals is not None
    )


def exceeded(charge: Charge, used: int) -> Violation | None:
    """Returns what is not allowed when ``used`` base units of a limit are used; None: nothing."""
    if used + charge.amount <= charge.most:
        return None
    limit = charge.limit
    token = "the native coin" if limit.token == NATIVE else limit.token
    return Violation(
        "amounts_per_time",
        f"it takes {charge.amount} base units of {token} on {limit.network}, {used} count as used within "
        f"{limit.window_s} s, and {charge.most} are allowed by {limit.name!r} (rule {charge.rule!r})",
        limit.token,
    )


def exceeded_by(policy: Policy, facts: Facts, used: Mapping[str, Decimal]) -> tuple[Violation, ...]:
    """Returns what is not allowed of an action when ``used`` whole tokens, by the names of the limits, are
    used. A limit that is not named is not used."""
    found = (
        exceeded(charge, ceil(Fraction(used.get(charge.limit.name, 0)) * 10**charge.decimals))
        for charge in charges_of(policy, facts)
    )
    return tuple(each for each in found if each is not None)
