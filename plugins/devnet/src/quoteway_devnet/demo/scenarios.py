"""The demo's scenarios as rows of data: tokens, route, and required parts of the action."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quoteway_devnet.accounts import ACCOUNTS, Account
from quoteway_devnet.tables import DEVNET, DEVNET_L2, NATIVE_SYMBOL

Hops = Sequence[Mapping[str, Any]]
"""The hops of a quote's ``route``, of all paths."""

SENDER = ACCOUNTS[1]
RECIPIENT = ACCOUNTS[2]

_ERC20 = frozenset({"plain", "wrapped"})
_NO_RETURN = frozenset({"no_return"})
_FEE_ON_TRANSFER = frozenset({"fee_on_transfer"})
_NATIVE = frozenset({"native"})


def _any_route(hops: Hops) -> bool:
    return bool(hops)


def _one_hop(protocol: str) -> Callable[[Hops], bool]:
    return lambda hops: [hop["protocol"] for hop in hops] == [protocol]


def _mixed(hops: Hops) -> bool:
    return len({hop["protocol"] for hop in hops}) > 1


@dataclass(frozen=True, slots=True)
class SwapScenario:
    """A swap. Its pair is found by requesting quotes until a route ``fits``.

    ``sells`` and ``buys`` are kinds of token: ``native`` or a behaviour of ``tables.py``.
    """

    title: str
    fits: Callable[[Hops], bool] = _any_route
    sells: frozenset[str] = _ERC20
    buys: frozenset[str] = _ERC20 | _NO_RETURN
    network: str = DEVNET.slug
    request: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the quote request."""
    leftover_allowance: int = 0
    """The spender's allowance before the action, in base units."""
    step_kinds: frozenset[str] = frozenset()
    """Required kinds of steps of the action."""
    signatures: int = 0
    """Required number of typed-data signatures."""

    @property
    def recipient(self) -> str:
        return str(self.request.get("toAddress", SENDER.address))


SWAP_SCENARIOS = (
    SwapScenario("v2, one hop", _one_hop("uniswap-v2")),
    SwapScenario("v3, one hop", _one_hop("uniswap-v3")),
    SwapScenario("v4, one hop", _one_hop("uniswap-v4")),
    SwapScenario("several hops, kinds mixed", _mixed),
    SwapScenario("native coin in", sells=_NATIVE),
    SwapScenario("native coin out", buys=_NATIVE),
    SwapScenario("Permit2 by signature", request={"approvalMode": "permit2-signature"}, signatures=1),
    SwapScenario(
        "USDT-like, allowance left over",
        sells=_NO_RETURN,
        leftover_allowance=1,
        step_kinds=frozenset({"approval_reset", "approval"}),
    ),
    SwapScenario("fee on transfer, sold", sells=_FEE_ON_TRANSFER),
    SwapScenario("fee on transfer, bought", buys=_FEE_ON_TRANSFER),
    SwapScenario("to another recipient", request={"toAddress": RECIPIENT.address}),
    SwapScenario("second chain", network=DEVNET_L2.slug),
)


@dataclass(frozen=True, slots=True)
class PoolScenario:
    """Adds liquidity to a pool of ``protocol``, trades in it so that it earns fees, and removes liquidity."""

    title: str
    protocol: str
    acts: tuple[str, ...]
    """Of ``add``, ``trade``, ``collect``, ``remove half``, ``remove all``."""


@dataclass(frozen=True, slots=True)
class VaultScenario:
    """Deposits into the vault of ``strategy`` and redeems everything."""

    title: str
    strategy: str


@dataclass(frozen=True, slots=True)
class ManagedVaultScenario:
    """Deploys a managed vault over the first strategy, adds the second, deposits and rebalances."""

    title: str
    strategies: tuple[str, str]
    owner: Account
    bot: Account


@dataclass(frozen=True, slots=True)
class SubmitHashScenario:
    """Deposits after an altered approval, which ``submit-hash`` must detect."""

    title: str
    strategy: str


@dataclass(frozen=True, slots=True)
class TransferScenario:
    """Sends a token or the native coin to the account itself on another chain.

    With ``buys`` it is swapped into that token before the bridge.
    """

    title: str
    sells: str
    origin: str
    target: str
    buys: str | None = None


@dataclass(frozen=True, slots=True)
class PortfolioScenario:
    """Compares the account's portfolio with the chain."""

    title: str


OperationScenario = (
    PoolScenario
    | VaultScenario
    | ManagedVaultScenario
    | SubmitHashScenario
    | TransferScenario
    | PortfolioScenario
)

OPERATION_SCENARIOS: tuple[OperationScenario, ...] = (
    PoolScenario("v2 pool: add and remove", "uniswap-v2", ("add", "trade", "remove all")),
    PoolScenario(
        "v3 pool: add, collect, remove half", "uniswap-v3", ("add", "trade", "collect", "remove half")
    ),
    PoolScenario("v4 pool: add, collect, remove", "uniswap-v4", ("add", "trade", "collect", "remove all")),
    VaultScenario("vault: deposit and redeem everything", "steady-usdc"),
    ManagedVaultScenario(
        "managed vault: deploy, deposit, rebalance", ("steady-usdc", "bold-usdc"), ACCOUNTS[3], ACCOUNTS[4]
    ),
    SubmitHashScenario("submit-hash: a tampered transaction and the true one", "bold-usdc"),
    TransferScenario("bridge: USDC to the second chain", "USDC", DEVNET.slug, DEVNET_L2.slug),
    TransferScenario("bridge: native coin back to the first", NATIVE_SYMBOL, DEVNET_L2.slug, DEVNET.slug),
    TransferScenario(
        "swap and bridge: WETH into USDC there", "WETH", DEVNET.slug, DEVNET_L2.slug, buys="USDC"
    ),
    PortfolioScenario("portfolio"),
)
"""In the order of execution. All except transfers are on the first chain."""
