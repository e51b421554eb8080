"""Calldata that an upstream made (``DecodedCall.opaque``): nobody here vouches for what it means.

Nothing but its run says what it does, so there must be one, and the run must do exactly what was quoted. A
run shows one chain at one moment: what the chain is to enforce later, and what is to arrive on another chain,
has to stand in the calldata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from quoteway.models import Address, Build, SealedQuote, Simulation, SwapRequest

Expect = Callable[[bool, str], None]


def is_opaque(build: Build) -> bool:
    """Whether any of the build's calldata is an upstream's."""
    return any(step.decoded.opaque for step in build.steps)


def check_words(sealed: SealedQuote, build: Build, wrapped_native: Address | None, expect: Expect) -> None:
    """What the calldata must hold before its run is looked at, each in a word of its own: the minimum, and
    where the other end is another chain the recipient, the token and the chain's id.

    That the words stand there does not prove what they are for. Where the provider tells the places in a
    known form of the calldata (``Build.arrivals``), those are compared instead
    (``guard.cross_chain``). ``wrapped_native`` is the other chain's: how bridges write that chain's own coin.
    """
    if not is_opaque(build):
        return
    expect(isinstance(sealed.request, SwapRequest), "only a swap or transfer may have opaque calldata")
    expect(len(build.steps) == 1, "opaque calldata does not come alone")
    expect(not build.signatures, "opaque calldata wants a signature put in")
    data = build.steps[0].data
    words = Counter(int.from_bytes(data[at : at + 32]) for at in range(4, len(data) - 31, 32))
    # Who pays, and in what, stands there too: that must not pass for who is paid, and in what.
    paid_with = {wrapped_native if leg.token.is_native else leg.token.address for leg in sealed.inputs}
    payers = {leg.account for leg in sealed.inputs}
    words.subtract(int(word, 16) for word in paid_with | payers if word is not None)
    for leg in build.outputs:
        expect(bool(leg.amount_min), "opaque calldata cannot be held to a minimum of nothing")
        required = {"the quoted minimum": leg.amount_min or 0}
        if leg.token.chain_id != sealed.request.chain_id:
            if build.arrivals:
                continue
            token = wrapped_native if leg.token.is_native else leg.token.address
            expect(token is not None, "opaque calldata cannot be held to a coin without a wrapped form")
            required["the recipient"] = int(leg.account, 16)
            required["the other chain's id"] = leg.token.chain_id
            required["the token that is to arrive"] = int(token or "0", 16)
        for what, word in required.items():
            expect(words[word] > 0, f"its opaque calldata does not hold {what}")
            words[word] -= 1


def require_run(run: Simulation, expect: Expect) -> None:
    """There is a run, and it proves something: a balance that the wallet is yet to get changes nothing about
    what the calldata does, a signature taken for good does."""
    expect(run.status != "skipped", f"its calldata is opaque and its run was skipped ({run.skip_reason})")
    for assumption in run.assumptions:
        expect(
            assumption == "native_balance" or assumption.startswith("balance:"),
            f"its calldata is opaque and its run proves nothing: it assumed {assumption}",
        )


def check_run(
    sealed: SealedQuote,
    build: Build,
    sender: Address,
    inputs: Mapping[Address, int],
    deltas: Mapping[tuple[Address, Address], int],
    expect: Expect,
) -> None:
    """A successful run took exactly ``inputs`` and paid every minimum, also one that the upstream raised.

    ``deltas`` by (account, token) is what the run changed.
    """
    for token, amount in inputs.items():
        taken = -deltas[sender, token]
        expect(taken == amount, f"its run takes {taken} of {token}, not the {amount} quoted")
    for leg in build.outputs:
        if leg.token.chain_id == sealed.request.chain_id:
            kept = deltas.get((leg.account, leg.token.address), 0) >= (leg.amount_min or 0)
            expect(kept, "its run pays less than the minimum it states")
