"""History: keeps the events of chains as facts, and computes series, prices and positions from them."""
