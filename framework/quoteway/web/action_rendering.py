"""Actions as wire shapes: transactions, the steps beside them, signatures, and the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quoteway.engine.transaction_ids import action_id
from quoteway.models import Action, Argument, DecodedCall, SignatureRequest, Simulation, Step
from quoteway.web.rendering import Wire, approval, beside, block, issue, legs, notice, slug, timestamp

if TYPE_CHECKING:
    from quoteway.engine.building import Spine
    from quoteway.networks import Networks


def quantity(value: int) -> str:
    """A minimal 0x quantity (execution-apis)."""
    return hex(value)


def transaction(step: Step) -> Wire:
    """Exactly four members: more, or a decimal value, breaks wallets (docs: why a transaction has four
    members).
    """
    return {
        "to": step.to,
        "data": "0x" + step.data.hex(),
        "value": quantity(step.value),
        "chainId": step.chain_id,
    }


def action(item: Action, spine: Spine, networks: Networks) -> Wire:
    transactions = [transaction(step) for step in item.steps]
    wire = {
        "actionId": action_id(item),
        "quoteId": item.quote_token,
        "kind": item.capability.value,
        "provider": item.provider,
        "network": slug(networks, item.chain_id),
        "chainId": item.chain_id,
        "from": item.sender,
        "createdAt": timestamp(item.created_at),
        "expiresAt": timestamp(item.expires_at),
        "deadline": item.deadline,
        "transactions": transactions,
        "steps": [_step(item, index, spine) for index in range(len(item.steps))],
        "signatures": [_signature(request) for request in item.signatures],
        # A wallet that sends the calls as they are would send calldata without its signature: none is offered
        # then.
        "walletSendCalls": None if item.signatures else _wallet_send_calls(item, transactions),
        "inputs": legs(item.inputs, networks),
        "outputs": legs(item.outputs, networks),
        "parts": _action_parts(item, networks),
        "simulation": simulation(item.simulation),
        "issues": [issue(found) for found in item.issues],
        "warnings": [notice(found) for found in item.warnings],
    }
    return beside(wire, item.details, networks)


def _action_parts(item: Action, networks: Networks) -> list[Wire] | None:
    """The parts and the indices of their steps; None for one provider's action, which is all its own."""
    if len(item.parts) == 1:
        return None
    parts, at = [], 0
    for part in item.parts:
        parts.append(
            {
                "kind": part.capability.value,
                "provider": part.provider,
                "inputs": legs(part.inputs, networks),
                "outputs": legs(part.outputs, networks),
                "steps": list(range(at, at + part.steps)),
            }
        )
        at += part.steps
    return parts


def _step(item: Action, index: int, spine: Spine) -> Wire:
    step = item.steps[index]
    label = step.target_label or spine.target_label(item, index)
    return {
        "index": index,
        "txId": spine.transaction_id(item, index),
        "kind": step.kind,
        "description": step.description,
        "gasLimit": None if step.gas_limit is None else quantity(step.gas_limit),
        "decoded": decoded_call(step.decoded),
        "approval": approval(step.approval) if step.approval else None,
        "target": {
            "label": label,
            "known": label is not None,
            "codeHash": spine.code_hash(step.chain_id, step.to),
        },
        "clearSigning": {"intent": step.intent, "descriptor": None},
    }


def decoded_call(call: DecodedCall) -> Wire:
    wire: Wire = {"signature": call.signature, "args": [_argument(argument) for argument in call.args]}
    if call.inner:
        wire["inner"] = [decoded_call(inner) for inner in call.inner]
    if call.opaque:
        wire["opaque"] = True
    return wire


def _argument(argument: Argument) -> Wire:
    return {"name": argument.name, "type": argument.type, "value": _value(argument.value)}


def _value(value: Any) -> Any:
    """Integers as decimal strings (JSON readers lose them above 2^53), bytes as 0x hex."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Argument):
        return _argument(value)
    if isinstance(value, Mapping):
        return {str(name): _value(member) for name, member in value.items()}
    return [_value(member) for member in value]


def _signature(request: SignatureRequest) -> Wire:
    return {
        "kind": request.kind,
        "typedData": request.typed_data,
        "appliesTo": {"transaction": request.step, "offset": request.offset, "length": request.length},
    }


def _wallet_send_calls(item: Action, transactions: Sequence[Wire]) -> Wire:
    """The ``wallet_sendCalls`` parameter of EIP-5792, version 2.0.0."""
    return {
        "version": "2.0.0",
        "from": item.sender,
        "chainId": quantity(item.chain_id),
        "atomicRequired": True,
        "calls": [{name: tx[name] for name in ("to", "data", "value")} for tx in transactions],
    }


def simulation(item: Simulation) -> Wire:
    return {
        "status": item.status,
        "block": block(item.block) if item.block else None,
        "gasUsed": str(sum(item.gas_used)) if item.gas_used else None,
        "gasUsedByTransaction": [str(used) for used in item.gas_used],
        "assetChanges": [
            {"account": change.account, "token": change.token, "delta": str(change.delta)}
            for change in item.asset_changes
        ],
        "allowanceChanges": [
            {
                "owner": change.owner,
                "token": change.token,
                "spender": change.spender,
                "before": str(change.before),
                "after": str(change.after),
            }
            for change in item.allowance_changes
        ],
        "revertReason": item.revert_reason,
        "revertedStep": item.reverted_step,
        "skipReason": item.skip_reason,
        "assumptions": list(item.assumptions),
    }
