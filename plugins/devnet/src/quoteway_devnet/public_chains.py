"""Look-alikes of public networks for tests: the makers' bytecode at its public addresses.

A gateway with nothing but the endpoint of such a chain quotes and executes by its built-in rows. What is not
as on the network itself: tokens are plain ones (Ethereum's USDT returns nothing, as the real one), the
wrapped coin is WETH9 everywhere, and the networks' own gas rules and system contracts are missing.

``python -m quoteway_devnet.public_chains`` fetches what they need, once, so that tests work offline.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from quoteway import NATIVE
from quoteway.evm.abi import encode_call

from quoteway_devnet import permit2
from quoteway_devnet.anvil import BASE_FEE_WEI, Anvil, free_port
from quoteway_devnet.build import TOKEN_CONTRACTS, fund
from quoteway_devnet.chains import Devnet
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.manifest import ChainManifest, Token
from quoteway_devnet.packages import prepare, prepare_public
from quoteway_devnet.pools import V2_PAIR_INIT_CODE_HASH, V3_POOL_INIT_CODE_HASH, Site, create_pools
from quoteway_devnet.public_tables import PUBLIC_POOLS, PUBLIC_TOKENS
from quoteway_devnet.tables import NATIVE_SYMBOL, TokenRow, token_row
from quoteway_devnet.transactions import CREATE2_DEPLOYER, DEPLOYER, Transactions

_HISTORY_BLOCKS = 256
_BLOCK_TIME_S = 12
_ROUTERS = {"2.0": "UniversalRouter2.0"}
"""Version of a row's router -> its contract (``contract_files.PUBLIC_FILES``)."""
_ROUTER_PARAMETERS = "((address,address,address,address,bytes32,bytes32,address,address,address))"
"""universal-router 2.0.0, RouterParameters: permit2, weth9, v2Factory, v3Factory, pairInitCodeHash,
poolInitCodeHash, v4PoolManager, v3NFTPositionManager, v4PositionManager."""


@contextmanager
def public_chain(slug: str, chain_id: int, row: Mapping[str, Any]) -> Iterator[Devnet]:
    """Run a look-alike of the network ``slug`` on a free port during the block.

    ``row`` is the network's deployment row of the uniswap plugin, which says where each contract is. Raises
    DevnetError for a network whose tokens or router are not known here, and as ``Anvil.launch`` does.
    """
    if chain_id not in PUBLIC_TOKENS or row["router_version"] not in _ROUTERS:
        raise DevnetError(
            f"No look-alike of chain {chain_id} with router {row['router_version']}; there are those of "
            f"chains {', '.join(map(str, PUBLIC_TOKENS))} with {', '.join(_ROUTERS)}."
        )
    toolchain, more = prepare(), prepare_public()
    now_s = int(time.time())
    launched = Anvil.launch(
        toolchain.anvil,
        chain_id,
        free_port(),
        genesis_s=now_s - 2 * _HISTORY_BLOCKS * _BLOCK_TIME_S,
        # Searches for events begin here.
        genesis_number=int(row["v4"].get("since_block", 0)),
    )
    with launched as anvil, anvil.rpc() as rpc:
        chain = build_public_chain(Transactions(rpc, toolchain.bytecode, more), slug, chain_id, row)
        # A day's worth of series and prices reads earlier blocks too.
        rpc("anvil_mine", hex(_HISTORY_BLOCKS), hex(_BLOCK_TIME_S))
        rpc("evm_setTime", hex(now_s))
        rpc("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_WEI))
        rpc("evm_mine")
        yield Devnet({slug: anvil.port}, {slug: chain})


def build_public_chain(
    transactions: Transactions, slug: str, chain_id: int, row: Mapping[str, Any]
) -> ChainManifest:
    """Put the row's contracts and tokens at their addresses and create pools. Takes one to two seconds."""
    tokens = PUBLIC_TOKENS[chain_id]
    wrapped = replace(token_row("WETH"), symbol="WETH")
    rows = {address: tokens[address] for address in row["base_tokens"]} | {row["wrapped_native"]: wrapped}
    contracts = _place_contracts(transactions, row)
    for address, token in rows.items():
        if token.behaviour != "wrapped":
            arguments = token.name, token.symbol, token.decimals
            transactions.construct_at(
                address, TOKEN_CONTRACTS[token.behaviour], "(string,string,uint8)", *arguments
            )
    by_symbol = {token.symbol: token for token in rows.values()}
    addresses = {token.symbol: address for address, token in rows.items()}
    fund(transactions, addresses, by_symbol)
    site = Site(
        transactions,
        contracts,
        addresses | {NATIVE_SYMBOL: NATIVE},
        by_symbol | {NATIVE_SYMBOL: wrapped},
    )
    pools = create_pools(site, tuple(pool for pool in PUBLIC_POOLS if {pool.a, pool.b} <= site.tokens.keys()))
    transactions.close()
    return ChainManifest(
        slug=slug,
        chain_id=chain_id,
        name=slug,
        contracts=contracts,
        base_tokens=tuple(row["base_tokens"]),
        tokens=tuple(_token(address, token) for address, token in rows.items()),
        pools=pools,
        vaults=(),
    )


def _token(address: str, row: TokenRow) -> Token:
    return Token(address, row.symbol, row.name, row.decimals, row.usd, row.behaviour)


def _place_contracts(transactions: Transactions, row: Mapping[str, Any]) -> dict[str, str]:
    """Construct the protocols at the addresses of the row."""
    place = transactions.construct_at
    v2, v3, v4 = row["v2"], row["v3"], row["v4"]
    weth = place(row["wrapped_native"], "WETH9")
    transactions.later(
        "deploying Permit2", CREATE2_DEPLOYER, permit2.SALT + transactions.init_code("Permit2")
    )
    v2_factory = place(v2["factory"], "UniswapV2Factory", "(address)", DEPLOYER)
    v2_router = place(v2["router"], "UniswapV2Router02", "(address,address)", v2_factory, weth)
    v3_factory = place(v3["factory"], "UniswapV3Factory")
    # Not in the constructor: governance added this tier later.
    transactions.later("enabling fee 100", v3_factory, encode_call("enableFeeAmount(uint24,int24)", [100, 1]))
    # Without descriptors, which only tokenURI calls.
    v3_positions = place(
        v3["position_manager"],
        "NonfungiblePositionManager",
        "(address,address,address)",
        *(v3_factory, weth, NATIVE),
    )
    v4_pools = place(v4["pool_manager"], "PoolManager", "(address)", DEPLOYER)
    v4_positions = place(
        v4["position_manager"],
        "PositionManager",
        "(address,address,uint256,address,address)",
        *(v4_pools, permit2.ADDRESS, 300_000, NATIVE, weth),
    )
    router = place(
        row["router"],
        _ROUTERS[row["router_version"]],
        _ROUTER_PARAMETERS,
        (
            *(permit2.ADDRESS, weth, v2_factory, v3_factory, V2_PAIR_INIT_CODE_HASH, V3_POOL_INIT_CODE_HASH),
            *(v4_pools, v3_positions, v4_positions),
        ),
    )
    return {
        "WETH9": weth,
        "Permit2": permit2.ADDRESS,
        "UniswapV2Factory": v2_factory,
        "UniswapV2Router02": v2_router,
        "UniswapV3Factory": v3_factory,
        "NonfungiblePositionManager": v3_positions,
        "PoolManager": v4_pools,
        "PositionManager": v4_positions,
        "UniversalRouter": router,
    }


if __name__ == "__main__":
    prepare_public()
