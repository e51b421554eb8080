"""The chains of ``python -m bench soak``: blocks, reorganisations, and trades by the gateway's actions."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Mapping
from typing import Any, Final

import aiohttp

from bench.replicas import CountingNode
from bench.soak_faults import MiningLock
from bench.soak_load import Outcome

BLOCK_S: Final = 2.0
TRADE_EVERY, REORGANISE_EVERY = 5, 20
"""After how many blocks there is a trade on one of the chains, and a reorganisation of one."""
DEEPEST: Final = 4
TRADED_WEI: Final = 10**17


class SoakChains:
    """Makes a block of each chain every two seconds, without end. ``nodes`` are those of the chains, by slug.

    Every trade is a quote and an action of the gateway at ``url``, whose transactions are mined at once: none
    of them may revert.
    """

    def __init__(
        self,
        url: str,
        nodes: Mapping[str, CountingNode],
        locks: Mapping[str, MiningLock],
        chains: Mapping[str, Any],
        seed: int,
    ):
        from quoteway_devnet.accounts import ACCOUNTS

        self._url, self._nodes, self._locks, self._chains = url, nodes, locks, chains
        self._chance = random.Random(seed)  # noqa: S311 - not for secrets
        self._other, self._trader = (account.address for account in ACCOUNTS[1:3])
        self._held_before: dict[str, int] = {}
        self.blocks = self.reorganisations = self.trades = 0
        self.reverted: list[str] = []
        self.outcomes: list[Outcome] = []

    async def run(self) -> None:
        for slug, node in self._nodes.items():
            await node.ask("evm_setAutomine", False)
            self._held_before[slug] = await self._held(slug)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            for number in itertools.count(1):
                slug = self._chance.choice(list(self._nodes))
                if number % REORGANISE_EVERY == 0:
                    async with self._locks[slug].mining():
                        await self._nodes[slug].ask("anvil_reorg", self._chance.randint(1, DEEPEST), [])
                    self.reorganisations += 1
                elif number % TRADE_EVERY == 0:
                    await self._trade(session, slug)
                for each in self._nodes:
                    await self._mine(each)
                self.blocks += 1
                await asyncio.sleep(max(began + number * BLOCK_S - loop.time(), 0.0))

    async def _mine(self, slug: str) -> None:
        weth = self._chains[slug].contracts["WETH9"]
        sent = {"from": self._other, "to": weth, "value": "0x1", "gas": hex(200_000)}
        for _ in range(self._chance.randint(0, 3)):
            await self._nodes[slug].ask("eth_sendTransaction", sent)
        await self._make_block(slug)

    async def _make_block(self, slug: str) -> None:
        async with self._locks[slug].mining():
            await self._nodes[slug].ask("evm_mine")

    def usdc(self, slug: str) -> str:
        """Returns the address of the traded token."""
        return str(self._chains[slug].token("USDC").address)

    async def _held(self, slug: str) -> int:
        from quoteway.evm import erc20

        data = "0x" + erc20.BALANCE_OF.encode([self._trader]).hex()
        answer = await self._nodes[slug].ask("eth_call", {"to": self.usdc(slug), "data": data}, "latest")
        return int(answer, 16)

    async def _trade(self, session: aiohttp.ClientSession, slug: str) -> None:
        """Buys a token, or sells what was bought before."""
        node, token = self._nodes[slug], self.usdc(slug)
        bought = await self._held(slug) - self._held_before[slug]
        sold, got, amount = (token, "native", bought) if bought > 0 else ("native", token, TRADED_WEI)
        body = {"network": slug, "fromToken": sold, "toToken": got, "amount": str(amount)}
        quote = await self._ask(session, slug, "quote", {**body, "address": self._trader})
        action = quote and await self._ask(session, slug, f"{quote['quoteId']}/action", {})
        if not action:
            return
        hashes = [
            await node.ask(
                "eth_sendTransaction",
                {
                    **{name: each[name] for name in ("to", "data", "value")},
                    "from": self._trader,
                    "gas": hex(5_000_000),
                },
            )
            for each in action["transactions"]
        ]
        await self._make_block(slug)
        receipts = [await node.ask("eth_getTransactionReceipt", each) for each in hashes]
        self.trades += 1
        statuses = [None if receipt is None else receipt["status"] for receipt in receipts]
        if set(statuses) != {"0x1"}:
            self.reverted.append(f"{slug}: {amount} of {sold} for {got}: {statuses}")

    async def _ask(self, session: aiohttp.ClientSession, slug: str, path: str, body: Any) -> Any:
        began, found, status, code, message = time.monotonic(), None, 0, "", ""
        try:
            async with session.post(f"{self._url}/v2/swaps/{path}", json=body) as answer:
                status, found = answer.status, await answer.json()
        except (aiohttp.ClientError, TimeoutError) as error:
            code = type(error).__name__
        if found is not None and "error" in found:
            reason = (found["error"].get("details") or {}).get("reason", "")
            message = found["error"]["message"]
            code, found = f"{found['error']['code']} {reason}".strip(), None
        took_s = time.monotonic() - began
        self.outcomes.append(Outcome("trade", slug, began, took_s, status, code, message))
        return found
