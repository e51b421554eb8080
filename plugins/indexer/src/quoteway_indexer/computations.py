"""Lists what is computed from facts in the index process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quoteway_indexer.computing import Computation
from quoteway_indexer.writing import Writer

if TYPE_CHECKING:
    from quoteway import Chain, Context


def computations_of(context: Context, chain: Chain, writer: Writer) -> list[Computation]:
    """Returns the computations of one chain, in the order in which they are run after each commit.

    They write the tables by hours that the settings name, and no others.
    """
    from quoteway_indexer.prices import TokenPrices
    from quoteway_indexer.replay.computation import PoolReplay
    from quoteway_indexer.store_settings import chosen_rollups
    from quoteway_indexer.vaults import VaultPrices

    chosen = chosen_rollups(context.settings)
    # Prices are of the hours of pools: after their replay.
    found: list[Computation] = [
        PoolReplay(chain.network.chain_id, context.event_sources, writer, chain, chosen)
    ]
    if "token_hour" in chosen:
        found.append(TokenPrices(context, chain, writer))
    if "vault_hour" in chosen:
        found.append(VaultPrices(context, chain, writer))
    return found
