"""Plugins and providers: registry, lifespans, calls, lists and shared services."""
