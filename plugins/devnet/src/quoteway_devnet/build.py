"""Build one chain of the devnet on an empty anvil: contracts, tokens, funded accounts, pools."""

from collections.abc import Mapping
from pathlib import Path

from quoteway import NATIVE
from quoteway.evm.abi import encode_call

from quoteway_devnet import permit2
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.bridge import create_bridge
from quoteway_devnet.manifest import ChainManifest, Token
from quoteway_devnet.pools import (
    V2_PAIR_INIT_CODE_HASH,
    V3_POOL_INIT_CODE_HASH,
    Site,
    create_pools,
)
from quoteway_devnet.rpc import Rpc
from quoteway_devnet.tables import (
    BASE_TOKENS,
    GRANT_USD,
    NATIVE_GRANT_WEI,
    NATIVE_SYMBOL,
    POOLS,
    ChainRow,
    TokenRow,
    token_rows,
)
from quoteway_devnet.transactions import CREATE2_DEPLOYER, DEPLOYER, Transactions
from quoteway_devnet.vaults import create_vaults

MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"

_ETH_LABEL = b"ETH".ljust(32, b"\0")

_HOOK_SALT = (29505).to_bytes(32, "big")
"""Gives IdleHook an address whose low 14 bits grant the beforeSwap permission alone (v4-core, Hooks.sol)."""

TOKEN_CONTRACTS = {
    "plain": "MintableToken",
    "no_return": "NoReturnToken",
    "fee_on_transfer": "FeeOnTransferToken",
}
"""Behaviour of a token -> its contract, whose constructor takes (name, symbol, decimals)."""


def build_chain(rpc: Rpc, bytecode: Path, chain: ChainRow) -> ChainManifest:
    """Deploy everything and return its addresses. Takes under two seconds."""
    transactions = Transactions(rpc, bytecode)
    contracts = _deploy_contracts(transactions)
    rows = token_rows(chain.slug)
    tokens = _deploy_tokens(transactions, rows, contracts["WETH9"])
    by_symbol = {row.symbol: row for row in rows}
    fund(transactions, tokens, by_symbol)
    site = Site(
        transactions,
        contracts,
        tokens | {NATIVE_SYMBOL: NATIVE},
        by_symbol | {NATIVE_SYMBOL: by_symbol["WETH"]},
    )
    pools = create_pools(site, POOLS[chain.slug])
    vaults = create_vaults(site)
    spoke_pool = create_bridge(site)
    transactions.close()
    return ChainManifest(
        slug=chain.slug,
        chain_id=chain.chain_id,
        name=chain.name,
        contracts=contracts | {"ManagedVaultFactory": vaults.factory, "SpokePool": spoke_pool},
        base_tokens=tuple(tokens[symbol] for symbol in BASE_TOKENS),
        tokens=tuple(
            Token(tokens[row.symbol], row.symbol, row.name, row.decimals, row.usd, row.behaviour)
            for row in rows
        ),
        pools=pools,
        vaults=vaults.vaults,
    )


