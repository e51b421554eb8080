"""Checks what the ordered run of an action did against its quote.

Only assets that the quote names left the wallet, the recipient got at least the minimum, and no allowance
remains. (``calldata`` checks the bytes.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quoteway import models
from quoteway.errors import Reason, UpstreamError
from quoteway.evm.address import address_bytes
from quoteway.guard.findings import Expect, QuoteMismatch, previewed_legs, totals
from quoteway.guard.routes import check_swaps
from quoteway.providers import Provider
from quoteway.simulation.run import BALANCE_NOT_ASSUMABLE
from quoteway.simulation.trace import Trace

_ADDRESS_CHARS = 42
"""The length of the id of a pool that is a contract; others have 32 bytes."""
_GROWN_BPS = 50
"""By how much fees may raise what a position pays between its quote and its action, at any slippage."""


def check_run(
    provider: Provider,
    sealed: models.SealedQuote,
    build: models.Build,
    run: models.Simulation,
    trace: Trace,
    *,
    opaque: bool = False,
) -> None:
    """Checks the run against the quote and the build, whose legs the signer reads; of ``opaque`` calldata the
    run alone shows what it does.

    Raises ``UnsafeAnswer``. A run at the quote's own block takes and pays the quoted amounts to the unit:
    else raises ``QuoteMismatch``, or ``UpstreamError`` with reason ``reverted``. At another block, a run that
    reverts or no longer meets the minimum raises ``UpstreamError`` with reason ``price_moved``.
    """
    expect, sender = Expect(provider), sealed.request.sender
    exact = run.block is not None and run.block.hash == sealed.block.hash and not sealed.is_estimate
    if opaque:
        # An assumed balance changes nothing about what the run proves, a signature does.
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
        # The price of a vault may move by the time between its block and the run's.
        fixed = exact and not isinstance(sealed.request, models.VaultRequest)
        priced = bool(sealed.inputs or sealed.outputs) and not fixed
        reason = run.revert_reason or "it gives no reason"
        raise UpstreamError(
            f"The transaction would revert on the chain's present state: {reason}."
            + (" Request a new quote." if priced else ""),
            reason=Reason.PRICE_MOVED if priced else Reason.REVERTED,
            retryable=False,
            revert_reason=run.revert_reason or None,
        )

    inputs = totals((leg.token.address, leg.most) for leg in build.inputs)
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
    check_swaps(provider, sealed, trace)
    if isinstance(sealed.request, models.PoolRequest):
        # A position manager's call has the tokens and the fee, or only the position: not the pool itself.
        pool = sealed.request.pool_id.partition(":")[2].lower()
        used = {account.lower() for each in trace.transfers for account in (each.sender, each.recipient)}
        expect(len(pool) != _ADDRESS_CHARS or pool in used, f"its run does not use the pool {pool}")
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
    # An exact output takes any part of its maximum.
    exact_out = _is_exact_output(sealed.request)
    unspent = totals(
        (leg.token.address, leg.most - (_least(leg) if not exact_out else 0)) for leg in sealed.inputs
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
        for leg in previewed_legs(sealed, build):
            if (leg.account, leg.token.address) == (preview.account, preview.token):
                stated = abs(leg.amount - said) <= slack
                expect(stated, f"it states {leg.amount} of {preview.token}, but {preview.to} previews {said}")

    def paid(leg: models.Leg) -> int:
        # The balance shows the difference only, where one token is paid in and out (fees of a position).
        paid_in = inputs[leg.token.address] if leg.account == sender else 0
        return deltas.get((leg.account, leg.token.address), 0) + paid_in

    if isinstance(build.terms, models.DeploymentTerms):
        deployed = trace.returned[-1][-20:] if trace.returned else b""
        same = deployed == address_bytes(build.terms.predicted_address)
        expect(same, "its run deploys at another address than predicted")
    _check_fee(sealed, deltas, paid, expect)
    falls_short, own = False, sealed.request.chain_id
    for leg in sealed.outputs:
        if leg.token.chain_id != own or leg.amount_min is None:
            continue
        # When the price moves the contract reverts, since it enforces the minimum. No payment is no price.
        expect(paid(leg) > 0 or leg.amount_min == 0, f"its run pays no {leg.token.address} to {leg.account}")
        falls_short = falls_short or paid(leg) < leg.amount_min
    if exact:
        for (account, token), quoted in _exact_deltas(sealed, build).items():
            ran = deltas.get((account, token), 0)
            if ran != quoted:
                text = f"its run changes what {account} has of {token} by {ran}, not by {quoted}"
                raise QuoteMismatch(provider.id, text)
    if falls_short or _removes_more(sealed, paid):
        what = "pay less than the quoted minimum" if falls_short else "remove more than quoted"
        raise UpstreamError(
            f"The transaction would {what}: request a new quote.",
            reason=Reason.PRICE_MOVED,
            retryable=False,
        )
    for leg in build.outputs:  # also a minimum that an upstream raised
        kept = leg.token.chain_id != own or paid(leg) >= (leg.amount_min or 0)
        expect(kept, "its run pays less than the minimum it states")
    if opaque:
        for token, amount in inputs.items():
            taken = -deltas[sender, token]
            expect(taken == amount, f"its run takes {taken} of {token}, not the {amount} quoted")


def check_revocation(owner: models.Address, run: models.Simulation, trace: Trace) -> None:
    """Checks that a run ended allowances of ``owner`` and did nothing else: a token may be hostile.

    Raises ``UpstreamError``: ``reverted``, or ``unsafe_answer`` when something leaves the wallet or an
    allowance is left or made.
    """
    if run.status == "reverted":
        reason = run.revert_reason or "it gives no reason"
        text = f"The transaction would revert on the chain's present state: {reason}."
        raise UpstreamError(text, reason=Reason.REVERTED, retryable=False)
    taken = any(moved.sender == owner and moved.amount for moved in (*trace.transfers, *trace.items))
    made = any(event.owner == owner and event.amount for event in trace.approvals)
    left = any(change.after for change in run.allowance_changes)
    if taken or made or left:
        did = "moves something out of the wallet" if taken else "leaves or makes an allowance"
        text = f"The revocation is refused: in its simulation, one of the tokens {did}."
        raise UpstreamError(text, reason=Reason.UNSAFE_ANSWER, retryable=False)


def _check_fee(
    sealed: models.SealedQuote,
    deltas: Mapping[tuple[models.Address, models.Address], int],
    paid: Callable[[models.Leg], int],
    expect: Expect,
) -> None:
    """Checks that the fee's recipient gets the share of what is bought that was asked for, or beside an exact
    output the amount of what is sold that was quoted."""
    fee_leg = _fee_leg(sealed)
    if fee_leg is None or not isinstance(sealed.request, models.SwapRequest) or sealed.request.fee is None:
        return
    (got,), fee = sealed.outputs, sealed.request.fee
    taken = deltas.get((fee_leg.account, fee_leg.token.address), 0)
    due = fee_leg.amount if _is_exact_output(sealed.request) else fee.of(paid(got) + taken)
    expect(taken == due, f"its run pays {fee.recipient} a fee of {taken}, not the {due} of feeBps")


def _fee_leg(sealed: models.SealedQuote) -> models.Leg | None:
    """Returns what the integrator's fee takes, and who gets it; None without a fee.

    It is in the token bought, of an exact output in the token sold.
    """
    request = sealed.request
    if not isinstance(request, models.SwapRequest) or request.fee is None or sealed.fee_amount is None:
        return None
    token = request.token_in if _is_exact_output(request) else request.token_out
    return models.Leg(token, sealed.fee_amount, request.fee.recipient)


def _is_exact_output(request: models.Request) -> bool:
    return isinstance(request, models.SwapRequest) and request.amount_out is not None


def _least(leg: models.Leg) -> int:
    return leg.amount if leg.amount_min is None else leg.amount_min


def _exact_deltas(
    sealed: models.SealedQuote, build: models.Build
) -> Mapping[tuple[models.Address, models.Address], int]:
    """Returns the quoted change of each (account, token) on the request's chain.

    Without those of a vault that the build's previews cover: a vault may pay more each second. The run reads
    them itself, in its own block.
    """
    legs = [(leg, -leg.amount) for leg in sealed.inputs]
    legs += [(leg, leg.amount) for leg in sealed.outputs if leg.token.chain_id == sealed.request.chain_id]
    if (fee_leg := _fee_leg(sealed)) is not None:
        legs.append((fee_leg, fee_leg.amount))
    quoted = totals(((leg.account, leg.token.address), amount) for leg, amount in legs)
    if isinstance(sealed.request, models.VaultRequest):
        for preview in build.previews:
            quoted.pop((preview.account, preview.token), None)
    return quoted


def _removes_more(sealed: models.SealedQuote, paid: Callable[[models.Leg], int]) -> bool:
    """Whether more liquidity than quoted is removed, which no calldata bounds from above: another account may
    get it. A price moves the two amounts in opposite directions, so then both are higher."""
    request = sealed.request
    if not isinstance(request, models.PoolRequest) or request.action != "remove" or request.amount is None:
        return False
    most = 10_000 + max(request.slippage_bps, _GROWN_BPS)
    legs = [leg for leg in sealed.outputs if leg.amount]
    return bool(legs) and all(paid(leg) * 10_000 > leg.amount * most for leg in legs)


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
    if (fee_leg := _fee_leg(sealed)) is not None:
        pairs.append((fee_leg.account, fee_leg.token.address))
    return list(dict.fromkeys(pairs))
