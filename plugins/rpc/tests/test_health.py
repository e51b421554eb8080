"""Which upstreams are asked, and in which order: on a clock of the test."""

import pytest
from health_of import CALL, CAPACITY, FAULT, TIMEOUT, clock, make, names, states, tell
from quoteway import Endpoint
from quoteway_rpc.cordons import Cordons
from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.upstream_state import IN_A_ROW, OTHER

__all__ = ["clock", "make"]


def test_the_configured_order_holds_among_equals(make):
    health = make("a", "b", "c")
    assert names(health) == ["a", "b", "c"]
    for label in "abc":
        tell(health, label, times=50)
    assert names(health) == ["a", "b", "c"]


def test_one_failure_puts_an_upstream_behind_and_some_open_its_breaker(make):
    health = make("a", "b", "c")
    tell(health, "a", FAULT)
    assert names(health) == ["b", "c", "a"]
    assert states(health)["a"] == ("suspect", "node_fault")
    tell(health, "a", FAULT, IN_A_ROW - 1)
    assert states(health)["a"] == ("open", "node_fault")
    assert health.ok
    for label in "bc":
        tell(health, label, FAULT, IN_A_ROW)
    assert not health.ok
    assert names(health) == ["a", "b", "c"], "with all of them out, callers still have somebody to ask"


def test_half_of_the_calls_failing_opens_the_breaker(make, clock):
    health = make("a", "b")
    for _ in range(4):
        tell(health, "a")
        tell(health, "a", FAULT)
    assert states(health)["a"][0] == "suspect"
    tell(health, "a")
    tell(health, "a", FAULT)
    assert states(health)["a"][0] == "open"


def test_failures_of_long_ago_do_not_count(make, clock):
    health = make("a", "b")
    for _ in range(20):
        tell(health, "a")
        tell(health, "a", FAULT)
        clock.now += 10
        health.probed(health.upstreams["a"], 100)
    assert states(health)["a"] == ("closed", None)


@pytest.mark.parametrize("outcome", [FAULT, TIMEOUT])
def test_failures_of_requests_that_began_before_a_recovery_do_not_count(make, clock, outcome):
    health = make("a", "b")
    tell(health, "a", TIMEOUT, IN_A_ROW, method="eth_chainId", took_s=5.0)
    clock.now += 3
    health.probed(health.upstreams["a"], 100)
    clock.now += 1
    tell(health, "a", outcome, 20, took_s=5.0)
    assert states(health)["a"] == ("closed", None)
    assert names(health) == ["a", "b"]
    clock.now += 5
    tell(health, "a", outcome, took_s=5.0)
    assert states(health)["a"][0] == "suspect", "this one began after it"


def test_a_wrong_chain_counts_whenever_the_request_began(make, clock):
    health = make("a", "b")
    tell(health, "a", FAULT)
    health.probed(health.upstreams["a"], 100)
    tell(health, "a", Outcome.INTEGRITY, took_s=5.0)
    assert states(health)["a"][0] == "open"


@pytest.mark.parametrize(
    "outcome",
    [Outcome.CALLER, Outcome.UNKNOWN, Outcome.DATA_MISSING, Outcome.TOO_LARGE, Outcome.CANCELLED],
)
def test_what_a_caller_can_cause_never_counts(make, outcome):
    health = make("a", "b")
    tell(health, "a", outcome, 1_000)
    assert names(health) == ["a", "b"]
    assert states(health)["a"] == ("closed", None)
    assert next(iter(health.rows())).error_rate in (None, 0.0)


def test_a_callers_short_deadline_is_not_the_upstreams_timeout(make):
    health = make("a", "b")
    upstream = health.upstreams["a"]
    for took_s, state in ((0.3, "closed"), (2.5, "suspect")):
        health.started(upstream, CALL)
        health.finished(upstream, CALL, TIMEOUT, took_s, kind="timeout")
        assert states(health)["a"][0] == state


def test_calls_that_a_caller_makes_last_open_no_breaker(make):
    """Whoever sends heavy calls does not move the others to the fallback."""
    health = make("a", Endpoint("http://127.0.0.1:9", name="paid", tier=1))
    tell(health, "a", TIMEOUT, 100, method="eth_call", took_s=2.5)
    assert states(health)["a"][0] == "suspect"
    assert names(health, "eth_gasPrice") == ["a", "paid"]
    assert health.next_probe_s() == 1, "a node that hangs is found by its probe"
    tell(health, "a", TIMEOUT, IN_A_ROW, method="eth_gasPrice", took_s=2.5)
    assert states(health)["a"][0] == "open"


@pytest.mark.parametrize("outcome", [Outcome.AUTHORISATION, Outcome.INTEGRITY])
def test_a_refused_key_and_a_wrong_chain_open_the_breaker_at_once(make, outcome):
    health = make("a", "b")
    tell(health, "a", outcome)
    assert states(health)["a"][0] == "open"


def test_retry_after_is_kept_to(make, clock):
    health = make("a", "b")
    tell(health, "a", CAPACITY, retry_after_s=30)
    assert names(health) == ["b", "a"]
    assert states(health)["a"] == ("limited", "capacity")
    clock.now += 29
    assert names(health) == ["b", "a"]
    clock.now += 2
    assert names(health)[0] == "a"
    assert states(health)["a"] == ("closed", None)


def test_without_retry_after_the_pauses_grow(make, clock):
    health = make("a", "b")
    pauses = []
    for _ in range(6):
        tell(health, "a", CAPACITY, 5)
        began = clock.now
        while names(health)[0] == "b":
            clock.now += 0.5
        pauses.append(clock.now - began)
    assert pauses == [2, 2, 4, 8, 10, 10], "the first one is longer by the budget of one in a second"


