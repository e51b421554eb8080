"""Swap providers that treat their surroundings wrongly: time, memory, secrets, failures."""

import asyncio
import logging
import sys
import time

from quoteway.errors import UpstreamError

from wrong_behaviours.honest import KEY, Honest


class BlocksInBuild(Honest):
    """Blocks the event loop for 200 ms in each build."""

    async def build(self, sealed):
        time.sleep(0.2)  # noqa: ASYNC251 - the fault
        return await super().build(sealed)


class BlocksAtFirst(Honest):
    """Blocks the event loop for 2.5 s in its first quote."""

    first = True

    async def quote(self, request):
        if self.first:
            self.first = False
            time.sleep(2.5)  # noqa: ASYNC251 - the fault
        return await super().quote(request)


class SwallowsCancellation(Honest):
    """Goes on when its quote is cancelled."""

    async def quote(self, request):
        try:
            return await super().quote(request)
        except asyncio.CancelledError:
            return None


class KeepsMemory(Honest):
    """Keeps a megabyte of each quote."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.kept = []

    async def quote(self, request):
        self.kept.append(bytearray(1_000_000))
        return await super().quote(request)


class ForgetsOldQuotes(Honest):
    """Never builds a quote older than five seconds."""

    async def build(self, sealed):
        if time.time() - sealed.created_at > 5:
            await asyncio.sleep(3_600)
        return await super().build(sealed)


class PrintsItsKey(Honest):
    """Prints its key."""

    async def quote(self, request):
        print(KEY)
        return await super().quote(request)


class BreaksForGood(Honest):
    """Quotes nothing more after one failure of its nodes."""

    broken = False

    async def quote(self, request):
        if self.broken:
            return None
        try:
            return await super().quote(request)
        except Exception:
            self.broken = True
            raise


class ShowsItsKeyInAnError(Honest):
    """Shows its key in an error."""

    async def quote(self, request):
        try:
            return await super().quote(request)
        except UpstreamError as error:
            raise UpstreamError(f"The node did not take {KEY}.") from error


class BlocksInHealthy(Honest):
    """Blocks the event loop for 300 ms to say whether it is healthy."""

    async def healthy(self):
        time.sleep(0.3)  # noqa: ASYNC251 - the fault
        return True


class LeavesTasks(Honest):
    """Starts a task with each quote that never ends."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.tasks = []

    async def quote(self, request):
        self.tasks.append(asyncio.create_task(asyncio.sleep(3_600)))
        return await super().quote(request)


class LeavesFiles(Honest):
    """Opens a file with each quote and does not close it."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.files = []

    async def quote(self, request):
        self.files.append(open("/dev/null"))  # noqa: SIM115, ASYNC230 - the fault
        return await super().quote(request)


class LogsItsKey(Honest):
    """Writes its key to the log."""

    async def quote(self, request):
        logging.getLogger("quoteway.plugin.fake").warning("asking with %s", KEY)
        return await super().quote(request)


class WritesItsKeyToStderr(Honest):
    """Writes its key to the standard error."""

    async def quote(self, request):
        print(KEY, file=sys.stderr)
        return await super().quote(request)


class ShowsItsKeyInItsTitle(Honest):
    """Shows its key in what everybody may read of it."""

    title = f"Router of {KEY}"


class FailsNowAndThen(Honest):
    """Fails every third quote."""

    asked = 0

    async def quote(self, request):
        self.asked += 1
        if self.asked % 3 == 0:
            raise UpstreamError("The upstream did not answer.")
        return await super().quote(request)
