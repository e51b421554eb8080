"""The back ends of an index."""
