"""Level 2: what quotes say is true: who pays and gets, amounts, minimums, and what positions hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quoteway import Capability, GatewayError, Leg, Quote, SwapRequest, VaultRequest
from quoteway.evm.abi import function
from quoteway.guard.acknowledgements import CODES
from quoteway.testing.conformance.provider import HOLDER
from quoteway.testing.execution import send
from quoteway.testing.levels.calls import executed_quote, sealed_quote
from quoteway.testing.levels.check import TRANSACTIONS, Check, Failed, NotApplicable, require
from quoteway.testing.levels.requests import quoted, with_amount
from quoteway.testing.levels.subject import Subject

_POSITIONS = frozenset({Capability.POOL, Capability.VAULT})
_WITHIN = _POSITIONS | {Capability.SWAP}
"""The capabilities whose transactions end on the chain where they begin."""
_SOLVER_BPS = 200
_SAME_BPS = 10
"""How far amounts of a route may be from those of the quote: parts of a pool's amount are rounded."""
_LEFT_BPS = 500
"""How much less a position may pay than was put in, for the fees of vaults."""
_TRANSFER = function("transfer(address to, uint256 value) returns (bool)")


def _within(subject: Subject) -> list[Any]:
    """Returns the cases within a chain. Raises ``NotApplicable`` without one."""
    found = [case for case in subject.cases if not getattr(case, "is_cross_chain", False)]
    if not found:
        raise NotApplicable("it quotes nothing within a chain")
    return found


def near(one: int, other: int) -> bool:
    """Returns whether two amounts differ by rounding alone."""
    return abs(one - other) * 10_000 <= _SAME_BPS * max(one, other) + 10_000


async def generated_amounts_are_paid(subject: Subject) -> None:
    """Quotes random amounts, a ten-thousandth to a hundred times each case, and simulates their build."""
    for case in subject.cases:
        for _ in range(3):
            amount = int(case.amount * 10 ** subject.random.uniform(-4, 2)) or 1
            request = with_amount(case, amount)
            if await quoted(subject.provider, request) is None:
                continue
            try:
                sealed = await sealed_quote(subject, request)
                action = await subject.gateway.building.action(sealed, acknowledged=CODES)
            except GatewayError as error:
                raise Failed(f"the gateway refuses its quote of {amount} units: {error}") from error
            simulation = action.simulation
            require(simulation.status != "reverted", f"the build of its quote of {amount} units reverts")
            seen = {(change.account, change.token): change.delta for change in simulation.asset_changes}
            for leg in sealed.inputs:
                most = leg.amount if leg.amount_max is None else leg.amount_max
                taken = -seen.get((leg.account, leg.token.address), -leg.amount)
                require(taken <= most, f"a quote of {amount} units takes {taken}, at most {most} was said")


async def concurrent_quotes_are_their_own(subject: Subject) -> None:
    requests = [with_amount(case, case.amount * n) for case in subject.cases for n in (1, 3)]
    alone = [await quoted(subject.provider, request) for request in requests]
    for _ in range(3):
        together = await asyncio.gather(*(quoted(subject.provider, request) for request in requests))
        for request, was, quote in zip(requests, alone, together, strict=True):
            require(
                _alike(was, quote),
                f"{request.amount} units: {_said(was)} alone, {_said(quote)} among others",
            )


def _alike(one: Quote | None, other: Quote | None) -> bool:
    """Returns whether two quotes are of one request. A solver under load may find less."""
    if one is None or other is None:
        return one is other
    return [leg.token for leg in one.inputs] == [leg.token for leg in other.inputs] and all(
        (a.token, a.account) == (b.token, b.account)
        and abs(a.amount - b.amount) * 10_000 <= _SOLVER_BPS * a.amount
        for a, b in zip(one.outputs, other.outputs, strict=True)
    )


def _said(quote: Quote | None) -> str:
    legs = () if quote is None else quote.outputs
    return ", ".join(f"{leg.amount} {leg.token.symbol} to {leg.account}" for leg in legs) or "no quote"


async def minimums_allow_the_slippage(subject: Subject) -> None:
    for case in _within(subject):
        if isinstance(case, SwapRequest) and _wraps(subject, case):
            continue
        for bps in (50, 300):
            quote = await quoted(subject.provider, replace(case, slippage_bps=bps))
            if quote is None or quote.is_estimate:
                continue
            for leg in quote.outputs:
                most = leg.amount * (10_000 - bps) // 10_000 + 1
                require(
                    leg.amount_min is not None and leg.amount_min <= most,
                    f"with slippage_bps {bps} the minimum is {leg.amount_min}, expected at most {most}",
                )


def _wraps(subject: Subject, request: SwapRequest) -> bool:
    """Returns whether one end is the native coin and the other its wrapped token."""
    wrapped = subject.gateway.runtime.chains[request.chain_id].network.wrapped_native
    ends = {request.token_in, request.token_out}
    return any(end.is_native for end in ends) and any(end.address == wrapped for end in ends)


async def quotes_follow_the_chain(subject: Subject) -> None:
    """Executes each case, and then the same again: the second quote must hold in the changed state.

    Between the two, a vault is given assets, which changes the price of its shares.
    """
    for case in _within(subject):
        for time in ("", " a second time"):
            if time and isinstance(case, VaultRequest):
                await _give(subject, case)
            try:
                quote, executed, _ = await executed_quote(subject, case)
            except GatewayError as error:
                raise Failed(f"executed{time}, it does not pay its quote: {error}") from None
            got = quote.outputs[0]
            change = executed.deltas[got.account, got.token.address]
            require(
                near(change, got.amount), f"executed{time}, it pays {change}, its quote said {got.amount}"
            )


