"""USD prices and what amounts are worth."""
