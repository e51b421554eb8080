"""``python -m quoteway``."""

from quoteway.cli import main

main()
