"""The ordered run of an action on the chain's state: asset and allowance deltas, gas, logs.

One ``eth_simulateV1`` round trip runs [reads, transaction 1..n, reads]; where several providers have a part
in the action, there are reads between the parts too, so that each answers for what its own transactions did.
What the wallet lacks is overridden and named in ``Simulation.assumptions``; allowances are never assumed,
since the approval transactions are part of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quoteway.errors import RpcError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import event_topic
from quoteway.evm.address import ERC7528_NATIVE, checksum
from quoteway.evm.assumed_balance import assume_balance
from quoteway.evm.batch import outputs, program
from quoteway.evm.chain import Log, RpcChain, SimulatedCall, SimulatedResult, SimulationUnsupported
from quoteway.evm.reverts import revert_reason
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Address,
    AllowanceChange,
    AssetChange,
    Block,
    Call,
    NativeBalance,
    Preview,
    Read,
    Simulation,
    Step,
)

MAX_TRANSACTION_GAS = 1 << 24
"""EIP-7825: a transaction with a higher gas limit is invalid."""

# The code of the sender while it stands in for a signer: it answers every call with the call's own
# selector. For isValidSignature(bytes32,bytes) that is ERC-1271's magic value 0x1626ba7e, so Permit2 takes
# a placeholder signature; the receiver hooks of ERC-721 and ERC-1155 want their selector too; plain
# payments are accepted.
_SIGNER_CODE = "0x60003560e01c60e01b60005260206000f3"

# geth: insufficient funds for transfer; anvil: insufficient funds for gas * price + value.
_INSUFFICIENT_FUNDS = (-38014, -32003)

_PERMIT2_APPROVAL = event_topic("Approval(address,address,address,uint160,uint48)")
_PERMIT2_PERMIT = event_topic("Permit(address,address,address,uint160,uint48,uint48)")
BALANCE_NOT_ASSUMABLE = "balance_not_assumable"
_PREVIEW_GAS = 10_000_000
_ITEM_MOVED = event_topic("TransferSingle(address,address,address,uint256,uint256)")
_ITEMS_MOVED = event_topic("TransferBatch(address,address,address,uint256[],uint256[])")
_SHARE_MOVED = event_topic("Transfer(address,address,address,uint256,uint256)")
_SHARE_APPROVAL = event_topic("Approval(address,address,uint256,uint256)")
_OPERATOR_SET = event_topic("OperatorSet(address,address,bool)")
_APPROVAL_FOR_ALL = event_topic("ApprovalForAll(address,address,bool)")


@dataclass(frozen=True, slots=True)
class Transfer:
    """A movement seen in the run, by its log; ``NATIVE``: the chain's coin. ERC-721 tokens count as 1."""

    step: int
    token: Address
    sender: Address
    recipient: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Granted:
    """An approval seen in the run, by its log: ERC-20, ERC-721, operator, or through Permit2."""

    step: int
    token: Address
    owner: Address
    spender: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What the logs of a run say, in order; ``step`` is the transaction's index.

    ``items`` are movements of what one contract keeps many kinds of (ERC-1155, ERC-6909), each counted as 1.
    ``previews`` are the answers to the build's previews, read before the first transaction; None: no answer.
    """

    transfers: tuple[Transfer, ...] = ()
    approvals: tuple[Granted, ...] = ()
    previews: tuple[int | None, ...] = ()
    items: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Transactions that belong together, and what the contracts are asked just before the first of them."""

    steps: Sequence[Step]
    previews: Sequence[Preview] = ()


@dataclass(frozen=True, slots=True)
class Ran:
    """What one stretch of the run did."""

    simulation: Simulation
    trace: Trace


@dataclass(frozen=True, slots=True)
class Run:
    """The run as a whole, and each stretch of it.

    ``gas_limits`` has one entry per transaction: None where not known.
    """

    whole: Simulation
    gas_limits: tuple[int | None, ...]
    stretches: tuple[Ran, ...]


