"""Changes the answers of providers, and compares what the core then accepts with what the chain does."""
