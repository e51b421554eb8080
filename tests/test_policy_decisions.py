"""Decisions of custody policies, compared with an evaluator that is written from the documentation alone."""

import json
import random
from collections import Counter
from dataclasses import fields
from decimal import Decimal

import pytest
import random_actions
from policy_evaluator import judged
from policy_rules import toml
from quoteway.guard.policy import decide
from quoteway.guard.policy_amounts import exceeded_by
from quoteway.guard.policy_facts import facts_of
from quoteway.guard.policy_file import Rule, parse_policy
from quoteway.server.saved_actions import saved_facts
from quoteway.web.wire.actions import Action


def lowered(violations):
    return {(each.rule, None if each.subject is None else low(each.subject)) for each in violations}


def decided(policy, facts, used):
    tokens = {name: Decimal(amount) for name, amount in used.items()}
    return decide(policy, facts) + exceeded_by(policy, facts, tokens)


def name_of(chain_id):
    return random_actions.SLUGS[chain_id - 1]


def low(subject):
    return subject if subject == subject.upper() else subject.lower()


@pytest.mark.parametrize("actions", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_an_independent_evaluator_decides_random_actions_alike(tmp_path, actions):
    r = random.Random(20261127)
    refusals, allowed, file = Counter(), 0, tmp_path / "action.json"
    for number in range(actions):
        if number % 5 == 0:  # to read a policy takes longer than to decide by it
            rules = random_actions.policy(r)
            policy = parse_policy(toml(*rules).encode(), "policy.toml")
        action = random_actions.action(r)
        levels = {provider: r.choice((None, 0, 1, 3)) for provider in random_actions.PROVIDERS}
        quorums = {slug: r.choice((1, 2, 3)) for slug in random_actions.SLUGS if r.random() < 0.9}
        text = json.dumps(Action.render(action, random_actions.NETWORKS))
        file.write_text(text)
        used = {limit.name: r.choice(("0.000001", "1", "4")) for limit in policy.limits if r.random() < 0.5}
        facts = facts_of(action, name_of, levels, quorums)
        found = decided(policy, facts, used)
        assert lowered(found) == judged(rules, json.loads(text), levels, quorums, used)
        assert decided(policy, saved_facts(file, levels, quorums), used) == found
        refusals.update({each.rule for each in found})
        allowed += not found
    # The comparison means something: many actions are allowed, and every member has refused some.
    assert allowed > actions / 20
    if actions == 1_000:
        assert {*refusals} == {each.name for each in fields(Rule)} - {"name"}
        assert min(refusals.values()) >= 5, refusals
