"""Reads logs from nodes, decodes them, and commits them as facts."""
