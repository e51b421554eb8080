"""How the guard refuses an answer, and the comparisons that its checks share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from quoteway import models
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import permit2
from quoteway.evm.address import checksum
from quoteway.guard.model_types import flaw
from quoteway.models import NATIVE, Address, Leg, ManageRequest, Request, Spend, Token, VaultRequest
from quoteway.providers import Provider

_Key = TypeVar("_Key", bound=Hashable)
MAX_DEADLINE_S = 24 * 3600
"""How far away the deadline of a transaction may be."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


class UnsafeAnswer(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """A provider's answer that the guard refused. The message says what, to operator and client alike."""

    def __init__(self, provider: str, finding: str) -> None:
        super().__init__(
            f"The answer of provider {provider} was refused: {finding}.",
            reason=Reason.UNSAFE_ANSWER,
            retryable=False,
        )
        self.finding = finding


class QuoteMismatch(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """A quote whose transactions do not do what it says on the very state that it was made for."""

    def __init__(self, provider: str, finding: str) -> None:
        super().__init__(
            f"The quote of provider {provider} is wrong at its own block: {finding}.",
            reason=Reason.QUOTE_MISMATCH,
            retryable=False,
        )


@dataclass(frozen=True, slots=True)
class Expect:
    """What is expected of a provider's answer."""

    provider: Provider

    def __call__(self, holds: bool, finding: str) -> None:
        """Raises ``UnsafeAnswer`` with the finding unless it ``holds``."""
        if not holds:
            raise UnsafeAnswer(self.provider.id, finding)


def check_form(provider: Provider, answer: object, kind: Any) -> None:
    """Checks every member of an answer against the type ``kind``. Raises ``UnsafeAnswer``."""
    found = flaw(answer, kind)
    Expect(provider)(found is None, f"in its answer {getattr(kind, '__name__', 'the list')}{found}")


def is_amount(value: object) -> bool:
    """Whether it is a whole number that fits uint256."""
    return type(value) is int and 0 <= value <= models.MAX_UINT256


def is_address(text: object) -> bool:
    """Whether it is an address in EIP-55 form."""
    return isinstance(text, str) and _ADDRESS.fullmatch(text) is not None and checksum(text) == text


def totals(amounts: Iterable[tuple[_Key, int]]) -> Counter[_Key]:
    """The sum of the amounts of each key; 0 for a key that is not there."""
    sums: Counter[_Key] = Counter()
    for key, amount in amounts:
        sums[key] += amount
    return sums


def recipients(request: Request) -> frozenset[Address]:
    """Who may be paid."""
    if isinstance(request, models.SwapRequest):
        return frozenset({request.recipient})
    if isinstance(request, models.PoolRequest | VaultRequest):
        return frozenset({request.sender, request.recipient})
    return frozenset({request.sender})


def named_by_caller(request: Request) -> Mapping[Address, str]:
    """The vault that the request names: a target and spender that the provider need not declare."""
    address = request.vault_id.partition(":")[2] if isinstance(request, VaultRequest | ManageRequest) else ""
    return {address: "Vault"} if is_address(address) else {}


def check_spends(request: Request, inputs: Sequence[Leg], spends: Sequence[Spend], expect: Expect) -> None:
    """Checks that spends go through declared spenders and take no more than the inputs."""
    spenders = {*expect.provider.spenders(request.chain_id), *named_by_caller(request)}
    for spend in spends:
        expect(spend.amount > 0, "a spend is not a positive number of base units")
        accounts = (spend.token, spend.spender, puller_of(spend))
        expect(all(map(is_address, accounts)), "a spend names something that is not an EIP-55 address")
        expect(
            spend.spender in spenders,
            f"it spends through {spend.spender}, which the provider does not declare",
        )
        if spend.permit2_spender is not None:
            expect(spend.spender == permit2.ADDRESS, "a Permit2 spend does not go through Permit2")
            expect(
                spend.permit2_spender in spenders, f"Permit2 spender {spend.permit2_spender} is not declared"
            )
            expect(spend.amount <= permit2.MAX_AMOUNT, "a Permit2 spend does not fit uint160")
    quoted = totals((leg.token.address, leg.most) for leg in inputs)
    for token, amount in totals((spend.token, spend.amount) for spend in spends).items():
        expect(token != NATIVE and amount <= quoted[token], f"it spends more of {token} than quoted")


def puller_of(spend: Spend) -> Address:
    """Who takes the tokens of a spend, directly or through Permit2."""
    return spend.permit2_spender or spend.spender


def check_units(provider: Provider, legs: Iterable[Leg], known: Mapping[Address, Token]) -> None:
    """Checks the decimals of tokens that the caller did not name. Raises ``UnsafeAnswer``."""
    expect = Expect(provider)
    for leg in legs:
        same = leg.token.unit == known.get(leg.token.address, leg.token).unit
        expect(same, f"it counts {leg.token.address} with other decimals than the token has")


def previewed_legs(sealed: models.SealedQuote, build: models.Build) -> list[Leg]:
    """The legs of a vault's build whose amounts the run compares with the vault's own preview: they are those
    of a newer block than the quote's."""
    if not isinstance(sealed.request, VaultRequest):
        return []
    places = {(preview.account, preview.token) for preview in build.previews}
    return [leg for leg in (*build.inputs, *build.outputs) if (leg.account, leg.token.address) in places]
