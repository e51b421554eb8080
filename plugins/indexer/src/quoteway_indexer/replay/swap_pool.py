"""Replays a pool whose events tell what was swapped and nothing else exactly, as those of Curve.

Sources: curve-contract StableSwap3Pool and SwapTemplateBase; stableswap-ng CurveStableSwapNG and MetaNG.
"""

from __future__ import annotations

from quoteway_indexer.replay.token_pool import TokenPool


class SwapPool(TokenPool):
    """A pool of whose fees and principal events do not tell enough.

    They log no fee, and a part of it is put aside for the administrator and leaves without an event.
    """

    __slots__ = ()

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.knows_principal = False

    def exchange(
        self,
        transaction: bytes,
        place_in: int | None,
        place_out: int | None,
        amount_in: int | None,
        amount_out: int | None,
    ) -> None:
        """Applies TokenExchange, or TokenExchangeUnderlying, which does not tell what the pool got and paid.

        Raises ``LookupError`` for a place that the pool does not have.
        """
        if place_in is None or place_out is None or amount_in is None or amount_out is None:
            self.hour.knows_volume = False
            return
        if not {place_in, place_out} <= set(range(len(self.tokens))):
            raise LookupError(f"the pool has no tokens at {place_in} and {place_out}")
        self.hour.trade(transaction, place_in, place_out, amount_in, amount_out)
