"""Amounts per time of a custody policy: what a reported transaction of an action changes, on a real chain."""

# ruff: noqa: F811 - fixtures are imported

import asyncio
import random
from types import SimpleNamespace

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from counted_desk import chain_of, desk, served_desk, store  # noqa: E402, F401
from counting_wallet import HOUR, THIRD, Wallet, sent  # noqa: E402
from direct_client import OTHER, USER  # noqa: E402
from quoteway.engine.amounts_per_time import AmountsPerTime  # noqa: E402
from quoteway.engine.held_amounts import HeldAmounts  # noqa: E402
from quoteway.engine.late_executions import uncovered  # noqa: E402

pytestmark = [pytest.mark.asyncio(loop_scope="module")]
SHORT = 300
CLOCK = "redis.call('time')"


@pytest.fixture
def wallet(desk, chain_of):
    return Wallet(desk.api.gateway.building.custody.amounts, chain_of, SHORT)


async def vaults(api):
    return (await api.get("/v2/vaults?network=devnet&limit=50")).body["data"]


# --- over HTTP ----------------------------------------------------------------------------------------------


@pytest.mark.services
async def test_equal_transactions_of_two_quotes_count_twice(desk, chain_of):
    """The calldata of a deposit has no deadline: both may be executed."""
    usdc, api = desk.token("USDC"), desk.api
    limit = {"name": "a limit", "network": "devnet", "token": usdc, "amount": "1000"}
    desk.follow({"name": "all", "amounts_per_time": [limit | {"window_s": HOUR, "per": "sender"}]})
    async with asyncio.timeout(60):
        while not (found := [each["id"] for each in await vaults(api) if each["asset"]["address"] == usdc]):
            await asyncio.sleep(0.05)
    vault, actions, quotes = found[0], [], []
    body = {"action": "deposit", "asset": usdc, "amount": str(400 * 10**6), "address": USER}
    for _ in range(2):
        quotes.append(await api.post(f"/v2/vaults/{vault}/quote", body))
        assert quotes[-1].status == 200, quotes[-1].body
        while len({each.body["quoteId"] for each in quotes}) < len(quotes):  # made within one second
            quotes[-1] = await api.post(f"/v2/vaults/{vault}/quote", body)
        asked = {"quoteId": quotes[-1].body["quoteId"]} | body
        for _ in range(2):  # the same action asked for again counts once
            answer = await api.post(f"/v2/vaults/{vault}/action", asked)
            assert answer.status == 201, answer.body
        actions.append(answer.body)
    assert actions[0]["deadline"] is None
    assert actions[0]["actionId"] == actions[1]["actionId"]
    answer = await api.post(f"/v2/vaults/{vault}/action", body | {"amount": str(201 * 10**6)})
    assert await desk.violations(answer, "createVaultAction") == {"amounts_per_time": [usdc]}


@pytest.mark.services
async def test_a_report_over_http_counts_a_late_execution(desk, chain_of, monkeypatch):
    told = []

    async def executed(self, commitment, tx_hash, number):
        told.append((commitment.action_id, tx_hash, number))

    monkeypatch.setattr(AmountsPerTime, "executed", executed)
    desk.follow({"name": "all"})
    action = await desk.act(await desk.quote_swap("ETH", "USDC", 10**15))
    (transaction,), (step,) = action["transactions"], action["steps"]
    foreign = await sent(chain_of, OTHER, value=1)
    answer = await desk.api.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": foreign})
    assert (answer.status, answer.body["match"], told) == (200, "mismatch", [])
    tx_hash = await sent(chain_of, transaction["to"], transaction["data"], int(transaction["value"], 16))
    answer = await desk.api.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": tx_hash})
    assert (answer.status, answer.body["match"]) == (200, "match")
    assert told == [(action["actionId"], tx_hash, answer.body["blockNumber"])]


# --- what was executed --------------------------------------------------------------------------------------


@pytest.mark.services
async def test_an_executed_action_counts_until_its_window_after_its_block(wallet, chain_of):
    assert await wallet.takes(10)
    tx_hash = await sent(chain_of, OTHER, value=10)
    await wallet.wait(SHORT + 10)
    assert not await wallet.takes(1)  # nobody has told how it ended
    await wallet.report(tx_hash)
    assert await wallet.takes(10)


@pytest.mark.services
async def test_a_recent_execution_shortens_nothing(wallet, chain_of):
    assert await wallet.takes(10)
    await wallet.report(await sent(chain_of, OTHER, value=10))
    await wallet.wait(SHORT - 30)
    assert not await wallet.takes(1)
    await wallet.wait(60)
    assert await wallet.takes(10)


