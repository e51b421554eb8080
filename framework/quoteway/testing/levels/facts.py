"""Level 2: facts of catalogs, pools, vaults and prices are sane, and those of RPC upstreams the nodes'."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from quoteway import Capability
from quoteway.testing.conformance.metrics import last_days
from quoteway.testing.conformance.provider import HOLDER
from quoteway.testing.levels.check import Check, require
from quoteway.testing.levels.conforming import known_series
from quoteway.testing.levels.requests import UNKNOWN_TOKEN
from quoteway.testing.levels.subject import Subject

_MOST = 1e18
"""More US dollars, percent or holders than anything has."""
_LINKS = ("https://", "http://", "ipfs://")
_LINK_MEMBERS = ("logo_uri", "website", "whitepaper", "docs")
_SIGNED = ("price_change_24h_pct", "apy", "apr", "moved_1h_pct", "score")
_MOST_TEXT = 20_000
_DOLLARS = {"USDC": (0.5, 2.0), "USDT": (0.5, 2.0), "DAI": (0.5, 2.0), "WETH": (100.0, 100_000.0)}
"""Between what US dollars a token of the devnet costs."""


async def facts_are_sane(subject: Subject) -> None:
    """Checks every number, link and text of what the provider lists."""
    provider = subject.provider
    lists: Mapping[Capability, Callable[[], Awaitable[Sequence[Any]]]] = {
        Capability.TOKENS: lambda: provider.tokens(None),
        Capability.POOL: lambda: provider.pools(None),
        Capability.VAULT: lambda: provider.vaults(None),
        Capability.BRIDGE: lambda: provider.routes(None, None),
        Capability.METRICS: lambda: _series(subject),
    }
    for row in await lists[subject.capability]():
        for path, value in _members("", row):
            _check_member(path, value)


async def _series(subject: Subject) -> list[Any]:
    """Returns the series of the devnet's pools and vaults that a provider has, and the state of its index."""
    found = [
        await subject.provider.series(*known, *last_days(), "1h") for known in await known_series(subject)
    ]
    return [*found, *await subject.provider.index_status()]


