"""Members of requests that are integers here and decimal text on the wire.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

AMOUNTS = frozenset(["amount", "gas_price_wei", "nonce", "value"])
