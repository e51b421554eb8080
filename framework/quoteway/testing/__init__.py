"""For tests of Quoteway and of its plugins: a pytest plugin (loaded by itself) and small honest providers."""
