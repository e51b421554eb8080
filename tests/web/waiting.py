"""Waits for what processes of the tests do."""

import time

WAIT_S = 240


def until(condition):
    """Returns what ``condition`` gives once it is true. Fails after ``WAIT_S``."""
    ends_at = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < ends_at
        time.sleep(0.02)
    return found
