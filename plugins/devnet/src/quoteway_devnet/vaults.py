"""Create the vaults of ``tables.VAULTS`` and a managed one over them, and pay their yield."""

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from quoteway import NATIVE
from quoteway.evm.abi import encode_call

from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.manifest import ChainManifest, Vault
from quoteway_devnet.rpc import Call, Rpc
from quoteway_devnet.tables import MANAGED_DEPOSIT_USD, MANAGED_SHARES_PCT, VAULTS, base_units
from quoteway_devnet.transactions import DEPLOYER

if TYPE_CHECKING:
    from quoteway_devnet.pools import Site

MANAGED_OWNER = ACCOUNTS[0].address
MANAGED_BOT = ACCOUNTS[1].address

_DAY_S = 86_400
HISTORY_S = 30 * _DAY_S
"""The length of the vaults' yield history."""
_PAYDAYS = (27, 24, 21, 18, 15, 12, 9, 7, 5, 3, 2, 1, 0)
"""How many days ago yield was paid, each time for the days since the previous payment."""
_YEAR_S = 365 * _DAY_S


@dataclass(frozen=True, slots=True)
class Vaults:
    """The factory and all vaults."""

    factory: str
    vaults: tuple[Vault, ...]


def create_vaults(site: "Site") -> Vaults:
    """Deploy the plain vaults, the factory and a managed vault, all by CREATE2, and fill them."""
    transactions, tokens = site.transactions, site.tokens
    plain = []
    for row in VAULTS:
        asset = tokens[row.asset]
        vault = transactions.deploy2(
            "YieldVault", bytes(32), "(address,string,string)", asset, row.name, row.symbol
        )
        _deposit(site, asset, vault, base_units(row.asset, row.deposit_usd))
        plain.append(Vault("plain", row.id, vault, asset, row.name, row.symbol, ()))
    factory = transactions.deploy2("ManagedVaultFactory", bytes(32))
    transactions.flush()

    symbol, first, *others = VAULTS[0].asset, *plain
    asset = first.asset
    arguments = (asset, DEPLOYER, NATIVE, first.address, bytes(32))
    types = "(address,address,address,address,bytes32)"
    (managed,) = transactions.read(factory, f"predict{types} returns (address)", *arguments)
    transactions.later("deploying a managed vault", factory, encode_call(f"deploy{types}", arguments))

    def manage(what: str, signature: str, *values: Any) -> None:
        transactions.later(what, managed, encode_call(signature, values))

    for other in others:
        manage("adding a strategy", "addStrategy(address)", other.address)
    _deposit(site, asset, managed, base_units(symbol, MANAGED_DEPOSIT_USD))
    rebalance = "rebalance(address,address,uint256,uint256)"
    for strategy, share_pct in zip(plain, MANAGED_SHARES_PCT, strict=True):
        assets = base_units(symbol, Fraction(MANAGED_DEPOSIT_USD * share_pct, 100))
        manage("investing", rebalance, managed, strategy.address, assets, 0)
    manage("setting the bot", "setBot(address)", MANAGED_BOT)
    manage("transferring the vault", "transferOwnership(address)", MANAGED_OWNER)
    transactions.flush()
    described = Vault(
        "managed",
        "managed-usdc",
        managed,
        asset,
        "Quoteway managed vault",
        "qwMV",
        tuple(vault.address for vault in plain),
    )
    return Vaults(factory, (*plain, described))


def accrue_yield(rpc: Rpc, chain: ChainManifest) -> None:
    """Mine a block for each payday of the last thirty days, which pays every plain vault its yield.

    Afterwards the chain's clock is at the present. Paydays before the chain's newest block are skipped.
    """
    rows = {row.id: row for row in VAULTS}
    plain = [vault for vault in chain.vaults if vault.kind == "plain"]
    now_s = int(time.time())
    seen_s = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    rpc.batch([("anvil_impersonateAccount", [DEPLOYER]), ("evm_setAutomine", [False])])
    # anvil's clock starts at the present, even with a dump.
    rpc("evm_setTime", hex(seen_s))
    before = HISTORY_S
    for days in _PAYDAYS:
        elapsed_s, before = before - days * _DAY_S, days * _DAY_S
        if now_s - before <= seen_s:
            continue
        calls: list[Call] = []
        for vault in plain:
            total_assets = "0x" + encode_call("totalAssets()", []).hex()
            held = int(rpc("eth_call", {"to": vault.address, "data": total_assets}, "latest"), 16)
            yearly = held * Fraction(rows[vault.id].yield_pct_per_year) / 100
            earned = int(yearly * elapsed_s / _YEAR_S)
            data = encode_call("mint(address,uint256)", [vault.address, earned])
            transaction = {
                "from": DEPLOYER,
                "to": vault.asset,
                "data": "0x" + data.hex(),
                "gas": hex(200_000),
            }
            calls.append(("eth_sendTransaction", [transaction]))
        for method, params in calls:  # one by one: anvil assigns nonces in order of arrival
            rpc(method, *params)
        rpc("evm_mine", hex(now_s - before))
    rpc("evm_setAutomine", True)
    rpc("anvil_stopImpersonatingAccount", DEPLOYER)
    rpc("evm_setTime", hex(max(now_s, seen_s)))


def _deposit(site: "Site", asset: str, vault: str, amount: int) -> None:
    later = site.transactions.later
    later("allowing a vault", asset, encode_call("approve(address,uint256)", [vault, amount]))
    later("depositing", vault, encode_call("deposit(uint256,address)", [amount, DEPLOYER]))