def _deploy_contracts(transactions: Transactions) -> dict[str, str]:
    """Deploy the protocols. The order determines the addresses: add new contracts at the end."""
    deploy, later = transactions.deploy, transactions.later
    weth = deploy("WETH9")
    later("deploying Permit2", CREATE2_DEPLOYER, permit2.SALT + transactions.init_code("Permit2"))
    multicall3 = deploy("Multicall3")
    runtime = transactions.rpc("eth_getCode", multicall3, "latest")
    transactions.rpc("anvil_setCode", MULTICALL3, runtime)

    v2_factory = deploy("UniswapV2Factory", "(address)", DEPLOYER)
    v2_router = deploy("UniswapV2Router02", "(address,address)", v2_factory, weth)

    v3_factory = deploy("UniswapV3Factory")
    later("enabling fee 100", v3_factory, encode_call("enableFeeAmount(uint24,int24)", [100, 1]))
    library = deploy("NFTDescriptor")
    v3_descriptor = deploy(
        "NonfungibleTokenPositionDescriptor",
        "(address,bytes32)",
        *(weth, _ETH_LABEL),
        libraries={"NFTDescriptor": library},
    )
    v3_positions = deploy(
        "NonfungiblePositionManager", "(address,address,address)", v3_factory, weth, v3_descriptor
    )
    swap_router = deploy(
        "SwapRouter02", "(address,address,address,address)", v2_factory, v3_factory, v3_positions, weth
    )
    quoter = deploy("QuoterV2", "(address,address)", v3_factory, weth)
    tick_lens = deploy("TickLens")

    v4_pools = deploy("PoolManager", "(address)", DEPLOYER)
    v4_descriptor = deploy("PositionDescriptor", "(address,address,bytes32)", v4_pools, weth, _ETH_LABEL)
    v4_positions = deploy(
        "PositionManager",
        "(address,address,uint256,address,address)",
        *(v4_pools, permit2.ADDRESS, 300_000, v4_descriptor, weth),
    )
    state_view = deploy("StateView", "(address)", v4_pools)
    v4_quoter = deploy("V4Quoter", "(address)", v4_pools)

    universal_router = deploy(
        "UniversalRouter",
        # RouterParameters of 2.1.0; the last is Across' SpokePool, which is optional.
        "((address,address,address,address,bytes32,bytes32,address,address,address,address))",
        (
            *(permit2.ADDRESS, weth, v2_factory, v3_factory, V2_PAIR_INIT_CODE_HASH, V3_POOL_INIT_CODE_HASH),
            *(v4_pools, v3_positions, v4_positions, NATIVE),
        ),
    )
    hook = transactions.deploy2("IdleHook", _HOOK_SALT)
    if int(hook, 16) & 0x3FFF != 1 << 7:
        raise RuntimeError("IdleHook's code has changed: find a new _HOOK_SALT for its address")
    transactions.flush()
    return {
        "WETH9": weth,
        "Permit2": permit2.ADDRESS,
        "Multicall3": MULTICALL3,
        "UniswapV2Factory": v2_factory,
        "UniswapV2Router02": v2_router,
        "UniswapV3Factory": v3_factory,
        "NonfungiblePositionManager": v3_positions,
        "SwapRouter02": swap_router,
        "QuoterV2": quoter,
        "TickLens": tick_lens,
        "PoolManager": v4_pools,
        "PositionManager": v4_positions,
        "StateView": state_view,
        "V4Quoter": v4_quoter,
        "UniversalRouter": universal_router,
        "IdleHook": hook,
    }


def _deploy_tokens(transactions: Transactions, rows: tuple[TokenRow, ...], weth: str) -> dict[str, str]:
    """Deploy tokens by CREATE2 with salt 0: equal addresses on both chains. Returns symbol -> address."""
    tokens = {}
    for row in rows:
        if row.behaviour == "wrapped":
            tokens[row.symbol] = weth
            continue
        contract = TOKEN_CONTRACTS[row.behaviour]
        tokens[row.symbol] = transactions.deploy2(
            contract, bytes(32), "(string,string,uint8)", row.name, row.symbol, row.decimals
        )
    transactions.flush()
    return tokens


def fund(transactions: Transactions, tokens: Mapping[str, str], rows: Mapping[str, TokenRow]) -> None:
    """Fund the ten accounts, and the deployer with more: it provides all liquidity."""
    transactions.rpc.batch(
        [("anvil_setBalance", [account.address, hex(NATIVE_GRANT_WEI)]) for account in ACCOUNTS]
    )
    weth = tokens["WETH"]
    own = 100 * rows["WETH"].base_units(GRANT_USD)
    transactions.later("wrapping ETH", weth, encode_call("deposit()", []), own)
    for symbol, token in tokens.items():
        amount = rows[symbol].base_units(GRANT_USD)
        name = "transfer" if token == weth else "mint"
        for account in ACCOUNTS:
            transactions.later(
                f"granting {symbol}",
                token,
                encode_call(f"{name}(address,uint256)", [account.address, amount]),
            )
        if token != weth:
            transactions.later(
                f"granting {symbol}", token, encode_call("mint(address,uint256)", [DEPLOYER, 100 * amount])
            )
    transactions.flush()
