"""Makes transfers as a client does (quote, action, send, track) and measures the balances of both chains.

``python transfers.py --transfers 200 --seed 1`` runs random ones and prints a summary. It exits with 1 when
a transfer was not exact to the wei.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from quoteway import Capability, SwapRequest
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.bridge import bridged_tokens
from quoteway_devnet.chains import Devnet
from quoteway_devnet.relayer import Relayer
from quoteway_devnet.tables import CHAINS

CHAIN_IDS = {chain.slug: chain.chain_id for chain in CHAINS}
SLUGS = {chain_id: slug for slug, chain_id in CHAIN_IDS.items()}
SENDER = ACCOUNTS[3].address
RECIPIENT = "0x3333333333333333333333333333333333333333"
KEEPER = "0x4444444444444444444444444444444444444444"
"""A refund address: an account without tokens."""
STATES = ("origin_pending", "origin_confirmed", "fill_pending", "filled")


class TransferHarness:
    """A gateway and both its chains."""

    def __init__(self, devnet, gateway):
        self.devnet = devnet
        self.gateway = gateway
        self.bridge = gateway.registry.get(Capability.BRIDGE, "across")

    def token(self, symbol, slug="devnet"):
        return self.devnet.token(symbol, slug)

    def request(self, sold="USDC", amount=10**9, got=None, origin="devnet", **changes):
        target = "devnet-l2" if origin == "devnet" else "devnet"
        members = {
            "chain_id": CHAIN_IDS[origin],
            "to_chain_id": CHAIN_IDS[target],
            "token_in": self.token(sold, origin),
            "token_out": self.token(got or sold, target),
            "amount_in": amount,
            "sender": SENDER,
            "recipient": RECIPIENT,
            "slippage_bps": 50,
        }
        return SwapRequest(**(members | changes))

    async def quote(self, request, capability=Capability.BRIDGE):
        return await self.gateway.quoting.quote(capability, request)

    async def action(self, quoted, capability=Capability.BRIDGE):
        sealed = self.gateway.quote_tokens.open(capability, quoted.sealed.token)
        return await self.gateway.building.action(sealed)

    async def send(self, action, wait=True):
        """Sends the steps and returns the last hash."""
        return await asyncio.to_thread(self._send, action, wait)

    def _send(self, action, wait):
        with self.devnet.rpc(SLUGS[action.chain_id]) as rpc:
            for step in action.steps:
                sent = rpc(
                    "eth_sendTransaction",
                    {
                        "from": action.sender,
                        "to": step.to,
                        "data": "0x" + step.data.hex(),
                        "value": hex(step.value),
                        "gas": hex(step.gas_limit),
                    },
                )
                while wait and (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
                    time.sleep(0.002)
                assert not wait or receipt["status"] == "0x1", step.intent
        return sent

    async def deposit(self, request):
        """Quotes, builds and sends; returns the quote and the deposit's hash."""
        quoted = await self.quote(request)
        return quoted, await self.send(await self.action(quoted))

    async def track(self, request, tx_hash):
        return await self.bridge.track(request.chain_id, tx_hash)

    async def until(self, request, tx_hash, *wanted, timeout_s=120.0):
        """Tracks a transfer until a wanted state; returns every state seen and the last answer."""
        seen, deadline = [], time.monotonic() + timeout_s
        while True:
            answer = await self.track(request, tx_hash)
            if not seen or seen[-1] != answer.status:
                seen.append(answer.status)
            # anvil shows a fill in its newest state some milliseconds before it is in a block.
            if answer.status in wanted and (answer.status != "filled" or answer.fill_hash is not None):
                return seen, answer
            assert time.monotonic() < deadline, (seen, answer)
            await asyncio.sleep(0.02)

    async def rpc(self, slug, method, *params):
        def call():
            with self.devnet.rpc(slug) as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def balance(self, token, owner):
        slug = SLUGS[token.chain_id]
        if token.is_native:
            return int(await self.rpc(slug, "eth_getBalance", owner, "latest"), 16)
        data = "0x70a08231" + owner[2:].rjust(64, "0")
        return int(await self.rpc(slug, "eth_call", {"to": token.address, "data": data}, "latest"), 16)