def _members(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if dataclasses.is_dataclass(value):
        for member in dataclasses.fields(value):
            yield from _members(f"{path}.{member.name}", getattr(value, member.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _members(path, each)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _members(f"{path}.{key}", each)
    else:
        yield path, value


def _check_member(path: str, value: Any) -> None:
    name = path.rpartition(".")[2]
    if isinstance(value, float):
        require(math.isfinite(value), f"{path} is {value}: what is not known is None")
        require(abs(value) < _MOST, f"{path} is {value}")
        require(value >= 0 or name in _SIGNED, f"{path} is {value}, below 0")
        require(value >= -100 or name not in ("price_change_24h_pct",), f"{path} is {value} percent")
    elif isinstance(value, int) and not isinstance(value, bool):
        require(abs(value) < 1 << 256, f"{path} is an integer of more than 256 bits")
        require(name not in ("rank", "holders", "updated_at") or value >= 0, f"{path} is {value}, below 0")
    elif isinstance(value, str):
        require(len(value) <= _MOST_TEXT, f"{path} has {len(value):,} characters")
        require(all(c.isprintable() or c in "\n\t" for c in value), f"{path} has control characters")
        if name in _LINK_MEMBERS or (name == "socials" and ":" in value):
            require(value.lower().startswith(_LINKS), f"{path} is no web link: {value[:60]!r}")


async def revision_follows_the_list(subject: Subject) -> None:
    """Compares ``revision()`` with ``tokens(None)`` over a while: another list has another revision."""
    provider, seen = subject.provider, dict[str, str]()
    for _ in range(8):
        before, rows, after = provider.revision(), await provider.tokens(None), provider.revision()
        if before == after:
            shown = repr(rows)
            require(
                seen.setdefault(before, shown) == shown,
                f"tokens() changed and revision() is still {before!r:.60}: clients keep the old list",
            )
        await asyncio.sleep(0.02)  # catalogs may read the time
    revisions = {provider.revision() for _ in range(8)}
    require(len(revisions) <= 2, "revision() is another text at every call: no client can keep the list")


async def prices_are_those_of_the_devnet(subject: Subject) -> None:
    """Compares the prices of well-known tokens with what they cost in the devnet's pools."""
    for chain_id in subject.chain_ids:
        block = await subject.gateway.runtime.chains[chain_id].head()
        named = {t.address: str(t.symbol) for t in subject.tokens(chain_id) if t.symbol in _DOLLARS}
        found = await subject.provider.prices(chain_id, [*named, UNKNOWN_TOKEN], block)
        require(set(found) <= {*named, UNKNOWN_TOKEN}, "it prices tokens that were not asked for")
        for address, symbol in named.items():
            usd = found[address].usd if address in found else None
            low, high = _DOLLARS[symbol]
            require(usd is None or low < usd < high, f"{symbol} costs {usd} US dollars in its words")


async def prices_at_one_block_stay(subject: Subject) -> None:
    for chain_id in subject.chain_ids:
        block = await subject.gateway.runtime.chains[chain_id].head()
        asked = [token.address for token in subject.tokens(chain_id) if not token.is_native]
        first = await subject.provider.prices(chain_id, asked, block)
        for again in await asyncio.gather(
            *(subject.provider.prices(chain_id, asked, block) for _ in range(4))
        ):
            require(dict(again) == dict(first), "prices at one block differ from call to call")


async def answers_are_those_of_the_nodes(subject: Subject) -> None:
    """Compares reads through the upstream with those from the devnet's node itself."""
    for slug, chain in subject.devnet.chains.items():
        if chain.chain_id not in subject.chain_ids:
            continue
        network = subject.gateway.runtime.chains[chain.chain_id].network
        token = chain.tokens[0].address
        reads: list[tuple[str, list[Any]]] = [
            ("eth_getBlockByNumber", ["latest", False]),
            ("eth_getBalance", [HOLDER, "latest"]),
            ("eth_getCode", [token, "latest"]),
            ("eth_getTransactionCount", [HOLDER, "latest"]),
            ("eth_call", [{"to": token, "data": "0x18160ddd"}, "latest"]),
            ("eth_getLogs", [{"fromBlock": "latest", "toBlock": "latest"}]),
            ("eth_getTransactionReceipt", ["0x" + "11" * 32]),
        ]
        for method, params in reads:
            found = await subject.provider.forward(network, method, params, timeout_s=10.0)
            true = await asyncio.to_thread(_read, subject, slug, method, params)
            require(found == true, f"{method} on {slug} gives another result than the node")


def _read(subject: Subject, slug: str, method: str, params: list[Any]) -> Any:
    with subject.devnet.rpc(slug) as rpc:
        return rpc(method, *params)


FACTS: tuple[Check, ...] = (
    Check(
        "facts_are_sane",
        2,
        "Check what the upstream says: None for an unknown number, only web links, printable texts.",
        facts_are_sane,
        frozenset(
            {Capability.TOKENS, Capability.POOL, Capability.VAULT, Capability.BRIDGE, Capability.METRICS}
        ),
    ),
    Check(
        "revision_follows_the_list",
        2,
        "Return from revision() a hash or a counter that changes exactly when the list does.",
        revision_follows_the_list,
        frozenset({Capability.TOKENS}),
    ),
    Check(
        "prices_are_those_of_the_devnet",
        2,
        "Read prices of one whole token in US dollars, at the block; leave out what is not known.",
        prices_are_those_of_the_devnet,
        frozenset({Capability.PRICES}),
    ),
    Check(
        "prices_at_one_block_stay",
        2,
        "Read at the given block, and keep what was read by block.",
        prices_at_one_block_stay,
        frozenset({Capability.PRICES}),
    ),
    Check(
        "answers_are_those_of_the_nodes",
        2,
        "Return the result of the node unchanged.",
        answers_are_those_of_the_nodes,
        frozenset({Capability.RPC}),
    ),
)
