"""One scenario from quote to measured outcome, as any client of the gateway would do it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quoteway_devnet import abi
from quoteway_devnet.demo.clients import Gateway, Node
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import Listed, Market, hops_of
from quoteway_devnet.demo.scenarios import SENDER, Hops, Scenario
from quoteway_devnet.demo.wallet import Sent, Wallet

_HEAD_POLL_S = 0.25
_HEAD_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Amounts in base units; ``sold`` and ``received`` are what the balances say, gas left out."""

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


class Narrator(Protocol):
    """Told of every step as it happens."""

    def quoted(self, quote: dict[str, Any], hops: Hops) -> None: ...
    def step(self, number: int, intent: str) -> None: ...
    def signature(self, kind: str) -> None: ...
    def mined(self, sent: Sequence[Sent]) -> None: ...


class Walk:
    """Scenarios on one network."""

    def __init__(self, gateway: Gateway, node: Node, market: Market, wallet: Wallet, tell: Narrator) -> None:
        self._gateway = gateway
        self._node = node
        self._market = market
        self._wallet = wallet
        self._tell = tell

    def run(self, scenario: Scenario) -> Outcome:
        """Quote, take the action, sign, send, measure. Raises DemoError."""
        body = self._market.request(scenario)
        quote = self._newest_quote(body)
        if scenario.leftover_allowance:
            self._leave_allowance(quote, scenario.leftover_allowance)
            quote = self._newest_quote(body)
        hops = hops_of(quote)
        self._tell.quoted(quote, hops)
        action = self._gateway.post(f"/v2/swaps/{quote['quoteId']}/action")
        self._check(action, scenario)

        token_in = self._market.tokens[quote["fromToken"]["address"]]
        token_out = self._market.tokens[quote["toToken"]["address"]]
        held = self._wallet.balance(token_in.address)
        had = self._wallet.balance(token_out.address, scenario.recipient)
        sent = self._execute(action)
        sold = held - self._wallet.balance(token_in.address)
        received = self._wallet.balance(token_out.address, scenario.recipient) - had
        # Gas comes out of the native balance: it is neither sold nor missing from what arrived.
        gas_wei = sum(one.gas_wei for one in sent)
        if token_in.address == abi.ZERO_ADDRESS:
            sold -= gas_wei
        if token_out.address == abi.ZERO_ADDRESS and scenario.recipient == SENDER.address:
            received += gas_wei
        return Outcome(
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

    def _newest_quote(self, body: dict[str, Any]) -> dict[str, Any]:
        newest = self._node.block_number()
        deadline = time.monotonic() + _HEAD_TIMEOUT_S
        while True:
            quote = self._gateway.post("/v2/swaps/quote", body)
            # The gateway polls the chain's head: until it has seen the block of our last receipt it quotes an
            # older state, right for that block but not for the one we are about to trade in.
            if quote["block"]["number"] >= newest:
                self._check_chain(quote["block"])
                return quote
            if time.monotonic() > deadline:
                raise DemoError(
                    f"The gateway quotes {self._node.slug} at block {quote['block']['number']} and the node "
                    f"is at {newest}; point the demo at the node that the gateway uses."
                )
            time.sleep(_HEAD_POLL_S)

    def _check_chain(self, block: dict[str, Any]) -> None:
        found = self._node.call("eth_getBlockByNumber", hex(block["number"]), False)
        if found is None or found["hash"] != block["hash"]:
            raise DemoError(
                f"The gateway and the node at {self._node.url} are on different chains of id "
                f"{self._node.chain_id}; point the demo at the node that the gateway uses."
            )

    def _leave_allowance(self, quote: dict[str, Any], amount: int) -> None:
        """As a wallet that approved a little too much once: the rest stands in the way of a new approval."""
        for approval in quote["approvals"]:
            token, spender = approval["token"], approval["spender"]
            allowed = self._wallet.allowance(token, spender)
            if allowed == amount:
                continue
            if allowed:
                self._wallet.approve(token, spender, 0)
            self._wallet.approve(token, spender, amount)

    def _execute(self, action: dict[str, Any]) -> list[Sent]:
        for request in action["signatures"]:
            self._tell.signature(request["kind"])
        transactions = self._wallet.splice(action["transactions"], action["signatures"])
        sent = []
        for number, (transaction, step) in enumerate(zip(transactions, action["steps"], strict=True), 1):
            self._tell.step(number, step["clearSigning"]["intent"])
            sent.append(self._wallet.send(transaction, step["gasLimit"]))
        self._tell.mined(sent)
        return sent

    @staticmethod
    def _check(action: dict[str, Any], scenario: Scenario) -> None:
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
