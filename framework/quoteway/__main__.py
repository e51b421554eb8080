"""``python -m quoteway``."""

from quoteway.server.cli import main

main()
