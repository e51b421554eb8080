"""What a custody policy judges of an action, taken from its transactions, legs and simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quoteway.evm import permit2
from quoteway.evm.abi import selector
from quoteway.guard.policy_file import COMMAND
from quoteway.models import MAX_UINT256, NATIVE, Action, ActionPart, Address, Capability, DecodedCall, Leg


@dataclass(frozen=True, slots=True)
class CallFact:
    """One call: a transaction's, or one inside of it.

    ``function`` is the selector (0x hex), or the name of a router's command. ``contract`` is None for a call
    inside of a transaction.
    """

    function: str
    signature: str
    contract: Address | None
    opaque: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """``spender`` may take ``amount`` base units of ``token`` from the sender."""

    token: Address
    spender: Address
    amount: int


@dataclass(frozen=True, slots=True)
class Paid:
    """The most that an action takes of a token, in base units. ``decimals`` None: not known."""

    token: Address
    amount: int
    decimals: int | None


@dataclass(frozen=True, slots=True)
class Bound:
    """How far an amount may change: an output down to ``limit``, an input up to it. None: without a limit."""

    token: Address
    amount: int
    limit: int | None
    is_output: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """An action as a policy sees it. Networks are named by their slugs.

    ``network`` is that of the transactions; ``networks`` adds those where it pays. ``kind`` is ``bridge`` for
    every action that pays on another network.
    ``grants`` are allowances above zero that the action gives or leaves. ``received`` and ``recipients`` are
    pairs of network and address. ``recipients`` leave out the sender on its own network. ``levels`` are those
    of the providers' plugins; a provider that is not there has no known level. ``quorums`` are, by network,
    how many nodes must give the same answer to a read of the core. ``trades``: a part of it is a
    swap within one network, which has a price impact. ``simulated`` tells that all
    transactions succeeded in a simulation; ``assumptions`` is the state that it assumed.
    ``unread_messages`` are the kinds of messages to sign that are no permit of Permit2.
    """

    sender: Address
    network: str
    networks: tuple[str, ...]
    kind: str
    providers: tuple[str, ...]
    levels: Mapping[str, int | None]
    quorums: Mapping[str, int]
    calls: tuple[CallFact, ...]
    grants: tuple[Grant, ...]
    paid: tuple[Paid, ...]
    received: tuple[tuple[str, Address], ...]
    recipients: tuple[tuple[str, Address], ...]
    bounds: tuple[Bound, ...]
    trades: bool
    price_impact_bps: int | None
    simulated: bool
    assumptions: tuple[str, ...]
    unread_messages: tuple[str, ...]


def facts_of(
    action: Action,
    name_of: Callable[[int], str],
    levels: Mapping[str, int | None],
    quorums: Mapping[str, int],
) -> Facts:
    """Returns the facts of a finished action. ``name_of`` gives the slug of a chain id."""
    own, run = name_of(action.chain_id), action.simulation
    inputs = [leg for part in action.parts for leg in part.inputs]
    outputs = [leg for part in action.parts for leg in part.outputs]
    grants = tuple(dict.fromkeys(grant for grant in _grants(action) if grant.amount))
    gains = [(own, change.token) for change in run.asset_changes if change.delta > 0]
    paid_accounts = [(name_of(payee.chain_id), payee.account) for payee in action.payees]
    paid_accounts += ((own, change.account) for change in run.asset_changes if change.delta > 0)
    networks = tuple(dict.fromkeys((own, *(name_of(leg.token.chain_id) for leg in outputs))))
    return Facts(
        sender=action.sender,
        network=own,
        networks=networks,
        kind="bridge" if len(networks) > 1 else action.capability or "revocation",
        providers=tuple(dict.fromkeys(part.provider for part in action.parts)),
        levels=levels,
        quorums=quorums,
        calls=tuple(_calls(action)),
        grants=grants,
        paid=tuple(_paid(action, inputs, outputs, grants)),
        received=tuple(dict.fromkeys((*_tokens(outputs, name_of), *gains))),
        recipients=tuple(each for each in dict.fromkeys(paid_accounts) if each != (own, action.sender)),
        bounds=(
            *(Bound(leg.token.address, leg.amount, leg.most, is_output=False) for leg in inputs),
            *(Bound(leg.token.address, leg.amount, leg.amount_min, is_output=True) for leg in outputs),
        ),
        trades=any(map(_trades, action.parts)),
        price_impact_bps=action.price_impact_bps,
        simulated=run.status == "success",
        assumptions=run.assumptions,
        unread_messages=tuple(
            each.kind for each in action.signatures if _signed_grant(each.typed_data) is None
        ),
    )


def _trades(part: ActionPart) -> bool:
    """Returns whether a part is a swap within one network."""
    networks = {leg.token.chain_id for leg in (*part.inputs, *part.outputs)}
    return part.capability is Capability.SWAP and len(networks) == 1


def _tokens(legs: Iterable[Leg], name_of: Callable[[int], str]) -> Iterator[tuple[str, Address]]:
    yield from ((name_of(leg.token.chain_id), leg.token.address) for leg in legs)


def _paid(
    action: Action, inputs: Sequence[Leg], outputs: Sequence[Leg], grants: Iterable[Grant]
) -> Iterator[Paid]:
    """Yields the most of each token: what inputs name, transactions send, approvals allow, or the simulation
    took, whichever is most."""
    named = Counter[Address]()
    for leg in inputs:
        named[leg.token.address] += leg.most
    taken = [
        (change.token, -change.delta)
        for change in action.simulation.asset_changes
        if change.account == action.sender and change.delta < 0
    ]
    sent = sum(step.value for step in action.steps)
    most: dict[Address, int] = dict(named)
    for token, amount in (*taken, *((grant.token, grant.amount) for grant in grants), (NATIVE, sent)):
        if amount:
            most[token] = max(most.get(token, 0), amount)
    decimals = {
        leg.token.address: leg.token.decimals
        for leg in (*outputs, *inputs)
        if leg.token.chain_id == action.chain_id
    }
    yield from (Paid(token, amount, decimals.get(token)) for token, amount in most.items())


# --- calls ------------------------------------------------------------------------------------------------


def _calls(action: Action) -> Iterator[CallFact]:
    for step in action.steps:
        called = "0x" + step.data[:4].hex()
        yield CallFact(called, step.decoded.signature, step.to, step.decoded.opaque)
        yield from (
            CallFact(_function_of(call), call.signature, None, call.opaque) for call in _inside(step.decoded)
        )


def _inside(call: DecodedCall) -> Iterator[DecodedCall]:
    """Yields every call inside of one, at any depth."""
    waiting = list(reversed(call.inner))
    while waiting:
        inner = waiting.pop()
        yield inner
        waiting += reversed(inner.inner)


def _function_of(call: DecodedCall) -> str:
    """Returns the selector of a call inside of another, or the name of a router's command."""
    name = call.signature.partition("(")[0]
    if call.opaque:
        return call.signature.lower()
    return name if COMMAND.fullmatch(name) else "0x" + selector(call.signature).hex()


