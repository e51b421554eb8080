"""Replays the facts of pools from their creation, in integers, into their hours."""
