"""The ordered run of an action on the chain's state: asset and allowance deltas, gas, logs.

One ``eth_simulateV1`` request runs [clearing calls, reads, transaction 1..n, reads]. When several providers
have a part in the action there are reads between the parts too, so that each part is judged by its own
transactions. Balances that the wallet lacks are overridden and named in ``Simulation.assumptions``.
Allowances are never assumed: the approval transactions are part of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from quoteway import models
from quoteway.errors import RpcError
from quoteway.evm import erc20
from quoteway.evm.address import unused_address
from quoteway.evm.assumed_balance import assume_balance
from quoteway.evm.batch import outputs, program
from quoteway.evm.calls.meaning import CLEARER
from quoteway.evm.chain import RpcChain, SimulatedCall, SimulatedResult, SimulationUnsupported
from quoteway.evm.reverts import revert_reason
from quoteway.models import NATIVE, Address, Block, Call, Preview, Read, Simulation, Step
from quoteway.simulation.trace import Trace, trace_of
from quoteway.spans import span

MAX_TRANSACTION_GAS = 1 << 24
"""EIP-7825: a transaction with a higher gas limit is invalid."""
FIRST_USE_GAS = 17_100
"""What it costs more to fill an empty storage slot than to change a filled one: 20,000 against 2,900
(EIP-2200, EIP-2929)."""

# Code for the sender when signatures are assumed: it returns the selector of every call. For
# isValidSignature(bytes32,bytes) that is ERC-1271's magic value 0x1626ba7e, so Permit2 accepts a placeholder
# signature; the receiver hooks of ERC-721 and ERC-1155 expect their selector too; payments are accepted.
_SIGNER_CODE = "0x60003560e01c60e01b60005260206000f3"

# geth: insufficient funds for transfer; anvil: insufficient funds for gas * price + value.
_INSUFFICIENT_FUNDS = (-38014, -32003)

BALANCE_NOT_ASSUMABLE = "balance_not_assumable"
_PREVIEW_GAS = 10_000_000
_CLEARING_GAS = 300_000
"""Enough for one transfer of a token; a hostile token must not use up the block's gas."""
MAX_CLEARING = 64
"""The maximum number of clearing calls in a run: a swap passes through fewer tokens and pairs."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Transactions of one provider, and the previews read just before the first of them."""

    steps: Sequence[Step]
    previews: Sequence[Preview] = ()


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """What one segment of the run did."""

    simulation: Simulation
    trace: Trace


@dataclass(frozen=True, slots=True)
class Run:
    """The whole run and its segments. ``gas_limits`` has one entry per transaction: None where not known."""

    whole: Simulation
    gas_limits: tuple[int | None, ...]
    segments: tuple[SegmentResult, ...]


async def simulate(
    chain: RpcChain,
    block: Block,
    sender: Address,
    segments: Sequence[Segment],
    *,
    watch: Sequence[tuple[Address, Address]] = (),
    allowances: Sequence[tuple[Address, Address, Address]] = (),
    needs: Mapping[Address, int] | None = None,
    signatures_assumed: bool = False,
    clearing: Iterable[tuple[Address, bytes]] = (),
) -> Run:
    """Runs the segments in order, sent by ``sender``, in the block after ``block``.

    ``watch`` lists (account, token) pairs, ``NATIVE`` included, whose balance change is wanted;
    ``allowances`` (token, owner, spender). Previews are answered in ``Trace.previews``. ``needs`` are
    balances the sender lacks and is assumed to hold. ``signatures_assumed`` makes contracts accept any
    signature of the sender. ``clearing`` are calls (to, calldata) of ``CLEARER`` before the first read and
    transaction, which may fail: they take out of contracts what others left there, so that the run shows what
    the sender gets without it. Raises ``UpstreamError`` when no node answers.
    """
    count = sum(len(segment.steps) for segment in segments)
    with span("simulation", f"{count} transactions on {chain.network.slug}") as timed:
        run = await _run(
            chain, block, sender, segments, watch, allowances, needs or {}, signatures_assumed, clearing
        )
        if timed is not None:
            timed.outcome = run.whole.status
        return run