async def simulate(
    chain: RpcChain,
    block: Block,
    sender: Address,
    stretches: Sequence[Stretch],
    *,
    watch: Sequence[tuple[Address, Address]] = (),
    allowances: Sequence[tuple[Address, Address, Address]] = (),
    needs: Mapping[Address, int] | None = None,
    signatures_assumed: bool = False,
) -> Run:
    """Runs the stretches in order, sent by ``sender``, on the state after ``block``.

    ``watch`` lists (account, token) pairs, ``NATIVE`` included, whose balance change is wanted;
    ``allowances`` (token, owner, spender). Previews are answered in ``Trace.previews``. ``needs`` are
    balances the sender lacks and is assumed to hold. ``signatures_assumed`` makes contracts accept any
    signature of the sender. Raises ``UpstreamError`` when no node answers.
    """
    needs = needs or {}
    reads = _reads(sender, watch, allowances, needs, [p for stretch in stretches for p in stretch.previews])
    assumed = await _assume(chain, block, sender, needs, signatures_assumed)
    if assumed is None:
        return _without_run(Simulation("skipped", block, skip_reason=BALANCE_NOT_ASSUMABLE), stretches)
    overrides, assumptions = assumed
    overrides[_reader()] = {"code": "0x" + program(list(reads.values())).hex()}
    read = SimulatedCall(NATIVE, _reader(), b"")
    calls = [read]
    for stretch in stretches:
        calls += [SimulatedCall(sender, step.to, step.data, step.value) for step in stretch.steps]
        calls.append(read)
    whole = Simulation("success", block, assumptions=assumptions)
    try:
        results = iter(await chain.simulate(calls, block=block, overrides=overrides))
    except SimulationUnsupported as error:
        skipped = replace(whole, status="skipped", assumptions=(), skip_reason=error.reason)
        return _without_run(skipped, stretches)
    except RpcError as error:
        if error.rpc_code not in _INSUFFICIENT_FUNDS:
            raise
        reason = "the sender has not enough of the native coin"
        return _without_run(replace(whole, status="reverted", revert_reason=reason), stretches)
    first = before = _values(reads, next(results))
    for token, amount in needs.items():
        if first.get(("balance", token, sender), amount) < amount:
            # The remembered slot no longer holds balances (an upgraded proxy): look for it anew next time.
            chain.balance_slots.pop(token, None)
            return _without_run(Simulation("skipped", block, skip_reason=BALANCE_NOT_ASSUMABLE), stretches)
    ran: list[Ran] = []
    executed: list[SimulatedResult] = []
    for stretch in stretches:
        own = [next(results) for _ in stretch.steps]
        after = _values(reads, next(results))
        failed = next((index for index, result in enumerate(own) if not result.ok), None)
        if failed is not None and whole.status == "success":
            whole = replace(
                whole,
                status="reverted",
                reverted_step=len(executed) + failed,
                revert_reason=revert_reason(own[failed].output),
            )
        trace = replace(
            trace_of([result.logs for result in own]),
            previews=tuple(before.get(_preview_key(preview)) for preview in stretch.previews),
        )
        part = replace(whole, gas_used=tuple(result.gas_used for result in own))
        if part.status == "success":
            part = _with_changes(part, watch, allowances, before, after)
        ran.append(Ran(part, trace))
        executed += own
        before = after
    whole = replace(whole, gas_used=tuple(result.gas_used for result in executed))
    if whole.status == "reverted":
        return Run(whole, (None,) * len(executed), tuple(ran))
    whole = _with_changes(whole, watch, allowances, first, before)
    return Run(whole, tuple(gas_limit(result) for result in executed), tuple(ran))


def _without_run(simulation: Simulation, stretches: Sequence[Stretch]) -> Run:
    """What is known of every stretch when there was no run."""
    steps = sum(len(stretch.steps) for stretch in stretches)
    return Run(simulation, (None,) * steps, tuple(Ran(simulation, Trace()) for _ in stretches))


def _with_changes(
    simulation: Simulation,
    watch: Iterable[tuple[Address, Address]],
    allowances: Iterable[tuple[Address, Address, Address]],
    was: Mapping[_Key, int],
    became: Mapping[_Key, int],
) -> Simulation:
    return replace(
        simulation,
        asset_changes=_asset_changes(watch, was, became),
        allowance_changes=_allowance_changes(allowances, was, became),
    )


