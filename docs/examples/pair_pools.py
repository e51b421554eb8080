"""Pools of two tokens like those of Uniswap v2: a list of them, and their swaps for an indexer.

[plugin.pair-pools]
pairs = {ethereum = ["0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc"]}
"""

import quoteway
from marshmallow import Schema, fields
from quoteway import ConfigError, EventRule, EventSource, Pool, PoolProvider
from quoteway.evm.abi import function
from quoteway.evm.address import parse_address

TOKENS = function("token0() returns (address)"), function("token1() returns (address)")
SWAP = EventRule(
    "Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, "
    "uint256 amount1Out, address indexed to)",
    "swap",
    {
        "pool": "@",
        "recipient": "to",
        "amount0": "amount0In - amount0Out",
        "amount1": "amount1In - amount1Out",
    },
)


class Settings(Schema):
    pairs = fields.Dict(fields.String(), fields.List(fields.String()), required=True)  # by network


def pairs_of(context):
    """Returns the addresses of the pairs by chain id."""
    where = "plugin.pair-pools.pairs"
    try:
        return {
            context.networks.configured(slug, where).chain_id: tuple(map(parse_address, addresses))
            for slug, addresses in context.settings["pairs"].items()
        }
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


class PairPools(PoolProvider):
    id = "pair-pools"
    title = "Pools of pairs"

    def __init__(self, context):
        self.context = context
        self.pairs = pairs_of(context)
        self.networks = frozenset(self.pairs)

    async def pools(self, chain_id):
        chosen = [each for each in self.pairs if chain_id in (None, each)]
        return [await self.entry(each, pair) for each in chosen for pair in self.pairs[each]]

    async def pool(self, pool_id):
        for chain_id, pairs in self.pairs.items():
            for pair in pairs:
                if pool_id == f"{chain_id}:{pair}":
                    return await self.entry(chain_id, pair)
        return None

    async def entry(self, chain_id, pair):
        chain, tokens = self.context.chain(chain_id), []
        for token in TOKENS:
            (address,) = token.decode_output(await chain.call(pair, token.encode([])))
            tokens.append(await self.context.token(chain_id, parse_address(address)))
        return Pool(
            id=f"{chain_id}:{pair}",
            network=chain.network.slug,
            chain_id=chain_id,
            protocol=self.id,
            kind="constant-product",
            address=pair,
            tokens=tuple(tokens),
            actions=(),  # it adds and removes nothing
            source="chain",
            updated_at=self.context.now(),
        )


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_pool_providers(context):
    return [PairPools(context)]


@quoteway.hookimpl
def quoteway_event_sources(context):
    return [EventSource("pair-pools", each, 1, (SWAP,), pairs) for each, pairs in pairs_of(context).items()]
