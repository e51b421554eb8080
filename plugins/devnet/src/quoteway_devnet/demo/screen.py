"""The demo's output: in colour on a terminal, plain lines elsewhere."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quoteway_devnet.demo.market import Listed
from quoteway_devnet.demo.scenarios import Hops
from quoteway_devnet.demo.session import OperationResult, listed
from quoteway_devnet.demo.swaps import SwapResult
from quoteway_devnet.demo.wallet import Sent

_PLAIN_WIDTH = 220
"""The width in a file or pipe: no line is folded."""


class Screen:
    """Prints progress and the tables at the end."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console = Console(highlight=False, width=_PLAIN_WIDTH)
        self.status = self._console.status("")

    def say(self, text: str, style: str = "") -> None:
        # Text, not markup: the gateway's symbols and sentences may contain brackets.
        self._console.print(Text(text, style), soft_wrap=True)

    def heading(self, number: int, count: int, title: str) -> None:
        self.status.update(f"{number}/{count} {title}")
        self.say(f"\n{number}. {title}", "bold")

    def waiting(self, seconds: int) -> None:
        self.say(f"   the gateway's rate limit is reached: waiting {seconds} s", "yellow")

    def quoted(self, quote: dict[str, Any], hops: Hops) -> None:
        sold, bought = quote["fromToken"], quote["toToken"]
        self.say(
            f"   quote     {whole(int(quote['fromAmount']), sold['decimals'])} {sold['symbol']} for "
            f"{whole(int(quote['toAmount']), bought['decimals'])} {bought['symbol']} by {route(hops)}, "
            f"at block {quote['block']['number']}"
        )

    def signature(self, kind: str) -> None:
        self.say(f"   sign      typed data, {kind}")

    def step(self, number: int, intent: str) -> None:
        self.say(f"   sign {number}    {intent}", "cyan")

    def mined(self, sent: Sequence[Sent]) -> None:
        blocks = ", ".join(str(one.block) for one in sent)
        self.say(f"   receipts  block {blocks}; {sum(one.gas_used for one in sent):,} gas")

    def operated(self, operated: OperationResult) -> None:
        for move in operated.moves:
            if not move.quoted and not move.moved:
                continue
            word = "received" if move.quoted > 0 else "given   "
            self.say(
                f"   {word}  {whole(abs(move.moved), move.token.decimals)} {move.token.symbol}, "
                f"difference {move.difference}",
                "bold red" if move.difference else "green",
            )

    def position(self, position: dict[str, Any]) -> None:
        if not position:
            self.say("   position  none is left")
            return
        name = f"NFT {position['positionId']}" if position["kind"] == "nft" else "shares"
        principal, fees = (_amounts(position[member]) for member in ("amounts", "uncollectedFees"))
        self.say(f"   position  {name}: {principal}; uncollected fees: {fees or 'none'}")

    def received(self, result: SwapResult) -> None:
        token = result.token_out
        self.say(
            f"   received  {whole(result.received, token.decimals)} {token.symbol}, "
            f"difference {result.difference}",
            "green" if result.exact else "bold red",
        )
        if result.sold != result.amount_in:
            self.say(f"   sold      {result.sold} base units instead of {result.amount_in}", "bold red")

    def table(self, swaps: Sequence[SwapResult]) -> None:
        table = Table(
            box=box.SIMPLE_HEAD, title="Quoted and received", title_justify="left", collapse_padding=True
        )
        for name in ("scenario", "route"):
            table.add_column(name, overflow="fold")
        for name in ("sold", "quoted", "minimum", "received", "difference", "transactions", "gas"):
            table.add_column(name, justify="right", overflow="fold")
        for result in swaps:
            token = result.token_out
            table.add_row(
                Text(result.title),
                Text(route(result.hops)),
                Text(_short(result.sold, result.token_in)),
                *(Text(_short(n, token)) for n in (result.quoted, result.minimum, result.received)),
                Text(str(result.difference), "green" if result.exact else "bold red"),
                str(result.transactions),
                f"{result.gas_used:,}",
            )
        self._console.print()
        self._console.print(table)

    def operations(self, done: Sequence[OperationResult]) -> None:
        table = Table(box=box.SIMPLE_HEAD, title="Pools, vaults, transfers, portfolio", title_justify="left")
        table.add_column("action", overflow="fold")
        table.add_column("given and received", overflow="fold")
        for name in ("difference", "transactions", "gas"):
            table.add_column(name, justify="right")
        for one in done:
            moved = [move for move in one.moves if move.moved]
            shown = ", ".join(_signed(move.moved, move.token) for move in moved[:4])
            table.add_row(
                Text(one.title),
                Text(shown if len(moved) <= 4 else f"{len(moved)} amounts"),
                Text(
                    " ".join(str(move.difference) for move in one.moves if move.difference) or "0",
                    "green" if one.exact else "bold red",
                ),
                str(one.transactions),
                f"{one.gas_used:,}",
            )
        self._console.print(table)


def _amounts(legs: Sequence[dict[str, Any]]) -> str:
    amounts = ((int(leg["amount"]), listed(leg["token"])) for leg in legs)
    return " and ".join(f"{whole(amount, token.decimals)} {token.symbol}" for amount, token in amounts)


def whole(amount: int, decimals: int) -> str:
    """Return ``amount`` in whole tokens, exact: 1234500000 with 6 decimals is ``1,234.5``."""
    sign = "-" if amount < 0 else ""
    coins, rest = divmod(abs(amount), 10**decimals)
    fraction = f"{rest:0{decimals}d}".rstrip("0") if rest else ""
    return f"{sign}{coins:,}" + (f".{fraction}" if fraction else "")


def _short(amount: int, token: Listed) -> str:
    """Return about seven digits of an amount, for tables."""
    coins, _, fraction = whole(amount, token.decimals).partition(".")
    if coins == "0":
        zeros = len(fraction) - len(fraction.lstrip("0"))
        fraction = fraction[: zeros + 6]
    else:
        fraction = fraction[: max(2, 7 - len(coins))]
    return f"{coins}.{fraction} {token.symbol}" if fraction else f"{coins} {token.symbol}"


def _signed(amount: int, token: Listed) -> str:
    return ("-" if amount < 0 else "+") + _short(abs(amount), token)


def route(hops: Hops) -> str:
    """Return a route as text: ``v3 0.05 % > v4 0.3 %``."""
    return " > ".join(_hop(hop["protocol"], hop["feeBps"]) for hop in hops) or "no route shown"


def _hop(protocol: str, fee_bps: float | None) -> str:
    name = protocol.removeprefix("uniswap-")
    return name if fee_bps is None else f"{name} {fee_bps / 100:g} %"