async def _run(
    chain: RpcChain,
    block: Block,
    sender: Address,
    segments: Sequence[Segment],
    watch: Sequence[tuple[Address, Address]],
    allowances: Sequence[tuple[Address, Address, Address]],
    needs: Mapping[Address, int],
    signatures_assumed: bool,
    clearing: Iterable[tuple[Address, bytes]],
) -> Run:
    needed = [(sender, token) for token in needs]
    reads: dict[Read, None] = dict.fromkeys(
        [
            *(erc20.balance_read(account, token) for account, token in (*watch, *needed)),
            *(erc20.allowance_read(*grant) for grant in allowances),
            *(_preview(preview) for segment in segments for preview in segment.previews),
        ]
    )
    assumed = await _assume(chain, block, sender, needs, signatures_assumed)
    if assumed is None:
        return _without_run(Simulation("skipped", block, skip_reason=BALANCE_NOT_ASSUMABLE), segments)
    overrides, assumptions = assumed
    reader = unused_address("quoteway.simulation.run.reader")
    overrides[reader] = {"code": "0x" + program(list(reads)).hex()}
    read = SimulatedCall(NATIVE, reader, b"")
    first_calls = islice(dict.fromkeys(clearing), MAX_CLEARING)
    cleared = [SimulatedCall(CLEARER, to, data, 0, _CLEARING_GAS) for to, data in first_calls]
    calls = [*cleared, read]
    for segment in segments:
        calls += [SimulatedCall(sender, step.to, step.data, step.value) for step in segment.steps]
        calls.append(read)
    whole = Simulation("success", block, assumptions=assumptions)
    try:
        results = iter((await chain.simulate(calls, block=block, overrides=overrides))[len(cleared) :])
    except SimulationUnsupported as error:
        skipped = replace(whole, status="skipped", assumptions=(), skip_reason=error.reason)
        return _without_run(skipped, segments)
    except RpcError as error:
        if error.rpc_code not in _INSUFFICIENT_FUNDS:
            raise
        reason = "the sender has not enough of the native coin"
        return _without_run(replace(whole, status="reverted", revert_reason=reason), segments)
    first = before = _values(reads, next(results))
    for token, amount in needs.items():
        if first.get(erc20.balance_read(sender, token), amount) < amount:
            # The cached slot no longer holds balances (an upgraded proxy): search it again next time.
            chain.balance_slots.pop(token, None)
            return _without_run(Simulation("skipped", block, skip_reason=BALANCE_NOT_ASSUMABLE), segments)
    ran: list[SegmentResult] = []
    executed: list[SimulatedResult] = []
    limits: list[int | None] = []
    for segment in segments:
        own = [next(results) for _ in segment.steps]
        after = _values(reads, next(results))
        failed = next((index for index, result in enumerate(own) if not result.ok), None)
        if failed is not None and whole.status == "success":
            step, reason = len(executed) + failed, revert_reason(own[failed].output)
            whole = replace(whole, status="reverted", reverted_step=step, revert_reason=reason)
        previews = tuple(before.get(_preview(preview)) for preview in segment.previews)
        returned = tuple(result.output for result in own)
        trace = replace(trace_of([result.logs for result in own]), previews=previews, returned=returned)
        limits += [gas_limit(result, trace.slots_raised(index)) for index, result in enumerate(own)]
        part = replace(whole, gas_used=tuple(result.gas_used for result in own))
        if part.status == "success":
            part = _with_changes(part, watch, allowances, before, after)
        ran.append(SegmentResult(part, trace))
        executed += own
        before = after
    whole = replace(whole, gas_used=tuple(result.gas_used for result in executed))
    if whole.status == "reverted":
        return Run(whole, (None,) * len(executed), tuple(ran))
    # Of a single segment, the changes are those of the whole.
    whole = ran[0].simulation if len(ran) == 1 else _with_changes(whole, watch, allowances, first, before)
    return Run(whole, tuple(limits), tuple(ran))


def _without_run(simulation: Simulation, segments: Sequence[Segment]) -> Run:
    """The result when there was no run."""
    steps = sum(len(segment.steps) for segment in segments)
    return Run(simulation, (None,) * steps, tuple(SegmentResult(simulation, Trace()) for _ in segments))


def _with_changes(
    simulation: Simulation,
    watch: Iterable[tuple[Address, Address]],
    allowances: Iterable[tuple[Address, Address, Address]],
    was: Mapping[Read, int],
    became: Mapping[Read, int],
) -> Simulation:
    assets, grants = [], []
    for account, token in dict.fromkeys(watch):
        read = erc20.balance_read(account, token)
        if read in was and read in became:
            assets.append(models.AssetChange(account, token, became[read] - was[read]))
    for token, owner, spender in dict.fromkeys(allowances):
        read = erc20.allowance_read(token, owner, spender)
        if read in was and read in became:
            grants.append(models.AllowanceChange(owner, token, spender, was[read], became[read]))
    return replace(simulation, asset_changes=tuple(assets), allowance_changes=tuple(grants))


def gas_limit(result: SimulatedResult, slots_raised: int) -> int:
    """A limit for the transaction on a state in which other slots are empty than in the run, plus 10 %.

    Each balance and allowance that it raises may be empty when it executes: the recipient may spend what it
    has, an allowance may be used or revoked. Filled slots cost less, so this also covers these.

    The gas used is net of refunds, but the limit must cover them: they are at most a fifth of the whole
    (EIP-3529), so 5/4 of the gas used stands for a peak that the node does not report.
    """
    peak = result.peak_gas if result.peak_gas is not None else -(-result.gas_used * 5 // 4)
    limit = (peak + slots_raised * FIRST_USE_GAS) * 11 // 10
    return max(min(limit, MAX_TRANSACTION_GAS), result.gas_used)


# --- reads -------------------------------------------------------------------------------------------------


def _preview(preview: Preview) -> Read:
    return Call(preview.to, preview.data, gas=_PREVIEW_GAS)  # a vault of vaults reads all of them


def _values(reads: Iterable[Read], result: SimulatedResult) -> dict[Read, int]:
    """The values by read, without those that could not be read."""
    if not result.ok:
        return {}
    try:
        found = outputs(list(reads), result.output)
    except ValueError:
        return {}
    words = {read: erc20.word(output) for read, output in zip(reads, found, strict=True)}
    return {read: value for read, value in words.items() if value is not None}


# --- assumptions -------------------------------------------------------------------------------------------


async def _assume(
    chain: RpcChain, block: Block, sender: Address, needs: Mapping[Address, int], signatures_assumed: bool
) -> tuple[dict[Address, dict[str, Any]], tuple[str, ...]] | None:
    """The overrides and their names; None when a balance cannot be assumed."""
    overrides: dict[Address, dict[str, Any]] = {}
    names = []
    for token, amount in needs.items():
        if token == NATIVE:
            overrides.setdefault(sender, {})["balance"] = hex(amount)
            names.append("native_balance")
            continue
        found = await assume_balance(chain, token, sender, amount, block)
        if found is None:
            return None
        for address, override in found.items():
            overrides.setdefault(address, {}).setdefault("stateDiff", {}).update(override["stateDiff"])
        names.append(f"balance:{token}")
    if signatures_assumed:
        overrides.setdefault(sender, {})["code"] = _SIGNER_CODE
        names.append("permit2_signature")
    return overrides, tuple(names)
