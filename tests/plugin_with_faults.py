"""A plugin whose faults a test switches on and off, by files in a folder beside it."""

import asyncio
import mmap
import os
import time
from pathlib import Path

from quoteway import SwapProvider, hookimpl
from quoteway.testing.fakes import RouterSwap

FOLDER = Path(__file__).parent
STEP_BYTES, STEPS = 64 << 20, 32


def is_on(fault):
    return (FOLDER / "flags" / fault).exists()


class Faulty(SwapProvider):
    """Has no route. While the fault of its name is on, it first does what ``does`` says."""

    def __init__(self, context, chain_id, name):
        self.id = self.title = name
        self.networks = frozenset({chain_id})
        self.context = context
        self.maps = []

    async def quote(self, request):
        if is_on(self.id):
            await getattr(self, self.id)()
        elif self.maps:
            self.maps.clear()

    async def build(self, sealed):
        raise NotImplementedError

    async def breaks(self):
        raise RuntimeError("broken by a test")

    async def slow(self):
        await asyncio.sleep(3)

    async def blocks(self):
        time.sleep(0.2)  # noqa: ASYNC251 - the fault

    async def grows(self):
        """Takes 2 GiB of resident memory: the same pages, mapped again and again."""
        if not self.maps:
            file = os.memfd_create("grows")
            os.ftruncate(file, STEP_BYTES)
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            self.maps = [mmap.mmap(file, STEP_BYTES, flags=flags) for _ in range(STEPS)]
            os.close(file)

    async def keeps(self):
        await self.context.store.get("anything")


class Lone(RouterSwap):
    """The only provider of its network."""

    async def quote(self, request):
        if is_on("lone"):
            raise RuntimeError("broken by a test")
        return await super().quote(request)


@hookimpl
def quoteway_swap_providers(context):
    one, two = (FOLDER / "routers").read_text().split()
    faulty = [Faulty(context, 31337, name) for name in ("breaks", "slow", "blocks", "grows", "keeps")]
    return [*faulty, RouterSwap(context, 31337, one), Lone(context, 31338, two, provider_id="lone")]


APART = """
from {module} import Faulty, hookimpl, is_on

if is_on("apart"):
    raise RuntimeError("broken by a test")

@hookimpl
def quoteway_swap_providers(context):
    return [Faulty(context, 4243, "apart")]
"""
"""Another plugin, for a process of its own, which cannot start while its fault is on."""
