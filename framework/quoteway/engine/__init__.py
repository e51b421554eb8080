"""Quotes and actions: one engine for every capability."""
