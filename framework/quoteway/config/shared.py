"""The configuration of what replicas share: ``[shared]``."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway.config import fields as kinds
from quoteway.config.fields import seconds, setting
from quoteway.secrets import Secret


@dataclass(frozen=True, slots=True)
class SharedConfig:
    """What the replicas of a deployment read from chains once for all of them: heads, and reads at a block.

    It may be lost at any time: then each replica reads for itself. What is in it is signed with a key that is
    derived from `quotes.keys`, so that all replicas need the same ones.
    """

    url: Secret | str | None = setting(
        kinds.StoreField(allow_none=True),
        "The URL of a Valkey or Redis server. Unset: nothing is shared.",
        None,
    )
    prefix: str = setting(
        kinds.matching(
            r"[a-z0-9][a-z0-9_.-]{0,31}\Z",
            "expected up to 32 lowercase letters, digits, dots, dashes and underscores",
        ),
        "Beginning of all names in it. Deployments that share one server each need their own.",
        "quoteway",
    )
    timeout_s: float = setting(
        seconds(0.01, 5),
        "How long a read waits for the server. One that does not answer is left alone, for up to 10 seconds.",
        0.25,
    )
    wait_s: float = setting(
        seconds(0, 5),
        "How long a read waits for another replica that reads the same, before it asks the nodes itself.",
        0.5,
    )
