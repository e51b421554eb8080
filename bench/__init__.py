"""Measurements of exactness, speed and memory, each compared with a baseline of the same run."""
