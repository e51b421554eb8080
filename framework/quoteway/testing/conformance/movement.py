"""The common tests of swap, pool and vault providers: quotes and actions, exact in base units."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from quoteway import Build, DeployRequest, GatewayError, InvalidRequest, NotFound, Quote, SealedQuote
from quoteway.evm import erc20, permit2
from quoteway.guard.acknowledgements import CODES
from quoteway.guard.calldata import check_build
from quoteway.guard.quotes import check_quote
from quoteway.models import Action, Request
from quoteway.testing.conformance.provider import (
    MAX_BLOCK_S,
    STRANGER,
    ProviderConformance,
    assert_cancellable,
    assert_silent,
    longest_block,
)
from quoteway.testing.execution import LocalChains, execute

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway


class MovementConformance(ProviderConformance):
    """Quotes, builds, and executes every case on the devnet.

    Fixtures that a subclass defines: ``gateway``; ``cases``, the requests to quote (the senders hold the
    inputs); ``unknown``, a request that the provider does not serve. ``exact = False`` is for values that
    change with time (interest): then outcomes are compared with the minimum only.
    """

    exact: ClassVar[bool] = True

    @pytest.fixture
    def cases(self) -> Sequence[Any]:
        pytest.fail(f"{type(self).__name__} gives no fixture `cases`")

    @pytest.fixture
    def unknown(self) -> Any:
        pytest.fail(f"{type(self).__name__} gives no fixture `unknown`")

    async def sealed(self, gateway: Gateway, request: Request) -> tuple[Quote, SealedQuote]:
        """Returns the provider's quote from the gateway, and the content of its token."""
        answer = await gateway.quoting.quote(self.capability, request, provider=self.provider_id)
        return answer.quote, gateway.quote_tokens.open(self.capability, answer.sealed.token)

    async def test_every_case_is_quoted_within_the_deadline(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Any, cases: Sequence[Any]
    ) -> None:
        for request in cases:
            started = time.perf_counter()
            quote = await provider.quote(request)
            took_s = time.perf_counter() - started
            assert quote is not None, f"no quote for {request}"
            assert took_s < gateway.config.quotes.competition_timeout_s, f"{took_s:.2f} s for {request}"
            check_quote(provider, request, quote)
            for leg in quote.outputs:
                assert leg.amount_min is None or leg.amount_min <= leg.amount, "a minimum above its amount"
            assert quote.block.hash == (await gateway.runtime.chains[request.chain_id].head()).hash, (
                "a quote tells the block it was read at"
            )

    async def test_what_is_not_its_own_is_none_or_refused(
        self, gateway: Gateway, provider: Any, unknown: Any
    ) -> None:
        with contextlib.suppress(InvalidRequest, NotFound):  # these errors are allowed too
            assert await provider.quote(unknown) is None

    async def test_the_event_loop_is_never_kept(
        self, gateway: Gateway, provider: Any, cases: Sequence[Any]
    ) -> None:
        for request in cases:

            async def work(request: Request = request) -> None:
                quote = await provider.quote(request)
                assert quote is not None

            await work()  # fills caches before the measurement
            kept_s = await longest_block(work)
            assert kept_s < MAX_BLOCK_S, f"{kept_s * 1000:.0f} ms on the event loop for {request}"

    async def test_cancellation_is_honoured(
        self, gateway: Gateway, provider: Any, cases: Sequence[Any]
    ) -> None:
        await assert_cancellable(gateway, lambda: provider.quote(cases[0]))

    async def test_nothing_secret_shows_when_nodes_fail(
        self, gateway: Gateway, provider: Any, cases: Sequence[Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        await assert_silent(gateway, self.secrets, caplog, lambda: provider.quote(cases[0]))

    async def test_the_same_quote_at_the_same_block_builds_the_same_bytes(
        self, gateway: Gateway, provider: Any, cases: Sequence[Any]
    ) -> None:
        for request in cases:
            chain = gateway.runtime.chains[request.chain_id]
            try:
                _, sealed = await self.sealed(gateway, request)
            except GatewayError as error:
                pytest.fail(f"{request}: {error}")
            block = await chain.head()
            one, two = await asyncio.gather(provider.build(sealed), provider.build(sealed))
            if await chain.head() == block:
                assert one == two, f"two builds differ for {request}"

    async def test_builds_are_what_they_say(
        self, gateway: Gateway, provider: Any, cases: Sequence[Any]
    ) -> None:
        """Checks the chain, targets with code, the calldata round trip and declared spenders."""
        for request in cases:
            chain = gateway.runtime.chains[request.chain_id]
            quote, sealed = await self.sealed(gateway, request)
            build: Build = await provider.build(sealed)
            check_build(provider, sealed, build, gateway.runtime.calls, now=int(gateway.runtime.clock()))
            for step in build.steps:
                assert step.chain_id == request.chain_id
                assert await chain.code(step.to), f"{step.to} has no code"
                assert step.to in provider.contracts(request.chain_id), f"{step.to} is not in contracts()"
            assert set(build.spends) == set(quote.spends), "a build spends what its quote said"
            for spend in build.spends:
                assert spend.spender in provider.spenders(request.chain_id), (
                    f"{spend.spender} not in spenders()"
                )

    async def test_actions_pay_what_their_quotes_say(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Any, cases: Sequence[Any]
    ) -> None:
        """Quotes, simulates and sends each case; allowances must be exact and fully used."""
        for request in cases:
            quote, sealed = await self.sealed(gateway, request)
            action = await gateway.building.action(sealed, acknowledged=CODES)
            assert action.simulation.status == "success", f"{action.simulation} for {request}"
            self._simulated(quote, action, request)
            await self._executed(fresh_devnet, gateway, quote, action, request)

    async def test_another_recipient_is_paid(
        self,
        fresh_devnet: LocalChains,
        gateway: Gateway,
        provider: Any,
        cases: Sequence[Any],
        record_property: Callable[[str, object], None],
    ) -> None:
        request = cases[0]
        if isinstance(request, DeployRequest):
            record_property("not_applicable", "a deployment pays nobody")
            return
        request = replace(request, recipient=STRANGER)
        try:
            declined = await provider.quote(request) is None
        except InvalidRequest:
            declined = True
        if declined:
            record_property("not_applicable", "it pays nobody but the sender, and says so")
            return
        quote, sealed = await self.sealed(gateway, request)
        action = await gateway.building.action(sealed, acknowledged=CODES)
        executed = await execute(fresh_devnet, action)
        assert not executed.reverted
        for leg in quote.outputs:
            if leg.account == STRANGER:
                assert executed.deltas[STRANGER, leg.token.address] >= (leg.amount_min or 0)

    def _simulated(self, quote: Quote, action: Action, request: Request) -> None:
        deltas = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
        paid_in = {leg.token.address for leg in quote.inputs}
        for leg in quote.outputs:
            if leg.token.address in paid_in or (leg.account, leg.token.address) not in deltas:
                continue
            got = deltas[leg.account, leg.token.address]
            self._meets(got, leg.amount, leg.amount_min, f"simulation of {request}")

    async def _executed(
        self, devnet: LocalChains, gateway: Gateway, quote: Quote, action: Action, request: Request
    ) -> None:
        before = await self._allowances(gateway, quote, action)
        executed = await execute(devnet, action)
        assert not executed.reverted, f"reverted: {request}"
        outputs = {(leg.account, leg.token.address) for leg in quote.outputs}
        for leg in quote.inputs:
            if (leg.account, leg.token.address) not in outputs:
                paid = -executed.deltas[leg.account, leg.token.address]
                assert paid <= (leg.amount_max or leg.amount), f"took more than quoted: {request}"
                assert not self.exact or paid == leg.amount, f"took {paid}, quoted {leg.amount}: {request}"
        inputs = {(leg.account, leg.token.address) for leg in quote.inputs}
        for leg in quote.outputs:
            if (leg.account, leg.token.address) not in inputs:
                got = executed.deltas[leg.account, leg.token.address]
                self._meets(got, leg.amount, leg.amount_min, str(request))
        after = await self._allowances(gateway, quote, action)
        taken = {leg.token.address: -executed.deltas[leg.account, leg.token.address] for leg in quote.inputs}
        for spend, (was, now) in zip(quote.spends, zip(before, after, strict=True), strict=True):
            if spend.spender != permit2.ADDRESS and was == 0:
                left = max(0, spend.amount - taken.get(spend.token, spend.amount))
                assert now <= left, f"an allowance of {now} is left behind: {request}"

    def _meets(self, got: int, amount: int, minimum: int | None, what: str) -> None:
        assert got >= (minimum if minimum is not None else 0), (
            f"got {got}, below the minimum {minimum}: {what}"
        )
        assert not self.exact or got == amount, f"got {got}, quoted {amount}: {what}"

    async def _allowances(self, gateway: Gateway, quote: Quote, action: Action) -> list[int]:
        chain = gateway.runtime.chains[action.chain_id]
        block = await chain.head(fresh=True)
        found = []
        for spend in quote.spends:
            data = erc20.ALLOWANCE.encode([action.sender, spend.spender])
            found.append(int.from_bytes(await chain.call(spend.token, data, block=block)))
        return found
