"""The page "Raise the right error": each row of its table does what it says, and its code runs."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import quoteway
from quoteway.engine.ranking import refusal
from quoteway.errors import GatewayError, InvalidRequest
from quoteway.guard.model_types import MAX_TEXT_CHARS
from quoteway.guard.raised import flaw_of_error
from quoteway.host.call_records import FAULTS_TO_OPEN
from quoteway.host.provider_calls import ProviderCalls
from quoteway.providers import SwapProvider
from quoteway.web.wire.errors import error_wire

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "raise-the-right-error.md").read_text()
ROWS = re.findall(
    r"^\| [^|]+ \| `(.+)` \| (\d+)(?: `(\w+)`)? \| (\w+) \| (\w+) \| (\w+) \|$", PAGE, re.MULTILINE
)


class Answers(SwapProvider):
    def __init__(self, name, answer):
        self.id, self.answer = name, answer

    async def quote(self, request):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def build(self, sealed):
        raise AssertionError


async def asked(calls, *providers):
    return await calls.ask_all(providers, lambda each: each.quote(None), verb="quote", scope=(1, 1))


def test_every_row_is_read():
    (table,) = re.findall(r"^\| What happened .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert len(ROWS) == len(table.strip().splitlines()) - 2 > 10


@pytest.mark.parametrize(("code", "status", "reason", "retryable", "breaker", "last_error"), ROWS)
async def test_each_row_does_what_it_says(code, status, reason, retryable, breaker, last_error):
    answer = eval(code, {**vars(quoteway)})
    if isinstance(answer, GatewayError):
        assert flaw_of_error(answer) is None
    calls = ProviderCalls(3.0, lambda event: None)
    provider, other = Answers("provider", answer), Answers("other", 100)
    error = refusal(await asked(calls, provider))
    shown = error_wire(error, "id")["error"]
    assert (str(error.status), shown.get("details", {}).get("reason", "")) == (status, reason)
    told = shown.get("details", {}).get("retryable", "absent")
    assert str(told).lower() == retryable
    calls = ProviderCalls(3.0, lambda event: None)
    for _ in range(FAULTS_TO_OPEN):
        await asked(calls, provider, other)
    (method,) = calls.methods(provider)
    assert (method.state == "open") == (breaker == "fault")
    assert (method.last_error is not None) == (last_error == "yes")


async def test_a_refusal_beside_a_provider_that_failed_is_a_502_with_both_reasons():
    calls = ProviderCalls(3.0, lambda event: None)
    refused = Answers("a", InvalidRequest("no", reason=quoteway.Reason.OUT_OF_RANGE))
    error = refusal(await asked(calls, refused, Answers("b", KeyError("x"))))
    assert error.status == 502
    assert [each.reason for each in error.attempts] == ["out_of_range", "provider_error"]
    assert refusal(await asked(calls, refused, Answers("c", None))).status == 422


@pytest.mark.parametrize(
    "member", ["attempts", "headers", "acknowledgement_needed", "not_ready", "differences", "violations"]
)
def test_members_of_the_core_make_an_error_a_bug(member):
    assert f"`{member}`" in PAGE
    value = {"a": "b"} if member == "headers" else ("x",)
    assert flaw_of_error(quoteway.UpstreamError("no", **{member: value})) == f"{member} is the core's"


def test_only_the_core_refuses_by_its_policy():
    refusal = quoteway.errors.PolicyRefused("no", reason=quoteway.Reason.POLICY_REFUSED)
    assert flaw_of_error(refusal) == "status is none of this API"


def test_the_code_of_the_page_names_the_member():
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    scope = {}
    exec(code, scope)
    scope["check_ticks"](SimpleNamespace(tick_lower=120), 60)
    with pytest.raises(InvalidRequest) as refused:
        scope["check_ticks"](SimpleNamespace(tick_lower=61), 60)
    assert flaw_of_error(refused.value) is None
    assert error_wire(refused.value, "id")["error"]["message"] == "tickLower must be a multiple of 60."
    assert f"{MAX_TEXT_CHARS:,} characters" in PAGE
