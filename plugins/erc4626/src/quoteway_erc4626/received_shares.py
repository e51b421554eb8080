"""Finds vaults outside the catalog whose shares a wallet received, among the tokens that an index names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from cachetools import TTLCache
from quoteway import Address, Context, GatewayError
from quoteway.evm import erc20
from quoteway.models import Call

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import ASSET

MOST_FOUND = 64
"""Of one wallet on one network."""
_KEPT, _KEPT_S = 20_000, 3_600.0

Find = Callable[[int, Address], Awaitable[VaultFacts | None]]


class ReceivedShares:
    """Remembers which tokens answer as vaults do."""

    def __init__(self) -> None:
        self._answers: TTLCache[tuple[int, Address], bool] = TTLCache(_KEPT, _KEPT_S)

    async def vaults(self, context: Context, chain_id: int, wallet: Address, find: Find) -> list[VaultFacts]:
        """Returns the vaults among what the wallet received. ``find`` reads one from the chain.

        None where the index cannot be read, and no token that is not a vault.
        """
        try:
            indexed = await context.history.wallet_tokens(chain_id, wallet)
            tokens = [each.token for each in indexed.received if each.kind != "pair"] if indexed else []
            new = [token for token in tokens if (chain_id, token) not in self._answers]
            reads = [Call(token, ASSET.encode([]), max_output=32) for token in new]
            outputs = await context.chain(chain_id).call_many(reads) if reads else []
        except GatewayError as error:
            context.log.info("vaults on chain %d could not be looked for: %s", chain_id, error)
            return []
        for token, output in zip(new, outputs, strict=True):
            asset = erc20.word(output)
            self._answers[chain_id, token] = asset is not None and 0 < asset < 1 << 160
        likely = [token for token in tokens if self._answers.get((chain_id, token))][:MOST_FOUND]
        found = await asyncio.gather(*(find(chain_id, token) for token in likely), return_exceptions=True)
        for answer in found:
            if isinstance(answer, BaseException) and not isinstance(answer, GatewayError):
                raise answer
        return [facts for facts in found if isinstance(facts, VaultFacts)]
