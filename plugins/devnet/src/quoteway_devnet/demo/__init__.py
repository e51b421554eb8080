"""``quoteway demo``: a client of the gateway that signs with a devnet key and compares received with quoted.

Nothing of the server imports this package: it is the one place of the project that holds a key.
"""
