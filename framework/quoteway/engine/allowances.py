"""Reads what spenders may take of a wallet: ERC-20 allowances, and those through Permit2."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quoteway import models
from quoteway.engine.approvals import GrantKey, WalletReader, grants_to
from quoteway.errors import UpstreamError
from quoteway.evm import erc20, permit2
from quoteway.evm.address import checksum
from quoteway.evm.chain import RpcChain
from quoteway.guard.findings import is_address
from quoteway.host.checked_provider import contracts_of, spenders_of
from quoteway.host.registry import Registry
from quoteway.models import Address, Block

log = logging.getLogger("quoteway.engine.allowances")

LOG_BLOCKS = 10_000
"""The range of blocks that most nodes search for logs in one request."""
MAX_LOGGED = 100
"""The most grants of one wallet that are taken from logs: anybody can make a token that logs approvals."""
_UINT96_MAX = (1 << 96) - 1


@dataclass(frozen=True, slots=True)
class Allowance:
    """What ``spender`` may take of a token, in base units.

    ``expiration`` (Unix seconds) is that of an allowance through Permit2; None: a plain ERC-20 allowance.
    """

    token: Address
    spender: Address
    amount: int
    expiration: int | None = None

    @property
    def unlimited(self) -> bool:
        """Returns whether the amount stands for no limit. UNI and COMP store the maximum of uint96 for it."""
        if self.expiration is not None:
            return self.amount == permit2.MAX_AMOUNT
        return self.amount >= 1 << 255 or self.amount == _UINT96_MAX


@dataclass(frozen=True, slots=True)
class Allowances:
    """The allowances above zero at one block. ``unreadable`` are tokens whose allowances cannot be read.

    ``has_logs``: whether the node gave the logs of the last ``LOG_BLOCKS`` blocks, and not more than
    ``MAX_LOGGED`` grants.
    """

    block: Block
    held: tuple[Allowance, ...]
    unreadable: tuple[Address, ...]
    has_logs: bool


@dataclass(frozen=True, slots=True)
class Spenders:
    """The spenders that the providers of one network declare, and the providers' names of contracts."""

    declared: tuple[tuple[Address, ...], ...]
    labels: Mapping[Address, str]

    def grants(self, token: Address) -> list[GrantKey]:
        """Returns the allowances of a token for all of them, plain ones and those through Permit2."""
        plain = [(token, spender, None) for spenders in self.declared for spender in spenders]
        return [*plain, *(grant for spenders in self.declared for grant in grants_to(token, spenders))]


def known_spenders(registry: Registry, chain_id: int) -> Spenders:
    """Returns the spenders of all enabled providers of a network. Leaves out those that cannot be read."""
    declared: list[tuple[Address, ...]] = []
    labels: dict[Address, str] = {permit2.ADDRESS: "Permit2"}
    for capability in (
        models.Capability.SWAP,
        models.Capability.BRIDGE,
        models.Capability.POOL,
        models.Capability.VAULT,
    ):
        for provider in registry.enabled(capability, chain_id):
            declared.append(tuple(filter(is_address, spenders_of(provider, chain_id))))
            for address, label in contracts_of(provider, chain_id).items():
                if label.isprintable():
                    labels.setdefault(address, label)
    return Spenders(tuple(dict.fromkeys(declared)), labels)


async def read_allowances(
    chain: RpcChain, owner: Address, tokens: Iterable[Address], spenders: Spenders, *, everywhere: bool
) -> Allowances:
    """Reads the wallet's allowances of ``tokens`` for known spenders, in batches at one block.

    Adds the grants to any spender that the node's recent logs show: ``everywhere`` those of any token. Raises
    ``UpstreamError`` when no node answers; a node that gives no logs raises nothing.
    """
    tokens, block = set(tokens), await chain.head(fresh=True)  # an approval may be a block old
    logged = await _logged(chain, owner, block)
    found = [grant for grant in logged or () if everywhere or grant[0] in tokens]
    grants = (grant for token in sorted(tokens) for grant in spenders.grants(token))
    asked = list(dict.fromkeys((*grants, *found[:MAX_LOGGED])))
    # A reader of its own: its cache would keep these many values for nobody.
    wallet = await WalletReader(most_owners=1).read(chain, block, owner, (), asked)
    held = [
        Allowance(token, spender, amount) for (token, spender), amount in wallet.allowances.items() if amount
    ]
    held += [
        Allowance(token, spender, amount, expiration)
        for (token, spender), (amount, expiration) in wallet.permit2.items()
        if amount and expiration >= block.timestamp
    ]
    unread = [token for token, spender, _ in asked if (token, spender) not in wallet.allowances]
    has_logs = logged is not None and len(found) <= MAX_LOGGED
    return Allowances(block, tuple(held), tuple(dict.fromkeys(unread)), has_logs)


async def _logged(chain: RpcChain, owner: Address, block: Block) -> Sequence[GrantKey] | None:
    """Returns the grants of a wallet that recent logs show, newest first; None when the node refuses."""
    topics = [[erc20.APPROVAL_EVENT, *permit2.EVENTS], "0x" + owner[2:].lower().rjust(64, "0")]
    first = max(0, block.number - LOG_BLOCKS + 1)
    query = {"fromBlock": hex(first), "toBlock": hex(block.number), "topics": topics}
    try:
        answer = await chain.request("eth_getLogs", [query])
        found = [_grant(row) for row in reversed(answer)]
    except UpstreamError:
        return None
    except (TypeError, LookupError, ValueError, AttributeError):
        log.warning("the logs of %s cannot be read", chain.network.slug)
        return None
    return list(dict.fromkeys(grant for grant in found if grant is not None))


def _grant(row: Mapping[str, Any]) -> GrantKey | None:
    """Returns the grant that a log shows; None for one that is not of this kind."""
    emitter, topics = checksum(row["address"]), row["topics"]
    accounts = [checksum("0x" + topic[-40:]) for topic in topics[1:]]
    if topics[0] != erc20.APPROVAL_EVENT:
        return (accounts[1], permit2.ADDRESS, accounts[2]) if emitter == permit2.ADDRESS else None
    # An ERC-721 token indexes the item's id too.
    return (emitter, accounts[1], None) if len(accounts) == 2 else None
