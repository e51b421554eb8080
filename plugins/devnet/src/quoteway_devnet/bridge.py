"""Deploy an Across SpokePool and fund a relayer with every bridged token."""

from typing import TYPE_CHECKING

from quoteway import MAX_UINT256, NATIVE
from quoteway.evm.abi import encode_call

from quoteway_devnet.tables import CHAINS, GRANT_USD, TokenRow, base_units, token_rows
from quoteway_devnet.transactions import DEPLOYER

if TYPE_CHECKING:
    from quoteway_devnet.pools import Site

RELAYER = "0x063C8eeB2f5217b79Bad83B0828e81536b67ee5d"
"""keccak256("quoteway devnet relayer")[12:]. Fills deposits with its own tokens and owns the SpokePools,
which lets it settle refunds. It has no known key: anvil impersonates it."""

QUOTE_TIME_BUFFER_S = 3600
FILL_DEADLINE_BUFFER_S = 21_600


def bridged_tokens() -> tuple[TokenRow, ...]:
    """Return the tokens of both chains, without the fee-on-transfer one."""
    everywhere = set.intersection(*({row.symbol for row in token_rows(chain.slug)} for chain in CHAINS))
    rows = token_rows(CHAINS[0].slug)
    return tuple(row for row in rows if row.symbol in everywhere and row.behaviour != "fee_on_transfer")


def create_bridge(site: "Site") -> str:
    """Deploy the SpokePool behind its proxy, by CREATE2; return its address."""
    transactions, weth = site.transactions, site.tokens["WETH"]
    implementation = transactions.deploy2(
        "EthereumSpokePool",
        bytes(32),
        "(address,uint32,uint32,address)",
        *(weth, QUOTE_TIME_BUFFER_S, FILL_DEADLINE_BUFFER_S, NATIVE),
    )
    pool = transactions.deploy2("ERC1967Proxy", bytes(32), "(address,bytes)", implementation, b"")
    initialize = encode_call("initialize(uint32,address)", [0, DEPLOYER])
    transactions.later("initializing the SpokePool", pool, initialize)
    transfer = encode_call("transferOwnership(address)", [RELAYER])
    transactions.later("transferring the SpokePool", pool, transfer)
    for row in bridged_tokens():
        token, amount = site.tokens[row.symbol], base_units(row.symbol, GRANT_USD)
        name = "transfer" if token == weth else "mint"
        grant = encode_call(f"{name}(address,uint256)", [RELAYER, amount])
        transactions.later(f"granting {row.symbol} to the relayer", token, grant)
    transactions.flush()
    rpc = transactions.rpc
    rpc.batch([("anvil_setBalance", [RELAYER, hex(10**24)]), ("anvil_impersonateAccount", [RELAYER])])
    allow = "0x" + encode_call("approve(address,uint256)", [pool, MAX_UINT256]).hex()
    for row in bridged_tokens():
        allowing = {"from": RELAYER, "to": site.tokens[row.symbol], "data": allow, "gas": hex(200_000)}
        rpc("eth_sendTransaction", allowing)
    rpc("evm_mine")
    rpc("anvil_stopImpersonatingAccount", RELAYER)
    return pool
