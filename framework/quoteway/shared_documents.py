"""A document of an upstream that one replica fetches for all (``[shared]``)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from typing import Final

from quoteway.shared_answers import SharedAnswers

WAIT_S: Final = 5.0
"""How long a replica waits for another one that fetches the same document."""
FRESH_PART: Final = 0.9
"""A document is taken from another replica for this part of the time after which it is read again, so that
the replica that fetched it finds it old when it reads it again."""
_AHEAD_S: Final = 5.0
_TIME_BYTES: Final = 8


class SharedDocument:
    """One document, in the state in which an upstream sent it. Nothing here raises for a server that is away.

    ``place`` is what makes it this document: the URL, the parameters, and the headers with their keys. Only a
    digest of it is told. ``every_s`` is after how long it is read again.
    """

    def __init__(
        self,
        answers: SharedAnswers | None,
        place: Iterable[str],
        every_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        digest = hashlib.blake2b(digest_size=16, person=b"shared document")
        for part in place:
            digest.update(len(part.encode()).to_bytes(8, "big") + part.encode())
        self._answers = answers
        self._key = b"document/" + digest.hexdigest().encode()
        self._fresh_s = every_s * FRESH_PART
        self._clock = clock
        self._is_refused = self._is_owed = False

    @property
    def is_shared(self) -> bool:
        """Returns whether there are replicas to share it with."""
        return self._answers is not None

    async def take(self) -> tuple[bytes, float] | None:
        """Returns the document that another replica fetched, and its age in seconds.

        None: the caller is to fetch it, and ends with ``give`` or ``refuse``.
        """
        is_refused, self._is_refused = self._is_refused, False
        if self._answers is None or is_refused:
            return None
        found = await self._answers.get(self._key, wait_s=WAIT_S)
        if found is not None and len(found) > _TIME_BYTES:
            age_s = self._clock() - int.from_bytes(found[:_TIME_BYTES], "big") / 1_000
            if -_AHEAD_S <= age_s < self._fresh_s:
                return found[_TIME_BYTES:], max(age_s, 0.0)
        self._is_owed = True
        return None

    def give(self, body: bytes) -> None:
        """Gives other replicas the document as it was fetched a moment ago, and could be read."""
        if self._answers is not None:
            self._is_owed = False
            at = int(self._clock() * 1_000).to_bytes(_TIME_BYTES, "big")
            self._answers.put(self._key, at + body, self._fresh_s)

    def refuse(self) -> None:
        """Notes that the document could not be fetched or read: next time it is fetched here."""
        self._is_refused = True
        if self._answers is not None and self._is_owed:
            self._is_owed = False
            self._answers.release(self._key)
