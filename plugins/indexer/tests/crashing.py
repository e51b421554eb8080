"""A store that fails at a given statement, as a process that is killed there."""

import functools

STATEMENTS = {"execute", "commit", "columns", "insert", "insert_values"}


class CrashError(Exception):
    """The process ends here."""


class CrashingConnection:
    """A connection to DuckDB or ClickHouse that fails at its statement number ``at``, and ever after.

    It fails before the database has the statement, or with ``answers_lost`` after.
    """

    def __init__(self, connection, at, answers_lost):
        self._connection = connection
        self.left = at
        self._answers_lost = answers_lost

    def _run(self, statement, *arguments):
        self.left -= 1
        if self.left < -1 or (self.left < 0 and not self._answers_lost):
            raise CrashError("the process ends here")
        result = statement(*arguments)
        if self.left < 0:
            raise CrashError("the process ends here")
        return result

    def __getattr__(self, name):
        found = getattr(self._connection, name)
        return functools.partial(self._run, found) if name in STATEMENTS else found


def crash(store, at, *, answers_lost=False):
    """Makes a store crash at the statement ``at`` from now."""
    store._connection = CrashingConnection(store._connection, at, answers_lost)
