"""A swap and a transfer in one action, as a client makes them, measured in balances of both chains.

``python tests/crossings.py --crossings 200 --seed 1`` runs random ones and prints a summary; its exit code
says whether each was to the wei.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import quoteway_across
import quoteway_devnet.plugin
import quoteway_rpc
import quoteway_tokenlist
import quoteway_uniswap
from quoteway import NATIVE, Capability, SwapRequest, Token, UpstreamError
from quoteway.evm import erc20
from quoteway.evm.address import checksum
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.bridge import bridged_tokens
from quoteway_devnet.chains import Devnet
from quoteway_devnet.relayer import Relayer
from quoteway_devnet.tables import CHAINS, token_rows

PLUGINS = {
    "devnet": quoteway_devnet.plugin,
    "rpc": quoteway_rpc,
    "tokenlist": quoteway_tokenlist,
    "across": quoteway_across,
    "uniswap": quoteway_uniswap,
}
CHAIN_IDS = {chain.slug: chain.chain_id for chain in CHAINS}
SENDER = ACCOUNTS[4].address
RECIPIENT = "0x4444444444444444444444444444444444444444"
THIEF = checksum("0x" + "7e" * 20)


def plugin_sections(devnet, relayer_port):
    """The plugins' settings for chains and a relayer that run already. A busy machine is slow, not wrong."""
    ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
    chains = {"enabled": True, "start": False, "relayer_port": relayer_port, **ports}
    single_paths = {"solver_processes": 0}
    return {"devnet": chains, "across": {"api_timeout_s": 10.0}, "uniswap": single_paths}


async def read_lists(gateway):
    """Waits for the token lists, which a gateway that has just started may still be reading."""
    deadline = time.monotonic() + 120
    while not all([await gateway.tokens.listed(chain_id) for chain_id in CHAIN_IDS.values()]):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


class Harness:
    """A gateway, and both chains beside it."""

    def __init__(self, devnet, gateway):
        self.devnet = devnet
        self.gateway = gateway
        self.bridge = gateway.registry.get(Capability.BRIDGE, "across")

    def token(self, symbol, slug="devnet"):
        chain = self.devnet.chains[slug]
        if symbol == "ETH":
            return Token(chain.chain_id, NATIVE, 18, "ETH")
        row = chain.token(symbol)
        return Token(chain.chain_id, row.address, row.decimals, symbol)

    def request(self, sold="WETH", got="USDC", amount=10**18, origin="devnet", **changes):
        target = "devnet-l2" if origin == "devnet" else "devnet"
        members = {
            "chain_id": CHAIN_IDS[origin],
            "to_chain_id": CHAIN_IDS[target],
            "token_in": self.token(sold, origin),
            "token_out": self.token(got, target),
            "amount_in": amount,
            "sender": SENDER,
            "recipient": RECIPIENT,
            "slippage_bps": 50,
        }
        return SwapRequest(**(members | changes))

    async def quote(self, request, **options):
        return await self.gateway.quoting.quote(Capability.SWAP, request, **options)

    async def action(self, quoted):
        return await self.gateway.building.action(
            self.gateway.quote_tokens.open(Capability.SWAP, quoted.sealed.token)
        )

    async def rpc(self, slug, method, *params):
        def call():
            with self.devnet.rpc(slug) as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def send(self, transaction):
        """Sends from the unlocked sender and waits for the receipt; the hash."""
        members = {name: value for name, value in transaction.items() if name != "chainId"}

        def mined():
            with self.devnet.rpc("devnet") as rpc:
                sent = rpc("eth_sendTransaction", {**members, "from": SENDER})
                while rpc("eth_getTransactionReceipt", sent) is None:
                    time.sleep(0.005)
                return sent

        return await asyncio.to_thread(mined)

    async def allow(self, token, spender, amount):
        """Approves the spender for the sender's tokens."""
        data = "0x" + erc20.APPROVE.encode([spender, amount]).hex()
        await self.send({"to": token.address, "data": data})

    async def balance(self, token, owner):
        slug = next(slug for slug, chain_id in CHAIN_IDS.items() if chain_id == token.chain_id)
        if token.is_native:
            return int(await self.rpc(slug, "eth_getBalance", owner, "latest"), 16)
        data = "0x70a08231" + owner[2:].rjust(64, "0")
        return int(await self.rpc(slug, "eth_call", {"to": token.address, "data": data}, "latest"), 16)

    async def until(self, chain_id, tx_hash, *wanted, timeout_s=120.0):
        """Follows a transfer to one of the wanted states; every state on the way."""
        seen, deadline = [], time.monotonic() + timeout_s
        while True:
            answer = await self.bridge.track(chain_id, tx_hash)
            if not seen or seen[-1] != answer.status:
                seen.append(answer.status)
            # anvil shows a fill in its newest state some milliseconds before it is in a block.
            if answer.status in wanted and (answer.status != "filled" or answer.fill_hash is not None):
                return seen
            assert time.monotonic() < deadline, (seen, answer)
            await asyncio.sleep(0.02)

    async def cross(self, request):
        """Quote, action, send, follow; what was not as quoted, to the wei."""
        began = time.perf_counter()
        quoted = await self.quote(request)
        quoted_at = time.perf_counter()
        action = await self.action(quoted)
        timing = 1000 * (quoted_at - began), 1000 * (time.perf_counter() - quoted_at)
        arrives, *surplus = quoted.quote.outputs
        had = await self.balance(arrives.token, arrives.account)
        executed = await execute(self.devnet, action)
        assert not executed.reverted
        await self.until(request.chain_id, executed.receipts[-1]["transactionHash"], "filled")
        wrong = {}
        got = await self.balance(arrives.token, arrives.account) - had
        if got != arrives.amount:
            wrong["arrived"] = (got, arrives.amount)
        expected = Counter({(request.sender, request.token_in.address): -request.amount_in})
        for leg in surplus:
            expected[leg.account, leg.token.address] += leg.amount
        for key, amount in expected.items():
            if executed.deltas[key] != amount:
                wrong[key] = (executed.deltas[key], amount)
        return quoted, action, timing, wrong


