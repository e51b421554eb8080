"""Calls that no other one is identical to, and nodes that answer late or when a test lets them."""

import asyncio

from fake_node import ok


def own(number):
    """The method and parameters of a call that no other one is identical to: those are shared."""
    return "eth_getBalance", [f"0x{number:040x}", "latest"]


def after(delay_s, result="0x2a"):
    async def behave(node, request, writer):
        await asyncio.sleep(delay_s)
        ok(writer, request, result)

    return behave


class Gate:
    """A behaviour that answers once it is opened, and counts the requests under way."""

    def __init__(self, result="0x2a"):
        self.result, self.opened = result, asyncio.Event()
        self.waiting = self.most = 0

    async def __call__(self, node, request, writer):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.opened.wait()
        self.waiting -= 1
        ok(writer, request, self.result)

    async def holds(self, number):
        async with asyncio.timeout(30):
            while self.waiting < number:
                await asyncio.sleep(0.005)
