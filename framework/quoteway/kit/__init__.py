"""Base classes for providers of common kinds. Plugins import them from ``quoteway``."""
