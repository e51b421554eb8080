"""Two local chains with the real protocol contracts: Quoteway's embedded default network."""
