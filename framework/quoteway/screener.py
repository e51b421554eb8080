"""The provider class of verdicts on actions."""

from __future__ import annotations

from abc import abstractmethod

from quoteway import models
from quoteway.providers import Provider


class Screener(Provider):
    """Allows or refuses actions that the custody policy would hand out. ``networks`` is not used."""

    capability = models.Capability.SCREENING

    @abstractmethod
    async def screen(self, request: models.ScreeningRequest) -> models.ScreeningVerdict:
        """Returns the verdict on an action. Every other answer, error and delay refuses the action too."""
