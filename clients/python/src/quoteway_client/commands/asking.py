"""Asks a gateway for a command: options, errors in one line, and exit codes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from quoteway_client.client import Quoteway
from quoteway_client.commands.text import harmless
from quoteway_client.errors import ApiError, ConnectionFailed, Mismatch, QuotewayError, UnexpectedAnswer
from quoteway_client.exchange import Answered, Retrying
from quoteway_client.resource import next_page

if TYPE_CHECKING:
    from quoteway_client.calls import Call
    from quoteway_client.resource import Page

MOST_PAGES = 100
"""Pages of a list that are read: one that does not end must not keep a command running."""

T = TypeVar("T")
PageT = TypeVar("PageT", bound="Page[Any]")
F = TypeVar("F", bound=Callable[..., Any])

REFUSED = 1
USAGE = 2
NO_ANSWER = 3
AMBIGUOUS = 4
MISMATCH = 5


class WrongUse(click.ClickException):
    """Options or arguments that cannot be used: one line, and the exit code of wrong options."""

    exit_code = USAGE

    def show(self, file: Any = None) -> None:
        """Prints the line."""
        click.echo(f"quoteway: {harmless(self.message)}", err=True)


class Asking:
    """A client of one gateway, for one command."""

    def __init__(self, client: Quoteway) -> None:
        self.client = client

    def answer(self, call: Call[T]) -> Answered[T]:
        """Returns the answer to a call, compared with the request where the client does that."""
        return self.client.run(self.client.gateway.answered(call))

    def pages(self, call: Call[PageT]) -> Iterator[Answered[PageT]]:
        """Yields the pages of a list, from that of the call on. Raises ``UnexpectedAnswer`` for a list that
        does not end.
        """
        following: Call[PageT] | None = call
        for _ in range(MOST_PAGES):
            if following is None:
                return
            page = self.answer(following)
            yield page
            following = next_page(following, page.model)
        if following is not None:
            raise UnexpectedAnswer(f"the list has more than {MOST_PAGES} pages: name a network", 200)


def gateway_options(command: F) -> F:
    """Adds ``--url`` and ``--json``, and ends the command with an exit code on an error of the client."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except QuotewayError as error:
            click.echo(f"quoteway: {_told(error)}", err=True)
            for line in (*_candidates(error), *_attempts(error)):
                click.echo(line, err=True)
            sys.exit(_exit_code(error))

    url = click.option(
        "--url",
        envvar="QUOTEWAY_URL",
        default="http://127.0.0.1:8080",
        help="Address of the gateway ($QUOTEWAY_URL, http://127.0.0.1:8080).",
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print the API's answer, unchanged.")
    decorated: Any = url(as_json(run))
    return decorated  # type: ignore[no-any-return]  # click's decorators keep what they decorate


@contextmanager
def asking(url: str, *, timeout_s: float = 60.0, again: bool = False) -> Iterator[Asking]:
    """Opens a client of the gateway. The caller's key is ``$QUOTEWAY_API_KEY``, which no list of processes
    shows.

    A request is sent once, unless the gateway says when to try again; with ``again`` also after failures.
    Raises ``WrongUse`` for an address or a key that cannot be used.
    """
    import os

    pause_s = 0.25 if again else 2 * timeout_s
    retrying = Retrying(
        timeout_s=timeout_s, deadline_s=timeout_s, first_pause_s=pause_s, longest_pause_s=max(8.0, pause_s)
    )
    try:
        client = Quoteway(url, os.environ.get("QUOTEWAY_API_KEY"), retrying=retrying)
    except ValueError as error:
        named = "QUOTEWAY_API_KEY" if "api_key" in str(error) else "--url"
        why = str(error).removeprefix("base_url ").removeprefix("api_key ")
        raise WrongUse(f"{named} {why}") from None
    with client:
        yield Asking(client)


def show_json(content: bytes) -> None:
    """Prints an answer of the API, byte for byte."""
    click.echo(content)


def _told(error: QuotewayError) -> str:
    """What went wrong in one line: message, code, reason, and what to do."""
    if isinstance(error, ApiError):
        named = error.code if error.reason is None else f"{error.code}, {error.reason}"
        others = (each for each in error.fields if str(each.get("message")) not in error.message)
        fields = "".join(f" {each.get('path')}: {each.get('message')}" for each in others)
        again = ". The same request may succeed later" if error.retryable else ""
        return harmless(f"{error.message}{fields} ({named}){again}")
    if isinstance(error, ConnectionFailed):
        return harmless(f"{error}. Check --url, and that the gateway runs")
    if isinstance(error, Mismatch):
        return harmless(f"the answer is not what was asked, do not use it: {error}")
    return harmless(error)


def _candidates(error: QuotewayError) -> Iterator[str]:
    """Yields the tokens that an ambiguous name may mean."""
    for field in error.fields if isinstance(error, ApiError) else ():
        rows = field.get("candidates")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict):
                name = "" if row.get("name") is None else harmless(row.get("name"), 40)
                yield f"  {harmless(row.get('address'), 66)}  {name}".rstrip()


def _attempts(error: QuotewayError) -> Iterator[str]:
    """Yields what each provider answered that was asked in vain."""
    rows = error.details.get("attempts") if isinstance(error, ApiError) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            provider, outcome, reason = (
                harmless(row.get(each), 60) for each in ("provider", "outcome", "reason")
            )
            yield f"  {provider}: {outcome}" + ("" if reason in ("None", outcome) else f" ({reason})")


def _exit_code(error: QuotewayError) -> int:
    if isinstance(error, (ConnectionFailed, UnexpectedAnswer)):
        return NO_ANSWER
    if isinstance(error, Mismatch):
        return MISMATCH
    reasons = (
        {error.reason, *(each.get("reason") for each in error.fields)} if isinstance(error, ApiError) else ()
    )
    return AMBIGUOUS if "ambiguous_token" in reasons else REFUSED
