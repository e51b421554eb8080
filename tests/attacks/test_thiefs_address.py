"""Attack: the right call, argument by argument, sent to a contract of a thief.

The calldata is that of an honest swap through the Uniswap v2 router. Whoever sends it to the thief's contract
approves the tokens to it first. A contract that the core does not know is refused. Where the operator lets
the simulation decide, or has pinned the thief's own description, the run shows that nothing is paid.
"""

from dataclasses import replace

import pytest
from quoteway import CallDescription, ContractDescription, DeployedAt, PaymentRoles, SpendRoles
from quoteway.config.model import ProviderConfig
from quoteway.testing.fakes import FakePlugin
from thieves import TAKES_ALL, TAKES_NOTHING, TARGET, Elsewhere, Unread, Victim, chain_plugin, put

HONEST = ContractDescription(
    "router",
    (
        CallDescription(
            Elsewhere.SWAP.declaration,
            "swap",
            spends=(SpendRoles("#.path.[0]", "#.amountIn"),),
            pays=(PaymentRoles("#.path.[-1]", "#.to", "#.amountOutMin"),),
            deadline="#.deadline",
        ),
    ),
    (DeployedAt(31337, TARGET),),
)
"""What the call would mean if the contract were the router."""

FINDINGS = {TAKES_ALL: "its run pays no ", TAKES_NOTHING: "its run leaves an allowance to "}


@pytest.fixture
def victim(fresh_devnet, serve_app, make_config):
    real = fresh_devnet.chains["devnet"].contracts["UniswapV2Router02"]

    async def make(calls=(), wrap=lambda plugin: plugin, opaque="refused", target=TARGET):
        config = replace(make_config(), providers={"router": ProviderConfig(opaque=opaque)})
        fake = FakePlugin([lambda context: Elsewhere(context, real, target)], calls=calls)
        plugins = {"chain": chain_plugin(fresh_devnet), "fake": wrap(fake)}
        return Victim(fresh_devnet, await serve_app(plugins, config=config))

    return make


async def test_the_same_call_to_the_router_itself_passes(fresh_devnet, victim):
    here = await victim(target=fresh_devnet.chains["devnet"].contracts["UniswapV2Router02"])
    quote = await here.quote()
    assert quote.status == 200, quote.body
    assert (await here.act(quote.body["quoteId"])).status == 201


@pytest.mark.parametrize("code", FINDINGS)
async def test_a_contract_that_nobody_described(fresh_devnet, victim, refused, code):
    put(fresh_devnet, code)
    answer = await (await victim()).quote()
    refused(answer, 502, "upstream_error", "unsafe_answer")
    assert f"of {TARGET} that it calls" in answer.body["error"]["message"]


async def test_an_address_without_code(fresh_devnet, victim, refused):
    """A call to it succeeds and does nothing."""
    answer = await (await victim([HONEST])).quote()
    refused(answer, 502, "upstream_error", "contract_missing")
    error = answer.body["error"]
    assert f"no code on devnet: Uniswap v2 router ({TARGET})" in error["message"]
    assert [attempt["reason"] for attempt in error["details"]["attempts"]] == ["unsafe_answer"]


@pytest.mark.parametrize("code", FINDINGS)
async def test_where_the_simulation_decides_it_shows_that_nothing_is_paid(
    fresh_devnet, victim, refused, code
):
    put(fresh_devnet, code)
    here = await victim(opaque="simulated")
    answer = await here.quote(acknowledge=["opaque_calldata"])
    refused(answer, 502, "upstream_error", "unsafe_answer")
    assert FINDINGS[code] in answer.body["error"]["message"]


async def test_the_thiefs_own_description_is_not_pinned(fresh_devnet, victim, refused):
    put(fresh_devnet, TAKES_ALL)
    here = await victim([HONEST], wrap=Unread)
    refused(await here.quote(), 503, "provider_unavailable")
    (row,) = [row for row in (await here.api.get("/v2/providers")).body["data"] if row["plugin"] == "fake"]
    assert (row["enabled"], row["reason"]) == (False, "unpinned_descriptions")


@pytest.mark.parametrize("code", FINDINGS)
async def test_an_operator_who_pinned_it_is_saved_by_the_run(fresh_devnet, victim, refused, code):
    put(fresh_devnet, code)
    here = await victim([HONEST])
    answer = await here.quote()
    refused(answer, 502, "upstream_error", "unsafe_answer")
    assert FINDINGS[code] in answer.body["error"]["message"]
