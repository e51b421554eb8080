"""What a wallet did: transactions that an index names, read from the chain, with their calls in words.

An index says in which transactions tokens moved. What moved, and whether the transaction succeeded, is what
its receipt says. The sentences are the core's templates: no text of a token or a provider is in them but
symbols as ``display_name`` shows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quoteway.engine.gateway import Gateway
from quoteway.engine.sentences import amount_text
from quoteway.errors import GatewayError, Reason, disabled
from quoteway.evm.address import checksum
from quoteway.evm.answers import quantity
from quoteway.evm.chain import RpcChain
from quoteway.evm.erc20 import TRANSFER_EVENT
from quoteway.models import NATIVE, Address, IndexReach, KnownEvent, Step, Token, TokenTransfer

MOST_SHOWN = 100
"""Transfers of one transaction."""
NOT_FOUND = "transaction_not_found"
_READ_AT_ONCE = 500
_MOST_DATA = 131_072
_VERBS = {
    "swap": "Swap",
    "transfer": "Transfer to another network",
    "add": "Add liquidity",
    "remove": "Remove liquidity",
    "collect": "Collect fees",
    "deposit": "Deposit",
    "mint": "Deposit",
    "withdraw": "Withdraw",
    "redeem": "Withdraw",
    "deploy": "Deploy a vault",
}


@dataclass(frozen=True, slots=True)
class Movement:
    """An amount in base units that came to the wallet (``in``) or went (``out``), or from it to itself.

    ``token`` is None where the address is no ERC-20 token; ``address`` is ``NATIVE`` for the value that the
    wallet sent with a transaction. ``hearsay``: an unlisted token tells that the wallet sent it, in a
    transaction of another account. Any contract can log that.
    """

    address: Address
    token: Token | None
    direction: Literal["in", "out", "self"]
    amount: int
    counterparty: Address
    hearsay: bool = False


@dataclass(frozen=True, slots=True)
class DoneCall:
    """A call that a description knows: the function, what it does, and the kind of contract."""

    action: str
    function: str
    target: str | None


@dataclass(frozen=True, slots=True)
class Done:
    """A transaction of a wallet. ``sender`` and ``to`` are those of the transaction; ``fee_wei`` is what the
    wallet paid for it, None where another account sent it.

    ``cut``: how many more movements there are.
    """

    chain_id: int
    hash: str
    block: int
    timestamp: int
    success: bool
    sender: Address
    to: Address | None
    call: DoneCall | None
    sentence: str
    movements: tuple[Movement, ...]
    events: tuple[KnownEvent, ...]
    fee_wei: int | None
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Activity:
    """A page, newest first. ``before`` is where the next one begins, None at the end of what is indexed.

    ``missing`` are hashes of transactions that could not be read, with the reasons.
    """

    done: tuple[Done, ...]
    before: tuple[int, int] | None
    reach: IndexReach
    missing: tuple[tuple[str, str], ...]


async def activity(
    gateway: Gateway, chain_id: int, wallet: Address, before: tuple[int, int] | None, limit: int
) -> Activity:
    """Returns up to ``limit`` transactions of a wallet that are older than ``before``, a block and log index.

    Raises ``ProviderUnavailable`` when no index keeps the wallet's transfers, and ``UpstreamError`` when the
    index, or the chain for any of the transactions, cannot be read.
    """
    page = await gateway.history.wallet_transfers(chain_id, wallet, before=before, limit=_READ_AT_ONCE)
    if page is None:
        raise disabled("No index keeps the transfers of this wallet on this network.")
    groups: dict[str, list[TokenTransfer]] = {}
    for transfer in page.transfers:
        groups.setdefault(transfer.transaction_hash, []).append(transfer)
    names = list(groups)
    if page.more and len(names) > 1:
        names.pop()  # the oldest one may have more transfers than were read
    is_last = len(names) <= limit and not page.more
    names = names[:limit]
    known = [(groups[name][0].block, name) for name in names]
    chain = gateway.runtime.chain(chain_id)
    events, answers = await asyncio.gather(
        _events(gateway, chain_id, known),
        asyncio.gather(*(_read(chain, block, name) for block, name in known)),
    )
    errors = [answer for answer in answers if isinstance(answer, GatewayError)]
    if errors and len(errors) == len(answers):
        raise errors[0]
    found: list[_Sent] = []
    missing: list[tuple[str, str]] = []
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, _Sent):
            found.append(answer)
        else:
            reason = NOT_FOUND if answer is None else (answer.reason or Reason.RPC_ERROR).value
            missing.append((name, reason))
    moved = {name: list(_moved(sent.receipt, wallet)) for name, sent in ((each.hash, each) for each in found)}
    addresses = {address for moves in moved.values() for address, *_ in moves[:MOST_SHOWN]}
    tokens = await gateway.tokens.find_each(chain_id, addresses)
    done = tuple(
        _done(
            gateway, chain_id, wallet, sent, groups[sent.hash][0].timestamp, moved[sent.hash], tokens, events
        )
        for sent in found
    )
    last = groups[names[-1]][-1] if names else None
    after = None if last is None or is_last else (last.block, last.log_index)
    return Activity(done, after, page.reach, tuple(missing))


@dataclass(frozen=True, slots=True)
class _Sent:
    """A transaction as the chain has it."""

    hash: str
    block: int
    step: Step | None
    sender: Address
    to: Address | None
    value: int
    success: bool
    fee_wei: int
    receipt: Mapping[str, Any]


async def _events(
    gateway: Gateway, chain_id: int, known: Sequence[tuple[int, str]]
) -> Mapping[str, tuple[KnownEvent, ...]]:
    """Returns what an index knows of the protocols in transactions; nothing when it cannot be read."""
    try:
        events = await gateway.history.known_events(chain_id, known) or ()
    except GatewayError:
        return {}
    return {name: tuple(each for each in events if each.transaction_hash == name) for _, name in known}


async def _read(chain: RpcChain, block: int, name: str) -> _Sent | GatewayError | None:
    """Returns a transaction; None when the chain does not have it in this block."""
    try:
        sent, receipt = await asyncio.gather(
            chain.request("eth_getTransactionByHash", [name]),
            chain.request("eth_getTransactionReceipt", [name]),
        )
    except GatewayError as error:
        return error
    try:
        if sent is None or receipt is None or quantity(receipt["blockNumber"]) != block:
            return None
        sender = checksum(sent["from"])
        to = checksum(sent["to"]) if sent.get("to") else None
        value, data = quantity(sent["value"]), bytes.fromhex(sent["input"][2:])
        step = None if to is None or len(data) > _MOST_DATA else Step(to, data, value, chain.network.chain_id)
        fee_wei = quantity(receipt["gasUsed"]) * quantity(receipt.get("effectiveGasPrice", "0x0"))
        return _Sent(name, block, step, sender, to, value, quantity(receipt["status"]) == 1, fee_wei, receipt)
    except (GatewayError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _moved(
    receipt: Mapping[str, Any], wallet: Address
) -> Iterable[tuple[Address, Literal["in", "out", "self"], int, Address]]:
    """Yields token, direction, amount and counterparty of the wallet's transfers in a receipt."""
    account = wallet[2:].lower().rjust(64, "0")
    for log in receipt.get("logs") or ():
        try:
            topics, data = log["topics"], log["data"]
            if len(topics) != 3 or topics[0] != TRANSFER_EVENT or len(data) != 66:
                continue
            sender, recipient = (topic[2:].lower() for topic in topics[1:])
            if account not in (sender, recipient):
                continue
            other = checksum("0x" + (recipient if sender == account else sender)[24:])
            direction: Literal["in", "out", "self"] = "out" if sender == account else "in"
            if sender == recipient:
                direction = "self"
            yield checksum(log["address"]), direction, int(data, 16), other
        except (LookupError, TypeError, ValueError, AttributeError):
            continue


