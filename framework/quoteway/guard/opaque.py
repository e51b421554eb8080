"""Checks calldata that an upstream made and the core cannot decode (``DecodedCall.opaque``).

Only its run shows what it does: there must be a run, and it must do exactly what was quoted. A run shows one
chain, so opaque calldata of a request for another chain is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from quoteway.guard.findings import Expect
from quoteway.models import Address, Build, SealedQuote, Simulation, SwapRequest


def is_opaque(build: Build) -> bool:
    """Whether an upstream made any of the build's calldata."""
    return any(step.decoded.opaque for step in build.steps)


def check_calldata(sealed: SealedQuote, build: Build, expect: Expect) -> None:
    """Checks opaque calldata before its run: one swap on one chain, in one transaction with the minimum in a
    word of its own. (The word does not prove that the contract enforces it.)
    """
    if not is_opaque(build):
        return
    request = sealed.request
    expect(isinstance(request, SwapRequest), "only a swap may have opaque calldata")
    expect(
        isinstance(request, SwapRequest) and not request.is_cross_chain,
        "its calldata for another chain cannot be decoded, and no simulation shows what arrives there",
    )
    expect(len(build.steps) == 1, "opaque calldata must be one single transaction")
    expect(not build.signatures, "opaque calldata must not need a signature")
    data = build.steps[0].data
    words = {int.from_bytes(data[at : at + 32]) for at in range(4, len(data) - 31, 32)}
    for leg in build.outputs:
        expect(bool(leg.amount_min), "opaque calldata needs a minimum above 0")
        expect(leg.amount_min in words, "its opaque calldata does not hold the quoted minimum")


def require_run(run: Simulation, expect: Expect) -> None:
    """Checks that the run proves what the calldata does: an assumed balance changes nothing about that, an
    assumed signature does."""
    expect(run.status != "skipped", f"its calldata is opaque and its run was skipped ({run.skip_reason})")
    for assumption in run.assumptions:
        expect(
            assumption == "native_balance" or assumption.startswith("balance:"),
            f"its calldata is opaque and its run proves nothing: it assumed {assumption}",
        )


def check_run(
    build: Build,
    sender: Address,
    inputs: Mapping[Address, int],
    deltas: Mapping[tuple[Address, Address], int],
    expect: Expect,
) -> None:
    """Checks that the run took exactly ``inputs`` and paid every minimum, also one that the upstream raised.

    ``deltas`` are the changes by (account, token).
    """
    for token, amount in inputs.items():
        taken = -deltas[sender, token]
        expect(taken == amount, f"its run takes {taken} of {token}, not the {amount} quoted")
    for leg in build.outputs:
        kept = deltas.get((leg.account, leg.token.address), 0) >= (leg.amount_min or 0)
        expect(kept, "its run pays less than the minimum it states")
