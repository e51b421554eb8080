"""A short run of ``bench restarts``: requests through the shipped nginx.conf while replicas end or reload."""

import pytest

from bench import restarts
from bench.report import Report

pytestmark = pytest.mark.services

RATE = 20


async def test_requests_through_nginx_survive_each_kind_of_restart_and_are_answered_right():
    seen = await restarts.run(Report(), rounds=6, rate=RATE, pause_s=0.2)
    assert seen.lost == []
    assert seen.wrong == []
    assert {kind for _, kind in seen.done} == set(seen.rounds.kinds)
    assert seen.rounds.executed == 12, "each replica built what the other quoted, after each round"
    assert min(seen.client.found["sent"].values()) > 0, "requests of each kind"
    assert seen.retried, "nginx had to ask the other replica"