def gas_limit(result: SimulatedResult) -> int:
    """A limit under which the transaction runs as simulated, with 20 % for state that moves meanwhile.

    The gas used is net of refunds, but the limit must cover them: they are at most a fifth of the whole
    (EIP-3529), so where the node does not tell the peak it is taken as 5/4 of the gas used.
    """
    peak = result.peak_gas if result.peak_gas is not None else -(-result.gas_used * 5 // 4)
    limit = peak * 6 // 5
    return max(min(limit, MAX_TRANSACTION_GAS), result.gas_used)


def _reader() -> Address:
    """Where the code of the reads is put: an address that nobody has."""
    return checksum("0x" + event_topic("quoteway.simulation.run.reader")[-40:])


# --- reads -------------------------------------------------------------------------------------------------

_Key = tuple[str, Address, Address] | tuple[str, Address, Address, Address]


def _reads(
    sender: Address,
    watch: Iterable[tuple[Address, Address]],
    allowances: Iterable[tuple[Address, Address, Address]],
    needs: Iterable[Address],
    previews: Iterable[Preview],
) -> dict[_Key, Read]:
    reads: dict[_Key, Read] = {}
    for account, token in (*watch, *((sender, token) for token in needs)):
        data = erc20.BALANCE_OF.encode([account])
        reads["balance", token, account] = NativeBalance(account) if token == NATIVE else Call(token, data)
    for token, owner, spender in allowances:
        reads["allowance", token, owner, spender] = Call(token, erc20.ALLOWANCE.encode([owner, spender]))
    for preview in previews:
        # A vault of vaults asks all of them.
        reads[_preview_key(preview)] = Call(preview.to, preview.data, gas=_PREVIEW_GAS)
    return reads


def _preview_key(preview: Preview) -> _Key:
    return "preview", preview.to, preview.data.hex()


def _values(reads: Mapping[_Key, Read], result: SimulatedResult) -> dict[_Key, int]:
    """What could be read; a token that does not answer is absent."""
    if not result.ok:
        return {}
    try:
        found = outputs(list(reads.values()), result.output)
    except ValueError:
        return {}
    words = {key: erc20.word(output) for key, output in zip(reads, found, strict=True)}
    return {key: value for key, value in words.items() if value is not None}


def _asset_changes(
    watch: Iterable[tuple[Address, Address]], was: Mapping[_Key, int], became: Mapping[_Key, int]
) -> tuple[AssetChange, ...]:
    changes = []
    for account, token in dict.fromkeys(watch):
        key: _Key = ("balance", token, account)
        if key in was and key in became:
            changes.append(AssetChange(account, token, became[key] - was[key]))
    return tuple(changes)


def _allowance_changes(
    allowances: Iterable[tuple[Address, Address, Address]],
    was: Mapping[_Key, int],
    became: Mapping[_Key, int],
) -> tuple[AllowanceChange, ...]:
    changes = []
    for token, owner, spender in dict.fromkeys(allowances):
        key: _Key = ("allowance", token, owner, spender)
        if key in was and key in became:
            changes.append(AllowanceChange(owner, token, spender, was[key], became[key]))
    return tuple(changes)


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


# --- logs --------------------------------------------------------------------------------------------------


def trace_of(logs: Sequence[Sequence[Log]]) -> Trace:
    """What the logs of transactions, one list each and in order, say of tokens and allowances."""
    transfers, approvals, items = [], [], []
    for step, entries in enumerate(logs):
        for entry in entries:
            words = _words(entry)
            topic = entry.topics[0] if entry.topics else ""
            if topic == erc20.TRANSFER_EVENT and len(words) >= 3:
                token = NATIVE if entry.address == ERC7528_NATIVE else entry.address
                amount = 1 if len(entry.topics) == 4 else words[2]
                transfers.append(Transfer(step, token, _account(words[0]), _account(words[1]), amount))
            elif topic == erc20.APPROVAL_EVENT and len(words) >= 3:
                # ERC-721 has the token's id where ERC-20 has the amount, and approves nobody to revoke.
                amount = int(words[1] != 0) if len(entry.topics) == 4 else words[2]
                approvals.append(Granted(step, entry.address, _account(words[0]), _account(words[1]), amount))
            elif topic in (_ITEM_MOVED, _ITEMS_MOVED) and len(words) >= 3:  # words[0]: the operator
                items.append(Transfer(step, entry.address, _account(words[1]), _account(words[2]), 1))
            elif topic == _SHARE_MOVED and len(words) >= 3:
                items.append(Transfer(step, entry.address, _account(words[0]), _account(words[1]), 1))
            elif topic == _SHARE_APPROVAL and len(words) >= 4:
                approvals.append(
                    Granted(step, entry.address, _account(words[0]), _account(words[1]), words[3])
                )
            elif topic in (_APPROVAL_FOR_ALL, _OPERATOR_SET) and len(words) >= 3:
                amount = MAX_UINT256 if words[2] else 0
                approvals.append(Granted(step, entry.address, _account(words[0]), _account(words[1]), amount))
            elif topic in (_PERMIT2_APPROVAL, _PERMIT2_PERMIT) and entry.address == permit2.ADDRESS:
                owner, token, spender = (_account(word) for word in words[:3])
                approvals.append(Granted(step, token, owner, spender, words[3]))
    return Trace(tuple(transfers), tuple(approvals), items=tuple(items))


def _words(entry: Log) -> list[int]:
    """The event's arguments in order: contracts differ in which of them they index."""
    data = [int.from_bytes(entry.data[at : at + 32], "big") for at in range(0, len(entry.data) - 31, 32)]
    return [int(topic, 16) for topic in entry.topics[1:]] + data


def _account(value: int) -> Address:
    return checksum(f"0x{value & ((1 << 160) - 1):040x}")
