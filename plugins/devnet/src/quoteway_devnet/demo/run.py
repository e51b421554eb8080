"""The demo from its first line to its table."""

import time
from contextlib import ExitStack

from quoteway_devnet.demo.clients import Gateway, Node
from quoteway_devnet.demo.desk import Desk, Operated
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import Market
from quoteway_devnet.demo.scenarios import SCENARIOS, SENDER, TOURS
from quoteway_devnet.demo.server import own_server
from quoteway_devnet.demo.show import Screen
from quoteway_devnet.demo.tours import Guide
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
        desks = {chain.slug: _desk(chain.slug, gateway, nodes[chain.slug], screen) for chain in CHAINS}
        markets = {slug: _market(slug, desk, screen) for slug, desk in desks.items()}
        walks = {slug: Walk(desk, markets[slug], screen) for slug, desk in desks.items()}
        count = len(SCENARIOS) + len(TOURS)
        outcomes = []
        for number, scenario in enumerate(SCENARIOS, 1):
            screen.heading(number, count, scenario.title)
            outcome = walks[scenario.network].run(scenario)
            screen.received(outcome)
            outcomes.append(outcome)
        desk = desks[DEVNET.slug]
        guide = Guide(desk, markets[DEVNET.slug], desks)
        operated: list[Operated] = []
        for number, tour in enumerate(TOURS, len(SCENARIOS) + 1):
            screen.heading(number, count, tour.title)
            operated += guide.walk(tour)
    screen.table(outcomes)
    screen.operations(operated)
    return _conclude(outcomes, operated, time.monotonic() - started, screen)


def _introduce(gateway: Gateway, screen: Screen) -> None:
    providers = [row for row in gateway.pages("/v2/providers?limit=200") if row["enabled"]]
    for row in providers:
        screen.say(f"  {row['id']}: {', '.join(row['capabilities'])} on {', '.join(row['networks'])}")
    wanted = {(what, chain.slug) for what in ("swap", "bridge") for chain in CHAINS}
    wanted |= {("pool", DEVNET.slug), ("vault", DEVNET.slug)}
    served = {(what, slug) for row in providers for what in row["capabilities"] for slug in row["networks"]}
    if missing := sorted(wanted - served):
        raise DemoError(
            f"No enabled provider of the gateway serves {' and '.join(f'{w} on {s}' for w, s in missing)}; "
            "install quoteway-uniswap, quoteway-across, quoteway-erc4626 and quoteway-managedvault, enable "
            "the devnet plugin, and see `quoteway providers` for the reasons."
        )


def _desk(slug: str, gateway: Gateway, node_url: str, screen: Screen) -> Desk:
    node = Node(node_url, slug, chain_manifests()[slug].chain_id, _OPTIONS[slug])
    node.check()
    return Desk(gateway, node, Wallet(SENDER, node), screen)


def _market(slug: str, desk: Desk, screen: Screen) -> Market:
    market = Market(desk.gateway, chain_manifests()[slug], desk.wallet.balance)
    screen.say(f"{slug}: {len(market.tokens)} tokens, node {desk.node.url}, signing as {SENDER.address}")
    return market


def _conclude(outcomes: list[Outcome], operated: list[Operated], seconds: float, screen: Screen) -> bool:
    done: list[Outcome | Operated] = [*outcomes, *operated]
    inexact = [one.title for one in done if not one.exact]
    transactions = sum(one.transactions for one in done)
    if inexact:
        screen.say(
            f"{len(inexact)} of {len(done)} did not give what was quoted: {', '.join(inexact)}. "
            "If nobody else trades on these chains, please report it.",
            "bold red",
        )
        return False
    screen.say(
        f"{len(outcomes)} swaps and {len(operated)} operations on pools, vaults, transfers and the portfolio "
        f"in {transactions} transactions, each moved exactly what was quoted, to the last base unit "
        f"({seconds:.1f} s).",
        "bold green",
    )
    return True
