"""Amounts, tokens, accounts and spenders, as the checks of quotes and of calldata compare them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from quoteway.evm import permit2
from quoteway.evm.address import checksum
from quoteway.guard.findings import Expect, UnsafeAnswer
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Address,
    DeployRequest,
    Leg,
    ManageRequest,
    Request,
    Spend,
    SwapRequest,
    Token,
    VaultRequest,
)
from quoteway.providers import Provider

MAX_UINT160 = (1 << 160) - 1

_Key = TypeVar("_Key", bound=Hashable)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


def is_amount(value: object) -> bool:
    """Whether it is a whole number that fits uint256."""
    return type(value) is int and 0 <= value <= MAX_UINT256


def is_address(text: object) -> bool:
    """Whether it is an address in EIP-55 form."""
    return isinstance(text, str) and _ADDRESS.fullmatch(text) is not None and checksum(text) == text


def same_token(one: Token, other: Token) -> bool:
    return (one.chain_id, one.address, one.decimals) == (other.chain_id, other.address, other.decimals)


def most_of(leg: Leg) -> int:
    """The most that an input may take: its maximum where it has one, else its amount."""
    return leg.amount if leg.amount_max is None else leg.amount_max


def totals(amounts: Iterable[tuple[_Key, int]]) -> Counter[_Key]:
    """The sum of the amounts of each key; 0 for a key that is not there."""
    sums: Counter[_Key] = Counter()
    for key, amount in amounts:
        sums[key] += amount
    return sums


def parties(request: Request) -> tuple[Address, frozenset[Address]]:
    """Who signs and pays, and who may be paid."""
    if isinstance(request, DeployRequest):
        return request.owner, frozenset({request.owner})
    if isinstance(request, ManageRequest):
        return request.sender, frozenset({request.sender})
    if isinstance(request, SwapRequest):
        return request.sender, frozenset({request.recipient})
    return request.sender, frozenset({request.sender, request.recipient})


def named_by_caller(request: Request) -> Mapping[Address, str]:
    """The vault that the request names: a target and spender that the provider need not declare."""
    address = request.vault_id.partition(":")[2] if isinstance(request, VaultRequest | ManageRequest) else ""
    return {address: "Vault"} if is_address(address) else {}


def check_spends(
    provider: Provider,
    request: Request,
    inputs: Sequence[Leg],
    spends: Sequence[Spend],
    expect: Expect,
) -> None:
    """Checks that spends go through declared spenders and take no more than the inputs."""
    spenders = {*provider.spenders(request.chain_id), *named_by_caller(request)}
    for spend in spends:
        expect(is_amount(spend.amount) and spend.amount > 0, "a spend is not a positive number of base units")
        expect(
            spend.spender in spenders,
            f"it spends through {spend.spender}, which the provider does not declare",
        )
        if spend.permit2_spender is not None:
            expect(spend.spender == permit2.ADDRESS, "a Permit2 spend does not go through Permit2")
            expect(
                spend.permit2_spender in spenders, f"Permit2 spender {spend.permit2_spender} is not declared"
            )
            expect(spend.amount <= MAX_UINT160, "a Permit2 spend does not fit uint160")
    quoted = totals((leg.token.address, most_of(leg)) for leg in inputs)
    for token, amount in totals((spend.token, spend.amount) for spend in spends).items():
        expect(token != NATIVE and amount <= quoted[token], f"it spends more of {token} than quoted")


def check_units(provider: Provider, legs: Iterable[Leg], known: Mapping[Address, Token]) -> None:
    """Checks the decimals of tokens that the caller did not name. Raises ``UnsafeAnswer``."""
    for leg in legs:
        fact = known.get(leg.token.address)
        if fact is not None and not same_token(leg.token, fact):
            raise UnsafeAnswer(
                provider.id, f"it counts {leg.token.address} with other decimals than the token has"
            )
