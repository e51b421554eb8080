"""A swap provider that is honest until a test tells it how to lie, behind a served app on the devnet."""

import contextlib
from dataclasses import replace

from direct_client import USER, FarNode, client_of
from quoteway.config.model import QuotesConfig
from quoteway.testing.fakes import FakePlugin, RouterSwap

THIEF = "0x7e7e7e7E7e7E7e7e7e7E7e7e7e7E7e7e7e7e7e7E"
AMOUNT = 10**9
"""1,000 USDC."""


class Cheat(RouterSwap):
    """Swaps through the devnet's real v2 router. ``quote_lie(quote)`` and ``build_lie(sealed, build)`` change
    what it answers. The first ``honest_builds`` builds are not changed: a quote of a swap is built and run
    before it is given, so a liar may wait for the action.

    ``named`` are further contracts that it declares, ``trusted`` further spenders.
    """

    quote_lie = build_lie = None
    honest_builds = 0
    named, trusted = {}, ()

    def contracts(self, chain_id):
        return {**super().contracts(chain_id), **self.named}

    def spenders(self, chain_id):
        return (*super().spenders(chain_id), *self.trusted)

    async def quote(self, request):
        quote = await super().quote(request)
        return self.quote_lie(quote) if self.quote_lie and quote else quote

    async def build(self, sealed):
        build = await super().build(sealed)
        self.honest_builds -= 1
        return self.build_lie(sealed, build) if self.build_lie and self.honest_builds < 0 else build

    def honest(self):
        """Forgets every lie."""
        for name in ("quote_lie", "build_lie", "honest_builds", "named", "trusted"):
            vars(self).pop(name, None)

    def args(self, build):
        """The arguments of a build's call, by name."""
        (step,) = build.steps
        return dict(zip(self.SWAP.names, self.SWAP.decode(step.data), strict=True))

    def call(self, build, **changes):
        """The step of a build with other arguments."""
        (step,) = build.steps
        return replace(step, data=self.SWAP.encode([*(self.args(build) | changes).values()]))


class PromisesALittleMore(RouterSwap):
    """3 % more than it pays. Its minimum is met where the slippage is larger."""

    async def quote(self, request):
        quote = await super().quote(request)
        (leg,) = quote.outputs
        amount = leg.amount * 10_300 // 10_000
        minimum = amount * (10_000 - request.slippage_bps) // 10_000
        return replace(quote, outputs=(replace(leg, amount=amount, amount_min=minimum),))


def client_beside(devnet, *classes, node=FarNode):
    """A client of a served app with every plugin and such swap providers, ``a0``, ``a1``, ... in order."""
    router = devnet.chains["devnet"].contracts["UniswapV2Router02"]

    def maker(at, cls):
        return lambda context: cls(context, 31337, router, provider_id=f"a{at}")

    fakes = FakePlugin([maker(at, cls) for at, cls in enumerate(classes)])
    return client_of(devnet, 0.0, node=node(devnet.urls["devnet"]), plugins={"beside": fakes})


def with_step(build, **changes):
    """The build with a changed transaction."""
    (step,) = build.steps
    return replace(build, steps=(replace(step, **changes),))


@contextlib.asynccontextmanager
async def client_with_a_cheat(devnet, **options):
    """A client of a served app with every plugin and the provider ``cheat``, which is ``client.cheat``."""
    made = []

    def cheat(context):
        router = devnet.chains["devnet"].contracts["UniswapV2Router02"]
        made.append(Cheat(context, 31337, router, provider_id="cheat"))
        return made[0]

    # The quotes live long on a busy machine.
    quotes = QuotesConfig(competition_timeout_s=30.0, lifetime_s=900)
    plugins = {"beside": FakePlugin([cheat])}
    async with client_of(devnet, 0.0, plugins=plugins, quotes=quotes, **options) as client:
        (client.cheat,) = made
        yield client


def wanted(client, **more):
    """The body of a quote of the cheat."""
    ends = {"fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    return {"network": "devnet", **ends, "amount": str(AMOUNT), "address": USER, "provider": "cheat", **more}


async def attempt(client, **more):
    """The answer to a quote, or to the action where the quote was given."""
    answer = await client.api.post("/v2/swaps/quote", wanted(client, **more))
    if answer.status != 200:
        return answer
    return await client.api.post(f"/v2/swaps/{answer.body['quoteId']}/action")


def nothing_to_sign(answer, reason, finding=""):
    """Asserts a refusal by the guard that gives the client nothing to sign or to come back with."""
    error = answer.refused(502, "upstream_error", reason)
    assert finding in error["message"], error["message"]
    assert set(answer.body) == {"error"}
    for member in ("quoteId", "transactions", "steps", "signatures", "typedData", "walletSendCalls"):
        assert f"'{member}'" not in str(answer.body)
