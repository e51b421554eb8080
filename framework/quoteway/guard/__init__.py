"""Checks of quotes, calldata and runs against the request and the sealed quote."""
