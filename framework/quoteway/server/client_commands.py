"""Finds the commands of clients: they ask a gateway over HTTP, and need neither plugins nor a configuration.

A distribution declares them in the entry-point group ``quoteway.commands``, by their names. They are imported
when they are run or listed.
"""

from __future__ import annotations

import click

from quoteway.errors import ConfigError

GROUP = "quoteway.commands"
CLIENT = "quoteway-client[cli]"
COMMANDS_OF_CLIENT = frozenset({"price", "swap"})


def client_commands() -> list[str]:
    """Returns the names of the installed commands of clients that can be imported.

    One that cannot is left out, with a line that says why.
    """
    from importlib_metadata import entry_points

    found = []
    for name in sorted({each.name for each in entry_points(group=GROUP)}):
        try:
            client_command(name)
        except ConfigError as error:
            click.echo(f"quoteway: {error}", err=True)
        else:
            found.append(name)
    return found


def client_command(name: str) -> click.Command | None:
    """Returns a command of a client. None where no client is known to have one of this name.

    Raises ``ConfigError`` when the client is not installed, or its command cannot be imported.
    """
    from importlib_metadata import entry_points

    from quoteway.host.states import PLUGIN_ERRORS, told

    for each in entry_points(group=GROUP, name=name):
        try:
            command = each.load()
        except PLUGIN_ERRORS as error:
            raise ConfigError(f"the command {name!r} cannot be imported: {told(error)}") from None
        if not isinstance(command, click.Command):
            raise ConfigError(f"the command {name!r} cannot be used: {each.value} is no click command")
        return command
    if name in COMMANDS_OF_CLIENT:
        raise ConfigError(f"{name!r} needs the Python client: python -m pip install '{CLIENT}'")
    return None
