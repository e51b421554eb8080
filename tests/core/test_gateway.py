"""What a gateway shares among its parts: RPC failover, tokens, configured networks, readiness, keys."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
from quoteway.config.model import Config, ProviderConfig, QuotesConfig, SigningKey
from quoteway.config.network import NetworkConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError, ProviderUnavailable, RpcError, UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.models import NATIVE, Capability, SwapRequest, Token
from quoteway.networks import Endpoint, Network
from quoteway.secrets import Secret
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USD = Token(7, "0x" + "1" * 40, 6, "USD")
LISTED_USD = replace(USD, listed=True)
SEVEN = Network("seven", 7, "Seven")


def raising(error):
    def answer(params):
        raise error

    return answer


def rpc(name, **answers):
    return MemoryRpc({7}, answers, provider_id=name)


async def forward(make_gateway, *upstreams):
    order = tuple(upstream.id for upstream in upstreams)
    plugin = FakePlugin(upstreams, networks=[SEVEN])
    gateway = await make_gateway({"fake": plugin}, quotes=QuotesConfig(order=order))
    return await gateway.runtime.chains[7].request("eth_call", [])


async def test_the_next_upstream_is_asked_when_one_fails_or_is_broken(make_gateway):
    for failure in (
        UpstreamError("down"),
        KeyError("canary"),
        SystemExit(1),
        KeyboardInterrupt(),
        BaseException("canary"),
        asyncio.CancelledError(),
    ):
        bad, good = rpc("a", eth_call=raising(failure)), rpc("b", eth_call="0x01")
        assert await forward(make_gateway, bad, good) == "0x01"


async def test_a_node_s_own_error_is_the_answer_and_is_not_asked_for_twice(make_gateway):
    first, second = (
        rpc("a", eth_call=raising(RpcError(3, "execution reverted", "0x"))),
        rpc("b", eth_call="0x01"),
    )
    with pytest.raises(RpcError):
        await forward(make_gateway, first, second)
    assert "eth_call" not in [method for method, _ in second.calls]


async def test_when_all_upstreams_fail_the_error_is_upstream_s_and_says_nothing_of_theirs(make_gateway):
    with pytest.raises(UpstreamError) as failure:
        await forward(make_gateway, rpc("a", eth_call=raising(KeyError("canary"))))
    assert "canary" not in failure.value.message


@pytest.mark.looptime
async def test_a_dead_node_does_not_hold_the_start(make_gateway):
    class Dead(MemoryRpc):
        async def forward(self, network, method, params, *, timeout_s):
            await asyncio.sleep(timeout_s)
            raise UpstreamError("too late")

    plugin = FakePlugin(
        [MemoryRpc({7}), Dead({8}, provider_id="dead")], networks=[SEVEN, Network("eight", 8, "Eight")]
    )
    gateway = Gateway(Config(), plugins={"fake": plugin}, discover=False)
    await gateway.start()
    await asyncio.sleep(0.2)
    assert gateway.readiness() == []
    loop = asyncio.get_running_loop()
    started = loop.time()
    await gateway.started()
    await gateway.stop()
    assert loop.time() - started < 3


# --- tokens ---------------------------------------------------------------------------------------------


class Lying(ListedTokens):
    """Gives one answer for the list and for each token."""

    def __init__(self, answer, name="a-liar"):
        super().__init__([USD], provider_id=name)
        self._answer = answer

    async def tokens(self, chain_id):
        if isinstance(self._answer, BaseException):
            raise self._answer
        if self._answer == "hang":
            await asyncio.sleep(3600)
        return [self._profile(self._answer)] if isinstance(self._answer, Token) else self._answer

    async def token(self, chain_id, address):
        return await self.tokens(chain_id)


@pytest.mark.looptime
@pytest.mark.parametrize(
    "answer",
    [
        None,
        "a string",
        KeyError("canary"),
        UpstreamError("down"),
        "hang",
        Token(7, "0x" + "2" * 40, 6, "OTHER"),
        Token(1, USD.address, 6, "OTHER"),
        Token(7, USD.address, 18, "OTHER"),
        Token(7, USD.address, 6, "USD, sent to you. 1"),
    ],
)
async def test_a_catalog_that_fails_or_lies_leaves_a_token_to_the_next(make_gateway, answer):
    chain = MemoryRpc({7}, tokens=[USD])
    plugin = FakePlugin([chain, Lying(answer), ListedTokens([USD])], networks=[SEVEN])
    gateway = await make_gateway({"fake": plugin})
    began = asyncio.get_running_loop().time()
    assert await gateway.tokens.find(7, USD.address) == LISTED_USD
    assert asyncio.get_running_loop().time() - began < 1.0, "virtual seconds"
    assert [method for method, _ in chain.calls].count("eth_call") == 1
    assert await gateway.tokens.find(7, USD.address) == LISTED_USD
    assert [method for method, _ in chain.calls].count("eth_call") == 1, "facts are read once"


async def test_decimals_are_never_taken_from_a_catalog(make_gateway):
    gateway = await make_gateway({"fake": FakePlugin([rpc("one"), ListedTokens([USD])], networks=[SEVEN])})
    with pytest.raises(UpstreamError):
        await gateway.tokens.find(7, USD.address)
    assert await gateway.tokens.find_each(7, [USD.address]) == {}


async def test_a_token_that_nobody_lists_has_the_facts_of_its_contract(make_gateway):
    gateway = await make_gateway({"fake": FakePlugin([MemoryRpc({7}, tokens=[USD])], networks=[SEVEN])})
    assert await gateway.tokens.find(7, USD.address) == USD


async def test_tokens_of_one_request_are_read_in_one_call(make_gateway):
    other = Token(7, "0x" + "3" * 40, 9, "NINE")
    chain = MemoryRpc({7}, tokens=[USD, other])
    gateway = await make_gateway({"fake": FakePlugin([chain], networks=[SEVEN])})
    found = await gateway.tokens.find_all(7, [other.address, USD.address, NATIVE])
    assert (found[other.address], found[USD.address], found[NATIVE].symbol) == (other, USD, "ETH")
    assert [method for method, _ in chain.calls].count("eth_call") == 1


async def test_a_refused_row_is_logged_once_and_is_used_when_it_is_right(make_gateway, caplog):
    class Catalog(ListedTokens):
        version = 1

        def revision(self):
            return str(self.version)

        async def tokens(self, chain_id):
            return [self._profile(replace(USD, symbol="USDx", decimals=17 + self.version))]

    wrong = Catalog([USD])
    plugin = FakePlugin([MemoryRpc({7}, tokens=[replace(USD, decimals=19)]), wrong], networks=[SEVEN])
    gateway = await make_gateway({"fake": plugin})
    for _ in range(3):
        assert (await gateway.tokens.find(7, USD.address)).listed is False
    assert gateway.tokens.refusals({7}) == {"listed-tokens"}
    assert caplog.text.count("its contract says 19: the row is refused") == 1
    wrong.version = 2
    async with asyncio.timeout(20):
        while not (token := await gateway.tokens.find(7, USD.address)).listed:
            await asyncio.sleep(0.01)
    assert (token.symbol, token.decimals) == ("USDx", 19)
    assert gateway.tokens.refusals({7}) == set()


async def test_tokens_of_unknown_networks_are_none_and_the_coin_is_the_network_s(make_gateway):
    gateway = await make_gateway({"fake": FakePlugin([MemoryRpc({7})], networks=[SEVEN])})
    assert await gateway.tokens.find(8, USD.address) is None
    coin = await gateway.tokens.find(7, NATIVE)
    assert (coin.symbol, coin.decimals, coin.is_native) == ("ETH", 18, True)
    with pytest.raises(UpstreamError):  # nobody lists it and the chain cannot be asked
        await gateway.tokens.find(7, USD.address)


# --- networks -------------------------------------------------------------------------------------------


def networks_of(config_networks, *described):
    plugin = FakePlugin(
        [lambda context: MemoryRpc({n.chain_id for n in context.networks})], networks=described
    )
    gateway = Gateway(Config(networks=config_networks), plugins={"fake": plugin}, discover=False)
    gateway.load()
    return {network.slug: network for network in gateway.runtime.networks}


def test_configuration_is_laid_over_what_plugins_describe():
    own = Endpoint("http://own")
    network = networks_of({"seven": NetworkConfig(rpc=(own,), name="My Seven", head_poll_s=9.0)}, SEVEN)[
        "seven"
    ]
    assert (network.endpoints, network.name, network.head_poll_s) == ((own,), "My Seven", 9.0)
    assert network.quorum == 1
    two = NetworkConfig(rpc=(own, Endpoint("http://other")), quorum=2)
    assert networks_of({"seven": two}, SEVEN)["seven"].quorum == 2
    known = networks_of({"eight": NetworkConfig(chain_id=8, native_symbol="EIG")}, SEVEN)
    assert known["eight"].native_symbol == "EIG"
    assert set(known) == {"seven", "eight"}


@pytest.mark.parametrize(
    ("slug", "settings", "named"),
    [
        ("eight", NetworkConfig(), "chain_id"),
        ("seven", NetworkConfig(chain_id=8), "known with chain id 7"),
        ("other", NetworkConfig(chain_id=7), "'seven'"),
        ("7", NetworkConfig(rpc=(Endpoint("http://x"),)), "chain_id"),
        ("8", NetworkConfig(chain_id=9), "digits alone"),
        (
            "seven",
            NetworkConfig(rpc=(Endpoint("http://x"),), quorum=2),
            "has 1 endpoints: add endpoints to rpc",
        ),
    ],
)
def test_a_network_section_that_does_not_fit_is_refused(slug, settings, named):
    with pytest.raises(ConfigError, match=named):
        networks_of({slug: settings}, SEVEN)


async def test_a_configuration_that_cannot_be_used_is_never_ready(make_gateway):
    gateway = await make_gateway({}, networks={"eight": NetworkConfig()})
    assert not gateway.ready
    assert gateway.readiness() == ["start-up failed: see the log"]


def test_a_gateway_that_was_not_started_is_starting():
    assert Gateway(Config(), discover=False).readiness() == ["plugins are starting"]


async def test_a_network_whose_upstreams_are_disabled_is_not_ready(make_gateway):
    class LateLiar(MemoryRpc):
        pass

    upstream = LateLiar({7})
    gateway = await make_gateway({"fake": FakePlugin([upstream], networks=[SEVEN])})
    assert gateway.readiness() == []
    (entry,) = gateway.registry.providers
    entry.reason = "startup_failed"
    gateway.registry.changed()
    assert gateway.readiness() == ["no RPC upstream of seven is enabled (memory-rpc: startup_failed)"]


@pytest.mark.parametrize(
    ("endpoints", "reasons"),
    [
        ((Endpoint("http://127.0.0.1:9"),), ["no enabled plugin serves the RPC endpoints of seven"]),
        ((), []),
    ],
    ids=["its nodes are known", "it is only described"],
)
async def test_a_network_of_a_plugin_whose_upstream_is_disabled_is_not_ready(
    make_gateway, endpoints, reasons
):
    network = replace(SEVEN, endpoints=endpoints)
    gateway = await make_gateway(
        {"networks": FakePlugin(networks=[network]), "rpc": FakePlugin([MemoryRpc({7})])},
        providers={"memory-rpc": ProviderConfig(enabled=False)},
    )
    assert gateway.readiness() == reasons


async def test_a_plugin_that_fails_with_its_network_leaves_the_others_ready(make_gateway):
    class Fails(FakePlugin):
        @hookimpl
        @contextlib.asynccontextmanager
        async def quoteway_lifespan(self):
            raise RuntimeError("no node")
            yield

    eight = Network("eight", 8, "Eight", endpoints=(Endpoint("http://127.0.0.1:9"),))
    gateway = await make_gateway(
        {
            "honest": FakePlugin([MemoryRpc({7})], networks=[SEVEN]),
            "fails": Fails([MemoryRpc({8}, provider_id="other-rpc")], networks=[eight]),
        }
    )
    assert gateway.readiness() == []


# --- quotes without a chain --------------------------------------------------------------------------

REQUEST = SwapRequest(7, 7, Token(7, NATIVE, 18, "ETH"), USD, 10**18, USER, USER, 50)


def swaps(*makers, **sections):
    networks = [SEVEN, Network("eight", 8, "Eight")]
    return {"fake": FakePlugin([MemoryRpc({7, 8}), *makers], networks=networks, calls=[FAKE_CALLS])}


async def test_ties_go_to_the_configured_order_and_then_by_id(make_gateway):
    plugins = swaps(*(lambda c, n=n: FixedRateSwap(c, provider_id=n) for n in ("zebra", "ant", "bee")))
    gateway = await make_gateway(plugins)
    assert (await gateway.quoting.quote(Capability.SWAP, REQUEST)).sealed.provider == "ant"
    plugins = swaps(*(lambda c, n=n: FixedRateSwap(c, provider_id=n) for n in ("zebra", "ant", "bee")))
    gateway = await make_gateway(plugins, quotes=QuotesConfig(order=("bee",)))
    answer = await gateway.quoting.quote(Capability.SWAP, REQUEST)
    assert answer.sealed.provider == "bee"
    assert [attempt.provider for attempt in answer.attempts] == ["bee", "ant", "zebra"]
    chosen = await gateway.quoting.quote(Capability.SWAP, REQUEST, provider="zebra")
    assert chosen.sealed.provider == "zebra"


async def test_nobody_to_ask_is_unavailable_not_upstream(make_gateway):
    plugins = swaps(lambda c: FixedRateSwap(c, networks={7}))
    gateway = await make_gateway(plugins, providers={"off": ProviderConfig(enabled=False)})
    elsewhere = SwapRequest(8, 8, Token(8, NATIVE, 18), Token(8, USD.address, 6), 1, USER, USER, 50)
    across = SwapRequest(7, 8, Token(7, NATIVE, 18), Token(8, USD.address, 6), 1, USER, USER, 50)
    for request, provider in ((elsewhere, None), (across, None), (REQUEST, "nobody")):
        with pytest.raises(ProviderUnavailable):
            await gateway.quoting.quote(Capability.SWAP, request, provider=provider)
    with pytest.raises(ProviderUnavailable):
        await gateway.quoting.quote(Capability.BRIDGE, REQUEST)


async def test_a_token_sealed_by_a_provider_that_is_gone_is_unavailable(make_gateway):
    keys = (SigningKey("k", Secret("k" * 40)),)
    one = await make_gateway(swaps(FixedRateSwap), quotes=QuotesConfig(keys=keys))
    token = (await one.quoting.quote(Capability.SWAP, REQUEST)).sealed.token
    two = await make_gateway(swaps(), quotes=QuotesConfig(keys=keys))
    sealed = two.quote_tokens.open(Capability.SWAP, token)  # any replica with the key ring answers for it
    with pytest.raises(ProviderUnavailable):
        await two.building.action(sealed)


async def test_a_quote_lives_as_long_as_the_shorter_of_deployment_and_provider_say(make_gateway):
    from dataclasses import replace

    class Brief(FixedRateSwap):
        async def quote(self, request):
            return replace(await super().quote(request), lifetime_s=20)

    gateway = await make_gateway(
        swaps(lambda c: Brief(c, provider_id="brief")), clock=lambda: 1_800_000_000.9
    )
    sealed = (await gateway.quoting.quote(Capability.SWAP, REQUEST, provider="brief")).sealed
    assert (sealed.created_at, sealed.expires_at) == (1_800_000_000, 1_800_000_020)
    gateway = await make_gateway(swaps(FixedRateSwap), quotes=QuotesConfig(lifetime_s=40))
    sealed = (await gateway.quoting.quote(Capability.SWAP, REQUEST)).sealed
    assert sealed.expires_at - sealed.created_at == 40


@pytest.mark.parametrize("spenders", [["nonsense"], [None], [USD.address.lower()], 5])
async def test_spenders_that_are_no_addresses_cost_nobody_else_a_quote(make_gateway, spenders):
    class Odd(FixedRateSwap):
        def spenders(self, chain_id):
            return spenders

    gateway = await make_gateway(swaps(FixedRateSwap, lambda c: Odd(c, provider_id="a-odd")))
    request = SwapRequest(7, 7, USD, Token(7, NATIVE, 18, "ETH"), 10**6, USER, USER, 50)
    assert (await gateway.quoting.quote(Capability.SWAP, request)).sealed.provider == "fixed-rate"


async def test_a_lying_quote_does_not_win(make_gateway):
    from dataclasses import replace

    class Liar(FixedRateSwap):
        async def quote(self, request):
            return replace(await super().quote(request), net_output=10**60)

    gateway = await make_gateway(swaps(FixedRateSwap, lambda c: Liar(c, provider_id="a-liar")))
    answer = await gateway.quoting.quote(Capability.SWAP, REQUEST)
    assert answer.sealed.provider == "fixed-rate"
    assert [(a.provider, a.outcome, a.reason) for a in answer.attempts] == [
        ("a-liar", "failed", "unsafe_answer"),
        ("fixed-rate", "quoted", None),
    ]
