"""Attack: thousands of invented names, some of them no text, to fill or break what Prometheus scrapes.

Labels are route templates, known methods and the ids of installed providers: nothing that a caller writes.
"""

import asyncio
import json

import pytest


async def series(api):
    """The names of all series, with their labels. Without those of stalls, which a busy machine makes."""
    text = (await api.get("/metrics")).raw.decode()
    named = {line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    return {name for name in named if not name.startswith("quoteway_loop_stall")}


def call(method):
    body = b'{"jsonrpc":"2.0","id":1,"method":' + method + b',"params":[]}'
    head = (
        b"POST /v2/rpc/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    return head % len(body) + body


NAMES = {
    "methods": lambda n: call(b'"eth_canary%d"' % n),
    "methods that are no UTF-8": lambda n: call(b'"eth_canary\xff\xfe%d"' % n),
    "methods with NUL and quotes": lambda n: call(json.dumps(f'canary"\n\0{n}').encode()),
    "chains": lambda n: call(b'"eth_gasPrice"').replace(b"/rpc/1 ", b"/rpc/%d " % (n + 2)),
    "paths": lambda n: b"GET /v2/canary%d/%%ff HTTP/1.1\r\nHost: x\r\n\r\n" % n,
    "ids": lambda n: b"GET /v2/tokens/canary%d HTTP/1.1\r\nHost: x\r\n\r\n" % n,
    "verbs": lambda n: b"CANARY%d /v2/tokens HTTP/1.1\r\nHost: x\r\n\r\n" % n,
    "hosts": lambda n: b"GET /v2/networks HTTP/1.1\r\nHost: canary%d\r\n\r\n" % n,
}
CLOSE = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("case", NAMES)
async def test_no_name_of_a_caller_makes_a_series(api, case):
    def flood(numbers):
        # A few in each connection: some of these requests end theirs.
        for first in numbers[::10]:
            api.raw(b"".join(NAMES[case](n) for n in range(first, first + 10)) + CLOSE)

    await asyncio.to_thread(flood, range(10))
    await series(api)  # the request for the metrics is one too
    before = await series(api)
    await asyncio.to_thread(flood, range(10, 310))
    after = await series(api)
    assert after == before
    assert not [name for name in after if "canary" in name.lower()]
