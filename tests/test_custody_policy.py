"""A custody policy over HTTP, on the devnet's real contracts: what it allows, and what it refuses by name."""

import asyncio
import json
from dataclasses import replace

import pytest
import pytest_asyncio

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import THIEF  # noqa: E402
from custody import desk_of, strict_desk  # noqa: E402
from direct_client import OTHER, USER  # noqa: E402
from policy_rules import tight  # noqa: E402
from quoteway import NATIVE, Capability  # noqa: E402
from quoteway.config.policy import PolicyConfig  # noqa: E402
from quoteway.engine.audit_log import verify  # noqa: E402
from quoteway.engine.gateway import Gateway  # noqa: E402
from quoteway.errors import ConfigError  # noqa: E402
from quoteway.evm import permit2  # noqa: E402

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANYTHING = {"name": "anything"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_desk(devnet, tmp_path_factory):
    async with strict_desk(devnet, tmp_path_factory.mktemp("policy")) as desk:
        yield desk


@pytest.fixture
def desk(served_desk):
    yield served_desk
    served_desk.follow()


# --- the file -----------------------------------------------------------------------------------------------


async def test_the_file_of_the_configuration_decides_from_the_start(served_desk):
    quote = await served_desk.quote_swap()
    assert await served_desk.refused(quote) == {"networks": ["devnet"]}


async def test_a_file_that_cannot_be_used_stops_the_start(make_config, tmp_path):
    file = tmp_path / "policy.toml"
    config = replace(make_config(), policy=PolicyConfig(file=str(file)))
    with pytest.raises(ConfigError, match="cannot be read"):
        Gateway(config, discover=False)
    file.write_text('[[rules]]\nname = "a"\nspender = []\n')
    with pytest.raises(ConfigError, match=r"rules\.0\.spender: unknown key\. Did you mean 'spenders'"):
        Gateway(config, discover=False)
    file.write_text('[[rules]]\nname = "a"\npay = {ethereun = []}\n')
    gateway = Gateway(config, discover=False)
    with pytest.raises(ConfigError, match="rule 'a': network 'ethereun' is unknown"):
        gateway.load()


# --- swaps --------------------------------------------------------------------------------------------------


async def test_a_policy_without_one_of_its_entries_refuses_the_swap_that_needs_it(desk):
    quote = await desk.quote_swap(toAddress=OTHER)
    desk.follow(ANYTHING)
    action = await desk.act(quote)
    (usdc, weth), digest = (desk.token("USDC"), desk.token("WETH")), action["policy"]["digest"]
    rule = tight(action)
    desk.follow(rule)
    allowed = await desk.act(quote)
    assert allowed["transactions"] == action["transactions"]
    assert allowed["policy"]["digest"].startswith("sha256:")
    assert allowed["policy"]["digest"] != digest
    router = action["transactions"][-1]["to"]
    cases = {
        "networks": ([], ["devnet"]),
        "kinds": (["bridge"], ["swap"]),
        "providers": (["across"], ["uniswap"]),
        "least_level": (1, ["uniswap"]),
        "pay": ({"devnet": [weth], "devnet-l2": [usdc]}, [usdc]),
        "receive": ({"devnet": [usdc]}, [weth]),
        "recipients": ({"devnet": ["sender"], "devnet-l2": [OTHER]}, [OTHER]),
        "spenders": ({"devnet": [permit2.ADDRESS]}, [router]),
        "contracts": ({"devnet": [usdc, permit2.ADDRESS]}, [router]),
        "max_price_impact_bps": (action["priceImpactBps"] - 1, [None]),
        "max_slippage_bps": (49, [weth]),
        "max_amounts": ({"devnet": {usdc: "999.999999"}}, [usdc]),
    }
    for member, (value, subjects) in cases.items():
        desk.follow(rule | {member: value})
        assert await desk.refused(quote) == {member: subjects}
    desk.follow(rule | {"senders": [OTHER]})
    assert await desk.refused(quote) == {"senders": [USER]}
    for function in rule["functions"]:
        desk.follow(rule | {"functions": [each for each in rule["functions"] if each != function]})
        assert await desk.refused(quote) == {"functions": [function]}


async def test_everything_that_is_not_allowed_is_told_at_once(desk):
    quote = await desk.quote_swap(toAddress=OTHER)
    desk.follow({"name": "none", "networks": [], "kinds": [], "recipients": {}, "functions": []})
    found = await desk.refused(quote)
    assert set(found) == {"networks", "kinds", "recipients", "functions"}
    assert len(found["functions"]) >= 4


async def test_the_rule_of_the_sender_decides(desk):
    quote = await desk.quote_swap()
    mine, others = {"name": "mine", "senders": [USER.lower()]}, {"name": "others", "kinds": []}
    desk.follow(mine, others)
    assert (await desk.act(quote))["policy"]
    desk.follow(mine | {"senders": [OTHER]}, others)
    assert await desk.refused(quote) == {"kinds": ["swap"]}


async def test_the_case_of_an_address_decides_nothing(desk):
    quote = await desk.quote_swap(toAddress=OTHER.lower())
    desk.follow(ANYTHING | {"recipients": {"devnet": ["0x" + OTHER[2:].upper()]}})
    assert (await desk.act(quote))["policy"]
    desk.follow(ANYTHING | {"recipients": {"devnet": [THIEF.lower()]}})
    assert await desk.refused(quote) == {"recipients": [OTHER]}


async def test_the_native_coin_is_a_token(desk):
    quote = await desk.quote_swap("ETH", "USDC", 10**18)
    usdc, weth = desk.token("USDC"), desk.token("WETH")
    desk.follow(ANYTHING | {"pay": {"devnet": [weth]}})
    assert await desk.refused(quote) == {"pay": [NATIVE]}
    for name in ("native", NATIVE, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"):
        amounts = {"devnet": {name: "1"}}
        desk.follow(ANYTHING | {"pay": {"devnet": [name]}, "max_amounts": amounts, "spenders": {}})
        assert (await desk.act(quote))["policy"]
    desk.follow(ANYTHING | {"max_amounts": {"devnet": {"native": "0.999999999999999999"}}})
    assert await desk.refused(quote) == {"max_amounts": [NATIVE]}
    bought = await desk.quote_swap("USDC", "ETH")
    desk.follow(ANYTHING | {"receive": {"devnet": [usdc, weth]}})
    assert await desk.refused(bought) == {"receive": [NATIVE]}


async def test_a_fee_pays_its_recipient(desk):
    quote = await desk.quote_swap(feeBps=50, feeRecipient=OTHER)
    desk.follow(ANYTHING | {"recipients": {}})
    assert await desk.refused(quote) == {"recipients": [OTHER]}
    desk.follow(ANYTHING | {"recipients": {"devnet": [OTHER]}, "max_slippage_bps": 50})
    assert (await desk.act(quote))["policy"]
    bought = await desk.quote_swap(amount=10**17, side="exactOut", feeBps=50, feeRecipient=OTHER)
    assert (await desk.act(bought))["policy"]
    desk.follow(ANYTHING | {"recipients": {}})
    assert await desk.refused(bought) == {"recipients": [OTHER]}


async def test_a_permit_in_the_calldata_is_an_approval(desk):
    quote = await desk.quote_swap(approvalMode="permit2-signature")
    desk.follow(ANYTHING)
    action = await desk.act(quote)
    assert action["signatures"]
    router = action["transactions"][-1]["to"]
    desk.follow(ANYTHING | {"spenders": {"devnet": [permit2.ADDRESS]}})
    assert await desk.refused(quote) == {"spenders": [router]}
    desk.follow(ANYTHING | {"spenders": {"devnet": [permit2.ADDRESS, router]}})
    assert (await desk.act(quote))["policy"]
    desk.follow(ANYTHING | {"functions": ["approve(address,uint256)", "0x3593564c", "V3_SWAP_EXACT_IN"]})
    assert await desk.refused(quote) == {"functions": ["PERMIT2_PERMIT"]}
    desk.follow(ANYTHING | {"require_simulation": True})
    assert await desk.refused(quote) == {"require_simulation": ["permit2_signature"]}


async def test_a_simulation_must_not_assume_a_balance(desk):
    quote = await desk.quote_swap(address=THIEF)
    desk.follow(ANYTHING | {"require_simulation": True})
    assert await desk.refused(quote) == {"require_simulation": [f"balance:{desk.token('USDC')}"]}
    desk.follow(ANYTHING)
    assert (await desk.act(quote))["policy"]


async def test_an_allowance_that_remains_is_one(desk):
    """No approval is made: the router's unlimited allowance from before stays."""
    usdc = desk.token("USDC")
    quote = await desk.quote_swap()
    await desk.approve(usdc, permit2.ADDRESS, 2**256 - 1)
    desk.follow(ANYTHING | {"spenders": {}})
    assert permit2.ADDRESS in (await desk.refused(quote))["spenders"]
    await desk.approve(usdc, permit2.ADDRESS, 0)


async def test_the_level_of_the_plugin_decides(desk):
    quote = await desk.quote_swap()
    (entry,) = [
        row.plugin
        for row in desk.api.gateway.registry.providers
        if (row.provider.capability, row.provider.id) == (Capability.SWAP, "uniswap")
    ]
    assert entry.level is None
    entry.level = 2
    try:
        desk.follow(ANYTHING | {"least_level": 2})
        assert (await desk.act(quote))["policy"]
        desk.follow(ANYTHING | {"least_level": 3})
        assert await desk.refused(quote) == {"least_level": ["uniswap"]}
    finally:
        entry.level = None


async def test_the_quorum_of_the_nodes_decides(desk, devnet):
    quote = await desk.quote_swap()
    desk.follow(ANYTHING | {"quorum": 1})
    assert (await desk.act(quote))["policy"]
    desk.follow(ANYTHING | {"quorum": 2})
    assert await desk.refused(quote) == {"quorum": ["devnet"]}
    async with desk_of(devnet, nodes=2, quorum=2) as agreeing:
        agreeing.follow(ANYTHING | {"quorum": 2})
        quote = await agreeing.quote_swap()
        assert (await agreeing.act(quote))["policy"]
        (upstream,) = agreeing.api.gateway.registry.rpc_upstreams(devnet.chains["devnet"].chain_id)
        upstream.keeps_quorum = False
        assert await agreeing.refused(quote) == {"quorum": ["devnet"]}


# --- the audit log ------------------------------------------------------------------------------------------


async def test_each_decision_is_a_line_of_the_audit_log(desk, tmp_path):
    quote, file = await desk.quote_swap(), tmp_path / "decisions.jsonl"
    desk.follow(ANYTHING, audit=file)
    actions = await asyncio.gather(*(desk.act(quote) for _ in range(5)))
    desk.follow(ANYTHING | {"kinds": []}, audit=file)
    assert await desk.refused(quote) == {"kinds": ["swap"]}
    count, last = verify(file)
    text = file.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert (count, last) == (6, lines[-1]["hash"])
    assert [line["allowed"] for line in lines] == [True] * 5 + [False]
    assert {line["actionId"] for line in lines} == {each["actionId"] for each in actions}
    members = {name: lines[0][name] for name in ("sender", "network", "kind", "providers", "policy")}
    assert members == {
        "sender": USER,
        "network": "devnet",
        "kind": "swap",
        "providers": ["uniswap"],
        "policy": actions[0]["policy"]["digest"],
    }
    assert [each["rule"] for each in lines[-1]["violations"]] == ["kinds"]
    assert quote["quoteId"] not in text
    assert actions[0]["transactions"][-1]["data"] not in text


async def metric(desk, name, label):
    """The line of a metric with this label."""
    async with desk.api.session.get(f"{desk.api.url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    (line,) = [each for each in lines if each.startswith(name) and label in each]
    return line


async def test_an_action_whose_decision_cannot_be_written_is_refused(desk, tmp_path):
    quote, file = await desk.quote_swap(), tmp_path / "decisions.jsonl"
    desk.follow(ANYTHING, audit=file)
    await desk.act(quote)
    file.write_bytes(file.read_bytes()[:-20])
    answer = await desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    await desk.api.check("createSwapAction", answer)
    error = answer.refused(503, "provider_unavailable", "policy_undecided")
    assert [each["rule"] for each in error["details"]["violations"]] == ["audit"]
    counted = await metric(desk, "quoteway_http_errors_total", 'reason="policy_undecided"')
    assert 'fault="service"' in counted, "the operator is alerted, and not the caller blamed"
    desk.follow(ANYTHING | {"kinds": []}, audit=tmp_path)
    answer = await desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    assert await desk.violations(answer) == {"kinds": ["swap"], "audit": [None]}
    assert str(tmp_path) not in json.dumps(answer.body)


async def test_an_audit_log_that_cannot_be_used_stops_the_start(make_config, tmp_path):
    policy, audit = tmp_path / "policy.toml", tmp_path / "decisions.jsonl"
    policy.write_text('[[rules]]\nname = "a"\n')

    def start(**settings):
        return Gateway(replace(make_config(), policy=PolicyConfig(**settings)), discover=False)

    with pytest.raises(ConfigError, match=r"policy\.audit is set without policy\.file"):
        start(audit=str(audit))
    with pytest.raises(ConfigError, match="its folder does not exist"):
        start(file=str(policy), audit=str(tmp_path / "none" / "decisions.jsonl"))
    start(file=str(policy), audit=str(audit))
    assert not audit.exists()
    audit.write_text('{"hash": "')
    with pytest.raises(ConfigError, match="its last line is not whole"):
        start(file=str(policy), audit=str(audit))
