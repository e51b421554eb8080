"""The swap provider that wrong ones are made from: right in everything that the checks ask."""

from quoteway.testing.fakes import RouterSwap

KEY = "wrong-behaviour-key-7f31c9"


class Honest(RouterSwap):
    """Has no route for a token whose transfers lose a part, which the router does not count."""

    async def quote(self, request):
        is_taxed = "TAX" in (request.token_in.symbol, request.token_out.symbol)
        return None if is_taxed else await super().quote(request)
