"""What plugins count of their own work, and the metric that shows it."""

import pytest
from quoteway.context import MOST_COUNTS, Context
from quoteway.host.runtime import Runtime
from quoteway.networks import Network

SEVEN = Network("seven", 7, "Seven")


@pytest.fixture
def context():
    return Context("counting", {}, None, Runtime(None))


def test_counts_are_by_plugin_event_and_network(context):
    context.count("read", SEVEN)
    context.count("read", SEVEN, 41)
    context.count("none", SEVEN, 0)
    assert context.runtime.counts == {("counting", "read", "seven"): 42, ("counting", "none", "seven"): 0}


@pytest.mark.parametrize(
    ("event", "amount"), [("Read", 1), ("", 1), ("a" * 41, 1), ("a\n", 1), ("a", -1), ("a", 1.5), ("a", True)]
)
def test_other_words_and_amounts_are_refused(context, event, amount):
    with pytest.raises(ValueError, match="cannot count"):
        context.count(event, SEVEN, amount)
    assert not context.runtime.counts


def test_a_plugin_cannot_count_without_end(context):
    for number in range(MOST_COUNTS + 5):
        context.count(f"event{number}", SEVEN)
    context.count("event0", SEVEN)
    assert len(context.runtime.counts) == MOST_COUNTS
    assert context.runtime.counts["counting", "event0", "seven"] == 2
    other = Context("other", {}, None, context.runtime)
    other.count("read", SEVEN)
    assert len(context.runtime.counts) == MOST_COUNTS + 1
