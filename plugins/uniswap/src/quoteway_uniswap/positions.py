"""The positions of a wallet: v2 shares, v3 and v4 position tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quoteway import Address, Block, Chain, Leg, PoolPosition, Reason
from quoteway.evm.abi import function
from quoteway.evm.erc20 import BALANCE_OF
from quoteway_amm import v2_amounts_burned

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.known_pools import KnownPool, manager_of
from quoteway_uniswap.liquidity_state import (
    Holding,
    Nft,
    Reading,
    read_holdings,
    read_nfts,
    read_pair,
)
from quoteway_uniswap.received_tokens import ReceivedTokens

_TOKEN_OF_OWNER = function("tokenOfOwnerByIndex(address owner, uint256 index) returns (uint256)")

_MAX_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class OwnedNfts:
    """Position tokens of a wallet; ``unsearched`` is why some may be missing, None when all are here."""

    found: list[Nft]
    unsearched: Reason | None


class WalletPositions:
    """The positions of wallets on one chain."""

    def __init__(self, chain: Chain, deployments: Sequence[Deployment], received: ReceivedTokens) -> None:
        self._chain = chain
        self._deployments = deployments
        self._received = received

    async def nfts(
        self,
        block: Block,
        wallet: Address,
        kinds: Iterable[str] = ("v3", "v4"),
        pool: KnownPool | None = None,
    ) -> OwnedNfts:
        """Returns the wallet's position tokens, of one pool or of all, oldest first."""
        parts = await asyncio.gather(
            *(
                self._nfts_of(block, wallet, deployment, kind)
                for deployment in self._deployments
                for kind in kinds
                if pool is None or (deployment, kind) == (pool.deployment, pool.ref.kind)
            )
        )
        found = [nft for part in parts for nft in part.found if pool is None or nft.pool == pool.ref.id]
        return OwnedNfts(found, next((part.unsearched for part in parts if part.unsearched), None))

    async def holdings(self, block: Block, nfts: Sequence[Nft]) -> list[Holding]:
        """Returns the position tokens with their amounts and fees."""
        return await read_holdings(self._chain, block, nfts)

    async def _nfts_of(self, block: Block, wallet: Address, deployment: Deployment, kind: str) -> OwnedNfts:
        if kind == "v4":
            found, complete = await self._received.owned(block, wallet, deployment)
            return OwnedNfts(found, None if complete else Reason.LOGS_UNAVAILABLE)
        manager = manager_of(deployment, kind)
        if manager is None:
            return OwnedNfts([], None)
        token_ids, count = await self._v3_ids(block, wallet, manager)
        nfts = await read_nfts(self._chain, block, deployment, kind, token_ids)
        held = [nft for nft in nfts if nft.owner == wallet]
        return OwnedNfts(held, Reason.TOKEN_LIMIT if count > len(token_ids) else None)

    async def _v3_ids(self, block: Block, wallet: Address, manager: Address) -> tuple[list[int], int]:
        """Returns the wallet's first token ids, and how many it has."""
        reading = Reading()
        count = reading.add(manager, BALANCE_OF, wallet)
        await reading.run(self._chain, block)
        held = reading.word(count)
        if not held:
            return [], 0
        reading = Reading()
        indices = range(min(held, _MAX_TOKENS))
        reads = [reading.add(manager, _TOKEN_OF_OWNER, wallet, index) for index in indices]
        await reading.run(self._chain, block)
        return [reading.word(read) for read in reads], held


async def pair_positions(
    chain: Chain, block: Block, wallet: Address, pairs: Sequence[KnownPool]
) -> list[PoolPosition]:
    """Returns the wallet's shares of v2 pairs with what a burn pays now, fees included."""
    reading = Reading()
    reads = [reading.add(pair.ref.id, BALANCE_OF, wallet) for pair in pairs]
    if reads:
        await reading.run(chain, block)
    held = [
        (pair, words[0]) for pair, read in zip(pairs, reads, strict=True) if (words := reading.words(read))
    ]
    owned = [(pair, shares) for pair, shares in held if shares]
    states = await asyncio.gather(*(read_pair(chain, block, pair) for pair, _ in owned))
    found = []
    for (pair, shares), state in zip(owned, states, strict=True):
        supply = state.supply_after_fee
        amounts = v2_amounts_burned(shares + state.stray_shares, state.balance0, state.balance1, supply)
        found.append(
            PoolPosition(
                position_id=pair.id,
                pool_id=pair.id,
                owner=wallet,
                kind="fungible",
                liquidity=shares,
                amounts=tuple(Leg(t, a, wallet) for t, a in zip(pair.tokens, amounts, strict=True)),
                uncollected_fees=(),
                block=block,
                share=shares / supply,
            )
        )
    return found


def nft_position(pool: KnownPool, holding: Holding, block: Block) -> PoolPosition:
    """Returns a position token as the API shows it."""
    nft, state = holding.nft, holding.state
    in_range = nft.tick_lower <= state.tick < nft.tick_upper
    return PoolPosition(
        position_id=str(nft.token_id),
        pool_id=pool.id,
        owner=nft.owner,
        kind="nft",
        liquidity=nft.liquidity,
        amounts=tuple(Leg(t, a, nft.owner) for t, a in zip(pool.tokens, holding.amounts, strict=True)),
        uncollected_fees=tuple(Leg(t, a, nft.owner) for t, a in zip(pool.tokens, holding.fees, strict=True)),
        block=block,
        share=nft.liquidity / state.liquidity if in_range and state.liquidity else None,
        tick_range=(nft.tick_lower, nft.tick_upper),
        in_range=in_range,
        manager=manager_of(nft.deployment, nft.kind),
    )
