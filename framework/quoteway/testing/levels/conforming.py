"""Level 1: the conformance suites, as checks."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from quoteway import Address, Capability, SwapRequest, Token, VaultRequest
from quoteway.testing import conformance
from quoteway.testing.conformance.liquidity import pools_of
from quoteway.testing.conformance.listing import made_up_id
from quoteway.testing.conformance.provider import ProviderConformance
from quoteway.testing.levels.check import TRANSACTIONS, Check, Failed, NotApplicable, require
from quoteway.testing.levels.recording import recording
from quoteway.testing.levels.subject import UNKNOWN_TOKEN, Subject

SUITES: Mapping[Capability, type[ProviderConformance]] = {
    Capability.SWAP: conformance.SwapConformance,
    Capability.VAULT: conformance.VaultConformance,
    Capability.POOL: conformance.PoolConformance,
    Capability.TOKENS: conformance.CatalogConformance,
    Capability.LIQUIDITY: conformance.LiquidityConformance,
    Capability.PRICES: conformance.PriceConformance,
    Capability.RPC: conformance.RpcConformance,
}
"""The suite of each capability that has one."""

_REMEDIES = {
    "test_the_event_loop_is_never_kept": "Move computation to a thread (asyncio.to_thread) or a process.",
    "test_cancellation_is_honoured": "Do not catch asyncio.CancelledError, or raise it again.",
    "test_nothing_secret_shows_when_nodes_fail": "Keep configured values out of log lines and errors.",
    "test_the_same_quote_at_the_same_block_builds_the_same_bytes": "Derive every argument, the deadline "
    "too, from the sealed quote: not from the clock or a random number.",
    "test_builds_are_what_they_say": "Return in build() the spends of the quote, to spenders().",
    "test_actions_pay_what_their_quotes_say": "Quote what the contract pays at the block, to the unit.",
    "test_every_case_is_quoted_within_the_deadline": "Read in one batch, at the block of chain.head().",
}
_REMEDY = "Subclass {suite} in your tests and run this test: docs/how-to/test-a-provider.md."


async def cases_are_found(subject: Subject) -> None:
    if subject.capability not in (Capability.SWAP, Capability.VAULT):
        raise NotApplicable(f"no requests are generated for the capability {subject.capability}")
    require(subject.cases, "it quotes nothing of what the devnet has, so its quotes cannot be checked")


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
        given = {name: await _fixture(subject, name) for name in wanted if name != "caplog"}
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


async def _fixture(subject: Subject, name: str) -> Any:
    if name in ("gateway", "provider"):
        return getattr(subject, name)
    if name == "fresh_devnet":
        return subject.devnet
    if name == "record_property":
        return lambda *_: None
    if name == "unlisted":
        return None
    if name == "cases":
        if not subject.cases:
            raise NotApplicable(f"no requests are generated for the capability {subject.capability}")
        return subject.cases
    if name == "unknown":
        return _unknown(subject)
    if name == "pairs":
        return _pairs(subject)
    if name == "priced":
        return await _priced(subject)
    if name == "pools":
        return await pools_of(subject.gateway, subject.provider, _pairs(subject))
    raise NotApplicable(f"no fixture {name} is generated")


def _unknown(subject: Subject) -> Any:
    if not subject.cases:
        raise NotApplicable(f"no requests are generated for the capability {subject.capability}")
    case = subject.cases[0]
    if isinstance(case, SwapRequest):
        return replace(case, token_out=Token(case.chain_id, UNKNOWN_TOKEN, 18, "NONE"))
    assert isinstance(case, VaultRequest)
    return replace(case, vault_id=made_up_id(case.chain_id))


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


def _asserted(error: AssertionError) -> str:
    """Returns the line of the suite whose assertion failed, where it has no text."""
    suites = Path(conformance.__file__).parent
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent == suites]
    return (frames[-1].line or "") if frames else "an assertion failed"


def _checks() -> Iterator[Check]:
    for capability, suite in SUITES.items():
        for name in sorted(name for name in dir(suite) if name.startswith("test_")):
            remedy = _REMEDIES.get(name, _REMEDY.format(suite=suite.__name__))
            run = partial(run_test, suite=suite, name=name)
            yield Check(name.removeprefix("test_"), 1, remedy, run, frozenset({capability}))


CONFORMING: tuple[Check, ...] = (
    Check(
        "cases_are_found",
        1,
        "Quote pairs of the devnet's tokens, or deposits into its vaults.",
        cases_are_found,
        TRANSACTIONS,
    ),
    *_checks(),
)
