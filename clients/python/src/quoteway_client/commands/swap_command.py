"""The command ``quoteway swap``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from quoteway_client.acting import act_swap
from quoteway_client.commands.asking import Asking, WrongUse, asking, gateway_options, show_json
from quoteway_client.commands.named_tokens import known_tokens, token_address, tokens_named, warnings_of
from quoteway_client.commands.new_file import check_new, write_new
from quoteway_client.commands.route_lines import tokens_of
from quoteway_client.commands.swap_lines import (
    Offer,
    action_lines,
    attempt_rows,
    price_lines,
    quote_lines,
    route_picture,
)
from quoteway_client.commands.text import amount as written
from quoteway_client.commands.text import harmless, show, show_table, symbol
from quoteway_client.errors import Difference, QuoteMismatch
from quoteway_client.exchange import Answered
from quoteway_client.models.shared import Action, TokenRef
from quoteway_client.models.swaps import SwapQuote
from quoteway_client.operations.swaps import create_swap_quote, get_swap_price
from quoteway_client.units import MAX_DECIMALS, to_units


@click.command()
@click.argument("amount")
@click.argument("sold")
@click.argument("bought")
@click.option("--network", required=True, help="Network of both tokens.")
@click.option("--from", "sender", help="Account that signs and pays. Without it the price is indicative.")
@click.option("--to", "recipient", help="Account that receives BOUGHT (the one of --from).")
@click.option("--slippage", help='How far the minimum is below the quote, in percent, or "auto" (0.5).')
@click.option(
    "--acknowledge",
    multiple=True,
    type=click.Choice(["high_price_impact", "opaque_calldata"]),
    help="Accept what the quote asks to accept.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the unsigned transactions: the API's answer to the request for the action.",
)
@click.option("--force", is_flag=True, help="Replace the file of --out.")
@gateway_options
def swap(
    amount: str,
    sold: str,
    bought: str,
    network: str,
    sender: str | None,
    recipient: str | None,
    slippage: str | None,
    acknowledge: tuple[str, ...],
    out: Path | None,
    force: bool,
    url: str,
    as_json: bool,
) -> None:
    """Show what a swap pays, who was asked, and by which route; with --from what there is to sign.

    AMOUNT is of SOLD, in whole tokens, such as 1.5. SOLD and BOUGHT are symbols, addresses or "native".
    Nothing is signed or sent. --json prints the quote, without --from the price. Exit 0: shown. 1: refused.
    2: wrong options. 3: no answer of a gateway. 4: a symbol is of several tokens. 5: the answer is not what
    was asked.
    """
    _units(amount, MAX_DECIMALS)
    slippage_bps = None if slippage is None else _slippage_bps(slippage)
    if sender is None and (recipient or out or slippage or acknowledge):
        raise WrongUse("--to, --slippage, --acknowledge and --out need --from")
    if out is not None:
        check_new(out, force=force)
    with asking(url) as gateway:
        tokens = tokens_named(gateway, network, (sold, bought))
        units = _units(amount, tokens[0].decimals)
        asked = [_as_typed(word, token) for word, token in zip((sold, bought), tokens, strict=True)]
        if sender is None:
            call = get_swap_price(network=network, from_token=asked[0], to_token=asked[1], amount=units)
            priced = gateway.answer(replace(call, check=_compared(tokens, units)))
            _show(gateway, priced, network, tokens, as_json)
            return
        body: dict[str, Any] = {"network": network, "from_token": asked[0], "to_token": asked[1]}
        body |= {"amount": units, "address": sender, "to_address": recipient, "slippage_bps": slippage_bps}
        body |= {"acknowledge": acknowledge or None}
        quoted = gateway.answer(create_swap_quote(**body))
        _compared(tokens, units)(quoted.model)
        _show(gateway, quoted, network, tokens, as_json)
        if as_json and out is None:
            return
        action = _action(gateway, quoted.model, acknowledge)
    if not as_json:
        show(action_lines(action.model))
    if out is not None:
        write_new(out, action.content, force=force)
        click.echo(f"wrote {len(action.model.transactions)} unsigned transactions to {out}", err=as_json)


def _action(gateway: Asking, quote: SwapQuote, acknowledge: Sequence[Any]) -> Answered[Action]:
    """Returns the action of a quote, compared with it."""
    return gateway.answer(act_swap(quote, acknowledge=acknowledge) if acknowledge else act_swap(quote))


def _show(
    gateway: Asking, answer: Answered[Any], network: str, tokens: Sequence[TokenRef], as_json: bool
) -> None:
    if as_json:
        show_json(answer.content)
        return
    offer: Offer = answer.model
    sold, bought = offer.from_token, offer.to_token
    for token in (sold, bought):
        show([f"{symbol(token):<14} {token_address(token)}"])
    show(f"warning        {each}" for token in tokens for each in warnings_of(gateway, token))
    click.echo("")
    if offer.attempts:
        show_table(attempt_rows(offer.attempts, bought))
        click.echo("")
    known = {token.address.lower(): token for token in (sold, bought)}
    unknown = [each for each in (tokens_of(offer.route) if offer.route else ()) if each not in known]
    show(route_picture(offer, known | known_tokens(gateway, network, unknown)))
    click.echo("")
    show(price_lines(offer))
    if isinstance(offer, SwapQuote):
        show(quote_lines(offer))
    else:
        show(["indicative     nothing is simulated, and there is no minimum: --from asks for a quote"])


def _compared(tokens: Sequence[TokenRef], units: int) -> Callable[[Offer], None]:
    """Returns what compares an offer with the tokens and the amount that were asked for.

    It raises ``QuoteMismatch``. Decimals matter: they say what the typed amount means.
    """

    def compare(offer: Offer) -> None:
        found = []
        for member, asked, told in zip(
            ("fromToken", "toToken"), tokens, (offer.from_token, offer.to_token), strict=True
        ):
            if asked.address.lower() != told.address.lower():
                found.append(Difference(member, asked.address, told.address))
            if asked.decimals != told.decimals:
                found.append(Difference(f"{member}.decimals", str(asked.decimals), str(told.decimals)))
        if offer.from_amount != units:
            expected, differing = written(units, tokens[0]), written(offer.from_amount, tokens[0])
            found.append(Difference("fromAmount", expected, differing))
        if found:
            raise QuoteMismatch(found)

    return compare


def _as_typed(word: str, token: TokenRef) -> str:
    """Returns the address that was typed; for a symbol the one that the gateway found for it."""
    return word if word.startswith("0x") else token.address


def _units(amount: str, decimals: int) -> int:
    """Returns an amount in base units. Raises ``WrongUse``."""
    try:
        units = to_units(amount, decimals)
    except ValueError as error:
        raise WrongUse(f"AMOUNT: {harmless(error)}") from None
    if units <= 0:
        raise WrongUse("AMOUNT: it must be above 0")
    return units


def _slippage_bps(text: str) -> int | str:
    """Returns basis points of a number in percent. Raises ``WrongUse``."""
    if text == "auto":
        return text
    try:
        return to_units(text.removesuffix("%"), 2)
    except ValueError:
        raise WrongUse('--slippage: a number of percent such as 0.5, or "auto"') from None
