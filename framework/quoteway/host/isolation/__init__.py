"""Runs a plugin in a process of its own: the same hooks and provider classes on this side, over a socket."""
