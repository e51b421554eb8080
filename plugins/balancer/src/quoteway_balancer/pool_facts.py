"""What never changes of a pool: its tokens, their decimals, weights, and rate providers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quoteway import Address, Chain
from quoteway.evm.abi import Function, function
from quoteway.evm.chain import Call
from quoteway_amm.balancer_stable import ComposableStablePool

from quoteway_balancer.deployments import FAMILIES, Deployment, Family
from quoteway_balancer.reading import decoded

log = logging.getLogger(__name__)

POOL_TOKENS = function(
    "getPoolTokens(bytes32 poolId) returns (address[] tokens, uint256[] balances, uint256 lastChangeBlock)"
)
_POOL_ID = function("getPoolId() returns (bytes32)")
_WEIGHTS = function("getNormalizedWeights() returns (uint256[])")
_RATE_PROVIDERS = function("getRateProviders() returns (address[])")
_DECIMALS = function("decimals() returns (uint8)")

MOST_TOKENS = 12
"""More than any of the factories allows."""
_MOST_DECIMALS = 18


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A pool of one of the deployment's factories. ``tokens`` are as the Vault has them, in its order.

    ``units`` are ``10^(36 - decimals)`` for each. ``weights`` have 18 decimals, for weighted pools.
    ``rate_providers`` (zero address: none) are those of each token, for stable pools.
    """

    id: str
    address: Address
    family: Family
    tokens: tuple[Address, ...]
    units: tuple[int, ...]
    weights: tuple[int, ...] = ()
    rate_providers: tuple[Address, ...] = ()

    @property
    def traded(self) -> tuple[int, ...]:
        """Returns the places of the tokens that are routed: all but the pool's own."""
        return tuple(at for at, token in enumerate(self.tokens) if token != self.address)


def pool_tokens_bytes(count: int) -> int:
    """Returns how many bytes ``getPoolTokens`` returns of so many tokens."""
    return 32 * (5 + 2 * count)


async def read_facts(
    chain: Chain, deployment: Deployment, families: Mapping[Address, str]
) -> dict[Address, PoolFacts]:
    """Returns the facts of pools by address. Those that answer otherwise than pools of their family are left
    out, and the log says so."""
    listed = [(address, FAMILIES[name]) for address, name in families.items()]
    own = [_own_function(family) for _, family in listed]
    calls = [Call(address, _POOL_ID.encode([]), max_output=32) for address, _ in listed]
    calls += [
        Call(address, of.encode([]), max_output=32 * (2 + MOST_TOKENS))
        for (address, _), of in zip(listed, own, strict=True)
    ]
    answers = await chain.call_many(calls, block="latest")
    ids = [decoded(_POOL_ID, answer) for answer in answers[: len(listed)]]
    members = [decoded(of, answer) for of, answer in zip(own, answers[len(listed) :], strict=True)]
    tokens = await _tokens_of(chain, deployment, ids)
    units = await _units_of(chain, [token for each in tokens for token in each or ()])
    found = {}
    for (address, family), identity, member, registered in zip(listed, ids, members, tokens, strict=True):
        made = _facts(address, family, identity, member, registered, units)
        if made is None:
            log.warning("%s is no pool of the family that its factory has: it is not used", address)
        else:
            found[address] = made
    return found


def _own_function(family: Family) -> Function:
    return _RATE_PROVIDERS if family.kind == ComposableStablePool.kind else _WEIGHTS


async def _tokens_of(
    chain: Chain, deployment: Deployment, ids: Sequence[tuple[object, ...] | None]
) -> list[tuple[Address, ...] | None]:
    size = pool_tokens_bytes(MOST_TOKENS)
    known = [identity for identity in ids if identity is not None]
    calls = [Call(deployment.vault, POOL_TOKENS.encode(identity), max_output=size) for identity in known]
    answers = iter(await chain.call_many(calls, block="latest"))
    found: list[tuple[Address, ...] | None] = []
    for identity in ids:
        registered = None if identity is None else decoded(POOL_TOKENS, next(answers))
        found.append(None if registered is None else registered[0])  # type: ignore[arg-type]  # address[]
    return found


async def _units_of(chain: Chain, tokens: Sequence[Address]) -> dict[Address, int]:
    listed = [*dict.fromkeys(tokens)]
    calls = [Call(token, _DECIMALS.encode([]), max_output=32) for token in listed]
    units = {}
    for token, answer in zip(listed, await chain.call_many(calls, block="latest"), strict=True):
        match decoded(_DECIMALS, answer):
            case (int(decimals),) if decimals <= _MOST_DECIMALS:
                units[token] = 10 ** (36 - decimals)
    return units


def _facts(
    address: Address,
    family: Family,
    identity: tuple[object, ...] | None,
    member: tuple[object, ...] | None,
    tokens: tuple[Address, ...] | None,
    units: Mapping[Address, int],
) -> PoolFacts | None:
    if identity is None or member is None or not tokens or any(token not in units for token in tokens):
        return None
    (pool_id,), (values,) = identity, member
    if not isinstance(pool_id, bytes) or not isinstance(values, tuple) or len(values) != len(tokens):
        return None
    text = "0x" + pool_id.hex()
    stable = family.kind == ComposableStablePool.kind
    if text[:42] != address.lower() or (address in tokens) != stable:
        return None
    of_tokens = tuple(units[token] for token in tokens)
    given = {"rate_providers": values} if stable else {"weights": values}
    return PoolFacts(text, address, family, tokens, of_tokens, **given)