# --- allowances -------------------------------------------------------------------------------------------


def _grants(action: Action) -> Iterator[Grant]:
    """Yields the allowances that the calls and the messages to sign give, and those that the run left."""
    for step in action.steps:
        for call in (step.decoded, *_inside(step.decoded)):
            if call.signature in _GRANTS:
                yield from _GRANTS[call.signature](step.to, [argument.value for argument in call.args])
    for signature in action.signatures:
        signed = _signed_grant(signature.typed_data)
        if signed is not None:
            yield signed
    for offer in action.permit_offers:
        yield Grant(offer.permit.token, offer.permit.spender, offer.permit.value)
    for change in action.simulation.allowance_changes:
        if change.owner == action.sender:
            yield Grant(change.token, change.spender, change.after)


_PERMIT = "(address,uint160,uint48,uint48)"
_GRANTS: Mapping[str, Callable[[Address, Sequence[Any]], Sequence[Grant]]] = {
    "approve(address,uint256)": lambda contract, args: [Grant(contract, args[0], args[1])],
    "increaseAllowance(address,uint256)": lambda contract, args: [Grant(contract, args[0], args[1])],
    "setApprovalForAll(address,bool)": lambda contract, args: [
        Grant(contract, args[0], MAX_UINT256 if args[1] else 0)
    ],
    "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)": lambda contract, args: [
        Grant(contract, args[1], args[2])
    ],
    # DAI: all or nothing.
    "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)": lambda contract, args: [
        Grant(contract, args[1], MAX_UINT256 if args[4] else 0)
    ],
    # Permit2, and the Universal Router that passes a permit on to it.
    "approve(address,address,uint160,uint48)": lambda _, args: [Grant(args[0], args[1], args[2])],
    f"permit(address,({_PERMIT},address,uint256),bytes)": lambda _, args: [
        _permitted(args[1][0], args[1][1])
    ],
    f"permit(address,({_PERMIT}[],address,uint256),bytes)": lambda _, args: [
        _permitted(details, args[1][1]) for details in args[1][0]
    ],
    f"PERMIT2_PERMIT(({_PERMIT},address,uint256),bytes)": lambda _, args: [
        _permitted(args[0][0], args[0][1])
    ],
}
"""The allowances that a call gives, by its signature, of the contract and the arguments."""


def _permitted(details: Sequence[Any], spender: Address) -> Grant:
    """Returns the allowance of a Permit2 permit: token, amount, expiration and nonce."""
    return Grant(details[0], spender, details[1])


def _signed_grant(typed_data: Mapping[str, Any]) -> Grant | None:
    """Returns the allowance that a signed Permit2 message gives; None for any other message."""
    domain, message = typed_data.get("domain", {}), typed_data.get("message", {})
    if typed_data.get("primaryType") != "PermitSingle" or domain.get("verifyingContract") != permit2.ADDRESS:
        return None
    details = message["details"]
    return Grant(details["token"], message["spender"], int(details["amount"]))
