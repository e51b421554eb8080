"""Rounds of "own transaction, receipt, quote, action, execute" over HTTP, without a pause between them.

The wallets send to the node themselves and ask the gateway the moment they have a receipt. One after the
other, nothing moves between a quote and its execution, so each must pay to the wei. In parallel the wallets
trade on the same pools at once, so prices move; but no answer may be older than what its wallet had seen.
"""

import asyncio
import contextlib
import itertools
import random
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import aiohttp
from direct_client import FarNode
from quoteway import NATIVE
from quoteway.evm import erc20, permit2
from quoteway.evm.reverts import revert_reason
from quoteway_devnet.accounts import ACCOUNTS

WALLETS = [account.address for account in ACCOUNTS[:6]]
OTHER = ACCOUNTS[9].address
BELOW_MINIMUM = "less than its minimum"
NOT_WRONG = {"no_route", "provider_timeout"}
"""Reasons of refusals that say nothing of exactness: on a busy machine a node may take too long."""
SHARED_POOLS = 4
"""How many pools the trades in parallel are of: few, so that wallets meet in them."""
LARGEST_SHARE = Fraction(1, 100)
"""The largest trade by the depth of its pool: one of another wallet moves the price beyond the slippage."""
PROGRESS_S = 15.0


@dataclass
class Report:
    """What rounds did. ``stale`` answers were older than a receipt that the wallet had before it asked."""

    rounds: int = 0
    own: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Quotes and actions refused since there is no route, the price moved, or the node took too long."""
    moved: int = 0
    """Transactions that reverted since another wallet's trade, mined in between, moved the price too far."""
    stale: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    reverted: list[str] = field(default_factory=list)
    quote_s: list[float] = field(default_factory=list)
    action_s: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def faults(self):
        return [*self.stale, *self.wrong, *self.reverted]

    @property
    def medians_ms(self):
        return tuple(1e3 * statistics.median(taken or [0.0]) for taken in (self.quote_s, self.action_s))


class SteadyNode(FarNode):
    """A proxy before anvil that keeps reads and transactions apart, in the order in which they come.

    anvil answers a read at its newest block with the state of the block that it mines meanwhile, also when
    the read names its block by hash: under load that were two of three reads. Nodes of public networks keep
    each block's state.
    """

    def __init__(self, url):
        super().__init__(url)
        self._door, self._idle, self._reads = asyncio.Lock(), asyncio.Event(), 0
        self._idle.set()

    async def answer(self, body, session):
        async with self._door:
            self._reads += 1
            self._idle.clear()
        try:
            return await super().answer(body, session)
        finally:
            self._reads -= 1
            if not self._reads:
                self._idle.set()

    @contextlib.asynccontextmanager
    async def mining(self):
        async with self._door:
            await self._idle.wait()
            yield


