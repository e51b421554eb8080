"""The guard's second pass: what the ordered run of an action did, against what its quote says.

Nobody's assets moved but those the quote names, the recipient got at least the minimum, no allowance was left
behind. (The first pass reads the bytes: ``guard``.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quoteway.errors import Reason, UpstreamError
from quoteway.guard import opaque
from quoteway.guard.calldata import UnsafeAnswer, most_of
from quoteway.models import (
    NATIVE,
    Address,
    Build,
    DeployRequest,
    PoolRequest,
    Request,
    SealedQuote,
    Simulation,
    SwapRequest,
    VaultRequest,
)
from quoteway.providers import Provider
from quoteway.simulation.run import BALANCE_NOT_ASSUMABLE, Trace


def check_run(
    provider: Provider, sealed: SealedQuote, build: Build, sender: Address, run: Simulation, trace: Trace
) -> None:
    """What the ordered run did against what the quote says. Raises ``UnsafeAnswer`` or, when the run reverted
    or the minimum is no longer met, ``UpstreamError`` with reason ``price_moved``."""

    def expect(holds: bool, finding: str) -> None:
        if not holds:
            raise UnsafeAnswer(provider.id, finding)

    upstream_made = opaque.is_opaque(build)
    if upstream_made:
        opaque.require_run(run, expect)
    if run.status == "skipped":
        # A token that the provider alone brought in, and the wallet does not hold, must not switch this off.
        named = _named_by_caller(sealed.request)
        foreign = any(leg.token.address not in named for leg in sealed.inputs)
        expect(
            run.skip_reason != BALANCE_NOT_ASSUMABLE or not foreign,
            "it was not run, for a token that nobody asked to pay with",
        )
        return
    if run.status == "reverted" and not sealed.inputs and not sealed.outputs:
        # No amounts were quoted (a deployment, a management action), so no price can have moved.
        raise UpstreamError(
            f"The transaction would revert on the chain's present state: {run.revert_reason}.",
            reason=Reason.REVERTED,
            retryable=False,
            extra={"revertReason": run.revert_reason},
        )
    if run.status == "reverted":
        raise UpstreamError(
            f"The transaction would revert on the chain's present state: {run.revert_reason}. "
            "Request a new quote.",
            reason=Reason.PRICE_MOVED,
            retryable=False,
            extra={"revertReason": run.revert_reason} if run.revert_reason else None,
        )

    inputs: dict[Address, int] = {}
    for leg in sealed.inputs:
        inputs[leg.token.address] = inputs.get(leg.token.address, 0) + most_of(leg)
    deltas = {(change.account, change.token): change.delta for change in run.asset_changes}
    expect(
        all((sender, token) in deltas for token in inputs), "its run's effect on the wallet cannot be read"
    )
    for (account, token), delta in deltas.items():
        if account == sender and delta < 0:
            expect(-delta <= inputs.get(token, 0), f"its run takes {-delta} of {token}, more than quoted")
    for transfer in trace.transfers:
        if transfer.sender == sender and transfer.amount:
            expect(
                transfer.token in inputs,
                f"its run moves {transfer.token}, which is not sold, out of the wallet",
            )
    for item in trace.items:
        kept = item.sender != sender or item.token in inputs
        expect(kept, f"its run moves what {item.token} keeps for the wallet")
    granted = {(spend.token, spend.spender) for spend in build.spends}
    pulled: dict[tuple[Address, Address], int] = {}
    for spend in build.spends:
        if spend.permit2_spender is not None:
            key = (spend.token, spend.permit2_spender)
            pulled[key] = pulled.get(key, 0) + spend.amount
    for approval in trace.approvals:
        key = (approval.token, approval.spender)
        # A token may tell of what is left of an allowance it had before; Permit2 tells of new grants only.
        if approval.owner == sender and approval.amount and key not in granted:
            expect(approval.amount <= pulled.get(key, 0), f"its run approves {approval.spender}")
    spare = _spare(sealed)
    for allowance in run.allowance_changes:
        if allowance.owner == sender:
            expect(
                allowance.after <= max(allowance.before, spare.get(allowance.token, 0)),
                f"its run leaves an allowance to {allowance.spender} behind",
            )
    _check_previews(build, sender, inputs, deltas, trace, expect)
    for leg in sealed.outputs:
        if leg.token.chain_id != sealed.request.chain_id or leg.amount_min is None:
            continue
        # Who pays in and gets one token (the fees of a position that is added to) shows the difference alone.
        paid_in = inputs.get(leg.token.address, 0) if leg.account == sender else 0
        delta = deltas.get((leg.account, leg.token.address), 0) + paid_in
        # A true price movement reverts: the contract holds the same minimum. Nothing paid at all is no price.
        expect(delta > 0 or leg.amount_min == 0, f"its run pays no {leg.token.address} to {leg.account}")
        if delta < leg.amount_min:
            raise UpstreamError(
                "The transaction would pay less than the quoted minimum: request a new quote.",
                reason=Reason.PRICE_MOVED,
                retryable=False,
            )
    if upstream_made:
        opaque.check_run(build, sender, inputs, deltas, expect)


def _named_by_caller(request: Request) -> set[Address]:
    match request:
        case SwapRequest():
            return {request.token_in.address}
        case PoolRequest():
            return {request.asset, NATIVE}
        case VaultRequest():
            return {request.asset or NATIVE, request.vault_id.partition(":")[2]}
        case DeployRequest():
            return set()


def _spare(sealed: SealedQuote) -> dict[Address, int]:
    """What of each input, and so of its allowance, may be left untaken: the price may move between quote and
    run, and liquidity is added in the proportion that the pool then has."""
    spare: dict[Address, int] = {}
    for leg in sealed.inputs:
        left = most_of(leg) - (leg.amount if leg.amount_min is None else leg.amount_min)
        spare[leg.token.address] = spare.get(leg.token.address, 0) + left
    return spare


def _check_previews(
    build: Build,
    sender: Address,
    inputs: Mapping[Address, int],
    deltas: Mapping[tuple[Address, Address], int],
    trace: Trace,
    expect: Callable[[bool, str], None],
) -> None:
    """What the run moved against the contract's own preview, answered in the same run.

    Not a unit may be missing. A preview may fall short of the outcome (EIP-4626 allows it, for rounding), but
    one that is over 1/10,000 off says nothing about the outcome and is refused too.
    """
    for preview, said in zip(build.previews, trace.previews, strict=True):
        delta = deltas.get((preview.account, preview.token))
        if delta is None or said is None:
            expect(False, f"the preview of {preview.token} cannot be read in its run")
            continue
        pays = preview.account == sender and preview.token in inputs
        slack = said // 10_000 + 1
        fair = said - slack <= -delta <= said if pays else said <= delta <= said + slack
        verb = f"takes {-delta}" if pays else f"pays {delta}"
        expect(fair, f"its run {verb} of {preview.token}, yet {preview.to} previews {said}")


def needs_of(build: Build) -> dict[Address, int]:
    """The balances a build takes from the sender: its ERC-20 inputs and its transactions' native value."""
    needs: dict[Address, int] = {}
    for leg in build.inputs:
        if not leg.token.is_native:
            needs[leg.token.address] = needs.get(leg.token.address, 0) + leg.amount
    value = sum(step.value for step in build.steps)
    if value:
        needs[NATIVE] = value
    return needs


def watched(sealed: SealedQuote, sender: Address) -> list[tuple[Address, Address]]:
    """The (account, token) pairs whose balance a simulation reads before and after."""
    pairs = [(sender, NATIVE)]
    pairs += [(sender, leg.token.address) for leg in sealed.inputs]
    pairs += [
        (leg.account, leg.token.address)
        for leg in sealed.outputs
        if leg.token.chain_id == sealed.request.chain_id
    ]
    return list(dict.fromkeys(pairs))
