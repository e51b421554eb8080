"""A proxy in front of a node that limits ``eth_getLogs``, as providers do, after a delay."""

import asyncio
import json

from quoteway.testing.faulty_node import FaultyNode, send


class LimitedNode:
    """What a provider allows: ``blocks`` in a range, ``results`` in an answer, which it refuses or cuts off.

    ``ranges`` are those that were answered and ``refused`` counts those that were not. ``node`` is the proxy.
    """

    def __init__(self, url, *, blocks=None, results=None, truncates=False, delay_s=0.0, drops=0):
        self.node = FaultyNode(url, self._answer)
        self.blocks, self.results, self.truncates, self.delay_s = blocks, results, truncates, delay_s
        self.drops = drops
        self.ranges, self.refused = [], 0

    @property
    def calls(self):
        return self.node.calls["eth_getLogs"]

    async def _answer(self, node, request, writer):
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if request["method"] != "eth_getLogs" or "blockHash" in request["params"][0]:
            await node.forward(request, writer)
            return
        wanted = request["params"][0]
        first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
        if self.blocks is not None and last - first + 1 > self.blocks:
            self._refuse(request, writer, -32600, f"eth_getLogs is limited to a {self.blocks} block range")
            return
        async with node._session.post(node.upstream, json=request) as answer:
            body = json.loads(await answer.read())
        logs = body["result"]
        if self.results is not None and len(logs) > self.results:
            if not self.truncates:
                text = f"query returned more than {self.results} results"
                self._refuse(request, writer, -32005, text)
                return
            body["result"] = logs[: self.results]
        if self.drops and logs:
            # A node without a part of its index: it says nothing of it.
            self.drops -= 1
            body["result"] = [log for log in logs if log["blockNumber"] != logs[-1]["blockNumber"]]
        self.ranges.append((first, last))
        send(writer, json.dumps(body))

    def _refuse(self, request, writer, code, text):
        self.refused += 1
        error = {"code": code, "message": text}
        send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}))
