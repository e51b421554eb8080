"""What is added up of one pool of several tokens in one hour."""

from __future__ import annotations

from quoteway_indexer.replay.hour import HourSums


class TokenHour(HourSums):
    """The sums of an hour, with an item for each token.

    Volume is washed where the same transaction bought back what it had sold. ``knows_fees`` says whether
    what providers and the protocol got follows from the events.
    """

    __slots__ = (
        "_bought",
        "_sold",
        "_transaction",
        "_washed",
        "donated",
        "knows_fees",
        "lp",
        "principal_seconds",
        "protocol",
        "swaps",
        "volume",
    )

    def __init__(self, start: int, tokens: int, knows_fees: bool) -> None:
        super().__init__(start)
        self.knows_fees = knows_fees
        self.swaps = [0] * tokens
        self.volume = [0] * tokens
        self.lp = [0] * tokens
        self.protocol = [0] * tokens
        self.donated = [0] * tokens
        self.principal_seconds = [0] * tokens
        self._washed = [0] * tokens
        self._transaction: bytes | None = None
        self._sold: dict[int, int] = {}
        self._bought: dict[int, int] = {}

    def add_token(self) -> None:
        """Makes room for one more token."""
        for sums in (self.swaps, self.volume, self.lp, self.protocol, self.donated):
            sums.append(0)
        self.principal_seconds.append(0)
        self._washed.append(0)

    def trade(self, transaction: bytes, sold: int, bought: int, amount_in: int, amount_out: int) -> None:
        """Takes a swap between the tokens at two places."""
        if transaction != self._transaction:
            self._end_transaction()
            self._transaction = transaction
        self.swaps[sold] += 1
        self.volume[sold] += amount_in
        self._sold[sold] = self._sold.get(sold, 0) + amount_in
        self._bought[bought] = self._bought.get(bought, 0) + amount_out

    def washed(self) -> list[int]:
        """Returns the inputs that were bought back. Every transaction must be complete."""
        self._end_transaction()
        return self._washed

    def _end_transaction(self) -> None:
        for place in self._sold.keys() & self._bought.keys():
            self._washed[place] += min(self._sold[place], self._bought[place])
        self._transaction = None
        self._sold, self._bought = {}, {}
