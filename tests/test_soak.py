"""``python -m bench soak``: what it calls unexpected, and a short run of it."""

import asyncio
import time

import pytest

for plugin in ("devnet", "rpc", "router", "uniswap", "erc4626", "managedvault", "tokenlist", "indexer"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import aiohttp  # noqa: E402

from bench.report import Report  # noqa: E402
from bench.soak import client, is_odd, judge  # noqa: E402
from bench.soak_faults import RECOVERY_S, Outages, is_unexpected  # noqa: E402
from bench.soak_load import Outcome, outcomes_in  # noqa: E402
from bench.soak_place import soak_place  # noqa: E402

LONG_S = 240
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


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


async def until(asked, wanted, place):
    """Waits until a request has an answer of these statuses."""
    ends_at = time.monotonic() + LONG_S
    while (status := await asked()) not in wanted:
        assert time.monotonic() < ends_at, (status, place.log.read_text()[-3_000:])
        await asyncio.sleep(0.2)


@pytest.mark.services
@pytest.mark.slow
async def test_quotes_and_history_outlive_redis_and_postgresql(tmp_path):
    """A run of the benchmark, as short as its outages allow: what matters is that all comes back."""
    places = soak_place(tmp_path, 1, shared_every_s=6, database_every_s=8, down_s=3)
    async with places as place, aiohttp.ClientSession() as session:
        file = tmp_path / "outcomes"
        began = time.monotonic()
        async with client(place.url, file, 5.0, 1):
            samples = []
            ends_at = time.monotonic() + LONG_S
            while min(len(place.shared.spans), len(place.database.spans)) < 2:
                assert time.monotonic() < ends_at
                samples.append((time.monotonic(), place.usages()))
                await asyncio.sleep(0.5)

            async def quoted():
                usdc = place.chains.usdc("devnet")
                body = {"network": "devnet", "fromToken": "native", "toToken": usdc, "amount": "10000000"}
                async with session.post(
                    f"{place.url}/v2/swaps/quote", json={**body, "address": WALLET}
                ) as it:
                    return it.status

            async def history():
                path = f"/v2/portfolio/activity?wallet={WALLET}&network=devnet"
                async with session.get(f"{place.url}{path}") as it:
                    return it.status

            await until(quoted, {200}, place)
            await until(history, {200}, place)
        names = {usage.name for usage in place.usages()}
        assert {"supervisor 1", "worker 1", "worker 2", "index 1"} <= names, "a process has ended"
        outcomes = outcomes_in(file)
        assert outcomes
        assert not [each for each in outcomes if each.status in (0, -1, 500)]
        assert not [each for each in outcomes if is_odd(each)]
        assert not place.chains.reverted
        report = Report()
        judge(report, place, outcomes, samples, began, time.monotonic() - began)
        assert {"5xx that no fault explains", "trades that reverted"} <= {row.what for row in report.rows}
