"""RPC upstreams that are wrong in one way each."""

import asyncio
import json
import time

from quoteway.errors import RpcError, UpstreamError
from quoteway.testing.fakes import HttpRpc


class IsOnAnotherChain(HttpRpc):
    """Answers with the id of another chain."""

    async def forward(self, network, method, params, *, timeout_s):
        if method == "eth_chainId":
            return "0x1"
        return await super().forward(network, method, params, timeout_s=timeout_s)


class HidesErrors(HttpRpc):
    """Gives null where the node answers with an error."""

    async def forward(self, network, method, params, *, timeout_s):
        try:
            return await super().forward(network, method, params, timeout_s=timeout_s)
        except RpcError:
            return None


class CallsErrorsFailures(HttpRpc):
    """Says that no node answers where the node answers with an error."""

    async def forward(self, network, method, params, *, timeout_s):
        try:
            return await super().forward(network, method, params, timeout_s=timeout_s)
        except RpcError:
            raise UpstreamError("No node answers.") from None


class MixesAnswers(HttpRpc):
    """Gives the answer of the read that it was asked last to all that wait."""

    last = None

    async def forward(self, network, method, params, *, timeout_s):
        self.last = method, params
        await asyncio.sleep(0.01)
        return await super().forward(network, *self.last, timeout_s=timeout_s)


class MakesUpBlocks(HttpRpc):
    """Gives a block without its hash."""

    async def forward(self, network, method, params, *, timeout_s):
        found = await super().forward(network, method, params, timeout_s=timeout_s)
        return {**found, "hash": "0x"} if method == "eth_getBlockByNumber" and found else found


class LiesAboutBalances(HttpRpc):
    """Doubles balances."""

    async def forward(self, network, method, params, *, timeout_s):
        found = await super().forward(network, method, params, timeout_s=timeout_s)
        return hex(2 * int(found, 16)) if method == "eth_getBalance" else found


class LosesLogs(HttpRpc):
    """Gives no logs."""

    async def forward(self, network, method, params, *, timeout_s):
        found = await super().forward(network, method, params, timeout_s=timeout_s)
        return [{"made": "up"}] if method == "eth_getLogs" else found


class MakesUpReceipts(HttpRpc):
    """Says that a transaction that nobody sent succeeded."""

    async def forward(self, network, method, params, *, timeout_s):
        found = await super().forward(network, method, params, timeout_s=timeout_s)
        return {"status": "0x1"} if method == "eth_getTransactionReceipt" and found is None else found


class ReadsSlowly(HttpRpc):
    """Decodes each answer for 150 ms on the event loop."""

    async def forward(self, network, method, params, *, timeout_s):
        time.sleep(0.15)  # noqa: ASYNC251 - the fault
        return await super().forward(network, method, params, timeout_s=timeout_s)


class IgnoresCancellation(HttpRpc):
    """Goes on with a read that nobody waits for any more."""

    async def forward(self, network, method, params, *, timeout_s):
        try:
            return await super().forward(network, method, params, timeout_s=timeout_s)
        except asyncio.CancelledError:
            return None


class KeepsEveryAnswer(HttpRpc):
    """Keeps all answers for ever."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.kept = []

    async def forward(self, network, method, params, *, timeout_s):
        found = await super().forward(network, method, params, timeout_s=timeout_s)
        self.kept.append(json.dumps(found) + " " * 1_000_000)
        return found
