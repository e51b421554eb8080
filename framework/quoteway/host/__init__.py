"""Plugins and providers: registry, lifespans, calls, and what they share."""
