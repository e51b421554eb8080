"""USD prices and USD values of amounts."""