@dataclass
class Report:
    """The results of random transfers; ``wrong`` lists those that were not exact to the wei."""

    done: int = 0
    wrong: list[str] = field(default_factory=list)
    kinds: Counter = field(default_factory=Counter)
    quote_ms: list[float] = field(default_factory=list)
    action_ms: list[float] = field(default_factory=list)
    arrival_s: list[float] = field(default_factory=list)


async def execute_random_transfers(harness, count, seed):
    """Transfers every bridged token and the native coin, both ways, worth 30 to 100,000 US dollars."""
    chance, report = random.Random(seed), Report()
    for _ in range(count):
        origin = chance.choice(tuple(CHAIN_IDS))
        row = chance.choice(bridged_tokens())
        symbol = "ETH" if row.behaviour == "wrapped" else row.symbol
        # The wrapped coin can be deposited as such; wallets are paid the native one.
        sold = chance.choice(("ETH", "WETH")) if symbol == "ETH" else symbol
        usd = Fraction(10 ** chance.uniform(1.5, 5)).limit_denominator(1000)
        amount = int(usd / row.price * 10**row.decimals)
        recipient = chance.choice((SENDER, RECIPIENT, f"0x{chance.getrandbits(160):040x}"))
        request = harness.request(sold, amount, symbol, origin, recipient=_checksum(recipient))
        await _one(harness, request, report)
        report.kinds[f"{sold} from {origin}"] += 1
    return report


async def _one(harness, request, report):
    token_in, token_out = request.token_in, request.token_out
    held = await harness.balance(token_in, request.sender)
    had = await harness.balance(token_out, request.recipient)
    began = time.perf_counter()
    quoted = await harness.quote(request)
    report.quote_ms.append(1000 * (time.perf_counter() - began))
    began = time.perf_counter()
    action = await harness.action(quoted)
    report.action_ms.append(1000 * (time.perf_counter() - began))
    sent = await harness.send(action)
    began = time.perf_counter()
    seen, _ = await harness.until(request, sent, "filled")
    report.arrival_s.append(time.perf_counter() - began)
    paid = held - await harness.balance(token_in, request.sender)
    if token_in.is_native:
        paid = action.inputs[0].amount  # gas is in the balance: the SpokePool's log has it exactly
        receipt = await harness.rpc(SLUGS[request.chain_id], "eth_getTransactionByHash", sent)
        paid = int(receipt["value"], 16)
    got = await harness.balance(token_out, request.recipient) - had
    report.done += 1
    order = [STATES.index(state) for state in seen]
    if (paid, got) != (request.amount_in, quoted.quote.outputs[0].amount) or order != sorted(order):
        report.wrong.append(f"{request}: paid {paid}, got {got}, quoted {quoted.quote.outputs}, {seen}")


def _checksum(address):
    from quoteway.evm.address import checksum

    return checksum(address)


async def run_transfers(count, seed):
    """Runs random transfers on chains of its own and returns the report."""
    import quoteway_across
    import quoteway_devnet.plugin
    import quoteway_rpc
    from quoteway.config.model import Config, QuotesConfig
    from quoteway.engine.gateway import Gateway

    plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "across": quoteway_across}
    async with Devnet.start() as devnet, Relayer.start(devnet) as relayer:
        section = {"enabled": True, "start": False, "relayer_port": relayer.port}
        section |= {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
        config = Config(quotes=QuotesConfig(competition_timeout_s=30.0), plugin_sections={"devnet": section})
        async with Gateway(config, plugins=plugins, discover=False).running() as gateway:
            return await execute_random_transfers(TransferHarness(devnet, gateway), count, seed)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transfers", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    report = asyncio.run(run_transfers(options.transfers, options.seed))

    def p50(values):
        return sorted(values)[len(values) // 2]

    print(f"{report.done} transfers, seed {options.seed}: {len(report.wrong)} not to the wei")
    print(dict(report.kinds))
    print(
        f"p50: quote {p50(report.quote_ms):.1f} ms, action {p50(report.action_ms):.1f} ms, "
        f"arrival after {p50(report.arrival_s):.2f} s"
    )
    print("\n".join(report.wrong[:5]))
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
