"""The configuration of signed webhooks: ``[webhooks]``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from marshmallow import fields

from quoteway.config import fields as kinds
from quoteway.config.fields import Listing, flag, integer, seconds, setting

LIFETIME_S: Final = 7 * 24 * 3_600
"""How long a registration sees new states: as long as a transaction id is valid."""


@dataclass(frozen=True, slots=True)
class WebhooksConfig:
    """Webhooks of `POST /v2/webhooks`, for callers whose API key has a name.

    They need `store.url`, from which a restart takes them up again, and `auth.keys` with names.
    """

    enabled: bool = setting(flag(), "Whether callers may register URLs.", False)
    total: int = setting(integer(1, 1_000), "Registrations in all.", 500)
    per_key: int = setting(integer(1, 1_000), "Registrations of one API key.", 50)
    ports: tuple[int, ...] = setting(
        Listing(integer(1, 65_535)), "Ports that the URL of a receiver may have.", (443, 8443)
    )
    private_networks: tuple[str, ...] = setting(
        Listing(fields.String(validate=kinds.proxy)),
        "Private networks in which receivers may be, also with `http`, such as `10.1.0.0/16`. Without any, "
        "receivers are on the public internet and have `https`.",
        (),
    )
    timeout_s: float = setting(seconds(0.1, 60), "Time that a receiver has to answer.", 10.0)
    first_retry_s: float = setting(
        seconds(0.05, 3_600),
        "Time before the first retry, on average. Each further one doubles it, up to an hour.",
        5.0,
    )
    give_up_s: int = setting(
        integer(1, 604_800), "Time for which an event is retried; then it is dropped.", 86_400
    )
    confirmations: int = setting(
        integer(1, 10_000),
        "Blocks, that of the transaction included, after which it is followed no more, where a registration "
        "names no number.",
        64,
    )
    kept_s: int = setting(
        integer(0, 604_800), "Time for which a registration is shown after its last event.", 3_600
    )
    lease_s: float = setting(
        seconds(1, 600),
        "Time after which another worker or replica takes over from the one that sends, if that is killed.",
        15.0,
    )

    @property
    def most_age_s(self) -> float:
        """Returns how long anything of a registration is kept, in seconds."""
        return float(LIFETIME_S + self.give_up_s + self.kept_s)

    def is_allowed(self, address: IPv4Address | IPv6Address) -> bool:
        """Returns whether an address is in one of ``private_networks``."""
        return any(address in ipaddress.ip_network(network) for network in self.private_networks)
