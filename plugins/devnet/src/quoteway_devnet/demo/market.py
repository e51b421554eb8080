"""Finds a pair whose best route fits a scenario, by requesting quotes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from quoteway import NATIVE

from quoteway_devnet.demo.clients import Gateway
from quoteway_devnet.demo.errors import DemoError, RefusedError
from quoteway_devnet.demo.scenarios import SENDER, Hops, SwapScenario
from quoteway_devnet.manifest import ChainManifest

PART_OF_BALANCE = 100_000
"""The part of a balance to use: each account has tokens worth 100 million US dollars, so 1,000."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Listed:
    """A token of the served catalog. ``kind``: ``native`` or a behaviour of ``tables.py``."""

    address: str
    symbol: str
    decimals: int
    kind: str


def hops_of(quote: dict[str, Any]) -> Hops:
    """Return the hops of all paths of a quote's route."""
    return [hop for path in (quote["route"] or {"paths": ()})["paths"] for hop in path["hops"]]


class Market:
    """The tokens of one network and their known routes. ``balance`` reads the sender's balance."""

    def __init__(self, gateway: Gateway, chain: ChainManifest, balance: Callable[[str], int]) -> None:
        self._gateway = gateway
        self._slug = chain.slug
        self._balance = balance
        self._routes: dict[Pair, Hops] = {}
        kinds = {token.address: token.behaviour for token in chain.tokens} | {NATIVE: "native"}
        self.tokens: dict[str, Listed] = {}
        for row in gateway.pages(f"/v2/tokens?network={chain.slug}&limit=200"):
            contract = next(c for c in row["contracts"] if c["network"] == chain.slug)
            address, decimals = contract["address"], contract["decimals"]
            if address in kinds:
                self.tokens[address] = Listed(address, row["symbol"], decimals, kinds[address])

    def request(self, scenario: SwapScenario) -> dict[str, Any]:
        """Return a quote request whose best route fits. Raises DemoError when no pair has one."""
        for pair in self._candidates(scenario):
            sold, bought = pair
            amount = self._balance(sold) // PART_OF_BALANCE
            if amount == 0:
                continue
            body = {
                "network": self._slug,
                "fromToken": sold,
                "toToken": bought,
                "amount": str(amount),
                "address": SENDER.address,
                **scenario.request,
            }
            try:
                quote = self._gateway.post("/v2/swaps/quote", body)
            except RefusedError as refusal:
                # Not every pair has a route; any other error would occur for the next pair too.
                if refusal.reason != "no_route":
                    raise
                continue
            self._learn(pair, hops_of(quote))
            if scenario.fits(hops_of(quote)):
                return body
        raise DemoError(
            f"No pair of {self._slug} gives a route for the scenario {scenario.title!r}; "
            "restart the devnet, since trades may have moved the prices of its pools."
        )

    def _candidates(self, scenario: SwapScenario) -> Iterator[Pair]:
        """Yield every pair of the wanted kinds: those that fit by known routes first, then unknown pairs.

        A hop of a longer route is a known route of its own pair, which saves most requests.
        """
        remaining = [
            (sold.address, bought.address)
            for sold, bought in permutations(self.tokens.values(), 2)
            if sold.kind in scenario.sells and bought.kind in scenario.buys
        ]

        def rank(pair: Pair) -> int:
            known = self._routes.get(pair)
            return 1 if known is None else 0 if scenario.fits(known) else 2

        while remaining:
            # Chosen again each time: every quote adds known routes.
            pair = min(remaining, key=rank)
            remaining.remove(pair)
            yield pair

    def _learn(self, pair: Pair, hops: Hops) -> None:
        for hop in hops:
            self._routes.setdefault((hop["tokenIn"], hop["tokenOut"]), [hop])
            self._routes.setdefault((hop["tokenOut"], hop["tokenIn"]), [hop])
        self._routes[pair] = hops
