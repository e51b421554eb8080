"""Errors of the demo."""


class DemoError(RuntimeError):
    """A step of the demo failed; the message is one sentence that ends with the remedy."""


class RefusedError(DemoError):
    """The gateway answered with an error envelope; ``reason`` is its ``details.reason``."""

    def __init__(self, message: str, reason: str | None) -> None:
        super().__init__(message)
        self.reason = reason
