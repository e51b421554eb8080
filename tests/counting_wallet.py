"""A wallet whose actions count against a limit, and a store of amounts for a desk of tests."""

import asyncio
import contextlib
import random
from dataclasses import replace
from decimal import Decimal

import random_actions
from direct_client import OTHER, USER
from quoteway.engine.amounts_per_time import AmountsPerTime
from quoteway.engine.held_amounts import HeldAmounts
from quoteway.engine.quote_tokens import TransactionCommitment, calldata_hash
from quoteway.evm.arrivals import on_arrival
from quoteway.guard.policy_amounts import Charge
from quoteway.guard.policy_file import AmountPerTime
from quoteway.models import NATIVE
from quoteway.web.resources.transactions import SignedTransaction
from quoteway_devnet.accounts import ACCOUNTS

HOUR = 3_600
THIRD = ACCOUNTS[2].address


@contextlib.asynccontextmanager
async def counted(desk, url, longest_s=HOUR):
    """The desk's gateway with a store of amounts."""
    building = desk.api.gateway.building
    held = HeldAmounts(url, "desk", longest_s)
    amounts = AmountsPerTime(held, desk.api.gateway.runtime, longest_s)
    building.custody = replace(building.custody, amounts=amounts)
    try:
        yield amounts
    finally:
        await held.close()
        building.custody = replace(building.custody, amounts=None)
        desk.follow()


def reader_of(devnet):
    """Returns a function that asks the node of the devnet, as the wallets of the tests use it."""

    def ask(method, *params):
        with devnet.rpc() as rpc:
            return rpc(method, *params)

    return lambda method, *params: asyncio.to_thread(ask, method, *params)


async def sent(chain_of, to, data="0x", value=0, sender=USER, gas=3_000_000, **members):
    """The hash of a mined transaction."""
    transaction = {"from": sender, "to": to, "data": data, "value": hex(value), "gas": hex(gas)}
    tx_hash = await chain_of("eth_sendTransaction", transaction | members)
    while await chain_of("eth_getTransactionReceipt", tx_hash) is None:
        pass
    return tx_hash


class Wallet:
    """Makes actions that pay OTHER some wei, against a limit of 10 wei, and reports transactions."""

    def __init__(self, amounts, chain_of, window_s=HOUR):
        self.amounts, self.chain_of = amounts, chain_of
        limit = AmountPerTime("a", "devnet", NATIVE, Decimal(10), window_s, "sender")
        self.charge = Charge(limit, "all", USER, 0, 10, 0)
        self.deadline = 0

    async def chain_now(self):
        """The time of the newest block."""
        head = await self.chain_of("eth_getBlockByNumber", "latest", False)
        return int(head["timestamp"], 16)

    async def action(self, amount, data=b"", **changes):
        """An action whose calldata has, by its word, a deadline in a minute."""
        self.deadline = await self.chain_now() + 60
        action = random_actions.action(random.Random(1))
        step = replace(action.steps[0], to=OTHER, data=data, value=amount, approval=None)
        made = replace(
            action,
            action_id=f"0x{random.getrandbits(256):064x}",
            chain_id=31337,
            sender=USER,
            steps=(step,),
            parts=action.parts[:1],
            signatures=(),
            deadline=self.deadline,
        )
        return replace(made, **changes)

    @on_arrival
    async def is_within(self, action, amount):
        """Whether an action that takes so much is within the limit. It counts then."""
        charges = [replace(self.charge, amount=amount)]
        return not await self.amounts.violations(action, charges)

    async def takes(self, amount, **changes):
        """Whether a new action that takes so much is within the limit."""
        return await self.is_within(await self.action(amount, **changes), amount)

    async def report(self, tx_hash):
        found = await self.chain_of("eth_getTransactionByHash", tx_hash)
        await self.amounts.tell(31337, found, tx_hash)

    async def report_for(self, action, tx_hash):
        """Reports a transaction as the API does, for the step of an action. Returns whether it matches."""
        found, receipt = await asyncio.gather(
            self.chain_of("eth_getTransactionByHash", tx_hash),
            self.chain_of("eth_getTransactionReceipt", tx_hash),
        )
        if not found or not receipt:
            return False
        await self.amounts.tell(31337, found, tx_hash)
        (step,) = action.steps
        members = (31337, USER, step.to, step.value, calldata_hash(step.data), action.action_id, 0)
        commitment = TransactionCommitment(*members, expires_at=2**40)
        matches = not SignedTransaction.broadcast(found, 31337).differences(commitment)
        if matches and int(receipt["status"], 16) == 1:
            await self.amounts.executed(commitment, tx_hash, int(receipt["blockNumber"], 16))
        return matches

    async def wait(self, seconds):
        """Lets the chain's time pass."""
        await self.chain_of("evm_increaseTime", hex(seconds))
        await self.chain_of("evm_mine")
