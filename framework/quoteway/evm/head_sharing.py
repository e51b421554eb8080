"""Where the heads that one process follows come from, and go to, when replicas follow a chain together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from quoteway.models import Header


class HeadSharing(Protocol):
    """The heads of one chain that the replicas of a deployment share. The methods return at once."""

    def heads(self) -> AsyncIterator[Header] | None:
        """Returns the heads that another replica tells; None while this one has to follow the chain itself.

        It ends when this one has to.
        """

    def read(self, header: Header) -> None:
        """Is told each head that the nodes of this process gave."""

    def moved(self, header: Header) -> None:
        """Is told each new head of this process."""


class NoSharing:
    """Each process follows the chain itself."""

    def heads(self) -> AsyncIterator[Header] | None:
        return None

    def read(self, header: Header) -> None:
        pass

    def moved(self, header: Header) -> None:
        pass
