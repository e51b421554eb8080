"""The configuration of one network: ``[networks.<slug>]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marshmallow import fields

from quoteway.config import fields as kinds
from quoteway.config.fields import Listing, choice, flag, integer, seconds, setting, text
from quoteway.networks import Endpoint, L1FeeKind


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """One network: its endpoints, and facts that no plugin gives."""

    rpc: tuple[Endpoint, ...] = setting(
        Listing(kinds.EndpointField()),
        "JSON-RPC endpoints: a URL or `{url, headers, name, ws, tier, cordoned}` each. One of `tier` 1 or "
        "more is used while none of a lower tier is usable; `cordoned` is `true` or a reason, and it is not "
        "used.",
        (),
    )
    chain_id: int | None = setting(integer(1, 2**53 - 1), "EIP-155 id.", None)
    name: str | None = setting(text(64, 1), "Name for people.", None)
    native_symbol: str | None = setting(text(16, 1), "Symbol of the native coin.", None)
    native_name: str | None = setting(text(64, 1), "Name of the native coin.", None)
    native_decimals: int | None = setting(integer(0, 36), "Decimals of the native coin.", None)
    wrapped_native: str | None = setting(
        kinds.matching(r"^0x[0-9a-fA-F]{40}$"), "Address of the wrapped native coin.", None
    )
    ens_registry: str | None = setting(
        kinds.matching(r"^0x[0-9a-fA-F]{40}$"),
        "Address of the registry of the Ethereum Name Service; unset: Ethereum and Sepolia have theirs, and "
        "accounts of other networks have no names.",
        None,
    )
    explorer_url: str | None = setting(fields.String(), "URL of the block explorer.", None)
    block_time_s: float | None = setting(seconds(0.01, 3_600), "Usual time between two blocks.", None)
    head_poll_s: float | None = setting(seconds(0.05, 600), "Time between polls of the newest block.", None)
    head_stale_s: float | None = setting(
        seconds(0, 86_400),
        "Age of the newest block above which the network is `degraded`; unset: ten block times and at least "
        "60 s; 0: never, for a chain that makes blocks on demand.",
        None,
    )
    quorum: int | None = setting(
        integer(1, 16),
        "Endpoints that must give the same answer to what quotes and actions are made from; unset: 1.",
        None,
    )
    testnet: bool | None = setting(flag(), "Whether its tokens have no value.", None)
    private_submission: str | None = setting(
        kinds.public_url(),
        "https URL of a JSON-RPC endpoint that keeps transactions from the public mempool. Every caller is "
        "shown it, in `mev` of swap quotes, and sends signed transactions there: it must hold no credential.",
        None,
    )
    l1_fee: L1FeeKind | None = setting(
        choice(L1FeeKind), "How a rollup charges for the data of a transaction on its parent chain.", None
    )
    token_lists: tuple[str, ...] = setting(Listing(fields.String()), "Paths or URLs of Token Lists.", ())
    contracts: Mapping[str, str] = setting(
        fields.Dict(keys=fields.String(), values=fields.String()),
        'What kind each contract is, by address: `"0x66a9..." = "uniswap.universal-router@2.0"`.',
        {},
    )
    deployments: Mapping[str, tuple[Mapping[str, Any], ...]] = setting(
        fields.Dict(keys=fields.String(), values=Listing(fields.Dict(keys=fields.String()))),
        "Rows of contracts by protocol family: see the plugin's README.",
        {},
    )