@dataclass
class Report:
    """What random crossings did; ``wrong`` names each that was not to the wei."""

    done: int = 0
    no_route: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    kinds: Counter = field(default_factory=Counter)
    quote_ms: list[float] = field(default_factory=list)
    action_ms: list[float] = field(default_factory=list)


async def cross_at_random(harness, count, seed):
    """Any token of one chain for any other that crosses, both directions, a hundred to ten thousand USD."""
    chance, report = random.Random(seed), Report()
    while report.done < count:
        origin = chance.choice(tuple(CHAIN_IDS))
        rows = [row for row in token_rows(origin) if row.price]
        row, other = chance.choice(rows), chance.choice(bridged_tokens())
        sold = chance.choice(("ETH", "WETH")) if row.behaviour == "wrapped" else row.symbol
        got = "ETH" if other.behaviour == "wrapped" else other.symbol
        if other.symbol == row.symbol:
            continue
        usd = Fraction(10 ** chance.uniform(2, 4)).limit_denominator(1000)
        amount = int(usd / row.price * 10**row.decimals)
        slippage = chance.choice((0, 10, 50, 300))
        recipient = chance.choice((SENDER, RECIPIENT))
        request = harness.request(
            sold, got, amount, origin, slippage_bps=slippage, recipient=recipient, sender=SENDER
        )
        try:
            _, action, timing, wrong = await harness.cross(request)
        except UpstreamError as error:
            report.no_route[str(error.reason)] += 1
            assert report.no_route.total() <= 10 + count, report.no_route
            continue
        report.done += 1
        report.quote_ms.append(timing[0])
        report.action_ms.append(timing[1])
        report.kinds[f"{len(action.steps)} transactions"] += 1
        if wrong:
            report.wrong.append(f"{request}: {wrong}")
    return report


async def run_crossings(count, seed):
    """On chains of its own; the report."""
    from quoteway.config.model import Config, QuotesConfig
    from quoteway.engine.gateway import Gateway

    async with Devnet.start() as devnet, Relayer.start(devnet) as relayer:
        config = Config(
            quotes=QuotesConfig(competition_timeout_s=30.0),
            plugin_sections=plugin_sections(devnet, relayer.port),
        )
        async with Gateway(config, plugins=PLUGINS, discover=False).running() as gateway:
            await read_lists(gateway)
            return await cross_at_random(Harness(devnet, gateway), count, seed)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crossings", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    report = asyncio.run(run_crossings(options.crossings, options.seed))
    print(f"{report.done} crossings, seed {options.seed}: {len(report.wrong)} not to the wei")
    print(dict(report.kinds), "refused:", dict(report.no_route))
    quote, action = (statistics.median(values) for values in (report.quote_ms, report.action_ms))
    print(f"p50: quote {quote:.1f} ms, action {action:.1f} ms")
    print("\n".join(report.wrong[:5]))
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
