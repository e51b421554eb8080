"""Reads the calldata of an action from its bytes, and compares it with what the gateway tells of it and with
the quote.

Needs ``quoteway-client[sign]``: eth-abi encodes the arguments that are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from quoteway_client.comparing import action_differences, parties, spending
from quoteway_client.errors import ActionMismatch, Difference
from quoteway_client.models.bridges import BridgeQuote
from quoteway_client.models.swaps import SwapQuote

if TYPE_CHECKING:
    from quoteway_client.acting import AnyAction, AnyQuote
    from quoteway_client.models.shared import Decoded

PERMIT2 = "0x000000000022d473030f116ddee9f6b43ac78ba3"
APPROVE = bytes.fromhex("095ea7b3")  # approve(address,uint256)
PERMIT2_APPROVE = bytes.fromhex("87517c45")  # approve(address,address,uint160,uint48)
PERMIT = bytes.fromhex("d505accf")  # permit(address,address,uint256,uint256,uint8,bytes32,bytes32)
# They give away tokens or the right to them, and no action needs them.
FORBIDDEN = {
    bytes.fromhex("a9059cbb"): "transfer(address,uint256)",
    bytes.fromhex("23b872dd"): "transferFrom(address,address,uint256)",
    bytes.fromhex("39509351"): "increaseAllowance(address,uint256)",
    bytes.fromhex("a22cb465"): "setApprovalForAll(address,bool)",
    bytes.fromhex("42842e0e"): "safeTransferFrom(address,address,uint256)",
    bytes.fromhex("b88d4fde"): "safeTransferFrom(address,address,uint256,bytes)",
}
_RECIPIENTS = ("recipient", "receiver", "to", "toaddress", "beneficiary", "onbehalfof", "payee")


def check_action(action: AnyAction, quote: AnyQuote) -> None:
    """Compares an action with its quote, by its members and by the bytes of its transactions.

    Raises ``ActionMismatch`` with every difference.
    """
    found = [*action_differences(action, quote), *byte_differences(action, quote)]
    if found:
        raise ActionMismatch(found)


def byte_differences(action: AnyAction, quote: AnyQuote) -> Iterator[Difference]:
    limits, payees = spending(quote), parties(quote)
    targets = {transaction.to.lower() for transaction in action.transactions}
    minimums: list[int] = []
    for index, (transaction, step) in enumerate(zip(action.transactions, action.steps, strict=False)):
        name = f"transactions[{index}]"
        data, target = bytes.fromhex(transaction.data[2:]), transaction.to.lower()
        if data[:4] in FORBIDDEN:
            yield Difference(name, "a call that gives nothing away", FORBIDDEN[data[:4]])
        yield from _allowance(name, data, target, action.from_.lower(), limits)
        if _encoded(step.decoded) != data:
            yield Difference(
                f"steps[{index}].decoded", "the call that the bytes make", step.decoded.signature
            )
            continue
        for call, outer in _calls(step.decoded, data):
            arguments = _packed(call)
            if arguments is not None and arguments not in outer:
                yield Difference(f"steps[{index}].decoded.inner", "calls that the bytes make", call.signature)
            for argument in call.args:
                if argument.type == "address" and argument.name.strip("_").lower() in _RECIPIENTS:
                    yield from _payee(f"{name}.{argument.name}", argument.value, payees | targets, quote)
                if "min" in argument.name.lower() and argument.type.startswith("uint"):
                    minimums.append(int(argument.value))
    if isinstance(quote, SwapQuote | BridgeQuote) and len(quote.outputs) == 1 and action.parts is None:
        yield from _minimum(action, quote.outputs[0].amount_min or 0, minimums)


def _minimum(action: AnyAction, least: int, told: list[int]) -> Iterator[Difference]:
    """The quoted minimum stands in the calldata, or in the coin that is wrapped.

    It is no argument of its own in some calls, such as those of Uniswap v4. Opaque calldata may hide it.
    """
    opaque = any(step.decoded.opaque for step in action.steps)
    word = least.to_bytes(32).hex()
    written = any(word in transaction.data for transaction in action.transactions)
    wrapped = any(transaction.value == least for transaction in action.transactions)
    if not (opaque or written or wrapped) and max(told, default=0) < least:
        yield Difference("the minimum in the calldata", f"at least {least}", str(max(told, default=None)))


def _allowance(name: str, data: bytes, target: str, sender: str, limits: Any) -> Iterator[Difference]:
    """An approval is of a token that is paid, and of no more than is paid."""
    words = [data[4 + at : 36 + at] for at in range(0, len(data) - 4, 32)]
    if data[:4] == APPROVE and len(words) >= 2:
        token, amount = target, int.from_bytes(words[1])
    elif data[:4] == PERMIT2_APPROVE and target == PERMIT2 and len(words) >= 3:
        token, amount = "0x" + words[0][12:].hex(), int.from_bytes(words[2])
    elif data[:4] == PERMIT and len(words) >= 3:
        token, amount = target, int.from_bytes(words[2])
        if words[0][12:].hex() != sender[2:]:
            yield Difference(f"{name}.owner", sender, "0x" + words[0][12:].hex())
    else:
        return
    if amount > limits[token]:
        yield Difference(f"{name}: the allowance of {token}", f"at most {limits[token]}", str(amount))


def _payee(member: str, account: Any, allowed: set[str], quote: AnyQuote) -> Iterator[Difference]:
    """Who is paid is a party of the request, a contract of the action or its route, or a constant of a
    router.
    """
    route = getattr(quote, "route", None)
    legs = () if route is None else route.legs or ()
    pools = {leg.pool.lower() for leg in legs}
    told = str(account).lower()
    if int(told, 16) > 0xFF and told not in allowed | pools:
        yield Difference(member, f"one of {', '.join(sorted(parties(quote)))}", told)


def _calls(decoded: Decoded, data: bytes) -> Iterator[tuple[Decoded, bytes]]:
    yield decoded, data
    for call in decoded.inner or ():
        yield from _calls(call, data)


def _encoded(decoded: Decoded) -> bytes | None:
    """The calldata of a call that is told; None where it does not fit its own signature."""
    from eth_utils.crypto import keccak

    if decoded.opaque:
        tail = decoded.args[0].value if len(decoded.args) == 1 else None
        return _hex(decoded.signature) + _hex(tail)
    arguments = _packed(decoded)
    return None if arguments is None else keccak(text=decoded.signature)[:4] + arguments


def _packed(decoded: Decoded) -> bytes | None:
    """The arguments of a call, encoded by its signature."""
    from eth_abi.abi import encode
    from eth_abi.exceptions import EncodingError, ParseError
    from eth_abi.grammar import TupleType, parse

    try:
        declared = parse("(" + decoded.signature.partition("(")[2])
        if not isinstance(declared, TupleType):
            return None
        types = [component.to_type_str() for component in declared.components]
        if types != [argument.type for argument in decoded.args]:
            return None
        values = [
            _value(parse(type_), argument.value) for type_, argument in zip(types, decoded.args, strict=True)
        ]
        return encode(types, values)
    except (EncodingError, ParseError, ValueError, TypeError, OverflowError):
        return None


def _value(type_: Any, value: Any) -> Any:
    """A value as the wire writes it, as eth-abi takes it."""
    if type_.is_array:
        return [_value(type_.item_type, each) for each in value]
    if hasattr(type_, "components"):
        return tuple(_value(each, part) for each, part in zip(type_.components, value, strict=True))
    if type_.base in ("uint", "int"):
        return int(value)
    return _hex(value) if type_.base == "bytes" else value


def _hex(value: Any) -> bytes:
    return bytes.fromhex(value[2:]) if isinstance(value, str) and value.startswith("0x") else b""