class Node:
    """The node as a wallet uses it: its transactions wait for the gateway's reads under way."""

    def __init__(self, session, url, steady):
        self._session, self._url, self._steady = session, url, steady

    async def __call__(self, method, *params):
        (result,) = await self.batch([(method, params)])
        return result

    async def batch(self, calls):
        body = [
            {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
            for at, (method, params) in enumerate(calls)
        ]
        async with self._session.post(self._url, json=body) as response:
            answers = {answer["id"]: answer for answer in await response.json()}
        for answer in answers.values():
            if "error" in answer:
                raise NodeError(answer["error"])
        return [answers[at]["result"] for at in range(len(calls))]

    async def send(self, sender, transaction, gas):
        """The receipt of a transaction, as soon as there is one."""
        members = {name: transaction[name] for name in ("to", "data", "value")}
        async with self._steady.mining():
            identity = await self("eth_sendTransaction", {**members, "from": sender, "gas": gas})
            while (receipt := await self("eth_getTransactionReceipt", identity)) is None:
                pass
        return receipt

    async def balances(self, account, tokens):
        answers = await self.batch([_balance(account, token) for token in tokens])
        return {token: int(word, 16) for token, word in zip(tokens, answers, strict=True)}

    async def why_reverted(self, sender, transaction, before_block):
        """The reason of a revert in words, by a call on the state of a block."""
        members = {name: transaction[name] for name in ("to", "data", "value")}
        try:
            await self("eth_call", {**members, "from": sender}, hex(before_block))
        except NodeError as error:
            data = error.args[0].get("data") or "0x"
            return revert_reason(bytes.fromhex(data[2:]) if isinstance(data, str) else b"") or str(error)
        return "it runs on the state before"


class NodeError(Exception):
    """The node answered with an error object."""


class Refused(Exception):  # noqa: N818
    """The gateway refused a quote or an action: ``what``. ``reason`` is the machine-readable one."""

    def __init__(self, what, answer):
        self.what = what
        error = answer.get("error", {})
        self.reason = error.get("details", {}).get("reason") or error.get("code")
        super().__init__(f"{what}: {self.reason}: {error.get('message')}")


@dataclass(frozen=True)
class Trade:
    sold: str
    bought: str
    amount: int


class Market:
    """Rounds of several wallets against one gateway, on the pools of the devnet's first chain.

    ``say`` takes lines of progress.
    """

    def __init__(self, session, url, devnet, steady, seed=1, say=lambda line: None):
        self._session, self._url = session, url
        self.node = Node(session, devnet.urls["devnet"], steady)
        self._chain = devnet.chains["devnet"]
        self._chance = random.Random(seed)
        self._pools = [pool for pool in self._chain.pools if pool.hooks == NATIVE]
        self._say = say
        self._back: dict[str, Trade] = {}
        """The trade that undoes a wallet's last one: thousands of trades must not empty a pool."""
        self._newest = 0
        """The newest block that any wallet has a receipt of."""
        self._swaps: list[tuple[int, str]] = []

    async def one_after_another(self, rounds, wallets=WALLETS):
        """Each wallet trades in turn, alone at its time: received = simulated = quoted."""
        report, turns = Report(), itertools.cycle(wallets)
        with _progress(report, rounds, self._say):
            for _ in range(rounds):
                await self._round(next(turns), report, alone=True)
        return report

    async def in_parallel(self, rounds, wallets=WALLETS):
        """All wallets trade at once, each as fast as it can."""
        report, left = Report(), iter(range(rounds))
        self._pools = self._chance.sample(self._pools, SHARED_POOLS)

        async def trade(wallet):
            for _ in left:
                await self._round(wallet, report, alone=False)

        with _progress(report, rounds, self._say):
            async with asyncio.TaskGroup() as group:
                for wallet in wallets:
                    group.create_task(trade(wallet))
        return report

    async def _round(self, wallet, report, *, alone):
        trade = self._back.pop(wallet, None) or self._some_trade()
        own = self._chance.choice(("approve", "revoke", "transfer"))
        await self._own_transaction(own, wallet, trade)
        report.own[own] += 1
        report.rounds += 1
        try:
            await self._execute(own, wallet, trade, report, alone=alone)
        except Refused as refusal:
            moved = not alone and (refusal.what, refusal.reason) == ("action", "price_moved")
            if moved or refusal.reason in NOT_WRONG:
                report.refused[f"{refusal.what}: {refusal.reason}"] += 1
            else:
                report.wrong.append(str(refusal))

    async def _execute(self, own, wallet, trade, report, *, alone):
        slippage_bps = self._chance.choice((0, 10, 50) if alone else (5, 50))
        body = {
            "network": "devnet",
            "fromToken": trade.sold,
            "toToken": trade.bought,
            "amount": str(trade.amount),
            "address": wallet,
            "slippageBps": slippage_bps,
        }
        seen, began = self._newest, time.perf_counter()
        quote = await self._ask("quote", "/v2/swaps/quote", body)
        report.quote_s.append(time.perf_counter() - began)
        of = f"{own}, {trade}, quote at {quote['block']['number']}"
        report.stale += _older(of, quote["block"], seen)
        if any(issue["code"] == "insufficient_balance" for issue in quote["issues"]):
            report.stale.append(f"{of}: the wallet has the balance: {quote['issues']}")

        seen, began = self._newest, time.perf_counter()
        action = await self._ask("action", f"/v2/swaps/{quote['quoteId']}/action", None)
        report.action_s.append(time.perf_counter() - began)
        run = action["simulation"]
        of = f"{of}, action at {run['block']['number']}"
        report.stale += _older(of, run["block"], seen)
        report.stale += _approvals(of, own, trade, [step["kind"] for step in action["steps"]])
        if run["status"] != "success":
            report.wrong.append(f"{of}: {run}")
            return

        quoted = Counter()
        for leg in quote["inputs"]:
            quoted[leg["token"]["address"]] -= int(leg["amount"])
        for leg in quote["outputs"]:
            quoted[leg["token"]["address"]] += int(leg["amount"])
        tokens = list(dict.fromkeys([*quoted, NATIVE]))
        before, spent = await self.node.balances(wallet, tokens), 0
        for transaction, step in zip(action["transactions"], action["steps"], strict=True):
            receipt = await self.node.send(wallet, transaction, step["gasLimit"])
            mined = self._saw(receipt)
            spent += int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
            if receipt["status"] != "0x1":
                await self._judge_revert(of, wallet, transaction, int(run["block"]["number"]), mined, report)
                return
        self._swaps.append((mined, wallet))
        after = await self.node.balances(wallet, tokens)
        after[NATIVE] += spent
        received = {token: after[token] - before[token] for token in quoted}
        simulated = {
            change["token"]: int(change["delta"])
            for change in run["assetChanges"]
            if change["account"] == wallet and change["token"] in quoted
        }
        least = int(quote["outputs"][0]["amountMin"])
        if alone and not received == simulated == dict(quoted):
            report.wrong.append(f"{of}: received {received}, simulated {simulated}, quoted {dict(quoted)}")
        if received[trade.bought] < least:
            report.wrong.append(f"{of}: received {received[trade.bought]}, below the minimum of {least}")
        report.paths["-".join(hop["protocol"] for hop in quote["route"]["paths"][0]["hops"])] += 1
        if received[trade.bought] > 0:
            self._back[wallet] = Trade(trade.bought, trade.sold, received[trade.bought])

    async def _judge_revert(self, of, wallet, transaction, simulated, mined, report):
        reason = await self.node.why_reverted(wallet, transaction, mined - 1)
        others = [at for at, trader in self._swaps[-200:] if simulated < at < mined and trader != wallet]
        if others and BELOW_MINIMUM in reason:
            report.moved += 1
        else:
            report.reverted.append(f"{of}: reverted in {mined}, others traded in {others}: {reason}")

    # --- trades -------------------------------------------------------------------------------------------

    def _some_trade(self):
        """A trade of a pool's tokens, of 1/10,000 to 1/100 of its depth, either form of the coin."""
        pool = self._chance.choice(self._pools)
        sold, bought = self._chance.sample((pool.token0, pool.token1), 2)
        price = {token.address: token for token in self._chain.tokens}
        wrapped = next(token.address for token in self._chain.tokens if token.behaviour == "wrapped")
        price[NATIVE] = price[wrapped]
        depth = Fraction(pool.depth_usd, 2) / Fraction(price[sold].price_usd) * 10 ** price[sold].decimals
        share = LARGEST_SHARE * Fraction(10 ** self._chance.uniform(-2, 0))
        sold, bought = (
            self._chance.choice((NATIVE, wrapped)) if token in (NATIVE, wrapped) else token
            for token in (sold, bought)
        )
        return Trade(sold, bought, max(int(depth * share), 1))

    async def _own_transaction(self, own, wallet, trade):
        token = trade.bought if trade.sold == NATIVE else trade.sold
        revoke = erc20.APPROVE.encode([permit2.ADDRESS, 0])
        sent = {
            # USDT refuses to change one allowance to another: a wallet revokes first what is left.
            "approve": [revoke, erc20.APPROVE.encode([permit2.ADDRESS, trade.amount])],
            "revoke": [revoke],
            "transfer": [erc20.TRANSFER.encode([OTHER, 1])],
        }[own]
        for data in sent:
            transaction = {"to": token, "data": "0x" + data.hex(), "value": "0x0"}
            receipt = await self.node.send(wallet, transaction, hex(200_000))
            assert receipt["status"] == "0x1", (own, trade)
            self._saw(receipt)

    def _saw(self, receipt):
        mined = int(receipt["blockNumber"], 16)
        self._newest = max(self._newest, mined)
        return mined

    async def _ask(self, what, path, body):
        async with self._session.post(self._url + path, json=body) as response:
            answer = await response.json()
        if response.status not in (200, 201):
            raise Refused(what, answer)
        return answer


def _older(of, block, seen):
    return [] if int(block["number"]) >= seen else [f"{of}: the wallet had seen {seen}"]


def _approvals(of, own, trade, kinds):
    """What the own transaction approved is not asked for again; what it revoked is."""
    if trade.sold == NATIVE or own == "transfer":
        return []
    asked = "approval" in kinds
    return [f"{of}: steps {kinds}"] if asked != (own == "revoke") else []


def _balance(account, token):
    if token == NATIVE:
        return "eth_getBalance", [account, "latest"]
    return "eth_call", [{"to": token, "data": "0x" + erc20.BALANCE_OF.encode([account]).hex()}, "latest"]


class _progress:  # noqa: N801  a context manager
    """Says every 15 seconds how many rounds are done, and sets the report's time."""

    def __init__(self, report, rounds, say):
        self._report, self._rounds, self._say = report, rounds, say

    def __enter__(self):
        self._began = time.perf_counter()
        self._task = asyncio.create_task(self._tell())

    def __exit__(self, *_):
        self._task.cancel()
        self._report.seconds = time.perf_counter() - self._began

    async def _tell(self):
        while True:
            await asyncio.sleep(PROGRESS_S)
            faults = self._report.faults
            at = f"{self._report.rounds} of {self._rounds} rounds, {len(faults)} faults"
            self._say(f"{at}, {time.perf_counter() - self._began:.0f} s {faults[-1] if faults else ''}")


@contextlib.asynccontextmanager
async def market(url, devnet, steady, seed=1, say=lambda line: None):
    """Rounds against the gateway at ``url``; for those in parallel it must read the chain by ``steady``."""
    async with aiohttp.ClientSession() as session:
        yield Market(session, url, devnet, steady, seed, say)
