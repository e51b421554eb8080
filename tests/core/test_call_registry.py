"""What the registry of call descriptions accepts, and whose descriptions count."""

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from guard_cases import SWAP, SWAP_ROLES, order
from quoteway.config.model import CallsConfig, Config
from quoteway.config.network import NetworkConfig
from quoteway.errors import ConfigError
from quoteway.evm.calls.described import Described
from quoteway.evm.calls.known_calls import DESCRIBED
from quoteway.evm.calls.known_contracts import ADDRESSES
from quoteway.evm.calls.meaning import Sent, Unreadable
from quoteway.evm.calls.registry import CallRegistry, digest_of, readers_of
from quoteway.host.states import NotEnabled
from quoteway.models import (
    CallDescription,
    ContractDescription,
    DeployedAt,
    PaymentRoles,
    SpendRoles,
    Step,
)
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, MemoryRpc, step_of
from sold_usdc import ROUTER, USER, WETH

ETHEREUM = Network("ethereum", 1, "Ethereum", wrapped_native=WETH.address)


def test_every_known_contract_has_readers():
    for addresses in ADDRESSES.values():
        for kind in addresses.values():
            assert kind == "uniswap.v2-factory" or readers_of(kind)
    for calls in DESCRIBED.values():
        assert len({Described(call).function.selector for call in calls}) == len(calls)


@pytest.mark.parametrize(
    "kind",
    [
        *DESCRIBED,
        "uniswap.universal-router@2.0",
        "uniswap.v3-positions",
        "uniswap.v4-positions",
        "balancer.batch-router",
        "balancer.vault",
    ],
)
def test_every_kind_of_contract_has_a_title(kind):
    registry = CallRegistry([replace(ETHEREUM, contracts={ROUTER: kind})])
    assert "." not in (registry.title(1, ROUTER) or ".").replace("LI.FI", "")
    assert registry.title(1, USER) is None
    assert registry.title(1, USER, kind=kind) == registry.title(1, ROUTER)


def test_the_selectors_of_lifi_are_those_of_its_diamond():
    """As its facets have them on the chain (and as others' decoders of LI.FI list them)."""
    functions = [Described(call).function for call in DESCRIBED["lifi.diamond"]]
    assert {call.signature.partition("(")[0]: call.selector.hex() for call in functions} == {
        "swapTokensSingleV3ERC20ToERC20": "4666fc80",
        "swapTokensSingleV3ERC20ToNative": "733214a3",
        "swapTokensSingleV3NativeToERC20": "af7060fd",
        "swapTokensMultipleV3ERC20ToERC20": "5fd9ae2e",
        "swapTokensMultipleV3ERC20ToNative": "2c57e884",
        "swapTokensMultipleV3NativeToERC20": "736eac0b",
        "swapTokensGeneric": "4630a0d8",
        "startBridgeTokensViaAcrossV4": "a1f1ce43",
    }


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"action": "steal"}, "is no action"),
        ({"deadline": "#.until"}, "has no argument until"),
        ({"deadline": "deadline"}, "is no path"),
        ({"deadline": "@.gas"}, "is no path"),
        ({"deadline": "#.amountOutMin"}, "is both minimum and deadline"),
        ({"owner": "#.to"}, "is both recipient and owner"),
        ({"declaration": "swap(uint256"}, "is no declaration"),
    ],
)
def test_a_description_that_cannot_be_right_is_refused(changes, finding):
    with pytest.raises(ValueError, match=finding):
        Described(replace(SWAP_ROLES, **changes))


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"deadline": "#.path"}, "#.path is no number"),
        ({"deadline": None, "empty": ("#.deadline",)}, "#.deadline is not empty"),
        ({"deadline": "#.amountIn.[0]"}, "has no item 0"),
        ({"deadline": "#.path.[2]"}, "has no item 2"),
        ({"deadline": "#.amountIn.[last]"}, "has no item last"),
    ],
)
def test_arguments_that_are_not_what_a_description_says_cannot_be_read(changes, finding):
    swap = step_of(SWAP, order(), to=ROUTER, chain_id=1)
    sent = Sent(ROUTER, swap.data, 0, USER, None)
    assert Described(SWAP_ROLES).read(sent)
    with pytest.raises(Unreadable, match=re.escape(finding)):
        Described(replace(SWAP_ROLES, **changes)).read(sent)


ROUTE = CallDescription(
    "exchange(address[5] route, bytes32[2] words, uint256 amount, uint256 minimum)",
    "swap",
    spends=(SpendRoles("#.route.[0]", "#.amount"),),
    pays=(PaymentRoles("#.route.[last]", "@.from", "#.minimum"),),
)


@pytest.mark.parametrize("used", [1, 2, 3, 5])
def test_the_last_item_of_a_padded_array_is_the_one_before_the_first_zero(used):
    items = [f"0x{at:040x}" for at in range(1, 6)]
    described, zero = Described(ROUTE), f"0x{0:040x}"
    # What a contract ignores behind its end, the reading ignores too.
    behind = ([zero, ROUTER] + [zero] * 5)[: 5 - used]
    data = described.function.encode([items[:used] + behind, [bytes(32)] * 2, 7, 5])
    (paid,) = described.read(Sent(ROUTER, data, 0, USER, None)).meaning.payments
    assert (int(paid.token, 16), paid.minimum) == (used, 5)


@pytest.mark.parametrize("path", ["#.route.[last]", "#.words.[last]", "#.amount.[last]"])
def test_a_padded_array_of_zeros_has_no_last_item(path):
    described = Described(replace(ROUTE, spends=(), pays=(PaymentRoles(path, "@.from", "#.minimum"),)))
    data = described.function.encode([[f"0x{0:040x}"] * 5, [bytes(32)] * 2, 7, 5])
    with pytest.raises(Unreadable, match="has no item last"):
        described.read(Sent(ROUTER, data, 0, USER, None))


