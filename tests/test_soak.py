"""``python -m bench soak``: what it calls unexpected."""

import pytest

for plugin in ("devnet", "rpc", "router", "uniswap", "erc4626", "managedvault", "tokenlist", "indexer"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from bench.soak import is_odd  # noqa: E402
from bench.soak_faults import RECOVERY_S, Outages, is_unexpected  # noqa: E402
from bench.soak_load import Outcome  # noqa: E402


def outcome(kind="quote", began=0.0, took_s=1.0, status=502, code="upstream_error provider_error"):
    return Outcome(kind, "devnet", began, took_s, status, code)


def test_only_history_may_fail_and_only_while_its_database_is_down():
    database = Outages([[100.0, 120.0]])
    assert is_unexpected(outcome(began=105), database), "quotes need no history"
    assert not is_unexpected(outcome("activity", began=105), database)
    assert not is_unexpected(outcome("activity", began=120 + RECOVERY_S - 1), database)
    assert is_unexpected(outcome("activity", began=120 + RECOVERY_S + 1), database)
    assert is_unexpected(outcome("activity", began=90), database), "it ended before"
    assert not is_unexpected(outcome("activity", began=90, took_s=11), database)
    assert is_unexpected(outcome("activity", began=105, status=500, code="internal"), database)
    assert not is_unexpected(outcome(status=200), database)
    assert not is_unexpected(outcome("bad input", status=404), database)


@pytest.mark.parametrize(
    ("kind", "status", "code", "odd"),
    [
        ("quote", 200, "", False),
        ("action", 201, "", False),
        ("quote", 404, "not_found", True),
        ("rpc", 200, "-32000 header not found", True),
        ("bad input", 422, "validation_error", False),
        ("bad input", 200, "", True),
        ("quote", 502, "upstream_error", False),
    ],
)
def test_what_an_answer_of_a_soak_should_have_been(kind, status, code, odd):
    assert is_odd(outcome(kind, status=status, code=code)) is odd
