"""What is added up of one pool of two tokens in one hour."""

from __future__ import annotations

from collections.abc import Callable


class HourSums:
    """What the sums of an hour of any pool have. ``inexact`` counts events that are not exact."""

    __slots__ = ("inexact", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.inexact = 0


class Hour(HourSums):
    """The sums of an hour. ``began`` is the second from which the pool's state is known in it.

    Volume is washed where the same account, or the same transaction, bought back what it had sold. The
    account of a swap is its recipient; none where that is a pool, or called the pool for others too, as
    routers do. v4 does not tell the recipient: only transactions count.
    """

    __slots__ = (
        "_account",
        "_flows",
        "_in0",
        "_in1",
        "_out0",
        "_out1",
        "_routers",
        "_transaction",
        "_washed0",
        "_washed1",
        "donated0",
        "donated1",
        "flash0",
        "flash1",
        "high",
        "low",
        "lp0",
        "lp1",
        "opened_at",
        "principal_seconds0",
        "principal_seconds1",
        "protocol0",
        "protocol1",
        "seconds",
        "swaps",
        "tick_seconds",
        "volume0",
        "volume1",
    )

    def __init__(self, start: int, price: int | None) -> None:
        super().__init__(start)
        self.opened_at = self.high = self.low = price
        self.swaps = self.seconds = self.tick_seconds = 0
        self.volume0 = self.volume1 = self.lp0 = self.lp1 = self.protocol0 = self.protocol1 = 0
        self.flash0 = self.flash1 = self.donated0 = self.donated1 = 0
        self.principal_seconds0 = self.principal_seconds1 = 0
        self._transaction: bytes | None = None
        self._account: bytes | None = None
        self._in0 = self._in1 = self._out0 = self._out1 = 0
        self._washed0 = self._washed1 = 0
        self._flows: dict[bytes, list[int]] = {}
        self._routers: set[bytes] = set()

    def quote(self, price: int) -> None:
        """Takes a new price into open, high and low."""
        if self.high is None or self.low is None:
            self.opened_at = self.high = self.low = price
        elif price > self.high:
            self.high = price
        elif price < self.low:
            self.low = price

    def trade(
        self, transaction: bytes, sender: bytes, recipient: bytes | None, amounts: tuple[int, int, int, int]
    ) -> None:
        """Takes the inputs and outputs of a swap: (in0, in1, out0, out1)."""
        if transaction != self._transaction:
            self._end_transaction()
            self._transaction, self._account = transaction, recipient
            self._in0, self._in1, self._out0, self._out1 = amounts
        else:
            self._in0 += amounts[0]
            self._in1 += amounts[1]
            self._out0 += amounts[2]
            self._out1 += amounts[3]
            if recipient != self._account:
                self._account = None
        if recipient is not None and sender != recipient:
            self._routers.add(sender)

    def washed(self, is_pool: Callable[[bytes], bool]) -> tuple[int, int]:
        """Returns the inputs of both sides that were bought back. Every transaction must be complete."""
        self._end_transaction()
        washed0, washed1 = self._washed0, self._washed1
        for account, (in0, in1, out0, out1) in self._flows.items():
            bought_back = (in0 and out0) or (in1 and out1)
            if bought_back and account not in self._routers and not is_pool(account):
                washed0 += min(in0, out0)
                washed1 += min(in1, out1)
        return washed0, washed1

    def _end_transaction(self) -> None:
        in0, in1, out0, out1 = self._in0, self._in1, self._out0, self._out1
        both0, both1 = min(in0, out0), min(in1, out1)
        self._washed0 += both0
        self._washed1 += both1
        account = self._account
        if account is not None:
            flows = self._flows.get(account)
            if flows is None:
                self._flows[account] = [in0 - both0, in1 - both1, out0 - both0, out1 - both1]
            else:
                flows[0] += in0 - both0
                flows[1] += in1 - both1
                flows[2] += out0 - both0
                flows[3] += out1 - both1
        self._transaction = self._account = None
        self._in0 = self._in1 = self._out0 = self._out1 = 0
