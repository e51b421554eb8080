"""What ``quoteway verify-action`` does: checks a saved action against the gateway's public keys, offline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from quoteway import models
from quoteway.config.bounded_file import UnreadableFile
from quoteway.config.model import Config
from quoteway.engine.action_signatures import SignatureRefused, signed_claims
from quoteway.engine.gateway import Gateway
from quoteway.engine.quote_tokens import action_id
from quoteway.evm.abi import from_json, reencode
from quoteway.evm.address import parse_address
from quoteway.server.doctor import loaded
from quoteway.server.json_file import read_json
from quoteway.web.wire.actions import Decoded

MAX_ACTION_BYTES = 8 * 1024 * 1024
MAX_KEYS_BYTES = 256 * 1024


class CannotVerify(Exception):  # noqa: N818 - says why
    """A file cannot be read, or is no signed action."""


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    pass


class _Argument(_Wire, frozen=True):
    name: str
    type: str
    value: Any


class _Decoded(_Wire, frozen=True):
    signature: str
    args: tuple[_Argument, ...]
    opaque: bool = False


class _ClearSigning(_Wire, frozen=True):
    intent: str


class _Step(_Wire, frozen=True):
    index: int
    decoded: _Decoded
    clear_signing: _ClearSigning


class _Call(_Wire, frozen=True):
    to: str
    data: str
    value: str


class _Transaction(_Call, frozen=True):
    chain_id: int


class _SendCalls(_Wire, frozen=True):
    calls: tuple[_Call, ...]


class _Action(_Wire, frozen=True):
    action_id: str
    chain_id: int
    from_: str = msgspec.field(name="from")
    transactions: tuple[_Transaction, ...] = ()
    steps: tuple[_Step, ...] = ()
    wallet_send_calls: _SendCalls | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Whether one thing holds, and what was found."""

    subject: str
    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class VerifiedAction:
    """``action`` is the signed wire object, None where the signature does not hold. ``intents`` has a
    sentence of what each transaction does.
    """

    checks: Sequence[Check]
    action: Mapping[str, Any] | None = None
    intents: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        return self.action is not None and all(check.holds for check in self.checks)


def verify(
    path: Path,
    keys: Path,
    *,
    issuer: str | None = None,
    config: Config | None = None,
    clock: Callable[[], float] = time.time,
) -> VerifiedAction:
    """Checks the saved answer at ``path`` with the JWK Set in the file ``keys``.

    With ``config`` the calldata is decoded again, by the contracts and plugins of that configuration.

    Raises ``CannotVerify`` when a file cannot be read or the answer has no signature.
    """
    try:
        answer = read_json(path, max_bytes=MAX_ACTION_BYTES, wanted="one answer to an action request")
        key_set = read_json(keys, max_bytes=MAX_KEYS_BYTES, wanted="a JWK Set alone")
    except UnreadableFile as error:
        raise CannotVerify(str(error)) from None
    jws = answer.get("jws") if isinstance(answer, dict) else None
    if not isinstance(jws, str):
        raise CannotVerify(
            f"{path} has no signature: save the whole answer of an action request to a deployment with "
            "[actions] keys"
        )
    try:
        claims = signed_claims(jws, key_set)
    except SignatureRefused as refused:
        return VerifiedAction((Check("signature", False, str(refused)),))
    signed: Any = claims.get("action")
    shown = {name: value for name, value in answer.items() if name != "jws"}
    try:
        action = msgspec.convert(signed, _Action)
        checks = (
            Check("signature", True, f"of {claims.get('iss')}"),
            *_claims_hold(claims, issuer, clock()),
            _same_as_signed(shown, signed),
            *_transactions_hold(action),
            *(() if config is None else _decoded_again(action, signed["steps"], loaded(config))),
        )
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as error:
        raise CannotVerify(f"{path} is signed, but no action that this version can read: {error}") from None
    return VerifiedAction(checks, signed, [step.clear_signing.intent for step in action.steps])


