"""What ``quoteway doctor`` asks of the databases and stores that plugins name."""

import asyncio

import pytest
from quoteway import ConfigError, DoctorCheck, UpstreamError
from quoteway.host.states import NotEnabled
from quoteway.server import plugin_checks
from quoteway.testing.fakes import FakePlugin

CANARY = "redis://user:canary@10.0.0.1"


def plugin(*checks):
    return FakePlugin(doctor_checks=checks)


def answering(answer):
    async def ask():
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return DoctorCheck("url", ask, "nothing is kept")


@pytest.mark.parametrize(
    ("answer", "mark", "text"),
    [
        ("answers in 3 ms", "ok", "answers in 3 ms"),
        (UpstreamError("It refuses."), "fail", "It refuses. Until it can be used, nothing is kept"),
        (ConfigError("no such file"), "fail", "no such file. Until it can be used, nothing is kept"),
        (OSError(CANARY), "fail", "the check failed (OSError). Until it can be used, nothing is kept"),
        (SystemExit(3), "fail", "the check failed (SystemExit). Until it can be used, nothing is kept"),
        (3, "fail", "the check returned int, expected a sentence. Until it can be used, nothing is kept"),
    ],
)
async def test_what_a_check_finds(make_gateway, answer, mark, text):
    gateway = await make_gateway({"mine": plugin(answering(answer))})
    (found,) = await plugin_checks.checks(gateway.registry.plugins)
    assert (found.mark, found.subject, found.text) == (mark, "plugin.mine.url", text)


async def test_one_that_hangs_holds_up_no_other(make_gateway, monkeypatch):
    monkeypatch.setattr(plugin_checks, "CHECK_S", 0.05)
    hanging = DoctorCheck("store", lambda: asyncio.sleep(3_600, "late"), "nothing is shared")
    gateway = await make_gateway({"mine": plugin(hanging, answering("is there"))})
    late, found = await plugin_checks.checks(gateway.registry.plugins)
    assert late.text == "no answer in 0.05 s. Until it can be used, nothing is shared"
    assert found.text == "is there"


async def test_a_plugin_that_returns_something_else_is_refused(make_gateway):
    gateway = await make_gateway({"mine": plugin("redis"), "other": plugin(answering("is there"))})
    (found,) = await plugin_checks.checks(gateway.registry.plugins)
    assert found.subject == "plugin.other.url"
    (entry,) = (each for each in gateway.registry.plugins if each.name == "mine")
    assert entry.reason is NotEnabled.INCOMPLETE
    assert "quoteway_doctor_checks" in entry.detail
