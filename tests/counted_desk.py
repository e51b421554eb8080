"""Fixtures: a desk whose policy counts amounts per time in a real Valkey or Redis."""

import pytest
import pytest_asyncio
from counting_wallet import counted, reader_of
from custody import strict_desk
from shared_server import server_at


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_desk(devnet, tmp_path_factory):
    async with strict_desk(devnet, tmp_path_factory.mktemp("policy")) as desk:
        yield desk


@pytest_asyncio.fixture(loop_scope="module")
async def store(tmp_path, unused_tcp_port):
    process = await server_at(unused_tcp_port, tmp_path)
    yield f"redis://127.0.0.1:{unused_tcp_port}/0"
    if process.returncode is None:
        process.terminate()
    await process.wait()


@pytest_asyncio.fixture(loop_scope="module")
async def desk(served_desk, store):
    async with counted(served_desk, store):
        yield served_desk


@pytest.fixture
def chain_of(devnet):
    """The devnet as the wallets of the tests use it."""
    return reader_of(devnet)
