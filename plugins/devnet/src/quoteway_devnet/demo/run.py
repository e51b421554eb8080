"""Runs the whole demo."""

import time
from contextlib import ExitStack

from quoteway_devnet.demo.clients import Gateway, Node
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.demo.market import Market
from quoteway_devnet.demo.operations import OperationRunner
from quoteway_devnet.demo.scenarios import OPERATION_SCENARIOS, SENDER, SWAP_SCENARIOS
from quoteway_devnet.demo.screen import Screen
from quoteway_devnet.demo.server import own_server
from quoteway_devnet.demo.session import OperationResult, Session
from quoteway_devnet.demo.swaps import SwapResult, SwapRunner
from quoteway_devnet.demo.wallet import Wallet
from quoteway_devnet.manifest import chain_manifests
from quoteway_devnet.tables import CHAINS, DEVNET

_OPTIONS = {chain.slug: "--node" if chain is DEVNET else "--l2-node" for chain in CHAINS}


def run(url: str | None, nodes: dict[str, str]) -> bool:
    """Run every scenario and return whether all amounts were exactly as quoted.

    ``url`` is a running gateway and ``nodes`` has its chains' nodes by slug. Without ``url`` the demo starts
    its own gateway.
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
        sessions = {chain.slug: _session(chain.slug, gateway, nodes[chain.slug], screen) for chain in CHAINS}
        markets = {slug: _market(slug, session, screen) for slug, session in sessions.items()}
        swap_runners = {
            slug: SwapRunner(session, markets[slug], screen) for slug, session in sessions.items()
        }
        count = len(SWAP_SCENARIOS) + len(OPERATION_SCENARIOS)
        swaps = []
        for number, scenario in enumerate(SWAP_SCENARIOS, 1):
            screen.heading(number, count, scenario.title)
            result = swap_runners[scenario.network].run(scenario)
            screen.received(result)
            swaps.append(result)
        session = sessions[DEVNET.slug]
        runner = OperationRunner(session, markets[DEVNET.slug], sessions)
        operated: list[OperationResult] = []
        for number, operation in enumerate(OPERATION_SCENARIOS, len(SWAP_SCENARIOS) + 1):
            screen.heading(number, count, operation.title)
            operated += runner.run(operation)
    screen.table(swaps)
    screen.operations(operated)
    return _conclude(swaps, operated, time.monotonic() - started, screen)


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


def _session(slug: str, gateway: Gateway, node_url: str, screen: Screen) -> Session:
    node = Node(node_url, slug, chain_manifests()[slug].chain_id, _OPTIONS[slug])
    node.check()
    return Session(gateway, node, Wallet(SENDER, node), screen)


def _market(slug: str, session: Session, screen: Screen) -> Market:
    market = Market(session.gateway, chain_manifests()[slug], session.wallet.balance)
    screen.say(f"{slug}: {len(market.tokens)} tokens, node {session.node.url}, signing as {SENDER.address}")
    return market


def _conclude(
    swaps: list[SwapResult], operated: list[OperationResult], seconds: float, screen: Screen
) -> bool:
    done: list[SwapResult | OperationResult] = [*swaps, *operated]
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
        f"{len(swaps)} swaps and {len(operated)} operations on pools, vaults, transfers and the portfolio "
        f"in {transactions} transactions, each moved exactly what was quoted, to the last base unit "
        f"({seconds:.1f} s).",
        "bold green",
    )
    return True
