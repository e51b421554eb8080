"""Warnings: of a provider the core takes a code, and has the sentence that a signer reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: a code for programs, a sentence for people.

    In quotes and builds of a provider only the code counts: the core has the sentences, and those alone reach
    a signer (``WARNINGS``).
    """

    code: str
    message: str = ""


WARNINGS: Mapping[str, str] = {
    "gas_exceeds_output": "Gas costs more than the output is worth.",
    "certificate_unavailable": (
        "The quote has no certificate: its provider makes none, had no time for one, or found too many pools."
    ),
    "max_hops_capped": "The deployment looks for routes of fewer hops than maxHops allows.",
    "pools_not_searched": (
        "Pools with unusual fees were not completely looked for yet: a later quote may find more of them."
    ),
    "pool_not_known_far_enough": (
        "The state of a pool could not be read as far as this amount reaches. The route leaves that part out."
    ),
    "hooked_pool_skipped": "A pool of these tokens was left out: its hooks may change any amount.",
    "no_onchain_limit": (
        "The vault takes no limit: what its shares are worth when the transaction is executed decides. The "
        "amounts were checked when the transaction was built and simulated. What is left of an "
        "approval remains."
    ),
    "opaque_calldata": (
        "Another service made the calldata and it cannot be decoded. Only its simulation shows what it does; "
        "that the chain enforces the minimum is not proven."
    ),
    "refund_address_controls_deposit": (
        "The refund address is the deposit's depositor: until the fill, its owner may sign another recipient "
        "or a lower amount for this deposit. Name only an account that you trust with the whole deposit."
    ),
    "unaudited": "The contracts have not been audited: use them at your own risk.",
}
"""What a provider may warn of, by code."""

OTHER_WARNING = "provider_warning"


def own_warnings(provider: str, warnings: Iterable[Notice]) -> tuple[Notice, ...]:
    """Returns a provider's warnings as sentences of the core. Its own sentences are never shown.

    A code that ``WARNINGS`` does not have becomes ``provider_warning``.
    """
    other = Notice(OTHER_WARNING, f"The provider {provider} has a warning that is not one of the gateway's.")
    told = (Notice(each.code, WARNINGS[each.code]) if each.code in WARNINGS else other for each in warnings)
    return tuple(dict.fromkeys(told))
