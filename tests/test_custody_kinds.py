"""A custody policy and transfers, pools, vaults, opaque calldata and revocations, over HTTP."""

import asyncio
import json
from dataclasses import replace

import pytest
import pytest_asyncio

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import THIEF  # noqa: E402
from custody import Desk, strict_desk  # noqa: E402
from direct_client import OTHER, USER  # noqa: E402
from policy_rules import TABLES, tight  # noqa: E402
from quoteway import Endpoint, Network, Token  # noqa: E402
from quoteway.config.model import Config, ProviderConfig, QuotesConfig, ServerConfig  # noqa: E402
from quoteway.guard.policy import decide  # noqa: E402
from quoteway.models import Violation  # noqa: E402
from quoteway.server.saved_actions import saved_facts  # noqa: E402
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedTokens, RouterSwap  # noqa: E402
from quoteway.testing.serving import served  # noqa: E402

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANYTHING = {"name": "anything"}
NOTHING = {name: {} for name in TABLES}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_desk(devnet, tmp_path_factory):
    async with strict_desk(devnet, tmp_path_factory.mktemp("policy")) as desk:
        yield desk


@pytest.fixture
def desk(served_desk):
    yield served_desk
    served_desk.follow()


async def crossing(desk, sold, got, amount, **more):
    tokens = {"fromToken": desk.token(sold), "toToken": desk.token(got, "devnet-l2")}
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "amount": str(amount), "address": USER, **tokens}
    return await desk.ask("/v2/swaps/quote", body | more)


async def test_the_recipient_of_a_transfer_is_on_the_other_network(desk):
    quote = await crossing(desk, "USDC", "USDC", 10**9, toAddress=OTHER)
    desk.follow(ANYTHING | {"recipients": {"devnet": [OTHER], "devnet-l2": ["sender"]}})
    assert await desk.refused(quote) == {"recipients": [OTHER]}
    desk.follow(ANYTHING | {"recipients": {"devnet-l2": [OTHER]}})
    action = await desk.act(quote)
    desk.follow(tight(action, max_slippage_bps=10_000))
    assert (await desk.act(quote))["policy"]
    desk.follow(ANYTHING | {"networks": ["devnet"], "kinds": ["swap"]})
    assert await desk.refused(quote) == {"networks": ["devnet-l2"], "kinds": ["bridge"]}
    desk.follow(tight(action, receive={"devnet": [desk.token("USDC", "devnet-l2")]}))
    assert "receive" in await desk.refused(quote)
    own = await crossing(desk, "USDC", "USDC", 10**9)
    desk.follow(ANYTHING | {"recipients": {"devnet-l2": [OTHER]}})
    assert await desk.refused(own) == {"recipients": [USER]}
    desk.follow(ANYTHING | {"recipients": {"devnet-l2": ["sender"]}})
    assert (await desk.act(own))["policy"]
    refunded = await crossing(desk, "USDC", "USDC", 10**9, refundAddress=OTHER)
    assert await desk.refused(refunded) == {"recipients": [OTHER]}


async def test_each_part_of_a_swap_and_a_transfer_is_judged(desk):
    quote = await crossing(desk, "WETH", "USDC", 10**18)
    desk.follow(ANYTHING)
    action = await desk.act(quote)
    assert [part["provider"] for part in action["parts"]] == ["uniswap", "across"]
    rule = tight(action, max_slippage_bps=10_000)
    desk.follow(rule)
    assert (await desk.act(quote))["policy"]
    usdc = desk.token("USDC")
    pool = action["transactions"][-1]["to"]
    desk.follow(rule | {"providers": ["uniswap"]})
    assert await desk.refused(quote) == {"providers": ["across"]}
    desk.follow(rule | {"pay": {"devnet": [desk.token("WETH")]}})
    assert await desk.refused(quote) == {"pay": [usdc]}
    spenders = [each for each in rule["spenders"]["devnet"] if each != pool]
    desk.follow(rule | {"spenders": {"devnet": spenders}})
    assert await desk.refused(quote) == {"spenders": [pool]}
    desk.follow(rule | {"max_amounts": {"devnet": {usdc: "1"}}})
    assert await desk.refused(quote) == {"max_amounts": [usdc]}


async def test_a_saved_answer_is_decided_like_the_action(desk, tmp_path):
    file = tmp_path / "action.json"
    for quote in (
        await desk.quote_swap(approvalMode="permit2-signature", toAddress=OTHER),
        await crossing(desk, "WETH", "USDC", 10**18, toAddress=OTHER),
    ):
        desk.follow(ANYTHING)
        file.write_text(json.dumps(await desk.act(quote)))
        desk.follow({"name": "none", "networks": [], "functions": [], "max_slippage_bps": 0, **NOTHING})
        answer = await desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
        policy = desk.api.gateway.building.custody.policy
        told = [Violation(**each) for each in answer.body["error"]["details"]["violations"]]
        assert told == list(decide(policy, saved_facts(file, {}, {})))
        assert len(told) > 10


