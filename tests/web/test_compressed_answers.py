"""Compressed answers over HTTP: which coding, which bytes, which tag, and what stays as it is."""

import gzip
import json
import zlib

import aiohttp
import pytest
from quoteway.web.http import cache, compression
from quoteway.web.http.compression import coding_of

LISTS = "/v2/pools"
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
async def plain(fakes):
    """Sends requests with the headers that a test gives alone, and shows the bytes as they came."""
    async with aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=["Accept-Encoding"]) as session:

        async def ask(path, accepted=None, method="GET", body=None, **headers):
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            if accepted is not None:
                headers["Accept-Encoding"] = accepted
            async with session.request(method, fakes.url + path, headers=headers, json=body) as answer:
                return answer.status, answer.headers, await answer.read()

        ask.fakes = fakes
        yield ask


@pytest.fixture
def packed(monkeypatch):
    """The codings of the kept bodies that were compressed."""
    codings, pack = [], compression.compressed
    monkeypatch.setattr(cache, "compressed", lambda *given: codings.append(given[1]) or pack(*given))
    return codings


def unpacked(coding, body):
    return {"gzip": gzip.decompress, "deflate": zlib.decompress, None: bytes}[coding](body)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (None, None),
        ("gzip", "gzip"),
        ("gzip, deflate, br, zstd", "gzip"),
        ("deflate", "deflate"),
        ("deflate;q=1, gzip;q=0.5", "deflate"),
        ("GZIP; q=0.5", "gzip"),
        ("*", "gzip"),
        ("*;q=0, deflate", "deflate"),
        ("br", None),
        ("gzip;q=0", None),
        ("gzip;q=0, deflate;q=0", None),
        ("identity", None),
        ("identity, gzip;q=0.5", None),
        ("gzip;q=x", None),
        ("gzip;q=nan", None),
        ("", None),
        ("gzip," * 200, None),
    ],
)
async def test_the_coding_that_the_caller_takes(plain, accepted, coding):
    _, _, expected = await plain(LISTS)
    for _ in range(2):  # from the handler and from memory
        status, headers, body = await plain(LISTS, accepted)
        assert (status, headers.get("Content-Encoding")) == (200, coding)
        assert unpacked(coding, body) == expected
        assert int(headers["Content-Length"]) == len(body)
        assert "Accept-Encoding" in headers["Vary"]
    assert len(expected) > 1_024
    assert coding is None or len(body) < len(expected) / 3


async def test_each_coding_has_a_tag_of_its_own_and_304_is_for_that_coding_alone(plain):
    tags = {}
    for coding in (None, "gzip", "deflate"):
        _, headers, _ = await plain(LISTS, coding)
        tags[coding] = headers["ETag"]
    assert len(set(tags.values())) == 3
    assert all(tag.startswith('"') and tag.endswith('"') for tag in tags.values())
    for held, known in tags.items():
        for asked, own in tags.items():
            status, headers, body = await plain(LISTS, asked, If_None_Match=f'"other", W/{known}')
            assert (status, headers["ETag"]) == (304 if held == asked else 200, own)
            assert "Accept-Encoding" in headers["Vary"], "a cache must not give it to others"
            assert status == 200 or (body == b"" and "Content-Encoding" not in headers)
    status, headers, _ = await plain(LISTS, "gzip", If_None_Match="*")
    assert (status, headers["ETag"]) == (304, tags["gzip"])
    assert (await plain(LISTS, "gzip", If_None_Match='"-gzip"'))[0] == 200


async def test_head_has_the_headers_of_get(plain):
    _, got, _ = await plain(LISTS, "gzip")
    status, headers, body = await plain(LISTS, "gzip", method="HEAD")
    assert (status, body) == (200, b"")
    for name in ("Content-Length", "Content-Encoding", "ETag", "Vary"):
        assert headers[name] == got[name]


async def test_a_quote_is_compressed_and_a_refusal_that_fits_one_packet_is_not(plain):
    swap = {"network": "devnet", "fromToken": "native", "toToken": plain.fakes.weth, "amount": "7"}
    status, headers, body = await plain("/v2/swaps/quote", "gzip", "POST", {**swap, "address": WALLET})
    assert (status, headers["Content-Encoding"], headers["Cache-Control"]) == (200, "gzip", "no-store")
    assert json.loads(gzip.decompress(body))["toAmount"] == "7"
    status, headers, body = await plain("/v2/swaps/quote", "gzip", "POST", swap)
    assert status == 422
    assert "Content-Encoding" not in headers
    assert json.loads(body)["error"]["code"] == "validation_error"


async def test_what_is_no_answer_of_the_api_stays_as_it_is(plain):
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", True]}
    for path, method, body in (
        ("/metrics", "GET", None),
        ("/v2/rpc/31337", "POST", call),
        ("/healthz", "GET", None),
    ):
        status, headers, _ = await plain(path, "gzip", method, body)
        assert status == 200
        assert "Content-Encoding" not in headers


async def test_a_kept_answer_is_compressed_once(plain, packed):
    bodies = {(await plain(LISTS, "gzip"))[2] for _ in range(20)}
    assert (len(bodies), packed) == (1, ["gzip"])


async def test_callers_who_take_it_differently_never_get_each_others_bytes(plain):
    expected = (await plain(LISTS))[2]
    for accepted in ("gzip", None, "deflate", "gzip", "deflate", None):
        _, headers, body = await plain(LISTS, accepted)
        assert headers.get("Content-Encoding") == accepted
        assert unpacked(accepted, body) == expected


def test_short_bodies_are_left_alone():
    assert [coding_of("gzip", size) for size in (0, 1_023, 1_024)] == [None, None, "gzip"]