async def _give(subject: Subject, case: VaultRequest) -> None:
    """Transfers assets to a vault, which pays no shares for them."""
    vault = case.vault_id.partition(":")[2]
    data = _TRANSFER.encode([vault, case.amount])
    await send(subject.devnet, case.chain_id, HOLDER, case.asset, data)


async def quotes_say_who_pays_and_gets(subject: Subject) -> None:
    """Checks legs, block and texts of quotes as a signer reads them."""
    for case in subject.cases:
        quote = await quoted(subject.provider, case)
        if quote is None:
            continue
        head = await subject.gateway.runtime.chains[case.chain_id].head()
        require(
            quote.block.number <= head.number, f"it is of block {quote.block.number}, the head {head.number}"
        )
        require({leg.account for leg in quote.inputs} == {case.sender}, "its input is not the sender's")
        require(
            {leg.account for leg in quote.outputs} == {case.recipient}, "its output is not the recipient's"
        )
        require(quote.lifetime_s is None or 0 < quote.lifetime_s <= 3_600, f"lifetime_s {quote.lifetime_s}")
        require(_depth(quote.plan) <= 8, "its plan is nested deeper than 8")


def _depth(value: object) -> int:
    inner: Sequence[object] = ()
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = value
    return 1 + max(map(_depth, inner), default=0)


async def what_was_put_in_is_paid_out(subject: Subject) -> None:
    """Executes each case, and takes out all of the position that it made.

    The position must be among ``positions``, its amounts and the quote must be what is paid, and that must be
    what was put in but for fees.
    """
    tried = 0
    for case in subject.cases:
        before = await _positions(subject, case)
        entered, _, _ = await executed_quote(subject, case)
        await subject.gateway.runtime.chains[case.chain_id].head(fresh=True)
        after = await _positions(subject, case)
        made = [key for key in after if key not in before or before[key].size != after[key].size]
        require(len(made) == 1, "positions() does not have the one that its transactions made")
        leaving, known = after[made[0]].leaving, after[made[0]].amounts
        if leaving.action not in subject.provider.actions or not await quoted(subject.provider, leaving):
            continue
        tried += 1
        quote, executed, _ = await executed_quote(subject, leaving)
        for leg in quote.outputs:
            paid = executed.deltas[leg.account, leg.token.address]
            require(near(paid, leg.amount), f"leaving pays {paid} {leg.token.symbol}, quoted {leg.amount}")
            shown = known.get(leg.token.address, paid)
            require(near(paid, shown), f"leaving pays {paid} {leg.token.symbol}, its position has {shown}")
        for leg in entered.inputs:
            paid = executed.deltas.get((leg.account, leg.token.address), 0)
            least = leg.amount * (10_000 - _LEFT_BPS) // 10_000 - 1
            require(paid >= least, f"{leg.amount} {leg.token.symbol} were put in, leaving pays {paid}")
    if not tried:
        raise NotApplicable("its positions cannot be left at once")


@dataclass(frozen=True, slots=True)
class _Position:
    """A position's liquidity or shares, what leaving pays by token, and the request to leave it."""

    size: int
    amounts: Mapping[str, int]
    leaving: Any


async def _positions(subject: Subject, case: Any) -> dict[str, _Position]:
    """Returns the positions of the sender in the pool or vault of a case, by their ids."""
    provider, everything = subject.provider, replace(case, amount=None)
    if isinstance(case, VaultRequest):
        return {
            found.vault_id: _Position(
                found.shares, _sums(found.amounts), replace(everything, action="withdraw")
            )
            for found in await provider.positions(case.sender)
            if found.vault_id == case.vault_id
        }
    return {
        found.position_id: _Position(
            found.liquidity,
            _sums((*found.amounts, *found.uncollected_fees)),
            replace(everything, action="remove", position_id=found.position_id),
        )
        for found in await provider.positions(case.sender, case.pool_id)
    }


def _sums(legs: Iterable[Leg]) -> dict[str, int]:
    sums = Counter[str]()
    for leg in legs:
        sums[leg.token.address] += leg.amount
    return dict(sums)


TRUTH: tuple[Check, ...] = (
    Check(
        "quotes_say_who_pays_and_gets",
        2,
        "Fill inputs with the sender, outputs with the recipient, block with chain.head().",
        quotes_say_who_pays_and_gets,
        TRANSACTIONS,
    ),
    Check(
        "generated_amounts_are_paid",
        2,
        "Compute each amount as the contract does, at every size, or return None.",
        generated_amounts_are_paid,
        TRANSACTIONS,
    ),
    Check(
        "quotes_follow_the_chain",
        2,
        "Read the state at the block of the quote: keep nothing of a pool longer than for one block.",
        quotes_follow_the_chain,
        _WITHIN,
    ),
    Check(
        "concurrent_quotes_are_their_own",
        2,
        "Keep nothing of a request on the provider or in the module: pass it as an argument.",
        concurrent_quotes_are_their_own,
        TRANSACTIONS,
    ),
    Check(
        "minimums_allow_the_slippage",
        2,
        "Set amount_min to amount * (10,000 - slippage_bps) / 10,000, rounded down.",
        minimums_allow_the_slippage,
        _WITHIN,
    ),
    Check(
        "what_was_put_in_is_paid_out",
        2,
        "Return from positions() what the wallet has at the newest block, with what leaving pays.",
        what_was_put_in_is_paid_out,
        _POSITIONS,
    ),
)