@pytest.mark.services
async def test_one_transaction_stands_for_one_action(wallet, chain_of):
    """Both actions have the same transaction, and could both be executed."""
    assert await wallet.takes(5)
    assert await wallet.takes(5)
    tx_hash = await sent(chain_of, OTHER, value=5)
    second = await sent(chain_of, OTHER, value=5)
    await wallet.wait(SHORT + 10)
    await wallet.report(tx_hash)
    assert not await wallet.takes(6)
    assert await wallet.takes(5)
    await wallet.report(second)
    assert not await wallet.takes(6)
    assert await wallet.takes(5)


@pytest.mark.services
async def test_a_block_that_is_gone_shortens_nothing(wallet, chain_of):
    before = await chain_of("evm_snapshot")
    assert await wallet.takes(10)
    gone = await sent(chain_of, OTHER, value=10)
    await wallet.report(gone)
    await chain_of("evm_revert", before)
    await sent(chain_of, OTHER, value=10, gas=2_000_000)  # again, in another transaction
    await wallet.wait(SHORT + 10)
    assert not await wallet.takes(1)


# --- what was executed late ---------------------------------------------------------------------------------


async def test_each_reservation_counts_one_execution_until_its_end():
    assert uncovered([100], {"a": 100}) == []
    assert uncovered([100], {"a": 101}) == ["a"]
    assert uncovered([100, 500], {"a": 300, "b": 480}) == ["a"]
    assert uncovered([100, 500], {"a": 90, "b": 480}) == []
    assert uncovered([500], {"a": 300, "b": 300, "c": 501}) == ["c", "b"]
    assert uncovered([], {"a": 1}) == ["a"]


@pytest.mark.services
async def test_an_action_without_a_deadline_that_is_executed_late_counts_again(wallet, chain_of):
    action = await wallet.action(10, deadline=None, expires_at=await wallet.chain_now() - 10)
    assert await wallet.is_within(action, 10)
    (held,) = await wallet.amounts.held.held(wallet.charge.counter)
    assert await wallet.amounts.held.release(wallet.charge.counter, held)  # as after its window
    foreign = await sent(chain_of, OTHER, value=10, sender=THIRD)
    assert not await wallet.report_for(action, foreign)
    reverted = await sent(chain_of, wallet.amounts.runtime.chain(31337).network.wrapped_native, "0xffffffff")
    assert not await wallet.report_for(action, reverted)
    assert await wallet.takes(1)
    late = await sent(chain_of, OTHER, value=10)
    assert await wallet.report_for(action, late)
    assert not await wallet.takes(1)
    assert await wallet.report_for(action, late)  # reported twice
    entries = {each.name: each.amount for each in await wallet.amounts.held.held(wallet.charge.counter)}
    assert entries.pop(f"tx/{late}") == 10
    assert list(entries.values()) == [1]


# --- never more than the limit ------------------------------------------------------------------------------


class Bookkeeper:
    """An evaluator of its own: what was executed within a window, and what still can be."""

    def __init__(self, wallet, most, window_s):
        self.wallet, self.most, self.window_s = wallet, most, window_s
        self.actions = []
        self.admitted = self.refused = 0

    def used(self, now):
        total = 0
        for each in self.actions:
            if each.executed_at is not None:
                total += each.amount if each.executed_at > now - self.window_s else 0
            elif now <= each.end:
                total += each.amount
        return total


