"""The positions of a wallet: v2 shares, v3 and v4 position tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache
from quoteway import Address, Block, Chain, Context, Leg, PoolPosition
from quoteway.evm.abi import event_topic, function
from quoteway.evm.erc20 import BALANCE_OF
from quoteway_amm import v2_amounts_burned
from quoteway_router.logs import Logs

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

_TRANSFER = event_topic("Transfer(address,address,uint256)")
_TOKEN_OF_OWNER = function("tokenOfOwnerByIndex(address owner, uint256 index) returns (uint256)")

_MAX_TOKENS = 1_000
_WALLETS_KEPT = 1_024
_REORG_BLOCKS = 64


@dataclass(slots=True)
class _Received:
    """The v4 position tokens that a wallet received up to block ``seen``."""

    seen: int = -1
    token_ids: set[int] = field(default_factory=set)


class WalletPositions:
    """The positions of wallets on one chain. v4 tokens are found by Transfer logs: they cannot be listed."""

    def __init__(self, context: Context, chain: Chain, deployments: Sequence[Deployment], logs: Logs) -> None:
        self._context = context
        self._chain = chain
        self._deployments = deployments
        self._logs = logs
        self._received: LRUCache[tuple[Address, Address], _Received] = LRUCache(_WALLETS_KEPT)

    async def nfts(
        self,
        block: Block,
        wallet: Address,
        kinds: Iterable[str] = ("v3", "v4"),
        pool: KnownPool | None = None,
    ) -> list[Nft]:
        """Returns the wallet's position tokens, of one pool or of all, oldest first."""
        parts = await asyncio.gather(
            *(
                self._nfts_of(block, wallet, deployment, kind)
                for deployment in self._deployments
                for kind in kinds
                if pool is None or (deployment, kind) == (pool.deployment, pool.ref.kind)
            )
        )
        found = [nft for part in parts for nft in part if nft.owner == wallet]
        return [nft for nft in found if pool is None or nft.pool == pool.ref.id]

    async def holdings(self, block: Block, nfts: Sequence[Nft]) -> list[Holding]:
        """Returns the position tokens with their amounts and fees."""
        return await read_holdings(self._chain, block, nfts)

    async def _nfts_of(self, block: Block, wallet: Address, deployment: Deployment, kind: str) -> list[Nft]:
        manager = manager_of(deployment, kind)
        if manager is None:
            return []
        if kind == "v4":
            token_ids = await self._v4_ids(block, wallet, deployment, manager)
        else:
            token_ids = await self._v3_ids(block, wallet, manager)
        return await read_nfts(self._chain, block, deployment, kind, token_ids)

    async def _v3_ids(self, block: Block, wallet: Address, manager: Address) -> list[int]:
        reading = Reading()
        count = reading.add(manager, BALANCE_OF, wallet)
        await reading.run(self._chain, block)
        held = min(reading.word(count), _MAX_TOKENS)
        if not held:
            return []
        reading = Reading()
        reads = [reading.add(manager, _TOKEN_OF_OWNER, wallet, index) for index in range(held)]
        await reading.run(self._chain, block)
        return [reading.word(read) for read in reads]

    async def _v4_ids(
        self, block: Block, wallet: Address, deployment: Deployment, manager: Address
    ) -> list[int]:
        assert deployment.v4 is not None
        received = self._received.setdefault((manager, wallet), _Received())
        if received.seen < block.number:
            # The last blocks are read again: a reorganisation may have replaced them.
            first = max(deployment.v4.since_block, received.seen - _REORG_BLOCKS)
            topics = [_TRANSFER, None, "0x" + wallet[2:].lower().rjust(64, "0")]
            found = await self._logs.search(manager, topics, first, block.number)
            if found.first > first:
                self._context.log.warning(
                    "v4 positions on %s are known only from block %d on: the nodes limit eth_getLogs",
                    self._chain.network.slug,
                    found.first,
                )
            received.token_ids |= {int(log.topics[3], 16) for log in found.logs if len(log.topics) == 4}
            received.seen = max(received.seen, block.number)
        return sorted(received.token_ids)


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
    )
