"""Attack: one request that two servers would cut at different places, so that a second one hides in its body.

A proxy in front and the gateway must agree where a request ends. What can be read in two ways is refused, the
connection is closed, and the hidden request is not answered.
"""

import asyncio
import json
import re

import pytest

HIDDEN = b"GET /v2/providers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
GET = b"GET /v2/networks HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v2/swaps/quote HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def length(value):
    return POST + b"Content-Length: " + value + b"\r\n\r\n"


def coding(value, body=b"0\r\n\r\n"):
    return POST + b"Transfer-Encoding: " + value + b"\r\n\r\n" + body


def chunk(body):
    return coding(b"chunked", body)


AMBIGUOUS = {
    "length before coding": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "length after coding": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 70\r\n\r\n",
    "the same length twice": POST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "list of lengths": length(b"0, 70"),
    "plus": length(b"+0"),
    "minus": length(b"-1"),
    "hexadecimal length": length(b"0x0"),
    "underscore": length(b"0_0"),
    "no length": length(b""),
    "full-width digit": length("\uff10".encode()),
    "two numbers": length(b"0 0"),
    "length of 30 digits": length(b"9" * 30),
    "space before the colon of the length": POST + b"Content-Length : 0\r\n\r\n",
    "space before the colon of the coding": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "folded length": POST + b"X: a\r\n Content-Length: 0\r\n\r\n",
    "unknown coding": coding(b"xchunked"),
    "identity": coding(b"identity"),
    "chunked is not the last": coding(b"chunked, identity"),
    "chunked twice": coding(b"chunked\r\nTransfer-Encoding: chunked"),
    "chunked and another": coding(b"chunked\r\nTransfer-Encoding: x"),
    "vertical tab": coding(b"\x0bchunked"),
    "quotes": coding(b'"chunked"'),
    "chunk size with 0x": chunk(b"0x0\r\n\r\n"),
    "negative chunk": chunk(b"-1\r\n\r\n"),
    "signed chunk": chunk(b"+0\r\n\r\n"),
    "chunk of 2^64": chunk(b"1" + b"0" * 16 + b"\r\n\r\n"),
    "chunk size and a bare line feed": chunk(b"0\n\n"),
    "space before the chunk size": chunk(b" 0\r\n\r\n"),
    "space after the chunk size": chunk(b"0 \r\n\r\n"),
    "line feed in a chunk extension": chunk(b"0;a\nb\r\n\r\n"),
    "underscore in the chunk size": chunk(b"0_0\r\n\r\n"),
    "chunk longer than its size": chunk(b"2\r\n{}XX0\r\n\r\n"),
    "chunk without its end": chunk(b"2\r\n{}0\r\n\r\n"),
    "length in the trailer": chunk(b"0\r\nContent-Length: 70\r\n\r\n"),
    "chunked of HTTP/1.0": coding(b"chunked").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "NUL in a value": POST + b"X: a\0b\r\n\r\n",
    "NUL in a name": POST + b"X\0: a\r\n\r\n",
    "bare carriage return": POST + b"X: a\rContent-Length: 70\r\n\r\n",
    "bare line feed": POST + b"X: a\nContent-Length: 0\n\n",
    "line feeds alone": length(b"0").replace(b"\r\n", b"\n"),
    "HTTP/0.9": b"GET /v2/providers\r\n\r\n",
    "tabs in the request line": b"GET\t/v2/providers\tHTTP/1.1\r\nHost: x\r\n\r\n",
    "two hosts": GET + b"Host: y\r\n\r\n",
    "no host": b"GET /v2/networks HTTP/1.1\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


def statuses(received):
    """The status of every answer on the wire."""
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received)]


@pytest.mark.parametrize("case", AMBIGUOUS)
async def test_a_request_that_can_be_cut_in_two_ways(api, case):
    received = await asyncio.to_thread(api.raw, AMBIGUOUS[case] + HIDDEN)  # returns when it is closed
    assert statuses(received) == [400]
    error = json.loads(received.partition(b"\r\n\r\n")[2])["error"]
    assert error["code"] == "invalid_request"
    assert b"providers" not in received, "bytes of a request that was not understood are not repeated"


CLEAR = {
    "length": (length(b"0"), 400),
    "chunked": (chunk(b"2\r\n{}\r\n0\r\n\r\n"), 422),
    "CHUNKED": (coding(b"CHUNKED", b"2\r\n{}\r\n0\r\n\r\n"), 422),
    "a body that nobody reads": (GET + b"Content-Length: 4\r\n\r\nGET ", 200),
    "an upgrade that is not offered": (GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 200),
}


@pytest.mark.parametrize("case", CLEAR)
async def test_a_request_that_ends_at_one_place_is_followed_by_the_next(api, case):
    request, status = CLEAR[case]
    assert statuses(await asyncio.to_thread(api.raw, request + HIDDEN)) == [status, 200]


async def test_a_request_inside_of_a_body_is_a_body(api):
    """Read as its length says: the hidden request is the body, and a list needs none."""
    request = GET + b"Connection: close\r\nContent-Length: %d\r\n\r\n"
    assert statuses(await asyncio.to_thread(api.raw, request % len(HIDDEN) + HIDDEN)) == [200]
