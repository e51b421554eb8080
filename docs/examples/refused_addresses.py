"""Refuses actions that have an address of a file: one address a line, after # a comment.

[plugin.refused-addresses]
file = "refused.txt"
"""

from pathlib import Path

import quoteway
from marshmallow import Schema, fields
from quoteway import ConfigError, Screener, ScreeningVerdict
from quoteway.evm.address import parse_address


class Settings(Schema):
    file = fields.String(required=True)


class RefusedAddresses(Screener):
    id = "refused-addresses"
    title = "Refused addresses"

    def __init__(self, context):
        path = Path(context.settings["file"])
        try:
            lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
            self.refused = frozenset(parse_address(line) for line in lines if line)
        except (OSError, ValueError) as error:
            raise ConfigError(f"file: {path} has no list of addresses: {error}") from None

    async def screen(self, request):
        if any(account.address in self.refused for account in request.accounts):
            return ScreeningVerdict(allowed=False, code="listed-address")
        return ScreeningVerdict(allowed=True)


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_screening(context):
    return [RefusedAddresses(context)]
