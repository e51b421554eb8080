"""The list of pools: which it has, their values, and when it is read again."""

import asyncio
import time

import pytest
import quoteway_devnet.chains
import quoteway_devnet.plugin
import quoteway_uniswap
from quoteway import NATIVE, Capability, Reason, Token, UpstreamError
from quoteway.testing.fakes import FakePlugin, ListedTokens
from quoteway_uniswap.pool_series import PoolSeries


@pytest.fixture
async def unused(make_gateway, uniswap_section):
    """A devnet that no other test has used, and a gateway over it."""
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    with quoteway_devnet.chains.Devnet.running() as devnet:
        ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
        sections = {"devnet": {"enabled": True, "start": False, **ports}, "uniswap": uniswap_section}
        plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "uniswap": quoteway_uniswap}
        yield devnet, await make_gateway(plugins, plugin_sections=sections)


@pytest.mark.slow
async def test_the_catalog_lists_every_pool_of_base_tokens_with_its_value(unused, monkeypatch):
    devnet, gateway = unused
    monkeypatch.setattr("quoteway_uniswap.pool_catalog.DAYS_BUDGET_S", 60.0)  # a busy machine is slow
    provider = gateway.registry.get(Capability.POOL, "uniswap")
    chain = devnet.chains["devnet"]
    bases = {*chain.base_tokens, NATIVE}
    wanted = {pool.id for pool in chain.pools if {pool.token0, pool.token1} <= bases}
    deadline = time.monotonic() + 300
    while True:
        rows = {row.address: row for row in await provider.pools(31337)}
        known = all(None not in (row.tvl_usd, row.volume_24h_usd) for row in rows.values())
        if known or time.monotonic() > deadline:
            break
        now = time.time() + 7
        gateway.runtime.clock = lambda now=now: now
        await asyncio.sleep(0.1)
    assert wanted <= rows.keys()
    for pool in chain.pools:
        if pool.id in rows:
            row = rows[pool.id]
            assert row.id == f"31337:{pool.id}"
            assert (row.protocol, row.fee_bps) == (pool.protocol, pool.fee / 100)
            assert row.hooks == (None if pool.hooks == NATIVE else pool.hooks)
            # Asymmetric ranges take less of one token than the depth in the manifest.
            assert 0.8 * pool.depth_usd <= row.tvl_usd <= pool.depth_usd * 1.0001
            assert (row.volume_24h_usd, row.fees_24h_usd, row.apr) == (0, 0, 0)
    requests = gateway.runtime.chains[31337].requests
    await provider.pools(31337)
    assert gateway.runtime.chains[31337].requests == requests


async def test_a_day_that_could_not_be_read_is_tried_again_after_a_minute(gateway, monkeypatch):
    monkeypatch.setattr("quoteway_uniswap.pool_catalog.DAYS_BUDGET_S", 60.0)
    provider, asked, fails, day = gateway.registry.get(Capability.POOL, "uniswap"), [], True, PoolSeries.day

    async def read(series, pool, head):
        asked.append(pool.id)
        if fails:
            raise UpstreamError("no node answers", reason=Reason.RPC_ERROR)
        return await day(series, pool, head)

    monkeypatch.setattr(PoolSeries, "day", read)
    began = time.time()
    for later_s in (0, 30, 59, 61):
        fails = later_s < 60
        gateway.runtime.clock = lambda now=began + later_s: now
        rows = await provider.pools(31337)
        assert {row.volume_24h_usd for row in rows} == ({None} if fails else {0})
    assert len(asked) == 2 * len(rows)


class LateTokens(ListedTokens):
    """Lists tokens only after ``answers`` is set."""

    def __init__(self, tokens):
        super().__init__(tokens)
        self.answers = asyncio.Event()

    async def tokens(self, chain_id):
        await self.answers.wait()
        return await super().tokens(chain_id)


async def test_pools_of_a_catalog_that_answers_late_are_listed_at_once(make_gateway, devnet, uniswap_section):
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
    chain = devnet.chains["devnet"]
    late = LateTokens([Token(31337, each.address, each.decimals, each.symbol) for each in chain.tokens])
    plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "uniswap": quoteway_uniswap}
    sections = {"devnet": {"enabled": True, "start": False, **ports}, "uniswap": uniswap_section}
    gateway = await make_gateway(plugins | {"late": FakePlugin([late])}, plugin_sections=sections)
    provider = gateway.registry.get(Capability.POOL, "uniswap")
    bases = {*chain.base_tokens, NATIVE}
    others = {p.id for p in chain.pools if len({p.token0, p.token1} & bases) == 1}
    assert others
    assert not others & {row.address for row in await provider.pools(31337)}
    late.answers.set()
    async with asyncio.timeout(60):
        while not await gateway.tokens.listed(31337):
            await asyncio.sleep(0.01)
    assert others <= {row.address for row in await provider.pools(31337)}
