"""Checks who is paid: accounts that cannot move what they get are refused, doubtful ones bring a warning."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm import permit2
from quoteway.guard.findings import named_by_caller
from quoteway.models import (
    Address,
    DeployRequest,
    Leg,
    ManageRequest,
    Notice,
    Payee,
    PoolRequest,
    Request,
    SwapRequest,
    VaultRequest,
)

RESERVED = 0x1000
"""Accounts below are precompiled contracts (EIP-7587, EIP-7951, and those of layer-2 chains). The Universal
Router reads 1 and 2 as the sender and the router itself (v4-periphery, ActionConstants)."""
_BURN_ADDRESSES = {0xDEAD000000000000000042069420694206942069, (1 << 160) - 1}
_DELEGATION = "0xef0100"
"""The code of an account with an EIP-7702 delegation begins so. A key moves what such an account has."""


def has_key(code: str) -> bool:
    """Returns whether a key can sign for an account with this code (0x hex): one without code, or with a
    delegation."""
    return code == "0x" or code.startswith(_DELEGATION)


def payees(request: Request) -> dict[str, tuple[int, Address]]:
    """Returns the chain and account of everybody but the sender who is paid, or paid back, by the name of the
    request's member."""
    if isinstance(request, SwapRequest):
        named = {
            "toAddress": (request.to_chain_id, request.recipient),
            "refundAddress": (request.chain_id, request.refund_account),
        }
        if request.fee is not None:
            named["feeRecipient"] = request.to_chain_id, request.fee.recipient
    elif isinstance(request, PoolRequest | VaultRequest):
        named = {"recipient": (request.chain_id, request.recipient)}
    else:
        named = {}
    return {path: payee for path, payee in named.items() if payee[1] != request.sender}


def all_payees(request: Request, outputs: Iterable[Leg]) -> list[Payee]:
    """Returns everybody who gets something of a request with these outputs, the sender too: a payment, a
    refund, a fee, or a role in a vault."""
    found = [Payee(leg.token.chain_id, leg.account) for leg in outputs]
    found += (Payee(*payee) for payee in payees(request).values())
    if isinstance(request, ManageRequest | DeployRequest) and request.bot is not None:
        found.append(Payee(request.chain_id, request.bot))
    return found


def check_recipient(request: Request, contracts: Collection[Address]) -> None:
    """Refuses to pay, or to pay back, an account that cannot move what it gets. ``contracts`` are the
    providers' on the network that pays out. Raises ``InvalidRequest``."""
    if isinstance(request, SwapRequest):
        tokens = {request.token_in.address, request.token_out.address}
    elif isinstance(request, PoolRequest | VaultRequest):
        tokens = {request.asset, *named_by_caller(request)}
    else:
        tokens = set()
    refused = []
    for path, (_, account) in payees(request).items():
        if int(account, 16) < RESERVED:
            refused.append((path, "is a precompiled contract or has a special meaning to routers"))
        elif account in tokens:
            refused.append((path, "is a token of this request: what a token contract gets is lost"))
        elif account in contracts or account == permit2.ADDRESS:
            refused.append((path, "is a contract that carries out such requests: what it gets is lost"))
    if refused:
        fields = [FieldError(path, Reason.CONFLICT, message) for path, message in refused]
        raise InvalidRequest(fields[0].sentence, reason=Reason.CONFLICT, fields=fields)


def recipient_warning(account: Address, network: str, code: str | None) -> Notice | None:
    """Returns the warning about a recipient with this code (0x hex; None: it could not be read)."""
    number = int(account, 16)
    if number < 1 << 32 or number % (1 << 128) == 0 or number in _BURN_ADDRESSES:
        message = f"Nobody is known to have a key of {account}: what it gets is most likely lost."
        return Notice("burn_address", message)
    if code is None:
        return Notice("recipient_not_read", f"Whether {account} is a contract on {network} is not known.")
    if has_key(code):
        return None
    message = f"{account} is a contract on {network}: make sure that it can move what it gets."
    return Notice("recipient_is_contract", message)
