"""Attack: a caller who gives itself another address in each request, to have a rate limit for each.

Forwarded addresses count only from the proxies that the operator names, read from the right.
"""

from dataclasses import replace

import pytest
from quoteway.config.model import LimitsConfig

FORGED = {
    "by itself": "10.0.0.{n}",
    "left of itself": "192.0.2.{n}, 198.51.100.7",
    "as a trusted proxy": "10.0.0.{n}, 198.51.100.7",
    "no address": "{n}, junk",
    "with a port": "192.0.2.{n}:{n}",
    "of one IPv6 network": "2001:db8::{n}",
    "IPv4 in IPv6 of itself": "192.0.2.{n}, ::ffff:198.51.100.7",
}


@pytest.fixture
def limited(serve_app, make_config):
    """``await limited()``: an app with three reads a minute, and which header values exhaust them."""

    async def make(**server):
        config = replace(make_config(**server), limits=LimitsConfig(catalog="3/minute"))
        return await serve_app(config=config)

    return make


async def statuses(api, value, name="X-Forwarded-For"):
    answers = [await api.get("/v2/providers", headers={name: value.format(n=n)}) for n in range(1, 6)]
    return [answer.status for answer in answers]


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP"]
)
async def test_without_trusted_proxies_nobody_says_who_calls(limited, name):
    assert await statuses(await limited(), "192.0.2.{n}", name) == [200] * 3 + [429] * 2


@pytest.mark.parametrize("case", [case for case in FORGED if case != "by itself"])
async def test_behind_a_proxy_what_the_client_wrote_counts_for_nothing(limited, case):
    """The proxy appends the address that it sees; all else in the header is the client's invention."""
    api = await limited(trusted_proxies=("127.0.0.0/8", "10.0.0.0/8"))
    assert await statuses(api, FORGED[case]) == [200] * 3 + [429] * 2


async def test_clients_of_a_trusted_proxy_are_counted_apart(limited):
    api = await limited(trusted_proxies=("127.0.0.0/8", "10.0.0.0/8"))
    assert await statuses(api, "6.6.6.6, 192.0.2.{n}, 10.0.0.9") == [200] * 5


async def test_a_caller_that_is_no_proxy_is_not_one_by_its_header(limited):
    api = await limited(trusted_proxies=("10.0.0.0/8",))
    assert await statuses(api, FORGED["by itself"]) == [200] * 3 + [429] * 2
