"""Attack: a call whose revert is a megabyte long. Its text keeps busy who searches it for secrets.

The caller brings the code that reverts. What a node answers is scrubbed in a time that grows with its length
alone, and others are served meanwhile.
"""

import asyncio
import time

import pytest
from quoteway.testing.fakes import FakePlugin, HttpRpc

networks = pytest.importorskip("quoteway_devnet.networks", reason="needs the quoteway-devnet distribution")

TARGET = "0x00000000000000000000000000000000000b0b00"


@pytest.fixture
async def api(devnet, serve_app):
    return await serve_app({"fake": FakePlugin([HttpRpc], networks=networks.devnet_networks(devnet.ports))})


async def reverted(api, length):
    """Asks for a call that reverts with so many bytes; how long it took."""
    code = f"0x62{length:06x}5ffd"  # PUSH3 length, PUSH0, REVERT
    params = [{"to": TARGET}, "latest", {TARGET: {"code": code}}]
    began = time.perf_counter()
    answer = await api.post(
        "/v2/rpc/31337", {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": params}
    )
    took = time.perf_counter() - began
    assert answer.body["error"]["data"] == "0x" + "00" * length, "the revert is the caller's, whole"
    return took


async def test_the_time_grows_with_the_length_alone(api):
    short = min([await reverted(api, 5_000) for _ in range(5)])
    long = min([await reverted(api, 25_000) for _ in range(5)])
    assert long < 10 * short


async def test_the_longest_revert_is_answered(api):
    async with asyncio.timeout(60):
        await reverted(api, 500_000)
