"""Why rows of an answer are missing, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quoteway_client.commands.text import harmless

if TYPE_CHECKING:
    from quoteway_client.models.shared import FailedSource

_WORDS: Mapping[str, str] = {
    "call_failed": "the token does not tell the balance",
    "short_answer": "the token's answer is no balance",
    "no_token": "there is no token at the address",
    "out_of_gas": "the token uses too much gas",
    "token_limit": "the list of tokens is longer than one request reads",
    "index_unavailable": "unlisted tokens may be missing, since no index answers",
    "index_incomplete": "unlisted tokens may be missing, since the index is not complete",
    "index_behind": "unlisted tokens may be missing, since the index is behind the chain",
    "rpc_error": "no node answers",
    "provider_timeout": "no answer yet, ask again",
    "provider_error": "the provider failed, ask again",
}


def reason_words(reason: str) -> str:
    """Returns what a reason means, with its code; the code alone of one that is not known."""
    code = harmless(reason, 40) or "no reason is given"
    return f"{_WORDS[reason]} ({code})" if reason in _WORDS else code


def missing_sources(rows: str, failed: Sequence[FailedSource]) -> Iterator[str]:
    """Yields the providers whose ``rows``, such as positions or pools, are missing."""
    for each in failed:
        yield f"missing        {rows} of {harmless(each.provider, 40)}: {reason_words(each.reason)}"
