"""The HTTP API: one file per resource, its schemas beside its handlers."""
