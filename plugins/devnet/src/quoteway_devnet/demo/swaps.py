"""Runs a swap scenario: quote, action, signatures, transactions, balances."""

from dataclasses import dataclass
from typing import Any, Protocol

from quoteway import NATIVE

from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import Listed, Market, hops_of
from quoteway_devnet.demo.scenarios import SENDER, Hops, SwapScenario
from quoteway_devnet.demo.session import Session


@dataclass(frozen=True, slots=True)
class SwapResult:
    """Amounts in base units; ``sold`` and ``received`` are measured in balances, without gas."""

    title: str
    hops: Hops
    token_in: Listed
    token_out: Listed
    amount_in: int
    sold: int
    quoted: int
    minimum: int
    received: int
    transactions: int
    gas_used: int

    @property
    def difference(self) -> int:
        """Received minus quoted, in base units."""
        return self.received - self.quoted

    @property
    def exact(self) -> bool:
        return self.difference == 0 and self.sold == self.amount_in


class Reporter(Protocol):
    """Shows every quote."""

    def quoted(self, quote: dict[str, Any], hops: Hops) -> None: ...


class SwapRunner:
    """Runs swap scenarios on one network."""

    def __init__(self, session: Session, market: Market, reporter: Reporter) -> None:
        self._session = session
        self._market = market
        self._wallet = session.wallet
        self._reporter = reporter

    def run(self, scenario: SwapScenario) -> SwapResult:
        """Quote, take the action, sign, send and measure. Raises DemoError."""
        body = self._market.request(scenario)
        quote = self._session.quote("/v2/swaps/quote", body)
        if scenario.leftover_allowance:
            self._leave_allowance(quote, scenario.leftover_allowance)
            quote = self._session.quote("/v2/swaps/quote", body)
        hops = hops_of(quote)
        self._reporter.quoted(quote, hops)
        action = self._session.gateway.post(f"/v2/swaps/{quote['quoteId']}/action")
        self._check(action, scenario)

        token_in = self._market.tokens[quote["fromToken"]["address"]]
        token_out = self._market.tokens[quote["toToken"]["address"]]
        held = self._wallet.balance(token_in.address)
        had = self._wallet.balance(token_out.address, scenario.recipient)
        sent = self._session.execute(action)
        sold = held - self._wallet.balance(token_in.address)
        received = self._wallet.balance(token_out.address, scenario.recipient) - had
        # The native balance also pays the gas, which is neither sold nor received.
        gas_wei = sum(one.gas_wei for one in sent)
        if token_in.address == NATIVE:
            sold -= gas_wei
        if token_out.address == NATIVE and scenario.recipient == SENDER.address:
            received += gas_wei
        return SwapResult(
            scenario.title,
            hops,
            token_in,
            token_out,
            int(quote["fromAmount"]),
            sold,
            int(quote["toAmount"]),
            int(quote["toAmountMin"]),
            received,
            len(sent),
            sum(one.gas_used for one in sent),
        )

    def _leave_allowance(self, quote: dict[str, Any], amount: int) -> None:
        """Set an allowance that is left over from an earlier approval, which must be reset first."""
        for approval in quote["approvals"]:
            token, spender = approval["token"], approval["spender"]
            allowed = self._wallet.allowance(token, spender)
            if allowed == amount:
                continue
            if allowed:
                self._wallet.approve(token, spender, 0)
            self._wallet.approve(token, spender, amount)

    @staticmethod
    def _check(action: dict[str, Any], scenario: SwapScenario) -> None:
        kinds = {step["kind"] for step in action["steps"]}
        if not scenario.step_kinds <= kinds:
            raise DemoError(
                f"The action of {scenario.title!r} has the steps {', '.join(sorted(kinds))} but not "
                f"{', '.join(sorted(scenario.step_kinds - kinds))}; this is a defect, please report it."
            )
        if len(action["signatures"]) != scenario.signatures:
            raise DemoError(
                f"The action of {scenario.title!r} asks for {len(action['signatures'])} signatures, expected "
                f"{scenario.signatures}; this is a defect, please report it."
            )
