"""The command ``quoteway follow``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from quoteway_client.commands.asking import MISMATCH, WrongUse, asking, gateway_options, show_json
from quoteway_client.commands.live_answers import Ends, follow_live
from quoteway_client.commands.text import harmless, percent, show
from quoteway_client.errors import NotExecutable
from quoteway_client.exchange import Answered
from quoteway_client.following import reporting, tracking
from quoteway_client.models.shared import Leg
from quoteway_client.models.transactions import HashReport, Tracked
from quoteway_client.wire import Model, read

MAX_FILE_BYTES = 4_194_304
NOT_ARRIVED = 6
NOT_OVER = 7


class SavedStep(Model, frozen=True, kw_only=True):
    """What is needed of a step of a saved action."""

    tx_id: str


class SavedAction(Model, frozen=True, kw_only=True):
    """What is needed of a saved action, as ``quoteway swap --out`` writes it."""

    chain_id: int
    steps: tuple[SavedStep, ...]
    outputs: tuple[Leg, ...] = ()

    @property
    def crosses(self) -> bool:
        """Whether it pays on another network."""
        return any(leg.token.chain_id != self.chain_id for leg in self.outputs)


@click.command()
@click.argument(
    "action_file", metavar="[ACTION HASH]", required=False, type=click.Path(path_type=Path, dir_okay=False)
)
@click.argument("hash_", metavar="", required=False)
@click.option(
    "--head", "heads", multiple=True, metavar="NETWORK", help="Print the newest blocks of a network."
)
@click.option(
    "--quote",
    "quotes",
    multiple=True,
    metavar="QUOTE",
    help="Compare a quote of a swap with the best one at each block: a quoteId, or a file with the quote.",
)
@click.option("--count", type=click.IntRange(1), help="End after so many events of --head and --quote.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(0), default=3_600.0, help="Seconds (3600).")
@click.option("--poll", "poll_s", type=click.FloatRange(0.1), default=5.0, help="Seconds between looks (5).")
@gateway_options
def follow(
    action_file: Path | None,
    hash_: str | None,
    heads: tuple[str, ...],
    quotes: tuple[str, ...],
    count: int | None,
    timeout_s: float,
    poll_s: float,
    url: str,
    as_json: bool,
) -> None:
    """Follow a transaction until it is in a block, and a transfer until it has arrived; or live answers.

    ACTION is the file of `swap --out`, or another answer of the API with an action, and HASH that of the
    transaction of its last step. What was sent is compared with what was built. --json prints the last answer
    alone. With --head or --quote there are no arguments: each event is a line, with --json an object with
    `event`, `id` and `data`, until every quote has expired, or --timeout, or --count.

    Exit 0: confirmed, or arrived; of live answers also after --timeout. 1: refused. 2: wrong options. 3: no
    answer of a gateway. 5: another transaction than the one of the action. 6: reverted, refunded, or somebody
    must act. 7: not over within --timeout: follow it again.
    """
    is_live = bool(heads or quotes)
    if is_live and (action_file or hash_):
        raise WrongUse("--head and --quote are without ACTION and HASH")
    if is_live:
        follow_live(url, heads, quotes, Ends(timeout_s, count), as_json=as_json)
        return
    if action_file is None or hash_ is None or count is not None:
        raise WrongUse("name ACTION and HASH, or --head or --quote")
    saved, ends_at = _read(action_file), time.monotonic() + timeout_s

    def told(*lines: str) -> None:
        if not as_json:
            show(lines)

    with asking(url) as gateway:
        client = gateway.client
        sent = client.gateway, saved.steps[-1].tx_id, hash_
        try:
            report = client.run(
                reporting(*sent, timeout_s, poll_s, lambda status: told(f"transaction    {harmless(status)}"))
            )
            last: Answered[HashReport] | Answered[Tracked] = report
            code = _code_of(report.model)
            told(*_lines_of(report.model))
            if code == 0 and saved.crosses:
                left_s = max(ends_at - time.monotonic(), 0.0)
                last = tracked = client.run(
                    tracking(*sent, left_s, poll_s, lambda status: told(f"transfer       {harmless(status)}"))
                )
                code = 0 if tracked.model.status == "filled" else NOT_ARRIVED
                told(*_ends_of(tracked.model))
        except NotExecutable as error:
            click.echo(f"quoteway: {harmless(error)}", err=True)
            sys.exit(NOT_OVER)
    if as_json:
        show_json(last.content)
    sys.exit(code)


def _read(path: Path) -> SavedAction:
    """Raises ``WrongUse`` for what is no action of the API."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise WrongUse(f"{path} is longer than an action is: name the file of `quoteway swap --out`")
        found = read(content, SavedAction)
    except OSError as error:
        raise WrongUse(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, RecursionError):
        raise WrongUse(f"{path} holds no action: name the file of `quoteway swap --out`") from None
    if not found.steps:
        raise WrongUse(f"{path} holds an action without a step")
    return found


def _code_of(report: HashReport) -> int:
    if report.match == "mismatch":
        return MISMATCH
    return 0 if report.status == "confirmed" else NOT_ARRIVED


def _lines_of(report: HashReport) -> Iterator[str]:
    """Yields what became of a transaction."""
    if report.match == "mismatch":
        yield "another transaction than the one that was built: look at what it does"
    for each in report.differences:
        told = f"{harmless(each.actual, 80)} in place of {harmless(each.expected, 80)}"
        yield f"differs        {harmless(each.member, 32)}: {told}"
    if report.block_number is not None:
        yield f"block          {report.block_number}"
    if report.realized is None:
        return
    if report.realized.vs_quote_bps is not None:
        sign = "+" if report.realized.vs_quote_bps > 0 else ""
        yield f"received       {sign}{percent(report.realized.vs_quote_bps)} beside the quote"
    yield f"gas            {report.realized.gas_used:,} units"


def _ends_of(tracked: Tracked) -> Iterator[str]:
    """Yields the end of a transfer."""
    if tracked.fill_hash is not None:
        yield f"arrived        {harmless(tracked.fill_hash, 66)}"
    if tracked.refund is not None:
        yield f"refunded       {tracked.refund.amount} base units of {harmless(tracked.refund.token, 66)}"
    if tracked.reason is not None:
        yield f"reason         {harmless(tracked.reason)}"
