"""Providers that are wrong in one way each, with the check of ``quoteway check`` that finds it."""