def test_a_refusal_for_the_rate_halves_the_budget_and_answers_raise_it(make, clock):
    health = make("a", "b")
    for _ in range(40):
        health.started(health.upstreams["a"], CALL)
    tell(health, "a", CAPACITY)
    limit = next(iter(health.rows())).limit_rps
    assert limit == pytest.approx(20.5)
    clock.now += 5
    asked = []
    for _ in range(60):
        asked.append(names(health)[0])
        tell(health, asked[-1])
    assert asked.count("a") in (21, 22), "the rest of this second goes to the others"
    assert limit < next(iter(health.rows())).limit_rps < limit + 2


def test_an_upstream_without_a_method_is_asked_last_for_it_alone(make, clock):
    health = make("a", "b")
    tell(health, "a", Outcome.METHOD_MISSING, method="eth_simulateV1")
    assert names(health, "eth_simulateV1") == ["b", "a"]
    assert names(health) == ["a", "b"]
    clock.now += 601
    assert names(health, "eth_simulateV1") == ["a", "b"]


def test_a_fallback_waits_until_no_primary_is_usable(make, clock):
    fallback = Endpoint("http://127.0.0.1:9", name="paid", tier=1)
    health = make(fallback, "a", "b")
    assert names(health) == ["a", "b", "paid"]
    assert not health.may_hedge(health.upstreams["a"], health.upstreams["paid"])
    assert health.may_hedge(health.upstreams["a"], health.upstreams["b"])
    tell(health, "a", FAULT)
    assert names(health) == ["b", "a", "paid"]
    tell(health, "a", FAULT, IN_A_ROW)
    tell(health, "b", CAPACITY, retry_after_s=5)
    assert names(health) == ["paid", "b", "a"]
    clock.now += 6
    assert names(health) == ["b", "paid", "a"]


def test_the_slow_and_the_failing_go_behind(make, clock):
    health = make("slow", "rotten", "good")
    for _ in range(10):
        clock.now += 0.1
        tell(health, "slow", took_s=2.0)
        tell(health, "rotten", times=3)
        tell(health, "rotten", FAULT)
        health.probed(health.upstreams["rotten"], 1)
        tell(health, "good", took_s=0.02)
    assert names(health) == ["good", "slow", "rotten"]
    assert names(health, "eth_getLogs") == ["slow", "rotten", "good"], "of this method only"
    assert health.quantile(CALL, 0.5, health.upstreams["good"]) is None, "ten answers are too few"
    tell(health, "good", times=10, took_s=0.02)
    assert health.quantile(CALL, 0.9, health.upstreams["good"]) == pytest.approx(0.02, rel=0.2)
    assert health.quantile(CALL, 0.9) == pytest.approx(0.01, rel=0.2), "of the fastest one"
    clock.now += 600
    assert names(health)[0] == "slow", "it is tried again after a while"


def test_who_always_loses_the_race_goes_behind(make):
    health = make("hangs", "good")
    tell(health, "good", times=10)
    tell(health, "hangs", Outcome.CANCELLED, 5, took_s=0.5)
    assert names(health) == ["good", "hangs"]
    assert states(health)["hangs"] == ("closed", None)


def test_a_lagging_upstream_goes_behind(make, clock):
    health = make("a", "b")
    for label, head in (("a", 80), ("b", 100)):
        health.head_seen(health.upstreams[label], head)
    assert health.lag(health.upstreams["a"]) == 20
    assert names(health) == ["b", "a"]
    health.head_seen(health.upstreams["a"], 99)
    assert names(health) == ["a", "b"], "one block is no lag"
    clock.now += 60
    assert health.lag(health.upstreams["a"]) is None


def test_one_that_invents_blocks_leaves_nobody_behind(make):
    health = make("liar", "a", "b")
    for label, head in (("liar", 1 << 60), ("a", 100), ("b", 100)):
        health.head_seen(health.upstreams[label], head)
    assert [row.lag for row in health.rows()] == [0, 0, 0]


def test_a_cordoned_upstream_is_never_asked(make):
    health = make(Endpoint("http://127.0.0.1:9", name="a", cordoned="moving"), "b", "c")
    assert names(health) == ["b", "c"]
    health.cordon(health.upstreams["b"], "lied of eth_getBalance")
    assert names(health) == ["c"]
    assert states(health)["a"] == ("cordoned", "moving")
    assert states(health)["b"] == ("cordoned", "lied of eth_getBalance")
    tell(health, "c", FAULT, IN_A_ROW)
    assert names(health) == ["c"]
    health.uncordon(health.upstreams["b"])
    health.uncordon(health.upstreams["a"])
    assert names(health) == ["b", "c"]


def test_an_upstream_is_cordoned_while_the_server_runs(make, clock, tmp_path):
    path = tmp_path / "cordons"
    health = make("a", "b", cordons=Cordons(path, clock))
    assert names(health) == ["a", "b"]
    path.write_text("# by hand\nethereum a: wrong logs since noon\nbase b: another network\n\nethereum\n")
    clock.now += 2
    assert names(health) == ["b"]
    assert states(health)["a"] == ("cordoned", "wrong logs since noon")
    path.write_bytes(b"ethereum b\nethereum \xff: \xff\x00\n")
    clock.now += 2
    assert names(health) == ["a"]
    path.unlink()
    clock.now += 2
    assert names(health) == ["a", "b"]


def test_methods_outside_of_the_list_share_one_count(make):
    health = make("a", "b")
    for number in range(1_000):
        tell(health, "a", method=f"\ud800{number}")
    (row, _) = health.rows()
    assert row.calls == [(OTHER, "answered", 1_000)]