class Story:
    """A random sequence of what wallets, callers and chains do, by the chain's clock."""

    def __init__(self, r, wallet, chain_of, server):
        self.r, self.wallet, self.chain_of, self.server = r, wallet, chain_of, server
        self.book = Bookkeeper(wallet, 10, SHORT)
        self.hashes = []

    async def run(self, steps):
        acts = [self.take, self.take, self.take, self.execute, self.execute, self.report, self.report]
        acts += [self.pass_time, self.pass_time]
        acts += [self.replace_one, self.revert_one, self.reorganise, self.foreign]
        for _ in range(steps):
            await self.keep_time()
            await self.r.choice(acts)()
        return self.book

    async def keep_time(self):
        self.now = await self.wallet.chain_now()
        await self.server.set("now", self.now)

    async def take(self):
        amount, has_deadline = self.r.choice((2, 3, 5)), self.r.random() < 0.7
        end = self.now + (60 if has_deadline else 30)
        data = end.to_bytes(32) if has_deadline else b""
        action = await self.wallet.action(
            amount, data, deadline=end if has_deadline else None, expires_at=self.now + 30
        )
        before = self.book.used(self.now)
        if not await self.wallet.is_within(action, amount):
            self.book.refused += 1
            return
        assert before + amount <= self.book.most, (before, amount)
        self.book.admitted += 1
        self.book.actions.append(SimpleNamespace(action=action, amount=amount, end=end, executed_at=None))

    def open_action(self):
        """An action that was not executed, and can be: past its end only without a deadline."""
        found = [
            each
            for each in self.book.actions
            if each.executed_at is None and (self.now < each.end - 5 or each.action.deadline is None)
        ]
        return self.r.choice(found) if found else None

    async def execute(self):
        if (each := self.open_action()) is None:
            return
        (step,) = each.action.steps
        tx_hash = await sent(self.chain_of, OTHER, "0x" + step.data.hex(), each.amount)
        self.hashes.append(tx_hash)
        await self.note(each, tx_hash)
        if each.executed_at > each.end:  # late: an honest caller reports it
            await self.keep_time()
            await self.wallet.report_for(each.action, tx_hash)

    async def note(self, each, tx_hash):
        receipt = await self.chain_of("eth_getTransactionReceipt", tx_hash)
        block = await self.chain_of("eth_getBlockByNumber", receipt["blockNumber"], False)
        each.executed_at = int(block["timestamp"], 16)

    async def report(self):
        """Any hash for any action."""
        if self.hashes and self.book.actions:
            each = self.r.choice(self.book.actions[-6:])
            await self.wallet.report_for(each.action, self.r.choice(self.hashes[-6:]))

    async def pass_time(self):
        await self.wallet.wait(self.r.choice((1, 20, 70, 190, SHORT, SHORT)))

    async def replace_one(self):
        """A transaction of an action is replaced by another one with its nonce, and its hash is reported."""
        if (each := self.open_action()) is None:
            return
        (step,) = each.action.steps
        nonce = await self.chain_of("eth_getTransactionCount", USER, "latest")
        common = {"from": USER, "nonce": nonce, "gas": hex(100_000)}
        first = {"to": OTHER, "data": "0x" + step.data.hex(), "value": hex(each.amount)}
        prices = {"maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": hex(10**9)}
        higher = {"maxFeePerGas": hex(10**12), "maxPriorityFeePerGas": hex(10**10)}
        await self.chain_of("evm_setAutomine", False)
        try:
            self.hashes.append(await self.chain_of("eth_sendTransaction", common | first | prices))
            other = {"to": THIRD, "value": "0x1"}
            self.hashes.append(await self.chain_of("eth_sendTransaction", common | other | higher))
            await self.chain_of("evm_mine")
        finally:
            await self.chain_of("evm_setAutomine", True)

    async def revert_one(self):
        """A transaction that fails uses up a nonce."""
        self.hashes.append(await sent(self.chain_of, self.wallet.reverting, "0xffffffff"))

    async def foreign(self):
        self.hashes.append(await sent(self.chain_of, OTHER, value=5, sender=THIRD))

    async def reorganise(self):
        """An action is executed and reported, then its block goes away, and time goes on."""
        if (each := self.open_action()) is None or each.action.deadline is None:
            return
        before = await self.chain_of("evm_snapshot")
        (step,) = each.action.steps
        tx_hash = await sent(self.chain_of, OTHER, "0x" + step.data.hex(), each.amount)
        await self.wallet.report_for(each.action, tx_hash)
        now = await self.wallet.chain_now()
        await self.chain_of("evm_revert", before)
        await self.chain_of("evm_setNextBlockTimestamp", hex(now + 1))
        await self.chain_of("evm_mine")
        await self.chain_of("evm_mine")
        self.hashes.append(tx_hash)


@pytest.fixture
def moved_clocks(monkeypatch):
    """The server's clock is a key of the server, which the test moves."""
    for name in ("_HOLD", "_SHORTEN", "_ADD"):
        script = getattr(HeldAmounts, name)
        assert script.count(CLOCK) == 1
        monkeypatch.setattr(HeldAmounts, name, script.replace(CLOCK, "{redis.call('get', 'now'), 0}"))


@pytest.mark.services
@pytest.mark.usefixtures("moved_clocks")
@pytest.mark.parametrize("seed", range(4))
async def test_never_more_than_the_limit_is_executed_within_its_window(
    served_desk, devnet, store, chain_of, seed
):
    from valkey.asyncio import Valkey

    runtime = served_desk.api.gateway.runtime
    async with Valkey.from_url(store.replace("redis", "valkey", 1)) as server:
        with devnet.restored():
            clock = SimpleNamespace(chain=runtime.chain, now=lambda: story.now)
            held = HeldAmounts(store, "story", SHORT)
            wallet = Wallet(AmountsPerTime(held, clock, SHORT), chain_of, SHORT)
            wallet.reverting = runtime.chain(31337).network.wrapped_native
            story = Story(random.Random(seed), wallet, chain_of, server)
            book = await story.run(60)
            await held.close()
    assert book.admitted, book.refused