def _claims_hold(claims: Mapping[str, Any], issuer: str | None, now_s: float) -> Iterator[Check]:
    if issuer is not None:
        yield Check("issuer", claims.get("iss") == issuer, f"{claims.get('iss')}, expected {issuer}")
    expires_at = claims["exp"]
    until = datetime.fromtimestamp(expires_at, UTC).isoformat(timespec="seconds")
    yield Check("time", now_s < expires_at, f"valid until {until}")


def _same_as_signed(shown: Mapping[str, Any], signed: Mapping[str, Any]) -> Check:
    names = sorted(
        name
        for name in shown.keys() | signed.keys()
        if name not in shown or name not in signed or shown[name] != signed[name]
    )
    if not names:
        return Check("answer", True, "the file is what was signed")
    # Escaped: anybody may have written the names.
    return Check("answer", False, f"the file differs from what was signed in {names[:16]!a}")


def _transactions_hold(action: _Action) -> Iterator[Check]:
    steps = [_step_of(transaction) for transaction in action.transactions]
    identity = action_id(action.chain_id, parse_address(action.from_), steps)
    on_chain = all(step.chain_id == action.chain_id for step in steps)
    same = identity == action.action_id and on_chain
    yield Check("transactions", same and bool(steps), f"actionId is their hash: {identity}")
    sent = action.wallet_send_calls
    if sent is not None:
        calls = [(call.to, call.data, call.value) for call in action.transactions]
        same = calls == [(call.to, call.data, call.value) for call in sent.calls]
        yield Check("walletSendCalls", same, "has the same calls" if same else "has other calls")
    described = [step.index for step in action.steps] == list(range(len(steps)))
    yield Check("steps", described, f"{len(action.steps)} describe {len(steps)} transactions")
    for index, (step, told) in enumerate(zip(steps, action.steps, strict=False)):
        encoded = _encoded(told.decoded)
        yield Check(
            f"calldata {index}",
            encoded == step.data,
            f"{told.decoded.signature} with the arguments shown "
            + ("encodes to its bytes" if encoded == step.data else "does not encode to its bytes"),
        )


def _decoded_again(action: _Action, told: Sequence[Mapping[str, Any]], gateway: Gateway) -> Iterator[Check]:
    """Compares what was signed of each call, and of the calls inside of it, with what its bytes say here."""
    sender = parse_address(action.from_)
    for index, (transaction, shown) in enumerate(zip(action.transactions, told, strict=False)):
        subject, step = f"meaning {index}", _step_of(transaction)
        try:
            reading = gateway.runtime.calls.read(step, sender)
        except ValueError:
            yield Check(subject, False, "the calldata is no canonical call of its function")
            continue
        if reading is not None:
            same = Decoded.render(reading.decoded, gateway.runtime.networks) == shown["decoded"]
            says = "the same as was signed" if same else "something else than was signed"
            yield Check(subject, same, f"decoded here, it is {says}")
        elif shown["decoded"].get("inner"):
            text = f"no call of {step.to} is described here: name the contract in the configuration"
            yield Check(subject, False, text)


def _step_of(transaction: _Transaction) -> models.Step:
    data, value = transaction.data, transaction.value
    if not data.startswith("0x") or not value.startswith("0x"):
        raise ValueError("data and value of a transaction are 0x hex")
    return models.Step(
        parse_address(transaction.to), bytes.fromhex(data[2:]), int(value, 16), transaction.chain_id
    )


def _encoded(told: _Decoded) -> bytes | None:
    """Returns the calldata that a description encodes to; None for one that does not."""
    try:
        types = [argument.type for argument in told.args]
        values = from_json(types, [argument.value for argument in told.args])
        named = zip(told.args, values, strict=True)
        args = tuple(models.Argument(argument.name, argument.type, value) for argument, value in named)
        return reencode(models.DecodedCall(told.signature, args, opaque=told.opaque))
    except ValueError:
        return None