async def listed(desk, path, symbols):
    async with asyncio.timeout(60):
        while True:
            for row in (await desk.api.get(path)).body["data"]:
                if {token["symbol"] for token in row.get("tokens", [row.get("asset")])} == symbols:
                    return row["id"]
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", ["pool", "vault"])
async def test_a_pool_and_a_vault_are_judged_like_a_swap(desk, kind):
    if kind == "pool":
        path = "/v2/pools/" + await listed(
            desk, "/v2/pools?network=devnet&protocol=uniswap-v2&limit=50", {"WETH", "USDC"}
        )
        body = {"action": "add", "asset": desk.token("WETH"), "amount": str(10**17)}
    else:
        path = "/v2/vaults/" + await listed(desk, "/v2/vaults?network=devnet&limit=50", {"USDC"})
        body = {"action": "deposit", "asset": desk.token("USDC"), "amount": str(10**6)}
    body |= {"address": USER, "recipient": OTHER}
    desk.follow(ANYTHING)
    action = await desk.ask(path + "/action", body)
    rule = tight(action, max_slippage_bps=10_000)
    desk.follow(rule)
    assert (await desk.ask(path + "/action", body))["policy"]
    spenders, contracts = rule["spenders"]["devnet"], rule["contracts"]["devnet"]
    operation = f"create{kind.title()}Action"
    cases = {
        "kinds": (["swap"], [kind]),
        "recipients": ({}, [OTHER]),
        "spenders": ({"devnet": spenders[1:]}, spenders[:1]),
        "contracts": ({"devnet": contracts[1:]}, contracts[:1]),
        "pay": ({}, rule["pay"]["devnet"]),
        "receive": ({}, rule["receive"]["devnet"]),
    }
    for member, (value, subjects) in cases.items():
        desk.follow(rule | {member: value})
        found = await desk.violations(await desk.api.post(path + "/action", body), operation)
        # A pool takes two tokens through one spender.
        assert {name: [*dict.fromkeys(each)] for name, each in found.items()} == {member: subjects}


async def test_calldata_that_nobody_can_read_is_allowed_only_by_name(devnet):
    chain = devnet.chains["devnet"]
    router = chain.contracts["UniswapV2Router02"]
    tokens = [Token(31337, row.address, row.decimals, row.symbol) for row in chain.tokens]
    makers = [HttpRpc, ListedTokens(tokens), lambda context: RouterSwap(context, 31337, router)]
    network = Network("devnet", 31337, "Devnet", endpoints=(Endpoint(devnet.urls["devnet"]),))
    network = replace(network, wrapped_native=chain.contracts["WETH9"])
    config = Config(
        server=replace(ServerConfig(), port=0),
        quotes=QuotesConfig(competition_timeout_s=30.0),
        providers={"router": ProviderConfig(opaque="simulated")},
    )
    async with served({"toys": FakePlugin(makers, networks=[network])}, config) as api:
        desk = Desk(api, devnet, None)
        quote = await desk.quote_swap(amount=10**6, acknowledge=["opaque_calldata"])
        desk.follow(ANYTHING)
        (selector,) = (await desk.refused(quote))["allow_opaque"]
        desk.follow(ANYTHING | {"allow_opaque": True, "functions": ["approve(address,uint256)"]})
        assert await desk.refused(quote) == {"functions": [selector]}
        desk.follow(ANYTHING | {"allow_opaque": True, "functions": ["approve(address,uint256)", selector]})
        assert (await desk.act(quote))["policy"]
        desk.follow(ANYTHING | {"allow_opaque": True, "spenders": {}, "recipients": {}})
        assert await desk.refused(quote) == {"spenders": [router]}


async def test_a_revocation_gives_no_allowance(desk):
    usdc = desk.token("USDC")
    await desk.approve(usdc, THIEF, 5)
    body = {
        "network": "devnet",
        "address": USER,
        "approvals": [{"token": usdc, "spender": THIEF, "kind": "erc20"}],
    }
    tables = {"pay": {}, "receive": {}, "recipients": {}, "spenders": {}}
    rule = {"name": "a", "providers": [], "least_level": 3, "max_slippage_bps": 0, **tables}
    desk.follow(rule | {"kinds": ["revocation"], "max_price_impact_bps": 0, "require_simulation": True})
    action = await desk.ask("/v2/portfolio/approvals/revoke", body)
    assert action["policy"]
    desk.follow(rule | {"kinds": ["swap"]})
    answer = await desk.api.post("/v2/portfolio/approvals/revoke", body)
    assert await desk.violations(answer, "createRevocation") == {"kinds": ["revocation"]}
    desk.follow(rule | {"contracts": {}, "functions": []})
    answer = await desk.api.post("/v2/portfolio/approvals/revoke", body)
    found = await desk.violations(answer, "createRevocation")
    assert found == {"contracts": [usdc], "functions": ["0x095ea7b3"]}
