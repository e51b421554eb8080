"""Test support for Quoteway and its plugins: a pytest plugin (loaded automatically) and fake providers."""
