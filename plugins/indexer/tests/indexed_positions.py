"""Compares random positions as the API shows them with their contracts, to the unit.

The index is read, and the API served, by a node that allows ``eth_getLogs`` of few blocks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import quoteway_erc4626
import quoteway_managedvault
import quoteway_rpc
import quoteway_tokenlist
import quoteway_uniswap
from index_chain import Index
from limited_node import LimitedNode
from quoteway import Endpoint, EventSource
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.testing.fakes import FakePlugin
from quoteway.testing.serving import served
from quoteway_devnet.networks import devnet_networks
from quoteway_indexer.transfer_sources import SOURCE, TRANSFER
from random_positions import WALLETS, RandomPositions
from small_index import WalletIndex

CHAIN = 31337
_SEARCH_S = 120


@dataclass
class Compared:
    """What was found wrong; ``searched`` is what was missing without an index, by the search of logs."""

    made: Counter[str]
    changes: int = 0
    positions: int = 0
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    amounts_off: list[str] = field(default_factory=list)
    flows_off: list[str] = field(default_factory=list)
    flows_compared: Counter[str] = field(default_factory=Counter)
    partial: list[object] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    log_requests: Counter[str] = field(default_factory=Counter)
    answer_s: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    refused: int = 0
    blocks: int = 0

    @property
    def wrong(self):
        return [
            *self.missing,
            *self.unexpected,
            *self.amounts_off,
            *self.flows_off,
            *self.partial,
            *self.searched,
        ]

    @contextlib.contextmanager
    def timed(self, what):
        began = time.perf_counter()
        yield
        self.seconds[what] = time.perf_counter() - began


async def compare_positions(devnet, folder, count, seed, most_blocks):
    """Makes so many positions, indexes them by ranges of at most ``most_blocks``, and compares all."""
    with RandomPositions(devnet, seed) as random_positions:
        compared = Compared(random_positions.done)
        with compared.timed("making"):
            await asyncio.to_thread(random_positions.make, count)
        limited = LimitedNode(devnet.urls["devnet"], blocks=most_blocks)
        async with limited.node.running() as proxy:
            await _compare(random_positions, limited, _plugins(devnet, proxy.address), folder, compared)
    return compared


async def _compare(random_positions, limited, plugins, folder, compared):
    held = random_positions.held
    compared.positions, compared.changes = len(held), sum(each.changes for each in held)
    worth = {_key(each): random_positions.worth(each) for each in held}
    with compared.timed("indexing"):
        async with Gateway(Config(), plugins=plugins, discover=False).reading() as gateway:
            sources = [each for each in gateway.runtime.event_sources if each.chain_id == CHAIN]
            index = Index(gateway.runtime.chain(CHAIN), sources, folder / "index.duckdb")
            await index.once()
    compared.log_requests["to index"] = limited.calls
    try:
        wallets = WalletIndex(index.store, sources)
        async with _serving({**plugins, "index": FakePlugin([wallets])}) as api:
            with compared.timed("positions"):
                await _compare_positions(api, held, worth, compared)
            with compared.timed("pnl"):
                await _compare_flows(api, held, sources, compared)
        compared.log_requests["with the index"] = limited.calls - compared.log_requests.total()
    finally:
        await index.close()
    with compared.timed("search without the index"):
        async with _serving(plugins) as api:
            compared.searched = await _missing_without_index(api, held)
    compared.log_requests["by search"] = limited.calls - compared.log_requests.total()
    compared.refused = limited.refused
    compared.blocks = int(random_positions.rpc("eth_blockNumber"), 16)


def _plugins(devnet, url):
    networks = [
        replace(network, endpoints=(Endpoint(url),))
        for network in devnet_networks(devnet.ports)
        if network.chain_id == CHAIN
    ]
    transfers = EventSource(SOURCE, CHAIN, 1, (TRANSFER,))
    return {
        "rpc": quoteway_rpc,
        "tokenlist": quoteway_tokenlist,
        "chains": FakePlugin(networks=networks, event_sources=[transfers]),
        "uniswap": quoteway_uniswap,
        "erc4626": quoteway_erc4626,
        "managedvault": quoteway_managedvault,
    }


@contextlib.asynccontextmanager
async def _serving(plugins):
    async with served(plugins) as api:
        await api.gateway.runtime.chains[CHAIN].head(fresh=True)
        yield api


def _key(held):
    place = f"{CHAIN}:{held.place}"
    return place, held.owner, place if held.token_id is None else str(held.token_id)


def _name(held):
    return f"{held.kind} {_key(held)} {held}"


async def _rows(api, path, wallet):
    """Returns the rows of all pages, by place, owner and id of the position, and what ``partial`` names."""
    rows, partial, cursor = {}, [], ""
    while True:
        answer = await api.get(f"/v2/portfolio/{path}?wallet={wallet}&network=devnet&limit=200{cursor}")
        assert answer.status == 200, answer.body
        for row in answer.body["data"]:
            place = row["poolId"] or row["vaultId"]
            rows[place, wallet, row.get("positionId") or place] = row
        partial += answer.body["partial"]
        if not answer.body.get("nextCursor"):
            return rows, partial
        cursor = f"&cursor={answer.body['nextCursor']}"


def _amounts(row, *names):
    """Returns the sums of amounts by token."""
    total = Counter()
    for name in names:
        for each in row.get(name) or ():
            total[each["token"]["address"]] += int(each["amount"])
    return dict(total)


async def _compare_positions(api, held, worth, compared):
    shown = {}
    for wallet in WALLETS:
        began = time.perf_counter()
        rows, partial = await _rows(api, "positions", wallet)
        compared.answer_s.append(time.perf_counter() - began)
        shown |= rows
        compared.partial += partial
    expected = {_key(each): each for each in held}
    compared.unexpected = [str(key) for key in shown.keys() - expected.keys()]
    for key, each in expected.items():
        if key not in shown:
            compared.missing.append(_name(each))
            continue
        said = _amounts(shown[key], "amounts", "assets", "uncollectedFees")
        if said != dict(zip(each.tokens, worth[key], strict=True)):
            compared.amounts_off.append(f"{_name(each)}: {said}, a withdrawal pays {worth[key]}")


async def _compare_flows(api, held, sources, compared):
    """Vaults are compared where the sources of their events are declared."""
    vaults = any(rule.fact == "vault_flow" for source in sources for rule in source.rules)
    for wallet in WALLETS:
        rows, partial = await _rows(api, "pnl", wallet)
        compared.partial += partial
        for each in held:
            if each.owner != wallet or (each.kind == "vault" and not vaults):
                continue
            row = rows.get(_key(each))
            expected = {"deposited": each.deposited, "withdrawn": each.withdrawn}
            if each.kind == "v3":
                expected["collectedFees"] = each.fees
            wanted = {name: dict(zip(each.tokens, units, strict=True)) for name, units in expected.items()}
            said = None if row is None else {name: _amounts(row, name) for name in expected}
            if said != wanted:
                compared.flows_off.append(f"{_name(each)}: {said}, {row and row['reasons']}")
            compared.flows_compared[each.kind] += 1


async def _missing_without_index(api, held):
    """Asks until nothing is named as missing: the search of logs goes on in the background."""
    missing, deadline = [], time.monotonic() + _SEARCH_S
    for wallet in WALLETS:
        while True:
            rows, partial = await _rows(api, "positions", wallet)
            if not partial or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        missing += [str(row) for row in partial]
        missing += [_name(each) for each in held if each.owner == wallet and _key(each) not in rows]
    return missing
