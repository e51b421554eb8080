"""Lists of very many rows: they are checked without holding up other requests, and too many are refused."""

import asyncio
import gc
import time

import pytest
from quoteway.guard.findings import check_form
from quoteway.host.list_rows import SLICE_ROWS, checked_rows
from quoteway.models import Token, TokenProfile
from quoteway.networks import Network
from quoteway.providers import TokenCatalog
from quoteway.testing.fakes import FakePlugin, ListedTokens, MemoryRpc

ROWS = 20_000
USDC = Token(7, "0x" + "2" * 40, 6, "USDC", "USD Coin")


class Large(TokenCatalog):
    """Lists ``rows``."""

    id, title = "a-large-catalog", "Large"
    networks = frozenset({7})

    def __init__(self, rows):
        self.rows = rows

    async def tokens(self, chain_id):
        return self.rows

    def revision(self):
        return str(len(self.rows))

    async def profile(self, token_id):
        return None

    async def token(self, chain_id, address):
        return None


def profiles(count):
    tokens = [Token(7, f"0x{number:040d}", 18, f"T{number}", "A token") for number in range(count)]
    return [TokenProfile(f"7:{token.address}", "A token", token.symbol, 0, (token,)) for token in tokens]


class Heartbeat:
    """The longest time that the loop's thread computed between two turns of another task.

    The thread's own clock, since on a busy machine any thread waits. Garbage is not collected meanwhile: what
    that takes depends on all objects of the tests before.
    """

    async def __aenter__(self):
        gc.disable()
        self.longest_s = 0.0
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *error):
        self._task.cancel()
        gc.enable()

    async def _beat(self):
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest_s, last = max(self.longest_s, now - last), now


@pytest.fixture
def gateway_of(make_gateway):
    async def make(catalog):
        plugins = {
            "honest": FakePlugin(
                [MemoryRpc({7}), ListedTokens([USDC])], networks=[Network("seven", 7, "Seven")]
            ),
            "large": FakePlugin([catalog]),
        }
        return await make_gateway(plugins)

    return make


async def listed(gateway):
    """What is searched, when both catalogs have answered or failed."""
    async with asyncio.timeout(60):
        while True:
            found = await gateway.tokens.searchable()
            if not any(reason == "provider_timeout" for _, reason in found.missing):
                return found
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_large_catalog_is_read_while_others_have_their_turn(gateway_of):
    rows = profiles(ROWS)
    catalog = Large([])
    gateway = await gateway_of(catalog)
    await listed(gateway)
    async with Heartbeat() as heart:
        started = time.thread_time()
        check_form(catalog, rows, tuple[TokenProfile, ...])
        in_one_piece_s = time.thread_time() - started
        await asyncio.sleep(0)
        heart.longest_s = 0.0
        catalog.rows = rows
        async with asyncio.timeout(60):
            while len((read := await listed(gateway)).search.profiles) < ROWS + 1:
                await asyncio.sleep(0.01)
            while len(found := await gateway.tokens.listed(7)) < ROWS + 1:
                await asyncio.sleep(0.01)
    assert read.missing == []
    assert found[rows[-1].contracts[0].address].listed
    assert heart.longest_s < in_one_piece_s / 2, "a slice is a small part of the whole"


@pytest.mark.parametrize("rows", [profiles(1) * 300_000, "endless"])
async def test_a_catalog_of_too_many_rows_costs_itself_and_is_named(gateway_of, rows):
    read = []

    class Endless(Large):
        async def tokens(self, chain_id):
            return iter(lambda: read.append(USDC), USDC)

    gateway = await gateway_of(Endless(rows) if rows == "endless" else Large(rows))
    found = await listed(gateway)
    assert not read, "a generator is code of the provider: nothing is read from it"
    assert [row.contracts for row in found.search.profiles] == [(USDC,)]
    assert found.missing == [("a-large-catalog", "unsafe_answer")]
    assert set(await gateway.tokens.listed(7)) == {USDC.address}


async def test_the_row_that_is_wrong_is_named_whatever_its_slice():
    rows = profiles(SLICE_ROWS + 3)
    rows[SLICE_ROWS + 1] = "not a row"
    with pytest.raises(Exception, match=f"row {SLICE_ROWS + 1} of the list is not a TokenProfile"):
        await checked_rows(Large(rows), rows, TokenProfile)
