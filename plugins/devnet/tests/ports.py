"""Checks whether a port has a listener."""

import socket
import time


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def closes(port, within_s=60):
    deadline = time.monotonic() + within_s
    while answers(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
