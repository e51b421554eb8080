"""``quoteway demo``: a client of the gateway that signs with a devnet key and compares received with quoted.

The server does not import this package: it is the only place of the project that holds a key.
"""
