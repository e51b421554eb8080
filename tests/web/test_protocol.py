"""What aiohttp answers by itself, over a raw socket: always the envelope, never the request's own bytes."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web_server
from aiohttp.web_protocol import RequestHandler
from quoteway.web.http.protocol import EnvelopeHandler, EnvelopeRunner, EnvelopeServer

HOST = b"Host: x\r\n"
JSON = b"Content-Type: application/json\r\n"


def parse(received):
    """The first answer on the wire."""
    head, _, body = received.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
    return int(line.split()[1]), headers, body


async def raw(api, request, **kwargs):
    return parse(await asyncio.to_thread(api.raw, request, **kwargs))


def check_envelope(answer, *statuses):
    status, headers, body = answer
    assert status in statuses
    assert headers["content-type"] == "application/json"
    assert headers["server"] == "quoteway"
    error = json.loads(body)["error"]
    assert error["code"] in ("invalid_request", "not_found")
    assert error["requestId"] == headers["x-request-id"]
    assert "canary" not in body.decode().lower()


PARSER_CASES = {
    "over-long line": b"GET /canary" + b"a" * 9_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "over-long header": b"GET / HTTP/1.1\r\nX-Canary: " + b"a" * 9_000 + b"\r\n\r\n",
    "too many headers": b"GET / HTTP/1.1\r\n"
    + b"".join(b"X-Canary-%d: 1\r\n" % n for n in range(200))
    + b"\r\n",
    "garbage": b"\x16\x03\x01canary\r\n\r\n",
    "bad version": b"GET /canary HTTP/9\r\n" + HOST + b"\r\n",
    "header without colon": b"GET / HTTP/1.1\r\ncanary\r\n\r\n",
}


@pytest.mark.parametrize("case", PARSER_CASES)
async def test_what_the_parser_refuses_is_in_the_envelope(api, case, caplog):
    check_envelope(await raw(api, PARSER_CASES[case]), 400)
    assert "canary" not in caplog.text.lower(), "request bytes stay out of the log"
    assert (await api.get("/healthz")).status == 200


CLOSE = b"Connection: close\r\n"
POST = b"POST /v2/swaps/quote HTTP/1.1\r\n"

HANDLER_CASES = {
    "unknown expectation": (
        b"POST /v2/swaps/quote HTTP/1.1\r\nExpect: canary\r\nConnection: close\r\n" + HOST,
        400,
    ),
    "unknown expectation, no path": (
        b"GET /canary HTTP/1.1\r\nExpect: canary\r\nConnection: close\r\n" + HOST,
        400,
    ),
    "bad chunk": (
        POST + b"Transfer-Encoding: chunked\r\n" + CLOSE + JSON + HOST,
        400,
    ),
    "not gzip": (
        POST + b"Content-Encoding: gzip\r\nContent-Length: 6\r\n" + CLOSE + JSON + HOST + b"\r\ncanary",
        400,
    ),
    "odd path": (b"GET //canary/%zz/..%2f HTTP/1.1\r\nConnection: close\r\n" + HOST, 404),
}


@pytest.mark.parametrize("case", HANDLER_CASES)
async def test_what_handlers_meet_is_in_the_envelope(api, case):
    request, status = HANDLER_CASES[case]
    check_envelope(await raw(api, request + b"\r\n" + (b"zz\r\ncanary" if "chunk" in case else b"")), status)


@pytest.mark.slow
async def test_a_body_over_the_limit_is_refused_at_once(api):
    head = b"POST /v2/swaps/quote HTTP/1.1\r\n" + JSON + HOST
    check_envelope(await raw(api, head + b"Content-Length: 70000\r\n\r\n"), 413)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    check_envelope(await raw(api, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 2), 413)


async def test_a_bad_body_that_nobody_asked_for_is_no_error_of_ours(api, caplog):
    request = b"GET /v2/networks HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n"
    status, _, _ = await raw(api, request + HOST + b"\r\ncanary")
    assert status == 200
    # A busy machine may stall the loop, and the watchdog says so.
    ours = [record for record in caplog.records if record.name != "quoteway.host.watchdog"]
    assert not [record for record in ours if record.levelname == "ERROR"]
    assert "Traceback" not in caplog.text


async def test_expect_continue_is_answered(api):
    request = (
        b"POST /v2/swaps/quote HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n"
    )
    received = await asyncio.to_thread(api.raw, request + JSON + HOST + b"\r\n{}")
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 422 ")


async def test_a_misspelt_handler_option_is_an_error(api):
    """aiohttp drops every option when one is misspelt, with a warning only."""
    runner = EnvelopeRunner(api.app, max_lines_size=1, send_timeout_s=1.0)
    server = EnvelopeServer(lambda request: None, **runner._kwargs)
    with pytest.raises(TypeError, match="max_lines_size"):
        server()


def test_the_parts_of_aiohttp_that_are_replaced_are_still_there():
    """Fails when aiohttp renames what ``web.http.protocol`` overrides, which would silently undo it."""
    for name in ("data_received", "handle_error", "log_exception", "finish_response", "pause_writing"):
        assert getattr(EnvelopeHandler, name) is not getattr(RequestHandler, name)
    for name in ("_process_keepalive", "_handle_request"):
        assert getattr(EnvelopeHandler, name) is not getattr(RequestHandler, name)
    used = {"_waiter", "_messages", "_request_count", "_request_in_progress", "_handler_waiter"}
    used |= {"_keepalive_handle", "_next_keepalive_close_time", "_upgraded", "_read_bufsize"}
    slots = {name for kind in RequestHandler.__mro__ for name in getattr(kind, "__slots__", ())}
    assert used | {"_paused"} <= slots
    assert web_server.Server.__call__ is not EnvelopeServer.__call__
    assert "RequestHandler(self, loop=self._loop, **self._kwargs)" in Path(web_server.__file__).read_text()
