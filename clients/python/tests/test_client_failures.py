"""What a client does when the server, the connection or a proxy between them misbehaves."""

import asyncio
import email.utils
import ssl
import time

import httpx
import pytest
from bad_gateways import HANG, RESET, BadServer, answer, refusal
from quoteway_client import (
    ApiError,
    AsyncQuoteway,
    ConnectionFailed,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    Quoteway,
    RateLimited,
    Retrying,
    RpcError,
    Unauthorized,
    UnexpectedAnswer,
    UpstreamFailed,
    ValidationFailed,
)

KEY = "qw-secret-key"
PRICE = {"data": [], "partial": []}
QUICK = Retrying(timeout_s=0.4, deadline_s=3.0, first_pause_s=0.01)


@pytest.fixture(scope="module")
def certificates():
    """Read once: each client of httpx reads them otherwise."""
    return ssl.create_default_context()


@pytest.fixture(params=["sync", "async"])
def ask(request, certificates):
    """Asks for prices with either client; returns the answer and the server."""

    def run(*answers, retrying=QUICK, url=None):
        with BadServer(*answers).running() as server:
            try:
                return _prices(request.param, url or server.url, retrying, certificates), server
            except Exception as error:
                error.server = server
                raise

    return run


def _prices(kind, url, retrying, certificates):
    if kind == "sync":
        http = httpx.Client(verify=certificates)
        with Quoteway(url, KEY, retrying=retrying, http=http) as client:
            return client.prices.get(network="devnet", tokens=["0x1", "0x2"])

    async def get():
        http = httpx.AsyncClient(verify=certificates)
        async with AsyncQuoteway(url, KEY, retrying=retrying, http=http) as client:
            return await client.prices.get(network="devnet", tokens=["0x1", "0x2"])

    return asyncio.run(get())


def test_the_key_and_the_query_are_sent(ask):
    found, server = ask(answer(PRICE))
    assert found.data == ()
    (sent,) = server.requests
    assert sent.startswith(b"GET /v2/prices?network=devnet&tokens=0x1%2C0x2 HTTP/1.1\r\n")
    assert b"Authorization: Bearer qw-secret-key" in sent