def _done(
    gateway: Gateway,
    chain_id: int,
    wallet: Address,
    sent: _Sent,
    timestamp: int,
    moved: Sequence[tuple[Address, Literal["in", "out", "self"], int, Address]],
    tokens: Mapping[Address, Token],
    events: Mapping[str, tuple[KnownEvent, ...]],
) -> Done:
    movements = [
        Movement(address, token, direction, amount, other, _is_hearsay(token, direction, sent, wallet))
        for address, direction, amount, other in moved[:MOST_SHOWN]
        for token in (tokens.get(address),)
    ]
    if sent.sender == wallet and sent.value and sent.success and sent.to is not None:
        coin = gateway.tokens.coin(chain_id)
        movements.insert(0, Movement(NATIVE, coin, "out", sent.value, sent.to))
    call = _call(gateway, sent)
    return Done(
        chain_id=chain_id,
        hash=sent.hash,
        block=sent.block,
        timestamp=timestamp,
        success=sent.success,
        sender=sent.sender,
        to=sent.to,
        call=call,
        sentence=_sentence(call, sent, wallet, movements),
        movements=tuple(movements),
        events=events.get(sent.hash, ()),
        fee_wei=sent.fee_wei if sent.sender == wallet else None,
        cut=max(0, len(moved) - MOST_SHOWN),
    )


