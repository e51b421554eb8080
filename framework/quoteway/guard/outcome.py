"""Checks what the ordered run of an action did against its quote.

Only assets that the quote names left the wallet, the recipient got at least the minimum, and no allowance
remains. (``calldata`` checks the bytes.)
"""

from __future__ import annotations

from quoteway import models
from quoteway.errors import Reason, UpstreamError
from quoteway.guard.findings import Expect, totals
from quoteway.providers import Provider
from quoteway.simulation.run import BALANCE_NOT_ASSUMABLE
from quoteway.simulation.trace import Trace


def check_run(
    provider: Provider, sealed: models.SealedQuote, build: models.Build, run: models.Simulation, trace: Trace
) -> None:
    """Checks the run against the quote. Raises ``UnsafeAnswer`` or, when the run reverted or no longer meets
    the minimum, ``UpstreamError`` with reason ``price_moved``."""
    expect, sender = Expect(provider), sealed.request.sender
    if build.is_opaque:
        # Only the run shows what it does. An assumed balance changes nothing about that, a signature does.
        expect(run.status != "skipped", f"its calldata is opaque and its run was skipped ({run.skip_reason})")
        for assumption in run.assumptions:
            expect(
                assumption == "native_balance" or assumption.startswith("balance:"),
                f"its calldata is opaque and its run proves nothing: it assumed {assumption}",
            )
    if run.status == "skipped":
        # A provider must not be able to prevent the run by an input that nobody asked for.
        named = _named_by_caller(sealed.request)
        foreign = any(leg.token.address not in named for leg in sealed.inputs)
        expect(
            run.skip_reason != BALANCE_NOT_ASSUMABLE or not foreign,
            "its run was skipped for an input token that the request does not name",
        )
        return
    if run.status == "reverted":
        # Without quoted amounts (a deployment, a management action) no price can have moved.
        priced = bool(sealed.inputs or sealed.outputs)
        reason = run.revert_reason or "it gives no reason"
        raise UpstreamError(
            f"The transaction would revert on the chain's present state: {reason}."
            + (" Request a new quote." if priced else ""),
            reason=Reason.PRICE_MOVED if priced else Reason.REVERTED,
            retryable=False,
            revert_reason=run.revert_reason or None,
        )

    inputs = totals((leg.token.address, leg.most) for leg in sealed.inputs)
    deltas = {(change.account, change.token): change.delta for change in run.asset_changes}
    expect(
        all((sender, token) in deltas for token in inputs), "its run's effect on the wallet cannot be read"
    )
    for (account, token), delta in deltas.items():
        if account == sender and delta < 0:
            expect(-delta <= inputs[token], f"its run takes {-delta} of {token}, more than quoted")
    for transfer in trace.transfers:
        if transfer.sender == sender and transfer.amount:
            expect(
                transfer.token in inputs,
                f"its run moves {transfer.token}, which is not sold, out of the wallet",
            )
    for item in trace.items:
        kept = item.sender != sender or item.token in inputs
        expect(kept, f"its run moves an item of {item.token} out of the wallet")
    granted = {(spend.token, spend.spender) for spend in build.spends}
    by_permit2 = totals(
        ((spend.token, spend.permit2_spender), spend.amount)
        for spend in build.spends
        if spend.permit2_spender is not None
    )
    for approval in trace.approvals:
        key = (approval.token, approval.spender)
        # A token may log the rest of an earlier allowance; Permit2 logs new grants only.
        if approval.owner == sender and approval.amount and key not in granted:
            expect(approval.amount <= by_permit2[key], f"its run approves {approval.spender}")
    # The price may move between quote and run, and a pool takes liquidity in the proportion that it has: so
    # much of an input, and of its allowance, may remain.
    unspent = totals(
        (leg.token.address, leg.most - (leg.amount if leg.amount_min is None else leg.amount_min))
        for leg in sealed.inputs
    )
    for allowance in run.allowance_changes:
        if allowance.owner == sender:
            expect(
                allowance.after <= max(allowance.before, unspent[allowance.token]),
                f"its run leaves an allowance to {allowance.spender} behind",
            )
    # An outcome must not be worse by one unit than the contract's own preview, read in the same run. It may
    # be better by 1/10,000: EIP-4626 lets a preview round against the caller; one further off proves nothing.
    for preview, said in zip(build.previews, trace.previews, strict=True):
        change = deltas.get((preview.account, preview.token))
        if change is None or said is None:
            expect(False, f"the preview of {preview.token} cannot be read in its run")
            continue
        pays = preview.account == sender and preview.token in inputs
        slack = said // 10_000 + 1
        fair = said - slack <= -change <= said if pays else said <= change <= said + slack
        verb = f"takes {-change}" if pays else f"pays {change}"
        expect(fair, f"its run {verb} of {preview.token}, but {preview.to} previews {said}")
    for leg in sealed.outputs:
        if leg.token.chain_id != sealed.request.chain_id or leg.amount_min is None:
            continue
        # The balance shows the difference only, where one token is paid in and out (fees of a position).
        paid_in = inputs[leg.token.address] if leg.account == sender else 0
        delta = deltas.get((leg.account, leg.token.address), 0) + paid_in
        # When the price moves the contract reverts, since it enforces the minimum. No payment is no price.
        expect(delta > 0 or leg.amount_min == 0, f"its run pays no {leg.token.address} to {leg.account}")
        if delta < leg.amount_min:
            raise UpstreamError(
                "The transaction would pay less than the quoted minimum: request a new quote.",
                reason=Reason.PRICE_MOVED,
                retryable=False,
            )
    if build.is_opaque:
        # It must take exactly what was quoted, and pay every minimum, also one that the upstream raised.
        for token, amount in inputs.items():
            taken = -deltas[sender, token]
            expect(taken == amount, f"its run takes {taken} of {token}, not the {amount} quoted")
        for leg in build.outputs:
            kept = deltas.get((leg.account, leg.token.address), 0) >= (leg.amount_min or 0)
            expect(kept, "its run pays less than the minimum it states")


def _named_by_caller(request: models.Request) -> set[models.Address]:
    match request:
        case models.SwapRequest():
            return {request.token_in.address}
        case models.PoolRequest():
            return {request.asset, models.NATIVE}
        case models.VaultRequest() | models.ManageRequest():
            return {request.asset or models.NATIVE, request.vault_id.partition(":")[2]}
        case models.DeployRequest():
            return set()


def watched(sealed: models.SealedQuote) -> list[tuple[models.Address, models.Address]]:
    """The (account, token) pairs whose balance a simulation reads before and after."""
    sender = sealed.request.sender
    pairs = [(sender, models.NATIVE)]
    pairs += [(sender, leg.token.address) for leg in sealed.inputs]
    pairs += [
        (leg.account, leg.token.address)
        for leg in sealed.outputs
        if leg.token.chain_id == sealed.request.chain_id
    ]
    return list(dict.fromkeys(pairs))
