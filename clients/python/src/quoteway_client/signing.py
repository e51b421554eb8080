"""Signs messages and transactions of an action, after they were compared with the quote.

The signer is an account of eth-account, or anything with the same three members, such as one that asks a key
service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from quoteway_client.comparing import spending
from quoteway_client.errors import ActionMismatch, Difference

if TYPE_CHECKING:
    from collections import Counter

    from quoteway_client.acting import AnyAction, AnyQuote

PERMIT2 = "0x000000000022d473030f116ddee9f6b43ac78ba3"


class Signer(Protocol):
    """What of an ``eth_account.signers.local.LocalAccount`` is used."""

    @property
    def address(self) -> Any: ...

    def sign_transaction(self, transaction_dict: Any) -> Any: ...

    def sign_typed_data(self, *, full_message: Any) -> Any: ...


def sign_permits(action: AnyAction, quote: AnyQuote, account: Signer) -> list[dict[str, Any]]:
    """Signs the EIP-2612 permits that an action offers: pass them as ``permits`` to ``act`` of the same
    quote.

    Each is compared with the quote first: of a token that is paid, for no more than is paid, by this account.
    Raises ``ActionMismatch``.
    """
    signed = []
    for index, offer in enumerate(action.permit_offers):
        permit, message = offer.permit, offer.typed_data.get("message", {})
        found = [*_domain(f"permitOffers[{index}]", offer.typed_data, action.chain_id, permit.token)]
        found += _allowed(f"permitOffers[{index}]", permit.token, permit.value, spending(quote))
        wanted = {
            "owner": str(account.address),
            "spender": permit.spender,
            "value": permit.value,
            "nonce": permit.nonce,
            "deadline": permit.deadline,
        }
        for member, value in wanted.items():
            told = message.get(member)
            if str(told).lower() != str(value).lower():
                found.append(Difference(f"permitOffers[{index}].message.{member}", str(value), str(told)))
        if offer.typed_data.get("primaryType") != "Permit":
            found.append(Difference("primaryType", "Permit", str(offer.typed_data.get("primaryType"))))
        if found:
            raise ActionMismatch(found)
        signature = _signature(account, offer.typed_data)
        signed.append(
            {
                "token": permit.token,
                "spender": permit.spender,
                "value": permit.value,
                "nonce": permit.nonce,
                "deadline": permit.deadline,
                "signature": "0x" + signature.hex(),
            }
        )
    return signed


def signed_calldata(action: AnyAction, quote: AnyQuote, account: Signer) -> list[bytes]:
    """Returns the calldata of each transaction, with the Permit2 signatures that the action asks for.

    Raises ``ActionMismatch`` when a message allows another token, more than is paid, or a spender that the
    action does not call.
    """
    data = [bytearray.fromhex(transaction.data[2:]) for transaction in action.transactions]
    for index, wanted in enumerate(action.signatures):
        found = list(_permit2(f"signatures[{index}]", wanted.typed_data, action, quote))
        place = wanted.applies_to
        fits = 0 <= place.transaction < len(data) and place.length == 65 and place.offset >= 4
        if not fits or place.offset + place.length > len(data[place.transaction]):
            found.append(
                Difference(f"signatures[{index}].appliesTo", "65 bytes of a transaction", str(place))
            )
        if found:
            raise ActionMismatch(found)
        end = place.offset + place.length
        data[place.transaction][place.offset : end] = _signature(account, wanted.typed_data)
    return [bytes(each) for each in data]


def _signature(account: Signer, typed_data: Mapping[str, Any]) -> bytes:
    return bytes(account.sign_typed_data(full_message=dict(typed_data)).signature)


def _permit2(
    name: str, typed_data: Mapping[str, Any], action: AnyAction, quote: AnyQuote
) -> Iterator[Difference]:
    """A ``PermitSingle`` of Permit2's AllowanceTransfer: https://docs.uniswap.org/contracts/permit2."""
    if typed_data.get("primaryType") != "PermitSingle":
        yield Difference(f"{name}.primaryType", "PermitSingle", str(typed_data.get("primaryType")))
        return
    yield from _domain(name, typed_data, action.chain_id, PERMIT2)
    message = typed_data.get("message", {})
    details = message.get("details", {})
    yield from _allowed(name, str(details.get("token")), int(details.get("amount", 0)), spending(quote))
    spender = str(message.get("spender")).lower()
    if spender not in {transaction.to.lower() for transaction in action.transactions}:
        yield Difference(f"{name}.spender", "a contract that the action calls", spender)


def _domain(name: str, typed_data: Mapping[str, Any], chain_id: int, contract: str) -> Iterator[Difference]:
    domain = typed_data.get("domain", {})
    if int(domain.get("chainId", 0)) != chain_id:
        yield Difference(f"{name}.domain.chainId", str(chain_id), str(domain.get("chainId")))
    if str(domain.get("verifyingContract")).lower() != contract.lower():
        yield Difference(f"{name}.domain.verifyingContract", contract, str(domain.get("verifyingContract")))


def _allowed(name: str, token: str, amount: int, limits: Counter[str]) -> Iterator[Difference]:
    if amount > limits[token.lower()]:
        yield Difference(f"{name}: the allowance of {token}", f"at most {limits[token.lower()]}", str(amount))
