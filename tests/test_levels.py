"""The checks of the levels: an honest provider passes, and wrong behaviours are found by name."""

import time
from dataclasses import replace

import pytest
from quoteway.models import Capability
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, RouterSwap
from quoteway.testing.levels import CHECKS, Examination


class NoSlippage(RouterSwap):
    async def quote(self, request):
        quote = await super().quote(request)
        if quote is None:
            return None
        (got,) = quote.outputs
        return replace(quote, outputs=(replace(got, amount_min=got.amount),))


class BlocksInBuild(RouterSwap):
    async def build(self, sealed):
        time.sleep(0.2)  # noqa: ASYNC251 - the fault
        return await super().build(sealed)


ROWS = [
    (NoSlippage, "minimums_allow_the_slippage"),
    (BlocksInBuild, "no_method_blocks_the_loop"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), ROWS)
async def test_a_wrong_behaviour_is_found_by_its_check(devnet, kind, name):
    from quoteway.config.model import Config, QuotesConfig
    from quoteway.engine.gateway import Gateway

    chain = devnet.chains["devnet"]
    router = chain.contracts["UniswapV2Router02"]
    network = Network(
        "devnet", 31337, "Devnet", endpoints=(Endpoint(devnet.urls["devnet"]),), contracts=chain.kinds
    )

    def opening(cls):
        def start():
            make = [HttpRpc, lambda context: cls(context, 31337, router)]
            plugin = FakePlugin(make, networks=[network])
            config = Config(quotes=QuotesConfig(competition_timeout_s=30.0))
            return Gateway(config, plugins={"fake": plugin}, discover=False).running()

        return start

    check = next(check for check in CHECKS if check.name == name)
    honest = await Examination(devnet, opening(RouterSwap), "fake", CHECKS).run(
        check, Capability.SWAP, "router"
    )
    assert honest.finding is None
    wrong = await Examination(devnet, opening(kind), "fake", CHECKS).run(check, Capability.SWAP, "router")
    assert wrong.finding is not None
    assert (wrong.finding.check, wrong.finding.level) == (name, 2)
    assert wrong.finding.remedy
