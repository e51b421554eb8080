"""The real server with the real Uniswap plugin on the devnet, and the corpus of bad plugins beside it."""

import re
import time

import pytest
from bad_servers import MOST_STOP_S, BadServer
from quoteway.testing.bad_plugins import BAD_PLUGINS

FEW = (
    "cannot-be-imported",
    "squats-a-name",
    "squats-an-id",
    "raises-in-quote",
    "promises-1e30",
    "token-hangs",
)
HARMLESS = tuple(bad for bad in BAD_PLUGINS if bad.needs is None)
HARMFUL = tuple(bad for bad in BAD_PLUGINS if bad.needs == "process")
BLOCKING = tuple(bad for bad in BAD_PLUGINS if bad.cost == "blocks the loop")
REASONS = {
    "cannot-be-imported": "import_failed",
    "syntax-error": "import_failed",
    "exits-at-import": "import_failed",
    "other-api": "incompatible",
    "squats-a-name": "squatter",
    "squats-an-id": "squatter",
    "unknown-hook": "incompatible",
    "wrong-argument": "incompatible",
    "lacks-a-secret": "credential_missing",
    "no-hook": "incomplete",
    "twice-one-id": "duplicate_id",
    "lifespan-hangs": "startup_failed",
}
SECRET = "hunter2"


@pytest.fixture
def serve(devnet, tmp_path):
    """``serve(plugins, **options)`` is a server with these beside Uniswap, to use as a context manager."""

    def make(bad=(), **options):
        return BadServer(devnet, tmp_path / f"{len(list(tmp_path.iterdir()))}", tuple(bad), **options)

    return make


@pytest.fixture
def judged(serve):
    """``judged(server)`` fails unless quotes, actions and lists are those of a server without bad plugins."""
    with serve() as alone:
        right = alone.quote()["toAmount"]
        lists = {kind: alone.rows_with(kind, ()) for kind in ("tokens", "pools")}

    def judge(server, times=4):
        for _ in range(times):
            quote = server.quote()
            assert (quote["provider"], quote["toAmount"]) == ("uniswap", right)
            assert server.action(quote)["steps"]
            server.healthy()
            for kind, honest in lists.items():
                rows = server.rows_with(kind, honest)
                for row_id, row in honest.items():
                    assert {m: rows[row_id][m] for m in FIXED[kind]} == {m: row[m] for m in FIXED[kind]}
        return quote

    return judge


FIXED = {"tokens": ("symbol", "contracts"), "pools": ("protocol", "kind", "address", "pair", "feeBps")}
"""What does not change with the prices of the moment."""


def judge_rows(server, bad):
    """Fails unless ``/v2/providers`` says why each refused plugin is not enabled, and no secret."""
    rows = server.providers()
    assert rows["quoteway-uniswap"]["enabled"] is True
    for each in bad:
        if each.named == "providers" and each.name != "lifespan-ignores-cancellation":  # ends in time here
            row = rows[each.distribution]
            assert row["enabled"] is False, each.name
            assert row["reason"] == REASONS.get(each.name, row["reason"]) is not None, each.name
    assert SECRET not in str(rows)
    return rows


def judge_stop(server):
    status, took_s = server.stop()
    assert status in (0, 1), "its own end, not a signal's"
    assert took_s <= 10 * MOST_STOP_S, "a busy machine is slow; without the deadline it would never end"
    return status


def test_a_few_bad_plugins_beside_uniswap(serve):
    bad = [each for each in BAD_PLUGINS if each.name in FEW]
    with serve(bad) as server:
        quote = server.quote()
        assert quote["provider"] == "uniswap"
        assert server.action(quote)["steps"]
        assert server.rows("tokens")[0]
        server.healthy()
        judge_rows(server, bad)
        assert judge_stop(server) == 0


@pytest.mark.slow
def test_all_that_need_no_process_together(serve, judged):
    with serve(HARMLESS, startup_s=20, competition_s=10) as server:
        quote = judged(server)
        outcomes = {each["provider"]: each["outcome"] for each in quote["attempts"]}
        for each in HARMLESS:
            if each.named == "attempts":
                assert outcomes[each.name] not in ("quoted", None), each.name
        judge_rows(server, HARMLESS)
        judge_stop(server)


@pytest.mark.slow
def test_all_others_together_in_processes_of_their_own(serve, judged):
    with serve(HARMFUL, startup_s=30, competition_s=10, silence_s=5) as server:
        judged(server)
        rows = judge_rows(server, HARMFUL)
        stalls = {name: row["worstStall"] for name, row in rows.items() if name.startswith("bad-")}
        for stall in filter(None, stalls.values()):
            assert stall["function"].startswith("quoteway.host.isolation."), "their code is not in the server"
        judge_stop(server)


@pytest.mark.slow
def test_who_blocks_the_loop_of_the_server_is_named_at_once(serve, judged):
    """In the server's process each costs time. All answers are right, and the log, the metrics and
    ``/v2/providers`` name the plugin and its function."""
    with serve(BLOCKING, isolated=False, competition_s=30) as server:
        judged(server, times=1)

        def rows_of_named():
            server.quote()  # what a machine that was busy otherwise has hidden, it shows now
            rows = server.providers()
            return all(rows[bad.distribution]["worstStall"] for bad in BLOCKING) and rows

        rows = server.until(rows_of_named)
        _, metrics = server.ask("GET", "/metrics")
        for bad in BLOCKING:
            package = bad.distribution.replace("-", "_")
            assert rows[bad.distribution]["worstStall"]["function"].startswith(package), bad.name
            assert re.search(rf"plugin '{bad.name}' .*blocked the event loop.*{package}", server.log), (
                bad.name
            )
            assert f'quoteway_loop_stalls_total{{plugin="{bad.name}"}}' in metrics, bad.name
        judge_stop(server)


@pytest.mark.slow
def test_a_loop_that_is_never_free_again_is_named_and_the_server_still_ends(serve):
    bad = [each for each in BAD_PLUGINS if each.name == "computes-for-ever"]
    with serve(bad, isolated=False) as server:
        server.connection.connect()
        server.connection.request(
            "POST", "/v2/swaps/quote", server.quote_body(), {"Content-Type": "application/json"}
        )
        server.until(lambda: re.search("plugin 'computes-for-ever' has blocked .* and goes on", server.log))
        started_s = time.monotonic()
        assert judge_stop(server) == 1
        assert time.monotonic() - started_s <= 10 * MOST_STOP_S
