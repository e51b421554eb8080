"""Detects fee-on-transfer tokens: a vault of such a token mints shares for more than it receives."""

from __future__ import annotations

from cachetools import TTLCache
from quoteway import Address, Block, Context
from quoteway.evm import erc20

_KEPT_S = 600


class TransferTaxes:
    """Whether tokens take a fee on transfers, measured in a simulation and cached for some minutes."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: TTLCache[tuple[int, Address], bool] = TTLCache(4096, _KEPT_S, timer=context.now)

    async def taxed(self, chain_id: int, token: Address, holder: Address, amount: int, block: Block) -> bool:
        """Returns False also when it cannot be measured: ``holder`` has too little, or no node simulates."""
        key = chain_id, token
        if key not in self._known:
            moved = await erc20.transfer_tax(self._context.chain(chain_id), token, holder, amount, block)
            if moved is None:
                return False
            self._known[key] = moved != (amount, amount)
        return self._known[key]
