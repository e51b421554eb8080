"""The exception of the devnet."""

from quoteway import ConfigError


class DevnetError(ConfigError):
    """The devnet cannot start; the message is one sentence that ends with the remedy."""
