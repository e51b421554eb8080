"""Level 1: the conformance suites, as checks."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quoteway import Address, Capability, UpstreamError
from quoteway.testing import conformance
from quoteway.testing.conformance.liquidity import pools_of
from quoteway.testing.conformance.metrics import last_days
from quoteway.testing.conformance.provider import ProviderConformance
from quoteway.testing.levels.check import TRANSACTIONS, Check, Failed, NotApplicable, require
from quoteway.testing.levels.recording import recording
from quoteway.testing.levels.remedies import REMEDIES
from quoteway.testing.levels.requests import unknown_of
from quoteway.testing.levels.subject import Subject

SUITES: Mapping[Capability, tuple[type[ProviderConformance], ...]] = {
    Capability.SWAP: (conformance.SwapConformance, conformance.BridgeConformance),
    Capability.BRIDGE: (conformance.BridgeConformance,),
    Capability.VAULT: (conformance.VaultConformance,),
    Capability.POOL: (conformance.PoolConformance,),
    Capability.TOKENS: (conformance.CatalogConformance,),
    Capability.LIQUIDITY: (conformance.LiquidityConformance,),
    Capability.PRICES: (conformance.PriceConformance,),
    Capability.RPC: (conformance.RpcConformance,),
    Capability.RELAY: (conformance.RelayConformance,),
    Capability.METRICS: (conformance.MetricsConformance,),
}
"""The suites of each capability that has one. That of bridges has the swaps to other chains."""

_METRICS = ("tvl", "volume", "fees", "apr", "apy")

_REMEDY = "Subclass {suite} in your tests and run this test: docs/how-to/test-a-provider.md."


async def cases_are_found(subject: Subject) -> None:
    require(subject.cases, "it quotes nothing of what the devnet has, so its quotes cannot be checked")


async def series_are_found(subject: Subject) -> None:
    require(await _known_series(subject), "it has no series of the devnet's pools and vaults")


async def run_test(subject: Subject, suite: type[ProviderConformance], name: str) -> None:
    """Runs one test of a suite with fixtures made from the subject."""

    class Suite(suite):  # type: ignore[misc,valid-type]
        provider_id = subject.provider.id
        secrets = subject.secrets

    tested = Suite()
    tested.capability = subject.capability
    method = getattr(tested, name)
    wanted = list(inspect.signature(method).parameters)
    with recording() as recorded:
        given = {name: await _fixture(subject, suite, name) for name in wanted if name != "caplog"}
        if "caplog" in wanted:
            given["caplog"] = recorded
        try:
            result = method(**given)
            if inspect.isawaitable(result):
                await result
        except pytest.fail.Exception as error:
            raise Failed(str(error)) from error
        except AssertionError as error:
            raise Failed(str(error).partition("\nassert ")[0] or _asserted(error)) from error


async def _fixture(subject: Subject, suite: type[ProviderConformance], name: str) -> Any:
    if name in ("gateway", "provider"):
        return getattr(subject, name)
    if name == "fresh_devnet":
        return subject.devnet
    if name == "record_property":
        return lambda *_: None
    if name == "unlisted":
        return None
    if name == "cases":
        return _cases(subject, suite)
    if name in ("unknown", "no_route"):
        return unknown_of(_cases(subject, suite)[0])
    if name == "pairs":
        return _pairs(subject)
    if name == "priced":
        return await _priced(subject)
    if name == "known":
        return await known_series(subject)
    if name == "traded":
        return await _traded(subject)
    if name == "span":
        return last_days()
    if name == "pools":
        return await pools_of(subject.gateway, subject.provider, _pairs(subject))
    raise NotApplicable(f"no fixture {name} is generated")


def _cases(subject: Subject, suite: type[ProviderConformance]) -> list[Any]:
    """Returns the cases that a suite is for."""
    to_another = issubclass(suite, conformance.BridgeConformance)
    found = [case for case in subject.cases if getattr(case, "is_cross_chain", False) == to_another]
    if not found:
        raise NotApplicable(f"it quotes nothing {'to another chain' if to_another else 'within a chain'}")
    return found


def _pairs(subject: Subject) -> list[tuple[int, Address, Address]]:
    """Returns the most traded pair of each devnet chain."""
    found = []
    for chain_id in subject.chain_ids:
        named = {token.symbol: token.address for token in subject.tokens(chain_id)}
        if {"WETH", "USDC"} <= named.keys():
            found.append((chain_id, named["WETH"], named["USDC"]))
    return found


async def _priced(subject: Subject) -> list[tuple[int, Address]]:
    found: list[tuple[int, Address]] = []
    for chain_id in subject.chain_ids:
        addresses = [token.address for token in subject.tokens(chain_id) if not token.is_native]
        block = await subject.gateway.runtime.chain(chain_id).head()
        prices = await subject.provider.prices(chain_id, addresses, block)
        found += [(chain_id, a) for a in addresses if a in prices and prices[a].usd is not None]
    require(found, "it prices no token of the devnet")
    return found


async def known_series(subject: Subject) -> list[tuple[str, str]]:
    """Returns ids and metrics of the devnet's pools and vaults whose series a provider has.

    Raises ``NotApplicable`` without one: ``series_are_found`` is the check that fails then.
    """
    try:
        found = await _known_series(subject)
    except UpstreamError as error:
        raise NotApplicable(f"its series cannot be read: {error}") from error
    if not found:
        raise NotApplicable("it has no series of the devnet's pools and vaults")
    return found


async def _known_series(subject: Subject) -> list[tuple[str, str]]:
    start, end = last_days()
    found = []
    for chain in subject.devnet.chains.values():
        pools = {pool.protocol: pool.id for pool in reversed(chain.pools)}
        vaults = {vault.kind: vault.address for vault in reversed(chain.vaults)}
        for each in (*pools.values(), *vaults.values()):
            for metric in _METRICS:
                name = f"{chain.chain_id}:{each}"
                if await subject.provider.series(name, metric, start, end, "1h") is not None:
                    found.append((name, metric))
    return found


async def _traded(subject: Subject) -> list[tuple[int, Address]]:
    start, end = last_days()
    return [
        (chain_id, token.address)
        for chain_id in subject.chain_ids
        for token in subject.tokens(chain_id)
        if not token.is_native
        and await subject.provider.price_history(chain_id, token.address, start, end, "1h") is not None
    ]


def _asserted(error: AssertionError) -> str:
    """Returns the line of the suite whose assertion failed, where it has no text."""
    suites = Path(conformance.__file__).parent
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent == suites]
    return (frames[-1].line or "") if frames else "an assertion failed"


def _checks() -> Iterator[Check]:
    for capability, suites in SUITES.items():
        known: set[str] = set()
        for suite in suites:
            for name in sorted({name for name in dir(suite) if name.startswith("test_")} - known):
                remedy = REMEDIES.get(name, _REMEDY.format(suite=suite.__name__))
                run = partial(run_test, suite=suite, name=name)
                yield Check(name.removeprefix("test_"), 1, remedy, run, frozenset({capability}))
                known.add(name)


CONFORMING: tuple[Check, ...] = (
    Check(
        "cases_are_found",
        1,
        "Quote the devnet's tokens, in listed pools and vaults where the provider has some.",
        cases_are_found,
        TRANSACTIONS,
    ),
    Check(
        "series_are_found",
        1,
        "Return series of the devnet's pools or vaults. A provider that reads the index of another process "
        "is tested with MetricsConformance: docs/how-to/test-a-provider.md.",
        series_are_found,
        frozenset({Capability.METRICS}),
    ),
    *_checks(),
)
