"""Compares what the gateway answers with what was asked of it: a quote with its request, an action with its
quote.

``check_action`` is what must hold before anything of an action is signed. It believes the gateway in nothing
that the bytes of the transactions show: approvals, coins sent along, and whether the calls that are told are
those that the bytes make. What a contract does with its arguments, and what a node says of balances, it
cannot see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from quoteway_client.errors import ActionMismatch, Difference, QuoteMismatch

if TYPE_CHECKING:
    from quoteway_client.acting import AnyAction, AnyQuote
    from quoteway_client.models.bridges import BridgeQuote
    from quoteway_client.models.shared import Leg
    from quoteway_client.models.swaps import SwapQuote

NATIVE = "0x0000000000000000000000000000000000000000"
_COIN = ("native", NATIVE, "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee")


def swap_quoted(body: Mapping[str, Any], quote: SwapQuote | BridgeQuote) -> None:
    """Compares a quote with the body of its request. Names and symbols, which the gateway resolves, are not
    compared: name tokens and accounts by address where that matters.

    Raises ``QuoteMismatch``.
    """
    found = list(_quote_differences(body, quote))
    if found:
        raise QuoteMismatch(found)


def _quote_differences(body: Mapping[str, Any], quote: SwapQuote | BridgeQuote) -> Iterator[Difference]:
    echo, sender = quote.request, body.get("address")
    origin = body.get("from_chain") or body.get("network")
    target = body.get("to_chain") or body.get("network")
    crosses = echo.from_chain != echo.to_chain
    yield from same("amount", body.get("amount"), echo.amount)
    yield from same("side", body.get("side") or "exactIn", echo.side)
    for member, asked, told in (
        ("fromToken", body.get("from_token"), echo.from_token),
        ("toToken", body.get("to_token"), echo.to_token),
        ("address", sender, echo.address),
        ("toAddress", body.get("to_address") or sender, echo.to_address),
        ("feeRecipient", body.get("fee_recipient"), echo.fee_recipient),
        ("refundAddress", (body.get("refund_address") or sender) if crosses else None, echo.refund_address),
    ):
        yield from same_address(f"request.{member}", asked, told)
    yield from same("feeBps", body.get("fee_bps"), echo.fee_bps)
    if isinstance(body.get("slippage_bps"), int):
        yield from same("slippageBps", body["slippage_bps"], echo.slippage_bps)
    if (origin == target) == crosses:
        yield Difference("request.toChain", str(target), echo.to_chain)
    yield from same_chain(origin, quote.network, quote.chain_id)
    paid = [leg for leg in quote.inputs if _is(leg, echo.from_token, quote.chain_id)]
    got = [leg for leg in quote.outputs if leg.token.address.lower() == echo.to_token.lower()]
    if echo.side == "exactIn":
        yield from same("inputs", echo.amount, sum(leg.amount for leg in paid))
    for leg in quote.outputs:
        yield from same_address("outputs.account", echo.to_address, leg.account)
        if leg.amount_min is not None and leg.amount_min > leg.amount:
            yield Difference("outputs.amountMin", f"at most {leg.amount}", str(leg.amount_min))
    if not got:
        yield Difference("outputs", f"an amount of {echo.to_token}", "none")
    yield from _shown_differences(quote)
    if body.get("slippage_bps") != "auto" and echo.side == "exactIn":
        for leg in got:
            floor = leg.amount * (10_000 - echo.slippage_bps) // 10_000
            if leg.amount_min is not None and leg.amount_min < floor:
                yield Difference("outputs.amountMin", f"at least {floor}", str(leg.amount_min))


def _shown_differences(quote: SwapQuote | BridgeQuote) -> Iterator[Difference]:
    """What a quote shows beside its legs says the same as they do: an action is compared with the legs."""
    refund = getattr(quote, "refund", None)
    if refund is not None:
        yield from same("refund.chainId", quote.chain_id, refund.chain_id)
        yield from same_address("refund.address", quote.request.refund_address, refund.address)
    if hasattr(quote, "to_amount") and quote.inputs and quote.outputs:
        yield from _shown_amounts(cast("SwapQuote", quote))


def _shown_amounts(quote: SwapQuote) -> Iterator[Difference]:
    spent, got = quote.inputs[0], quote.outputs[0]
    for member, leg, told in (("fromToken", spent, quote.from_token), ("toToken", got, quote.to_token)):
        yield from same_address(f"{member}.address", leg.token.address, told.address)
        yield from same(f"{member}.chainId", leg.token.chain_id, told.chain_id)
        yield from same(f"{member}.decimals", leg.token.decimals, told.decimals)
    yield from same("fromAmount", spent.amount, quote.from_amount)
    yield from same("fromAmountMax", most(spent), quote.from_amount_max)
    yield from same("toAmount", got.amount, quote.to_amount)
    yield from same("toAmountMin", got.amount_min, quote.to_amount_min)


def compare_action(action: AnyAction, quote: AnyQuote) -> None:
    """Compares an action with its quote: chain, sender, tokens, amounts, minimums, recipients, coins sent
    along.

    Raises ``ActionMismatch``.
    """
    found = list(action_differences(action, quote))
    if found:
        raise ActionMismatch(found)


def action_differences(action: AnyAction, quote: AnyQuote) -> Iterator[Difference]:
    yield from same("chainId", quote.chain_id, action.chain_id)
    for index, transaction in enumerate(action.transactions):
        yield from same(f"transactions[{index}].chainId", quote.chain_id, transaction.chain_id)
    yield from same_address("from", signer_of(quote), action.from_)
    yield from same("quoteId", quote.quote_id, action.quote_id)
    yield from same("the number of steps", len(action.transactions), len(action.steps))
    if not action.transactions:
        yield Difference("transactions", "at least one", "none")
    yield from _legs("inputs", quote.inputs, action.inputs)
    yield from _legs("outputs", quote.outputs, action.outputs)
    known = parties(quote)
    for recipient in action.recipients:
        if recipient.account.lower() not in known:
            yield Difference("recipients", f"one of {', '.join(sorted(known))}", recipient.account)
    limits = spending(quote)
    coins = sum(transaction.value for transaction in action.transactions)
    if coins > limits[NATIVE]:
        yield Difference("the coins sent along", f"at most {limits[NATIVE]}", str(coins))
    lost: Counter[str] = Counter()
    for change in action.simulation.asset_changes:
        if change.account.lower() == action.from_.lower() and change.delta < 0:
            lost[change.token.lower()] -= change.delta
    for token, amount in lost.items():
        if amount > limits[token]:
            yield Difference(f"the simulated loss of {token}", f"at most {limits[token]}", str(amount))


def _legs(side: str, quoted: tuple[Leg, ...], built: tuple[Leg, ...]) -> Iterator[Difference]:
    """An input is not more than quoted, an output's minimum is not less, and the accounts are the same."""
    if len(quoted) != len(built):
        yield Difference(side, f"{len(quoted)} amounts", f"{len(built)}")
        return
    for index, (before, now) in enumerate(zip(quoted, built, strict=True)):
        name = f"{side}[{index}]"
        yield from same(f"{name}.token.chainId", before.token.chain_id, now.token.chain_id)
        yield from same_address(f"{name}.token", before.token.address, now.token.address)
        yield from same_address(f"{name}.account", before.account, now.account)
        if side == "inputs" and most(now) > most(before):
            yield Difference(f"{name}.amount", f"at most {most(before)}", str(most(now)))
        if side == "outputs" and (now.amount_min or 0) < (before.amount_min or 0):
            yield Difference(f"{name}.amountMin", f"at least {before.amount_min}", str(now.amount_min))