def _is_hearsay(token: Token | None, direction: str, sent: _Sent, wallet: Address) -> bool:
    return direction == "out" and sent.sender != wallet and not (token is not None and token.listed)


def _call(gateway: Gateway, sent: _Sent) -> DoneCall | None:
    """Returns the call where a description knows it and its bytes are canonical."""
    if sent.step is None:
        return None
    calls = gateway.runtime.calls
    try:
        reading = calls.read(sent.step, sent.sender)
    except ValueError:
        return None
    if reading is None:
        return None
    title = calls.title(sent.step.chain_id, sent.step.to)
    return DoneCall(reading.meaning.action, reading.decoded.signature, title)


def _sentence(call: DoneCall | None, sent: _Sent, wallet: Address, movements: Sequence[Movement]) -> str:
    gone = _amounts(each for each in movements if each.direction == "out" and not each.hearsay)
    got = _amounts(each for each in movements if each.direction == "in")
    moved = " and ".join(part for part in (gone and f"sent {gone}", got and f"received {got}") if part)
    if not sent.success:
        return "The transaction was reverted: nothing moved"
    if call is not None and sent.sender == wallet:
        verb = _VERBS.get(call.action, call.action[0].upper() + call.action[1:])
        return f"{verb} through {call.target or sent.to}{f': {moved}' if moved else ''}"
    if not moved and any(each.hearsay for each in movements):
        return "An unlisted token tells of a transfer from the wallet, in a transaction of another account"
    if not moved:
        return "No tokens were exchanged with other accounts"
    proven = (each for each in movements if each.direction != "self" and not each.hearsay)
    others = dict.fromkeys(each.counterparty for each in proven)
    if len(others) == 1 and bool(gone) != bool(got):
        (other,) = others
        return f"Sent {gone} to {other}" if gone else f"Received {got} from {other}"
    return moved[0].upper() + moved[1:]


def _amounts(movements: Iterable[Movement]) -> str:
    """Returns the sums by token, of at most four tokens."""
    sums: dict[Address, int] = {}
    tokens: dict[Address, Token | None] = {}
    for each in movements:
        sums[each.address] = sums.get(each.address, 0) + each.amount
        tokens[each.address] = each.token
    texts = [
        f"{amount} units of {address}" if (token := tokens[address]) is None else amount_text(token, amount)
        for address, amount in sums.items()
    ]
    return " and ".join(texts[:4]) + (f" and {len(texts) - 4} more tokens" if len(texts) > 4 else "")
