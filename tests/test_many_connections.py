"""A gateway with many connections that wait and many that ask, and with more than it has room for."""

import pytest

for plugin in ("devnet", "uniswap"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from bench.connections import (  # noqa: E402
    FEW_FILES,
    MOST_OPENED,
    PATIENT,
    active,
    all_files,
    asked_again,
    crowd,
    opened,
    place_of,
)
from bench.server import gateway  # noqa: E402

pytestmark = [pytest.mark.services, pytest.mark.slow]


async def test_connections_that_wait_and_ask_lose_nothing():
    """``python -m bench connections`` has 5,000 and 2,000."""
    with all_files():
        async with gateway(environ=PATIENT) as url:
            host, port = place_of(url)
            async with opened(host, port, 500) as idle, opened(host, port, 200) as asking:
                async with active(asking, think_s=(0.0, 0.2)) as outcomes:
                    kept = await asked_again(idle)
                assert kept == {"200": 500}
                assert outcomes.keys() == {"200"}


async def test_more_connections_than_files_close_those_that_waited_longest():
    with all_files():
        async with gateway(most_files=FEW_FILES, environ=PATIENT) as url:
            outcomes, quoted = await crowd(url, MOST_OPENED)
            assert quoted == {"quoted": 10}, "files are left for what the gateway itself opens"
            assert outcomes.keys() == {"200", "closed"}
            room = FEW_FILES * 3 // 4
            assert room - 8 <= outcomes["200"] <= room
            again, _ = await crowd(url, 10)
            assert again == {"200": 10}, "there is room again"
