"""Signed webhooks: what callers have registered, and the events that are sent to them."""