def most(leg: Leg) -> int:
    """Returns the most that an input may take."""
    return leg.amount if leg.amount_max is None else leg.amount_max


def spending(quote: AnyQuote) -> Counter[str]:
    """Returns the most of each token that the action of a quote may take, by lower-case address."""
    limits: Counter[str] = Counter()
    for leg in quote.inputs:
        if leg.token.chain_id == quote.chain_id:
            limits[leg.token.address.lower()] += most(leg)
    return limits


def signer_of(quote: AnyQuote) -> str:
    """Returns the account that was to sign and pay."""
    echo = quote.request
    account = getattr(echo, "address", None) or getattr(echo, "owner", "")
    return str(account)


def parties(quote: AnyQuote) -> set[str]:
    """Returns the accounts that the request names, in lower case: nobody else may get something."""
    members = ("address", "to_address", "recipient", "refund_address", "fee_recipient", "owner", "bot")
    named = (getattr(quote.request, member, None) for member in members)
    return {account.lower() for account in named if account}


def _is(leg: Leg, token: str, chain_id: int) -> bool:
    return leg.token.address.lower() == token.lower() and leg.token.chain_id == chain_id


def same(member: str, expected: object, found: object) -> Iterator[Difference]:
    """Yields the difference of two values."""
    if expected != found:
        yield Difference(member, str(expected), str(found))


def same_address(member: str, asked: str | None, told: str | None) -> Iterator[Difference]:
    """Compares addresses; a name or symbol is the gateway's to resolve."""
    if asked is not None and asked.lower() in _COIN:
        asked = NATIVE
    if asked is not None and not (asked.startswith("0x") and len(asked) == 42):
        return
    if (asked or "").lower() != (told or "").lower():
        yield Difference(member, str(asked), str(told))


def same_chain(asked: Any, network: str, chain_id: int) -> Iterator[Difference]:
    """Compares the network that was asked for, by its CAIP-2 id, chain id or name."""
    if isinstance(asked, str) and asked.removeprefix("eip155:").isdigit():
        yield from same("chainId", int(asked.removeprefix("eip155:")), chain_id)
    elif asked is not None:
        yield from same("network", asked, network)
