"""JSON-RPC 2.0 for clients: reading of calls, answering of one and of many, polling filters."""
