"""Measured claims: exactness at scale, speed and memory, each beside a bare baseline in the same run."""
