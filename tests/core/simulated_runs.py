"""Transactions to simulate, their simulation, and their execution on the devnet."""

import asyncio

from devnet_nodes import RICH, mined
from quoteway.models import Step
from quoteway.simulation.run import Segment, simulate

SPENDER = "0x00000000000000000000000000000000000000b2"
ODD = "0x0000000000000000000000000000000000000BAD"


def step(call, to, *args, value=0):
    return Step(to, call.encode(args), value, 31337)


def payment(to, value):
    return Step(to, b"", value, 31337)


async def execute(devnet, steps, sender=RICH, gas=None):
    """Sends the steps for real, each with its gas limit, and gives the receipts."""

    def send():
        rpc, receipts = devnet.rpc(), []
        for at, each in enumerate(steps):
            transaction = {
                "from": sender,
                "to": each.to,
                "data": "0x" + each.data.hex(),
                "value": hex(each.value),
            }
            if gas is not None:
                transaction["gas"] = hex(gas[at])
            receipts.append(mined(rpc, transaction))
        return receipts

    return await asyncio.to_thread(send)


async def run_of(chain, block, sender, steps, previews=(), **more):
    """Of transactions that all belong together: the run, its gas limits and what its logs say."""
    run = await simulate(chain, block, sender, [Segment(steps, previews)], **more)
    (only,) = run.segments
    assert only.simulation == run.whole
    return run.whole, run.gas_limits, only.trace
