"""Quoteway: quotes in, unsigned transactions out."""
