"""Compares the action that ends approvals with what was asked for: it does that, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quoteway_client.comparing import same, same_address, same_chain
from quoteway_client.errors import ActionMismatch, Difference
from quoteway_client.signing import PERMIT2

if TYPE_CHECKING:
    from quoteway_client.acting import AnyAction
    from quoteway_client.models.portfolio import RevokeBody

_APPROVE = bytes.fromhex("095ea7b3")  # approve(address spender, uint256 amount)
_LOCKDOWN = bytes.fromhex("cc53287f")  # lockdown((address token, address spender)[] approvals)
_WORD = 32

_Approval = tuple[str, str, str]
"""Who keeps it (``erc20`` or ``permit2``), token and spender, in lower case."""


def revocation_built(body: RevokeBody, action: AnyAction) -> None:
    """Compares an action with the body of the request that it answers. Tokens are named by address: a symbol
    says nothing of the contract that is called.

    Raises ``ActionMismatch``.
    """
    found = list(_differences(body, action))
    if found:
        raise ActionMismatch(found)


def _differences(body: RevokeBody, action: AnyAction) -> Iterator[Difference]:
    yield from same("kind", "revocation", action.kind)
    yield from same_chain(body["network"], action.network, action.chain_id)
    yield from same_address("from", body["address"], action.from_)
    for member in ("inputs", "outputs", "signatures", "permit_offers"):
        yield from same(member, 0, len(getattr(action, member)))
    for recipient in action.recipients:
        yield from same_address("recipients", action.from_, recipient.account)
    if not action.transactions:
        yield Difference("transactions", "at least one", "none")
    yield from same("the number of steps", len(action.transactions), len(action.steps))
    asked = {
        (each.get("kind", "erc20"), each["token"].lower(), each["spender"].lower())
        for each in body["approvals"]
    }
    for index, transaction in enumerate(action.transactions):
        name = f"transactions[{index}]"
        yield from same(f"{name}.chainId", action.chain_id, transaction.chain_id)
        yield from same(f"{name}.value", 0, transaction.value)
        ended = _ended(transaction.to.lower(), bytes.fromhex(transaction.data[2:]))
        if ended is None:
            yield Difference(
                f"{name}.data", "approve of zero, or lockdown of Permit2", transaction.data[:140]
            )
        for approval in sorted(set(ended or ()) - asked):
            yield Difference(f"{name}: the approval that it ends", _listed(asked), " ".join(approval))


def _listed(approvals: set[_Approval]) -> str:
    return " or ".join(" ".join(each) for each in sorted(approvals)) or "none"


def _ended(to: str, data: bytes) -> list[_Approval] | None:
    """Returns the approvals that a transaction sets to zero, None for any other call.

    Every byte is read: one that is left over could mean something to a contract.
    """
    selector, words = data[:4], [data[at : at + _WORD] for at in range(4, len(data), _WORD)]
    if not words or len(words[-1]) != _WORD:
        return None
    if selector == _APPROVE and len(words) == 2 and int.from_bytes(words[1]) == 0:
        accounts = words[:1]
    elif selector == _LOCKDOWN and to == PERMIT2 and len(words) >= 4:
        offset, length, *accounts = words
        if int.from_bytes(offset) != _WORD or 2 * int.from_bytes(length) != len(accounts):
            return None
    else:
        return None
    if any(any(word[:12]) for word in accounts):
        return None
    told = ["0x" + word[12:].hex() for word in accounts]
    if selector == _APPROVE:
        return [("erc20", to, told[0])]
    return [("permit2", token, spender) for token, spender in zip(told[::2], told[1::2], strict=True)]
