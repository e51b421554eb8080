"""The demo from its first line to its table."""

import time
from contextlib import ExitStack

from quoteway_devnet.demo.clients import Gateway, Node
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import Market
from quoteway_devnet.demo.scenarios import SCENARIOS, SENDER
from quoteway_devnet.demo.server import own_server
from quoteway_devnet.demo.show import Screen
from quoteway_devnet.demo.walk import Outcome, Walk
from quoteway_devnet.demo.wallet import Wallet
from quoteway_devnet.manifest import chain_manifests
from quoteway_devnet.tables import CHAINS, DEVNET

_OPTIONS = {chain.slug: "--node" if chain is DEVNET else "--l2-node" for chain in CHAINS}


def run(url: str | None, nodes: dict[str, str]) -> bool:
    """Walk every scenario; whether each came out exactly as quoted.

    ``url`` is a running gateway and ``nodes`` its chains' by slug; without ``url`` the demo starts its own.
    Raises DemoError and DevnetError.
    """
    started = time.monotonic()
    screen = Screen()
    with ExitStack() as stack:
        stack.enter_context(screen.status)
        if url is None:
            screen.status.update("starting a gateway over two local chains")
            url, nodes = stack.enter_context(own_server())
        gateway = Gateway(url, screen.waiting)
        screen.say(f"Gateway {gateway.url}")
        _introduce(gateway, screen)
        walks = {chain.slug: _walk(chain.slug, gateway, nodes[chain.slug], screen) for chain in CHAINS}
        outcomes = []
        for number, scenario in enumerate(SCENARIOS, 1):
            screen.heading(number, len(SCENARIOS), scenario.title)
            outcome = walks[scenario.network].run(scenario)
            screen.received(outcome)
            outcomes.append(outcome)
    screen.table(outcomes)
    return _conclude(outcomes, time.monotonic() - started, screen)


def _introduce(gateway: Gateway, screen: Screen) -> None:
    providers = [row for row in gateway.pages("/v2/providers?limit=200") if row["enabled"]]
    for row in providers:
        screen.say(f"  {row['id']}: {', '.join(row['capabilities'])} on {', '.join(row['networks'])}")
    served = {slug for row in providers if "swap" in row["capabilities"] for slug in row["networks"]}
    missing = [chain.slug for chain in CHAINS if chain.slug not in served]
    if missing:
        raise DemoError(
            f"No enabled provider of the gateway swaps on {' and '.join(missing)}; install quoteway-uniswap, "
            "enable the devnet plugin, and see `quoteway providers` for the reasons."
        )


def _walk(slug: str, gateway: Gateway, node_url: str, screen: Screen) -> Walk:
    chain = chain_manifests()[slug]
    node = Node(node_url, slug, chain.chain_id, _OPTIONS[slug])
    node.check()
    wallet = Wallet(SENDER, node)
    market = Market(gateway, chain, wallet.balance)
    screen.say(f"{slug}: {len(market.tokens)} tokens, node {node_url}, signing as {SENDER.address}")
    return Walk(gateway, node, market, wallet, screen)


def _conclude(outcomes: list[Outcome], seconds: float, screen: Screen) -> bool:
    inexact = [outcome.title for outcome in outcomes if not outcome.exact]
    transactions = sum(outcome.transactions for outcome in outcomes)
    if inexact:
        screen.say(
            f"{len(inexact)} of {len(outcomes)} swaps did not give what was quoted: {', '.join(inexact)}. "
            "If nobody else trades on these chains, please report it.",
            "bold red",
        )
        return False
    screen.say(
        f"{len(outcomes)} swaps in {transactions} transactions, each received exactly what was quoted, "
        f"to the last base unit ({seconds:.1f} s).",
        "bold green",
    )
    return True
