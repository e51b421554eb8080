"""The functions of ``ManagedVaultFactory`` and ``ManagedVault`` (contracts/), and messages for their
errors."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources

from quoteway import Notice
from quoteway.evm.abi import function, selector

DEPLOY = function(
    "deploy(address asset, address owner, address bot, address strategy, bytes32 salt)"
    " returns (address vault)"
)
INIT_CODE_HASH = function(
    "initCodeHash(address asset, address owner, address bot, address strategy) returns (bytes32)"
)
VAULT_COUNT = function("vaultCount() returns (uint256)")
VAULTS = function("vaults(uint256 index) returns (address)")
IS_VAULT = function("isVault(address vault) returns (bool)")

OWNER = function("owner() returns (address)")
BOT = function("bot() returns (address)")
STRATEGIES = function("strategies() returns (address[])")
IDLE_ASSETS = function("idleAssets() returns (uint256)")
REBALANCE = function("rebalance(address from, address to, uint256 assets, uint256 minTotalAssets)")

UNAUDITED = Notice("unaudited")

ROLE_ERRORS = frozenset(
    selector(error) for error in ("NotOwnerOrBot(address)", "OwnableUnauthorizedAccount(address)")
)
REFUSALS: Mapping[bytes, tuple[str, str]] = {
    selector("EnforcedPause()"): ("action", "the vault is paused"),
    selector("ExpectedPause()"): ("action", "the vault is not paused"),
    selector("UnknownStrategy(address)"): ("strategy", "is not a strategy of this vault"),
    selector("StrategyExists(address)"): ("strategy", "is already a strategy of this vault"),
    selector("WrongAsset(address)"): ("strategy", "is a vault of another asset"),
    selector("TooManyStrategies()"): (
        "strategy",
        "the vault has the maximum of 8 strategies: remove one first",
    ),
    selector("NothingToMove()"): ("amount", "there is nothing to move"),
    selector("LossTooHigh(uint256,uint256)"): ("slippageBps", "the move would cost more: raise slippageBps"),
}
"""Error selector -> request member and message."""


@functools.cache
def creation_code(contract: str) -> bytes:
    """Returns the compiled creation code of one of the two contracts."""
    file = resources.files("quoteway_managedvault") / "artifacts" / f"{contract}.json"
    return bytes.fromhex(json.loads(file.read_text())["bytecode"][2:])
