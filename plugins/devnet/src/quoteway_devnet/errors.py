"""The one exception of the devnet."""


class DevnetError(RuntimeError):
    """The devnet cannot be brought up; the message is one sentence that ends with the remedy."""
