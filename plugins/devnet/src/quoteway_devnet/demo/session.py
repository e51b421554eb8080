"""An account's session with a gateway and a node: quotes, actions, signatures, transactions, balances."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quoteway import NATIVE

from quoteway_devnet.accounts import Account
from quoteway_devnet.demo.clients import Gateway, Node
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import Listed
from quoteway_devnet.demo.wallet import Sent, Wallet

_HEAD_POLL_S = 0.1
_HEAD_TIMEOUT_S = 15.0

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BalanceChange:
    """Quoted and actual change of an account's balance, in base units."""

    token: Listed
    account: str
    quoted: int
    moved: int

    @property
    def difference(self) -> int:
        return self.moved - self.quoted


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The result of one executed action."""

    title: str
    moves: tuple[BalanceChange, ...]
    transactions: int
    gas_used: int

    @property
    def exact(self) -> bool:
        return not any(move.difference for move in self.moves)


class Reporter(Protocol):
    """Shows the progress."""

    def say(self, text: str, style: str = "") -> None: ...
    def step(self, number: int, intent: str) -> None: ...
    def signature(self, kind: str) -> None: ...
    def mined(self, sent: Sequence[Sent]) -> None: ...
    def operated(self, operated: OperationResult) -> None: ...
    def position(self, position: Answer) -> None: ...


class Session:
    """One account, a gateway, and the node of one of its networks."""

    def __init__(self, gateway: Gateway, node: Node, wallet: Wallet, reporter: Reporter) -> None:
        self.gateway = gateway
        self.node = node
        self.wallet = wallet
        self.reporter = reporter

    def with_account(self, account: Account) -> "Session":
        """Return the session of another account."""
        return Session(self.gateway, self.node, Wallet(account, self.node), self.reporter)

    def quote(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Return a quote of the newest block. Raises DemoError."""
        self.await_head()
        found = self.gateway.post(path, body)
        self._check_chain(found["block"])
        return found

    def action(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Return the action of a request without a quote, at the newest block. Raises DemoError."""
        self.await_head()
        return self.gateway.post(path, body)

    def await_head(self) -> None:
        """Wait until the gateway has seen the node's newest block. Raises DemoError.

        The gateway polls the head, so before that its answers are of an older state.
        """
        newest = self.node.block_number()
        deadline = time.monotonic() + _HEAD_TIMEOUT_S
        query = f"network={self.node.slug}&tokens={NATIVE}&wallet={self.wallet.address}"
        while True:
            block = block_of(self.gateway.get(f"/v2/portfolio/balances?{query}"))
            if block >= newest:
                return
            if time.monotonic() > deadline:
                raise DemoError(
                    f"The gateway answers for {self.node.slug} at block {block} and the node is at {newest}; "
                    "point the demo at the node that the gateway uses."
                )
            time.sleep(_HEAD_POLL_S)

    def operate(self, title: str, path: str, body: Mapping[str, Any]) -> OperationResult:
        """Quote, execute and measure an action of a pool or vault at ``path``. Raises DemoError."""
        quote = self.quote(f"{path}/quote", body)
        action = self.gateway.post(f"{path}/action", {**body, "quoteId": quote["quoteId"]})
        return self.execute_and_measure(title, action, expected_of(quote))

    def swap(self, title: str, body: Mapping[str, Any]) -> OperationResult:
        """Quote, execute and measure a swap. Raises DemoError."""
        quote = self.quote("/v2/swaps/quote", body)
        action = self.gateway.post(f"/v2/swaps/{quote['quoteId']}/action")
        return self.execute_and_measure(title, action, expected_of(quote))

    def execute_and_measure(
        self, title: str, action: Answer, expected: Mapping[tuple[str, Listed], int]
    ) -> OperationResult:
        """Execute an action and compare what the (account, token) pairs received. Raises DemoError."""
        before = {place: self.wallet.balance(place[1].address, place[0]) for place in expected}
        sent = self.execute(action)
        gas_wei = sum(one.gas_wei for one in sent)
        moves = []
        for (account, token), quoted in expected.items():
            moved = self.wallet.balance(token.address, account) - before[account, token]
            # The native balance also pays the gas, which is not part of the change.
            if token.address == NATIVE and account == self.wallet.address:
                moved += gas_wei
            moves.append(BalanceChange(token, account, quoted, moved))
        operated = OperationResult(title, tuple(moves), len(sent), sum(one.gas_used for one in sent))
        self.reporter.operated(operated)
        return operated

    def execute(self, action: Answer) -> list[Sent]:
        """Sign and send all transactions of an action. Raises DemoError."""
        for request in action["signatures"]:
            self.reporter.signature(request["kind"])
        transactions = self.wallet.insert_signatures(action["transactions"], action["signatures"])
        sent = []
        for number, (transaction, step) in enumerate(zip(transactions, action["steps"], strict=True), 1):
            self.reporter.step(number, step["clearSigning"]["intent"])
            sent.append(self.wallet.send(transaction, step["gasLimit"]))
        self.reporter.mined(sent)
        return sent

    def _check_chain(self, block: Answer) -> None:
        found = self.node.call("eth_getBlockByNumber", hex(block["number"]), False)
        if found is None or found["hash"] != block["hash"]:
            raise DemoError(
                f"The gateway and the node at {self.node.url} are on different chains of id "
                f"{self.node.chain_id}; point the demo at the node that the gateway uses."
            )


def block_of(balances: Answer) -> int:
    """Return the block of the balances of one network."""
    return int(balances["asOf"][0]["block"])


def listed(token: Answer) -> Listed:
    """Return a token of an answer."""
    return Listed(token["address"], token["symbol"] or token["address"][:8], token["decimals"], "")


def expected_of(quote: Answer) -> dict[tuple[str, Listed], int]:
    """Return the quoted change of every (account, token) in base units."""
    expected: Counter[tuple[str, Listed]] = Counter()
    for leg in quote["inputs"]:
        expected[leg["account"], listed(leg["token"])] -= int(leg["amount"])
    for leg in quote["outputs"]:
        expected[leg["account"], listed(leg["token"])] += int(leg["amount"])
    return dict(expected)
