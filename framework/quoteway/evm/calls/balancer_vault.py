"""Reads ``swap`` and ``batchSwap`` of Balancer v2's Vault: swaps of a given input along paths.

Of a batch, only such are read as leave nothing open: each path begins with a stated amount of the one token
sold, each of its further steps takes exactly what the step before it gave (amount 0), and it ends in the one
token bought. The Vault then takes no other token from the sender, and pays nothing to anybody but the
recipient. Source: balancer-v2-monorepo (Swaps.sol, AssetTransfersHandler.sol).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quoteway.evm.abi import function
from quoteway.evm.calls.meaning import Charge, Meaning, Payment, Reading, Sent, Unreadable
from quoteway.models import NATIVE, Address

_FUNDS = "(address sender, bool fromInternalBalance, address recipient, bool toInternalBalance) funds"
SWAP = (
    "swap((bytes32 poolId, uint8 kind, address assetIn, address assetOut, uint256 amount, bytes userData)"
    f" singleSwap, {_FUNDS}, uint256 limit, uint256 deadline)"
)
BATCH_SWAP = (
    "batchSwap(uint8 kind, (bytes32 poolId, uint256 assetInIndex, uint256 assetOutIndex, uint256 amount,"
    f" bytes userData)[] swaps, address[] assets, {_FUNDS}, int256[] limits, uint256 deadline)"
)
GIVEN_IN = 0
"""SwapKind: the amounts are inputs."""

_Funds = tuple[Address, bool, Address, bool]


class VaultSwap:
    """A swap in one pool."""

    function = function(SWAP)

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        (_, kind, sold, bought, amount, user_data), funds, limit, deadline = args
        _check_kind(kind, [user_data])
        meaning = _meaning(sent, funds, (sold, amount), (bought, limit), deadline)
        return Reading(self.function.describe(args), meaning)


class VaultBatchSwap:
    """Swaps along one path or several."""

    function = function(BATCH_SWAP)

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        kind, steps, assets, funds, limits, deadline = args
        _check_kind(kind, [step[-1] for step in steps])
        _check_assets(assets, limits, sent)
        taken = [index for index, limit in enumerate(limits) if limit > 0]
        paid = [index for index, limit in enumerate(limits) if limit < 0]
        if len(taken) != 1 or len(paid) != 1:
            raise Unreadable("its limits are not those of one token sold and one bought")
        (sold,), (bought,) = taken, paid
        if _given(steps, sold, bought, len(assets)) != limits[sold]:
            raise Unreadable("it sells another amount than its limit")
        ends = (assets[sold], limits[sold]), (assets[bought], -limits[bought])
        return Reading(self.function.describe(args), _meaning(sent, funds, *ends, deadline))


def _check_kind(kind: int, user_data: Sequence[bytes]) -> None:
    if kind != GIVEN_IN:
        raise Unreadable("it is no swap of a given input")
    if any(user_data):
        raise Unreadable("it gives data to a pool")


def _check_assets(assets: Sequence[Address], limits: Sequence[int], sent: Sent) -> None:
    """Raises ``Unreadable`` unless each token stands there once; both forms of the native coin are one."""
    if len(assets) != len(limits):
        raise Unreadable("it does not give each token a limit")
    forms = [sent.wrapped_native if asset == NATIVE else asset for asset in assets]
    if len(set(forms)) != len(forms):
        raise Unreadable("it names a token twice")


def _given(steps: Sequence[Any], sold: int, bought: int, count: int) -> int:
    """Returns the sum that the paths of a batch begin with. Raises ``Unreadable`` unless they are paths from
    ``sold`` to ``bought`` that pass each of ``count`` tokens: these are indexes."""
    total, at, seen = 0, bought, {sold, bought}
    for _, index_in, index_out, amount, _ in steps:
        if amount:
            if (index_in, at) != (sold, bought):
                raise Unreadable("a path of it begins or ends with another token")
            total += amount
        elif index_in != at or at == bought:
            raise Unreadable("a step of it does not take what the step before it gave")
        if index_out in (index_in, sold) or index_out >= count:
            raise Unreadable("a step of it buys what no path buys")
        at = index_out
        seen.add(at)
    if at != bought or len(seen) != count:
        raise Unreadable("its paths do not end in what is bought, or miss a token")
    return total


def _meaning(
    sent: Sent, funds: _Funds, sold: tuple[Address, int], bought: tuple[Address, int], deadline: int
) -> Meaning:
    """Returns what a swap of ``sold`` for at least ``bought`` means. Address zero is the native coin for the
    Vault too."""
    sender, from_internal, recipient, to_internal = funds
    if from_internal or to_internal:
        raise Unreadable("it uses balances inside the Vault")
    (token_in, amount), (token_out, minimum) = sold, bought
    if sent.value != (amount if token_in == NATIVE else 0):
        raise Unreadable("its value is not what it sells of the native coin")
    return Meaning(
        "swap",
        (Charge(token_in, amount),),
        (Payment(token_out, recipient, minimum),),
        deadline,
        owner=sender,
    )
