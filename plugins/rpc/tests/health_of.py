"""The health of upstreams on a clock of the test."""

import logging

import pytest
from fake_node import raw
from quoteway import Endpoint, Network
from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.health import Health
from quoteway_rpc.upstream import Upstream

CALL = "eth_call"
FAULT, CAPACITY, TIMEOUT = Outcome.NODE_FAULT, Outcome.CAPACITY, Outcome.TIMEOUT
BROKEN = raw("oops", "500 Internal Server Error")


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(clock):
    """Makes the health of upstreams; nothing is probed, for nothing is sent to their addresses."""

    def made(*endpoints, cordons=None):
        endpoints = [
            e if isinstance(e, Endpoint) else Endpoint("http://127.0.0.1:9", name=e) for e in endpoints
        ]
        network = Network("ethereum", 1, "Ethereum", block_time_s=12.0, endpoints=tuple(endpoints))
        upstreams = [Upstream(endpoint, 1, index, 10_000) for index, endpoint in enumerate(endpoints)]
        log = logging.getLogger("quoteway.plugin.rpc")
        health = Health(network, upstreams, log, clock=clock, cordons=cordons)
        health.upstreams = {upstream.label: upstream for upstream in upstreams}
        return health

    return made


def names(health, method=CALL):
    return [upstream.label for upstream in health.candidates(method)]


def tell(health, label, outcome=None, times=1, *, method=CALL, took_s=0.01, retry_after_s=None):
    upstream = health.upstreams[label]
    for _ in range(times):
        health.started(upstream, method)
        health.finished(upstream, method, outcome, took_s, retry_after_s)


def states(health):
    return {row.label: (row.state, row.reason) for row in health.rows()}
