"""Which pools are used: those of the row, and those of the factories' logs."""

import asyncio
import itertools

import pytest
from balancer_venue import networks, plugins, sections
from quoteway import LiquiditySource, UpstreamError
from quoteway.evm.address import checksum
from quoteway_balancer.pool_book import NEW_AFTER_S


@pytest.fixture
def now():
    """The time of the gateway, which a test can set."""
    return [1_800_000_000]


@pytest.fixture
def make(venue, make_gateway, now):
    async def started(**row):
        return await make_gateway(
            plugins(),
            networks=networks(venue),
            plugin_sections=sections(venue, **row),
            clock=lambda: float(now[0]),
        )

    return started


def source_of(gateway):
    (source,) = (
        entry.provider
        for entry in gateway.registry.providers
        if entry.provider.id == "balancer" and isinstance(entry.provider, LiquiditySource)
    )
    return source


async def pools(gateway, venue, sold="WETH", bought="USDC"):
    block = await gateway.runtime.chains[31337].head(fresh=True)
    found = await source_of(gateway).pools(31337, venue.token(sold), venue.token(bought), block)
    return {pair.id for pair in found}


async def test_without_a_first_block_only_the_pools_of_the_row_are_used(venue, make):
    wanted = [venue.pools["80/20"].id, venue.pools["three stable"].id]
    gateway = await make(since_block=None, pools=wanted)
    assert await pools(gateway, venue) == set(wanted)


async def test_a_pool_of_no_configured_factory_is_not_used(venue, make, caplog):
    given = venue.row()["factories"]
    weighted = {address: family for address, family in given.items() if family == "weighted"}
    stable, first = venue.pools["three stable"].id, venue.pools["first"].id
    made_up = "0x" + "5c" * 32
    gateway = await make(factories=weighted, pools=[stable, first, made_up])
    found = await pools(gateway, venue)
    names = ("80/20", "three", "50/50", "direct")
    assert found == {venue.pools[name].id for name in names}
    for pool in (stable, first, made_up):
        assert f"pool {checksum(pool[:42])} is of no configured factory" in caplog.text


async def test_a_factory_of_another_family_gives_no_pools(venue, make, caplog):
    given = venue.row()["factories"]
    wrong = {
        address: "weighted" if family == "composable-stable" else "composable-stable"
        for address, family in given.items()
    }
    gateway = await make(factories=wrong)
    assert await pools(gateway, venue) == set()
    assert caplog.text.count("is no pool of the family") == len(venue.pools)


async def test_a_new_pool_is_used_within_half_a_minute(venue, make, now):
    rpc = venue.transactions.rpc
    snapshot = rpc("evm_snapshot")
    try:
        gateway = await make()
        before = await pools(gateway, venue)
        with venue.sending():
            made = venue.add_weighted("new", {"WETH": 50, "AAVE": 50}, 100_000, 10**16)
        del venue.pools["new"]
        assert await pools(gateway, venue) == before
        now[0] += NEW_AFTER_S
        await pools(gateway, venue)
        await source_of(gateway)._venues[31337].book._task
        assert await pools(gateway, venue) == {*before, made.id}
    finally:
        assert rpc("evm_revert", snapshot)
    # A reorganisation took it away: it is not there at that block.
    rpc("anvil_mine", hex(100))
    assert await pools(gateway, venue) == before


async def test_logs_that_cannot_be_read_are_an_error_and_tried_again(venue, make, monkeypatch):
    gateway = await make()
    chain = gateway.runtime.chains[31337]
    request, failing = chain.request, itertools.count()

    async def refuse(method, *given, **more):
        if method == "eth_getLogs":
            next(failing)
            raise UpstreamError("No logs today.")
        return await request(method, *given, **more)

    monkeypatch.setattr(chain, "request", refuse)
    for _ in range(2):
        with pytest.raises(UpstreamError):
            await pools(gateway, venue)
    (executor,) = gateway.runtime.liquidity.executors()
    block = await chain.head()
    found = await gateway.runtime.liquidity.pools(
        executor, 31337, venue.token("WETH"), venue.token("DAI"), block
    )
    assert (found.pools, found.missing) == ((), ("balancer",))
    monkeypatch.undo()
    assert len(await pools(gateway, venue)) == len(venue.pools)


async def test_a_request_that_ends_does_not_end_the_search(venue, make):
    gateway = await make()
    asked = asyncio.create_task(pools(gateway, venue))
    source = source_of(gateway)
    while not source._venues or source._venues[31337].book._task is None:
        await asyncio.sleep(0)
    asked.cancel()
    await source._venues[31337].book._task
    assert len(await pools(gateway, venue)) == len(venue.pools)