def test_a_wallet_is_shown_an_amount_without_a_token_that_it_has_no_path_to():
    descriptor = Described(ROUTE).descriptor(1, ROUTER)
    assert "last" not in descriptor
    assert '{"path":"#.minimum","label":"Receive at least","format":"raw"}' in descriptor


@pytest.mark.parametrize(
    ("contracts", "finding"),
    [
        ({ROUTER: "uniswap.v9"}, "is no kind of contract"),
        ({ROUTER: "uniswap.universal-router@1.0"}, "router_version"),
        ({"0x12": "weth9"}, "40 hexadecimal digits"),
    ],
)
def test_a_network_with_a_contract_of_no_kind_is_a_wrong_configuration(contracts, finding):
    with pytest.raises(ConfigError, match=finding) as refusal:
        CallRegistry([replace(ETHEREUM, contracts=contracts)])
    assert "[networks.ethereum.contracts]" in str(refusal.value)


def test_a_plugin_cannot_replace_what_the_core_knows_of_a_contract():
    calls = CallRegistry([ETHEREUM])
    step = Step(WETH.address, bytes.fromhex("d0e30db0"), 7, 1)
    known = calls.read(step, USER)
    nothing = CallDescription("deposit()", "swap", pays=(PaymentRoles("@.to", "@.from"),))
    calls.add([ContractDescription("weth", (nothing,), (DeployedAt(1, WETH.address),))])
    assert calls.read(step, USER) == known
    assert known.meaning.payments[0].minimum == 7


def test_a_digest_is_of_everything_that_a_description_says():
    description = ContractDescription("router", (SWAP_ROLES,), (DeployedAt(1, ROUTER),))
    other_role = replace(SWAP_ROLES, spends=(SpendRoles("#.path.[1]", "#.amountIn"),))
    digests = {
        digest_of([each])
        for each in (
            description,
            replace(description, calls=(other_role,)),
            replace(description, deployments=(DeployedAt(10, ROUTER),)),
            replace(description, deployments=(DeployedAt(1, WETH.address),)),
            replace(description, deployments=(DeployedAt(1, ROUTER, "0x" + "12" * 32),)),
        )
    }
    assert len(digests) == 5


async def test_a_plugin_counts_when_the_operator_has_pinned_its_descriptions(make_gateway):
    plugin = FakePlugin([FixedRateSwap], calls=[FAKE_CALLS])
    chain = FakePlugin([MemoryRpc({1})], networks=[ETHEREUM])
    gateway = await make_gateway({"fake": plugin, "chain": chain})
    (entry,) = [entry for entry in gateway.registry.plugins if entry.name == "fake"]
    assert entry.reason is None


def unpinned(plugin, pins=()):
    """A gateway that loads ``plugin`` under a configuration with these pins."""
    from quoteway.engine.gateway import Gateway

    chain = FakePlugin([MemoryRpc({1})], networks=[ETHEREUM])
    config = Config(calls=CallsConfig(tuple(pins)))
    gateway = Gateway(config, plugins={"fake": plugin, "chain": chain}, discover=False)
    gateway.load()
    return gateway


def test_until_then_the_plugin_says_what_to_do():
    gateway = unpinned(FakePlugin([FixedRateSwap], calls=[FAKE_CALLS]))
    (entry,) = [entry for entry in gateway.registry.plugins if entry.name == "fake"]
    assert entry.reason is NotEnabled.UNPINNED_DESCRIPTIONS
    assert digest_of([FAKE_CALLS]) in entry.detail
    assert "quoteway calls fake" in entry.detail
    assert gateway.described == {"fake": (FAKE_CALLS,)}


@pytest.mark.parametrize(
    "wrong",
    [
        replace(FAKE_CALLS, calls=(replace(SWAP_ROLES, action="steal"),)),
        replace(FAKE_CALLS, deployments=(DeployedAt(1, "0x12"),)),
    ],
)
def test_a_pinned_description_that_cannot_be_read_costs_its_plugin_alone(wrong):
    gateway = unpinned(FakePlugin(calls=[wrong]), [digest_of([wrong])])
    reasons = {entry.name: entry.reason for entry in gateway.registry.plugins}
    assert reasons == {"fake": NotEnabled.INCOMPLETE, "chain": None}


def test_the_command_prints_the_descriptions_and_their_digest(monkeypatch):
    from quoteway.server import cli

    gateway = unpinned(FakePlugin([FixedRateSwap], calls=[FAKE_CALLS]))
    monkeypatch.setattr("quoteway.server.doctor.loaded", lambda config: gateway)
    shown = CliRunner().invoke(cli.main, ["calls", "fake"])
    assert shown.exit_code == 0, shown.output
    assert f"{digest_of([FAKE_CALLS])} is not pinned" in shown.output
    assert "swap(address tokenIn" in shown.output
    none = CliRunner().invoke(cli.main, ["calls", "chain"])
    assert (none.exit_code, "describes no calls" in none.output) == (1, True)


def test_the_configuration_names_the_kind_of_a_contract():
    from quoteway.engine.gateway import Gateway

    chain = FakePlugin([MemoryRpc({1})], networks=[ETHEREUM])
    settings = NetworkConfig(contracts={ROUTER: "uniswap.v2-router"})
    gateway = Gateway(Config(networks={"ethereum": settings}), plugins={"chain": chain}, discover=False)
    gateway.load()
    step = Step(ROUTER, bytes.fromhex("38ed1739"), 0, 1)
    assert gateway.runtime.calls.readable(step, USER) is False, "known, and no canonical call"
    assert gateway.runtime.calls.readable(replace(step, to=USER), USER) is None
