"""Whether a process runs."""

from pathlib import Path


def runs(pid):
    """Returns whether a process runs; one that ended and is not waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"
