"""A store that fails at a given statement, as a process that is killed there."""


class CrashError(Exception):
    """The process ends here."""


class CrashingConnection:
    """A connection to DuckDB that fails instead of running its statement number ``at``, and ever after."""

    def __init__(self, connection, at):
        self._connection = connection
        self.left = at

    def _count(self):
        self.left -= 1
        if self.left < 0:
            raise CrashError("the process ends here")

    def execute(self, *arguments):
        self._count()
        return self._connection.execute(*arguments)

    def commit(self):
        self._count()
        return self._connection.commit()

    def __getattr__(self, name):
        return getattr(self._connection, name)


def crash(store, at):
    """Makes a store crash at the statement ``at`` from now."""
    store._connection = CrashingConnection(store._connection, at)
