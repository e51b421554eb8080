"""The suite for bridge providers and cross-chain swap providers.

The suite runs the provider in a real gateway on the devnet. It also falsifies each valid build and quote in
one respect; the guard must reject it. pytest collects the tests of a subclass (``asyncio_mode = "auto"``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from quoteway import (
    MAX_UINT256,
    NATIVE,
    BridgeProvider,
    Build,
    Capability,
    InvalidRequest,
    Leg,
    Reason,
    RefundTerms,
    SealedQuote,
    Spend,
    SwapRequest,
    TransferTerms,
    TransferTracking,
    UpstreamError,
)
from quoteway.evm import abi
from quoteway.evm.address import checksum
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.acknowledgements import CODES
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.quotes import check_quote
from quoteway.host.outcomes import NO_ROUTE_REASONS
from quoteway.testing.conformance.provider import ProviderConformance

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

THIEF = checksum("0x" + "7e" * 20)
"""The attacker's account in falsified quotes and builds. It is not a contract."""

_OTHER_CHAIN = 999_999_937


@dataclass(frozen=True)
class Honest:
    """A valid sealed quote and its build, and the registry that reads its calls."""

    provider: Any
    sealed: SealedQuote
    build: Build
    calls: CallRegistry
    now: int

    @property
    def got(self) -> Leg:
        return self.sealed.outputs[0]

    def check(self, build: Build) -> None:
        check_build(self.provider, self.sealed, build, self.calls, now=self.now)