@pytest.mark.parametrize(
    "bad",
    [
        RESET,
        HANG,
        answer(PRICE, length=500),
        b"garbage",
        answer(b"<html>bad gateway</html>", 502),
        answer(b"<html>try later</html>", 503, ["Retry-After: 0"]),
        refusal(502, "upstream_error", "behind", retryable=True),
        refusal(429, "rate_limit_exceeded", headers=["Retry-After: 0"]),
    ],
    ids=["reset", "silent", "truncated", "no HTTP", "HTML 502", "HTML 503", "behind", "429"],
)
def test_what_passes_is_asked_again(ask, bad):
    found, server = ask(bad, bad, answer(PRICE))
    assert found.data == ()
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (refusal(422, "validation_error", "missing"), ValidationFailed),
        (refusal(403, "validation_error", "policy_refused"), ValidationFailed),
        (refusal(400, "invalid_request"), InvalidRequest),
        (refusal(401, "unauthorized"), Unauthorized),
        (refusal(404, "not_found", "quote_expired"), NotFound),
        (refusal(502, "upstream_error", "no_route", retryable=False), UpstreamFailed),
        (refusal(503, "provider_unavailable", "capability_disabled"), ProviderUnavailable),
        (refusal(429, "rate_limit_exceeded", retryable=False), RateLimited),
        (refusal(418, "of_a_newer_server"), ApiError),
    ],
)
def test_what_does_not_pass_is_asked_once(ask, bad, kind):
    with pytest.raises(ApiError) as caught:
        ask(bad)
    error = caught.value
    assert type(error) is kind
    assert error.request_id == "r-1"
    assert error.reason == error.details.get("reason")
    assert "r-1" in str(error)
    assert KEY not in str(error)
    assert len(error.server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"data":7,"partial":[]}', b"\xff\xfe", b"[" * 100_000, b"null"],
    ids=["empty", "list", "without members", "wrong type", "no text", "deep", "null"],
)
def test_an_answer_of_another_shape_is_named(ask, body):
    with pytest.raises(UnexpectedAnswer, match="cannot be read as Prices") as caught:
        ask(answer(body))
    assert len(caught.value.server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_never_followed(ask, status):
    refused = pytest.raises(UnexpectedAnswer, match="redirect, which is not followed")
    with BadServer(answer(PRICE)).running() as elsewhere, refused:
        ask(answer(b"", status, [f"Location: {elsewhere.url}/v2/prices"]))
    assert elsewhere.requests == []


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_waited_for(ask, form):
    value = "1" if form == "seconds" else email.utils.formatdate(time.time() + 2, usegmt=True)
    began = time.monotonic()
    found, server = ask(refusal(429, "rate_limit_exceeded", headers=[f"Retry-After: {value}"]), answer(PRICE))
    assert found.data == ()
    assert time.monotonic() - began >= 0.9
    assert len(server.requests) == 2


def test_a_wait_beyond_the_deadline_is_not_begun(ask):
    began = time.monotonic()
    with pytest.raises(RateLimited) as caught:
        ask(refusal(429, "rate_limit_exceeded", headers=["Retry-After: 3600"]))
    assert time.monotonic() - began < 2
    assert caught.value.retry_after_s == 3600


@pytest.mark.parametrize("value", ["soon", "-5", "1e9", "", "9" * 400])
def test_a_retry_after_of_another_form_does_no_harm(ask, value):
    bad = refusal(429, "rate_limit_exceeded", headers=[f"Retry-After: {value}"])
    try:
        found, _ = ask(bad, answer(PRICE))
        assert found.data == ()
    except RateLimited as error:
        assert error.retry_after_s > 1_000  # noqa: PT017


def test_the_deadline_ends_all_attempts(ask):
    retrying = Retrying(timeout_s=0.2, deadline_s=1.0, first_pause_s=0.01)
    began = time.monotonic()
    with pytest.raises(ConnectionFailed, match="no answer to GET /v2/prices"):
        ask(HANG, retrying=retrying)
    assert time.monotonic() - began < 3


def test_an_answer_in_drops_is_ended(ask):
    def drops(connection, ended):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not ended.wait(0.05):
            connection.sendall(b" ")

    retrying = Retrying(timeout_s=0.4, deadline_s=0.5, first_pause_s=0.2)
    with pytest.raises(ConnectionFailed, match="too slow"):
        ask(drops, retrying=retrying)


def test_nobody_listens(ask):
    retrying = Retrying(timeout_s=0.2, deadline_s=0.3, first_pause_s=0.05)
    with pytest.raises(ConnectionFailed, match="ConnectError"):
        ask(answer(PRICE), url="http://127.0.0.1:9", retrying=retrying)


def test_the_refused_members_are_told():
    fields = [{"path": "amount", "reason": "out_of_range", "message": "Must be at least 1."}]
    bad = refusal(422, "validation_error", "out_of_range", fields=fields)
    refused = pytest.raises(ValidationFailed, match="amount: Must be at")
    with BadServer(bad).running() as server, Quoteway(server.url) as client, refused as caught:
        client.tokens.get("usdc")
    assert caught.value.fields == fields


def test_a_list_that_names_itself_as_the_next_page_ends():
    rows = {"data": [], "partial": [], "nextCursor": "again", "total": 0, "preview": False}
    rows |= {"updatedAt": "2026-11-27T00:00:00Z"}
    refused = pytest.raises(UnexpectedAnswer, match="does not end")
    with BadServer(answer(rows)).running() as server, Quoteway(server.url) as client, refused:
        list(client.tokens.list())


def test_an_error_of_the_node_is_no_failure_of_the_gateway():
    error = {"code": 3, "message": "execution reverted", "data": "0x08c379a0"}
    bad = answer({"jsonrpc": "2.0", "id": 1, "error": error})
    refused = pytest.raises(RpcError, match="execution reverted")
    with BadServer(bad).running() as server, Quoteway(server.url) as client, refused as caught:
        client.rpc(1, "eth_call", {}, "latest")
    assert (caught.value.code, caught.value.data) == (3, "0x08c379a0")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("gateway.example", None, "must be an address"),
        ("ftp://gateway.example", None, "must be an address"),
        ("https://user:pass@gateway.example", None, "without user and password"),
        ("https://gateway.example/?a=1", None, "without a query"),
        ("https://gateway.example", "a\nb", "printable ASCII"),
        ("https://gateway.example", "", "printable ASCII"),
    ],
)
def test_an_address_or_key_that_cannot_be_used_is_refused(url, key, said):
    with pytest.raises(ValueError, match=said):
        Quoteway(url, key)


def test_the_key_is_in_no_representation():
    with Quoteway("https://gateway.example", KEY) as client:
        assert KEY not in repr(client) + repr(client.gateway) + str(vars(client))


@pytest.mark.parametrize("bad", ["", ".", ".."])
def test_an_id_that_would_be_another_path_is_refused(bad):
    with Quoteway("https://gateway.example") as client, pytest.raises(ValueError, match="is no id"):
        client.tokens.get(bad)


@pytest.mark.parametrize("amount", [1.5, 1e18, True])
def test_an_amount_that_is_no_integer_is_refused(amount):
    with Quoteway("https://gateway.example") as client, pytest.raises(TypeError, match="int of base units"):
        client.swaps.quote(network="devnet", from_token="a", to_token="b", amount=amount, address="0x")
