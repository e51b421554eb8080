"""Executes random vault operations on the devnet and compares moved with quoted amounts, in base units.

Uses plain vaults, one with fees, and a managed one where that plugin is installed, with several users and
yield between the operations. ``python vault_exactness.py --operations 500 --seed 1`` prints a summary. It
exits with 1 when a difference is not zero.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from quoteway import Capability, GatewayError, VaultRequest
from quoteway.config.model import Config, QuotesConfig
from quoteway.engine.gateway import Gateway
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from vault_harness import HAS_MANAGED, odd_vault, plugins

OPERATIONS = ("deposit", "mint", "withdraw", "redeem")
USERS = tuple(account.address for account in ACCOUNTS[:5])
STRANGER = "0x000000000000000000000000000000000000dEaD"
YIELD_EVERY = 5


@dataclass(frozen=True)
class Difference:
    """One executed operation; ``units`` are moved minus quoted, for every leg."""

    vault: str
    operation: str
    quoted: tuple[int, ...]
    units: tuple[int, ...]
    below_minimum: bool


@dataclass
class Report:
    """All executed operations, what was refused and why, and reverts (there must be none)."""

    done: list[Difference] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    reverted: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def wrong(self) -> list[Difference]:
        """Operations that moved anything but the quoted amounts."""
        return [each for each in self.done if any(each.units) or each.below_minimum]

    @property
    def kinds(self) -> Counter[str]:
        """How often each operation was executed at each vault."""
        return Counter(f"{each.vault} {each.operation}" for each in self.done)


async def execute_random_operations(n: int, seed: int, devnet: Devnet | None = None) -> Report:
    """Executes ``n`` random operations through the whole core: quote, seal, build, guard, simulate, send."""
    if devnet is None:
        async with Devnet.start() as started:
            return await execute_random_operations(n, seed, started)
    chance = random.Random(seed)
    manifest = devnet.chains["devnet"]
    usdc = manifest.token("USDC").address
    vaults = {vault.id: vault.address for vault in manifest.vaults if vault.kind == "plain" or HAS_MANAGED}
    vaults["fees"] = await asyncio.to_thread(odd_vault, devnet, usdc, entry_fee_bps=37, exit_fee_bps=12)
    weth = manifest.token("WETH").address
    vaults["weth"] = await asyncio.to_thread(
        devnet.deploy, "YieldVault", "(address,string,string)", weth, "W", "W"
    )
    assets = dict.fromkeys(vaults, usdc) | {"weth": weth}
    report = Report()
    started_at = time.perf_counter()
    gateway = Gateway(
        Config(quotes=QuotesConfig(competition_timeout_s=30.0)), plugins=plugins(devnet), discover=False
    )
    async with gateway.running():
        while len(report.done) + len(report.reverted) < n:
            if len(report.done) % YIELD_EVERY == 0:
                name = chance.choice(list(vaults))
                amount = int(10 ** chance.uniform(0, 9 if assets[name] == usdc else 18))
                target = vaults["steady-usdc"] if name == "managed-usdc" else vaults[name]
                await asyncio.to_thread(devnet.faucet, "WETH" if name == "weth" else "USDC", target, amount)
            name = chance.choice(list(vaults))
            await _one(devnet, gateway, chance, name, vaults[name], assets[name], report)
    report.seconds = time.perf_counter() - started_at
    return report


async def _one(
    devnet: Devnet,
    gateway: Gateway,
    chance: random.Random,
    name: str,
    vault: str,
    asset: str,
    report: Report,
) -> None:
    provider = gateway.registry.get(Capability.VAULT, "managedvault" if name == "managed-usdc" else "erc4626")
    facts = await provider.find(31337, vault)
    operation = chance.choice(OPERATIONS)
    shares = operation in ("mint", "redeem")
    unit = facts.share if shares else facts.asset
    amount: int | None = max(int(10 ** chance.uniform(0, unit.decimals + 4)), 1)
    if operation in ("withdraw", "redeem") and chance.random() < 0.2:
        amount = None
    sender = chance.choice(USERS)
    recipient = sender if chance.random() < 0.6 else chance.choice((*USERS, STRANGER))
    request = VaultRequest(
        f"31337:{vault}",
        31337,
        operation,
        vault if shares else asset,
        amount,
        sender,
        recipient,
        chance.choice((0, 10, 50)),
    )
    try:
        quote = await gateway.quoting.quote(Capability.VAULT, request, provider=provider.id)
        action = await gateway.building.action(
            gateway.quote_tokens.open(Capability.VAULT, quote.sealed.token)
        )
    except GatewayError as error:
        report.refused[str(error.reason)] += 1
        return
    if any(issue.code == "insufficient_balance" for issue in action.issues):
        report.refused["insufficient_balance"] += 1
        return
    done = await execute(devnet, action)
    if done.reverted:
        report.reverted.append(str(request))
        return
    legs = [(leg, -1) for leg in quote.quote.inputs] + [(leg, 1) for leg in quote.quote.outputs]
    units = [done.deltas[leg.account, leg.token.address] - sign * leg.amount for leg, sign in legs]
    below = any(done.deltas[leg.account, leg.token.address] < leg.amount_min for leg in quote.quote.outputs)
    report.done.append(Difference(name, operation, tuple(leg.amount for leg, _ in legs), tuple(units), below))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    report = asyncio.run(execute_random_operations(options.operations, options.seed))
    each_ms = 1000 * report.seconds / max(len(report.done), 1)
    print(
        f"{len(report.done)} operations, seed {options.seed}, {report.seconds:.1f} s ({each_ms:.0f} ms each)"
    )
    print(f"not executed: {dict(report.refused)}; reverted: {len(report.reverted)}")
    print(dict(sorted(report.kinds.items())))
    print(f"moved minus quoted is not 0 in {len(report.wrong)} of {len(report.done)}")
    for line in [*report.reverted[:5], *map(str, report.wrong[:10])]:
        print(line)
    sys.exit(bool(report.wrong or report.reverted))


if __name__ == "__main__":
    main()