class BridgeConformance(ProviderConformance):
    """Quotes and builds every case, and falsifies each quote and build. Fixtures that a subclass defines:

    - ``gateway``: a started gateway with the provider.
    - ``cases``: the transfers to quote (``SwapRequest``). Sender and recipient differ; the sender holds the
      input.
    - ``no_route``: a request without a route, or None to skip that test.

    ``provider_id`` is the provider's id. ``capability`` is ``BRIDGE``, or ``SWAP`` for a swap provider with
    ``cross_chain``.
    """

    capability: ClassVar[Capability] = Capability.BRIDGE

    @pytest.fixture
    def cases(self) -> Sequence[SwapRequest]:
        pytest.fail(f"{type(self).__name__} gives no fixture `cases`")

    @pytest.fixture
    def no_route(self) -> SwapRequest | None:
        return None

    async def honest(self, gateway: Gateway, provider: Any, request: SwapRequest) -> Honest:
        """Returns the provider's quote for a request and its build."""
        assert request.sender != request.recipient, "a case pays another account than the sender's"
        answer = await gateway.quoting.quote(self.capability, request, provider=self.provider_id)
        sealed = gateway.quote_tokens.open(self.capability, answer.sealed.token)
        build = await provider.build(sealed)
        return Honest(provider, sealed, build, gateway.runtime.calls, int(gateway.runtime.clock()))

    # --- honest -------------------------------------------------------------------------------------------

    async def test_every_case_is_quoted_and_says_what_arrives(
        self, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        for request in cases:
            quote = await provider.quote(request)
            assert quote is not None, f"no quote for {request}"
            check_quote(provider, request, quote)
            (got,) = quote.outputs
            assert got.amount_min, f"no minimum: {request}"
            assert (got.token.chain_id, got.account) == (request.to_chain_id, request.recipient)

    async def test_every_case_runs_and_takes_exactly_what_was_quoted(
        self, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        for request in cases:
            honest = await self.honest(gateway, provider, request)
            honest.check(honest.build)
            action = await gateway.building.action(honest.sealed, acknowledged=CODES)
            assert action.simulation.status == "success", action.simulation
            deltas = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
            assert deltas[request.sender, request.token_in.address] == -request.amount_in, request

    async def test_the_same_token_gives_the_same_bytes(
        self, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        honest = await self.honest(gateway, provider, cases[0])
        assert (await provider.build(honest.sealed)).steps == honest.build.steps

    async def test_another_refund_address_is_honoured_or_refused(
        self, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        request = replace(cases[0], refund_to=cases[0].recipient)
        try:
            honest = await self.honest(gateway, provider, request)
        except InvalidRequest as error:
            refused = [field.path for field in error.fields]
        else:
            refused = ["refundAddress"]
            honest.check(honest.build)
        assert refused == ["refundAddress"]

    async def test_no_route_is_said_in_the_words_of_the_gateway(
        self, provider: Any, no_route: SwapRequest | None, record_property: Callable[[str, object], None]
    ) -> None:
        if no_route is None:
            record_property("not_applicable", "no request without a route is given")
            return
        reason: Reason | None = Reason.NO_ROUTE
        try:
            assert await provider.quote(no_route) is None
        except UpstreamError as error:
            reason = error.reason
        assert reason in NO_ROUTE_REASONS

    async def test_routes_are_between_the_ends_asked_for(
        self, provider: Any, record_property: Callable[[str, object], None]
    ) -> None:
        if not isinstance(provider, BridgeProvider):
            record_property("not_applicable", "a swap provider lists no routes")
            return
        for origin in sorted(provider.networks):
            for target in sorted(provider.networks):
                for route in await provider.routes(origin, target):
                    assert (route.from_chain_id, route.to_chain_id) == (origin, target)
                    assert origin != target, "a route leads to another chain"
                    assert (route.from_token.chain_id, route.to_token.chain_id) == (origin, target)
                    assert (route.min_amount or 0) <= (route.max_amount or MAX_UINT256)

    async def test_a_transaction_that_is_none_of_its_transfers_is_not_tracked(
        self, provider: Any, record_property: Callable[[str, object], None]
    ) -> None:
        if not isinstance(provider, BridgeProvider):
            record_property("not_applicable", "a swap provider tracks nothing")
            return
        with contextlib.suppress(UpstreamError):  # the upstream does not answer
            found = await provider.track(min(provider.networks), "0x" + "de" * 32)
            assert found is None or found.status == "unknown", "or not seen yet"

    # --- lies ---------------------------------------------------------------------------------------------

    async def test_every_lie_of_a_build_is_refused_by_the_core(
        self, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        for request in cases:
            honest = await self.honest(gateway, provider, request)
            for name, lie in lies(honest):
                try:
                    honest.check(lie)
                except UnsafeAnswer:
                    continue
                pytest.fail(f"the guard let pass: {name}, for {request}")

    async def test_every_lie_of_a_quote_is_refused_by_the_core(
        self, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        for request in cases:
            quote = await provider.quote(request)
            (paid,), (got,) = quote.inputs, quote.outputs
            below = got.amount * (10_000 - request.slippage_bps) // 10_000 - 1
            told: dict[str, dict[str, Any]] = {
                "another recipient": {"outputs": (replace(got, account=THIEF),)},
                "another payer": {"inputs": (replace(paid, account=THIEF),)},
                "another chain": {"outputs": (_of(got, chain_id=_OTHER_CHAIN),)},
                "another token": {"outputs": (_of(got, address=THIEF),)},
                "no minimum": {"outputs": (replace(got, amount_min=None),)},
                "a minimum below the slippage": {"outputs": (replace(got, amount_min=below),)},
                "a larger amount": {"inputs": (replace(paid, amount=paid.amount + 1),)},
                "another spender": {"spends": (Spend(paid.token.address, paid.amount, THIEF),)},
                "another refund": {"terms": _promising(quote.terms, request.chain_id)},
            }
            for name, changes in told.items():
                try:
                    check_quote(provider, request, replace(quote, **changes))
                except UnsafeAnswer:
                    continue
                pytest.fail(f"the guard let pass: {name}, for {request}")


def lies(honest: Honest) -> Iterator[tuple[str, Build]]:
    """Yields falsified builds with a name, each changed in one respect."""
    build, got = honest.build, honest.got
    (paid,) = build.inputs
    minimum = got.amount_min or 0
    words: list[tuple[str, set[int], int]] = [
        ("calldata that pays another account", {int(got.account, 16)}, int(THIEF, 16)),
        ("calldata that pays out on another chain", {got.token.chain_id}, _OTHER_CHAIN),
        ("calldata with a lower minimum", {minimum}, minimum - 1),
        ("calldata that pays another token", _forms(honest), int(THIEF, 16)),
    ]
    request = honest.sealed.request
    assert isinstance(request, SwapRequest)
    refunding = _with_words(build, {int(request.refund_account, 16)}, int(THIEF, 16))
    if refunding is not None:
        yield "calldata that refunds another account", refunding
    tracking = build.terms
    if not isinstance(tracking, TransferTracking):
        tracking = TransferTracking("bridge", build.steps[0].chain_id, got.token.chain_id)
    yield "another refund told of", replace(build, terms=replace(tracking, refund_address=THIEF))
    for name, told, instead in words:
        lie = _with_words(build, told, instead)
        if lie is None and name.endswith("another token") and got.token.is_native:
            continue  # the native coin may be a flag or absent in the calldata
        assert lie is not None, f"no word of its calldata to change: {name}"
        yield name, lie
    yield "a minimum lowered openly", replace(build, outputs=(replace(got, amount_min=minimum - 1),))
    yield "another recipient named openly", replace(build, outputs=(replace(got, account=THIEF),))
    yield "another chain named openly", replace(build, outputs=(_of(got, chain_id=_OTHER_CHAIN),))
    yield "another token named openly", replace(build, outputs=(_of(got, address=THIEF),))
    yield "another payer", replace(build, inputs=(replace(paid, account=THIEF),))
    yield "a larger amount", replace(build, inputs=(replace(paid, amount=paid.amount + 1),))
    last = build.steps[-1]

    def changed(**changes: Any) -> Build:
        return replace(build, steps=(*build.steps[:-1], replace(last, **changes)))

    yield "a function that nothing describes", changed(data=b"\x00\x00\x00\x01" + last.data[4:])
    yield "another target", changed(to=THIEF)
    yield "a transaction for another chain", changed(chain_id=_OTHER_CHAIN)
    yield "a value too high", changed(value=last.value + 1)
    yield "one byte more", changed(data=last.data + b"\0")
    yield "one bit else", changed(data=last.data[:-1] + bytes([last.data[-1] ^ 1]))
    for signature in ("approve(address,uint256)", "transfer(address,uint256)"):
        call = abi.function(signature)
        for to in {last.to, paid.token.address} - {NATIVE}:
            taking = call.encode([THIEF, MAX_UINT256])
            yield f"{signature} to {to}", changed(to=to, data=taking, value=0)
    if not paid.token.is_native:
        yield "another spender", replace(build, spends=(Spend(paid.token.address, paid.amount, THIEF),))
        for spend in build.spends:
            unlimited = replace(spend, amount=MAX_UINT256)
            yield "an unlimited spend", replace(build, spends=(unlimited,))


def _promising(terms: TransferTerms | None, chain_id: int) -> TransferTerms:
    """Returns the terms with a refund to the attacker's account."""
    return replace(terms or TransferTerms(), refund=RefundTerms(chain_id, NATIVE, THIEF))


def _forms(honest: Honest) -> set[int]:
    token = honest.got.token
    if not token.is_native:
        return {int(token.address, 16)}
    wrapped = honest.calls.wrapped_native(token.chain_id)
    return {int(wrapped, 16)} if wrapped else set()


def _with_words(build: Build, told: set[int], instead: int) -> Build | None:
    """Returns the build with every occurrence of some calldata words replaced; None without one."""
    steps, found = [], False
    for step in build.steps:
        data = bytearray(step.data)
        for at in range(4, len(data) - 31, 32):
            if int.from_bytes(data[at : at + 32]) in told:
                data[at : at + 32] = instead.to_bytes(32)
                found = True
        steps.append(replace(step, data=bytes(data)))
    return replace(build, steps=tuple(steps)) if found else None


def _of(leg: Leg, **changes: Any) -> Leg:
    return replace(leg, token=replace(leg.token, **changes))
