"""Decides an action by a custody policy: pure, of facts alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from quoteway.guard.policy_facts import Bound, CallFact, Facts
from quoteway.guard.policy_file import SENDER, ByNetwork, Policy, Rule
from quoteway.models import NATIVE, Address, Violation

_WHOLE_BPS = 10_000


def decide(policy: Policy, facts: Facts) -> tuple[Violation, ...]:
    """Returns everything that the policy does not allow of an action; empty when it allows the action.

    The first rule that has the sender decides. Of its amounts per time nothing is judged but whether the
    decimals of a token are known: what counts as used is not among the facts (``policy_amounts``).
    """
    rule = policy.rule_of(facts.sender)
    if rule is None:
        return (Violation("senders", f"no rule of the policy has the account {facts.sender}", facts.sender),)
    return tuple(dict.fromkeys(_violations(rule, facts)))


def _violations(rule: Rule, facts: Facts) -> Iterator[Violation]:
    yield from _of_the_whole(rule, facts)
    yield from _of_nodes(rule, facts)
    yield from _of_providers(rule, facts)
    yield from _of_tokens(rule, facts)
    yield from _of_accounts(rule, facts)
    yield from _of_calls(rule, facts)
    yield from _of_prices(rule, facts)
    yield from _of_the_run(rule, facts)


def _of_the_whole(rule: Rule, facts: Facts) -> Iterator[Violation]:
    for network in facts.networks:
        if rule.networks is not None and network not in rule.networks:
            yield _refused(rule, "networks", f"network {network} is not allowed", network)
    if rule.kinds is not None and facts.kind not in rule.kinds:
        yield _refused(rule, "kinds", f"an action of kind {facts.kind} is not allowed", facts.kind)


def _of_nodes(rule: Rule, facts: Facts) -> Iterator[Violation]:
    if rule.quorum is None:
        return
    for network in facts.networks:
        agree = facts.quorums.get(network)
        if agree is None or agree < rule.quorum:
            does = "is not known" if agree is None else f"is {agree}"
            text = f"the quorum of the nodes of {network} {does}, and {rule.quorum} is required"
            yield _refused(rule, "quorum", text, network)


def _of_providers(rule: Rule, facts: Facts) -> Iterator[Violation]:
    for provider in facts.providers:
        if rule.providers is not None and provider not in rule.providers:
            yield _refused(rule, "providers", f"provider {provider} is not allowed", provider)
        if rule.least_level is None:
            continue
        level = facts.levels.get(provider)
        if level is None or level < rule.least_level:
            has = "no known level" if level is None else f"level {level}"
            text = f"the plugin of provider {provider} has {has}, and level {rule.least_level} is required"
            yield _refused(rule, "least_level", text, provider)


def _of_tokens(rule: Rule, facts: Facts) -> Iterator[Violation]:
    for paid in facts.paid:
        if not _allowed(rule.pay, facts.network, paid.token):
            text = f"it pays or approves {_named(paid.token)} on {facts.network}"
            yield _refused(rule, "pay", text, paid.token)
        unknown = f"it takes {paid.amount} base units of {_named(paid.token)}, whose decimals are not known"
        limited = {(limit.network, limit.token) for limit in rule.amounts_per_time or ()}
        if paid.decimals is None and (facts.network, paid.token) in limited:
            yield _refused(rule, "amounts_per_time", unknown, paid.token)
        most = (rule.max_amounts or {}).get(facts.network, {}).get(paid.token)
        if most is None:
            continue
        if paid.decimals is None:
            yield _refused(rule, "max_amounts", unknown, paid.token)
        elif paid.amount > (allowed := int(Fraction(most) * 10**paid.decimals)):
            text = f"it takes {paid.amount} base units of {_named(paid.token)}, more than {allowed}"
            yield _refused(rule, "max_amounts", text, paid.token)
    for network, token in facts.received:
        if not _allowed(rule.receive, network, token):
            yield _refused(rule, "receive", f"it receives {_named(token)} on {network}", token)


def _of_accounts(rule: Rule, facts: Facts) -> Iterator[Violation]:
    for network, account in facts.recipients:
        own = account == facts.sender and _allowed(rule.recipients, network, SENDER)
        if not own and not _allowed(rule.recipients, network, account):
            yield _refused(rule, "recipients", f"{account} on {network} gets something of it", account)
    for grant in facts.grants:
        if not _allowed(rule.spenders, facts.network, grant.spender):
            text = f"{grant.spender} may take {grant.amount} base units of {grant.token} on {facts.network}"
            yield _refused(rule, "spenders", text, grant.spender)


def _of_calls(rule: Rule, facts: Facts) -> Iterator[Violation]:
    for call in facts.calls:
        if call.contract is not None and not _allowed(rule.contracts, facts.network, call.contract):
            text = f"it calls the contract {call.contract} on {facts.network}"
            yield _refused(rule, "contracts", text, call.contract)
        if rule.functions is not None and call.function not in rule.functions:
            yield _refused(rule, "functions", f"it calls {_signature(call)}", call.function)
        if call.opaque and not rule.allow_opaque:
            text = f"the gateway cannot read the call of {call.function}"
            yield _refused(rule, "allow_opaque", text, call.function)
    for kind in () if rule.allow_opaque else facts.unread_messages:
        yield _refused(rule, "allow_opaque", f"the gateway cannot read the message {kind} to sign", kind)


def _of_prices(rule: Rule, facts: Facts) -> Iterator[Violation]:
    impact, most = facts.price_impact_bps, rule.max_price_impact_bps
    if most is not None and (facts.trades if impact is None else impact > most):
        is_ = "not known" if impact is None else f"{impact} bps"
        text = f"the price impact is {is_}, and at most {most} bps are allowed"
        yield _refused(rule, "max_price_impact_bps", text)
    if rule.max_slippage_bps is None:
        return
    for bound in facts.bounds:
        if not _is_within(bound, rule.max_slippage_bps):
            limit = "without a limit" if bound.limit is None else f"with the limit {bound.limit}"
            text = (
                f"{bound.amount} base units of {_named(bound.token)} are quoted {limit}, and at most "
                f"{rule.max_slippage_bps} bps of slippage are allowed"
            )
            yield _refused(rule, "max_slippage_bps", text, bound.token)


def _of_the_run(rule: Rule, facts: Facts) -> Iterator[Violation]:
    if not rule.require_simulation:
        return
    if not facts.simulated:
        yield _refused(rule, "require_simulation", "its transactions were not simulated with success")
    for assumption in facts.assumptions:
        yield _refused(rule, "require_simulation", f"its simulation assumed {assumption}", assumption)


def _allowed(table: ByNetwork | None, network: str, address: Address) -> bool:
    return table is None or address in table.get(network, ())


def _is_within(bound: Bound, slippage_bps: int) -> bool:
    """Returns whether a limit is no further away than the slippage, but for one base unit of rounding."""
    if bound.limit is None:
        return False
    if bound.is_output:
        return bound.limit + 1 >= bound.amount * (_WHOLE_BPS - slippage_bps) // _WHOLE_BPS
    return bound.limit - 1 <= -(-bound.amount * (_WHOLE_BPS + slippage_bps) // _WHOLE_BPS)


def _refused(rule: Rule, member: str, text: str, subject: str | None = None) -> Violation:
    return Violation(member, f"{text} (rule {rule.name!r})", subject)


def _named(token: Address) -> str:
    return "the native coin" if token == NATIVE else token


def _signature(call: CallFact) -> str:
    return call.function if call.opaque else call.signature
