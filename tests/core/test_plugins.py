"""Every state and reason of a plugin, each reached by its real cause through installed distributions."""

import asyncio
import sys

import pytest
from distributions import UNIMPORTABLE, install_bad_four, works
from quoteway.config.model import CallsConfig, Config, PluginsConfig, ProviderConfig, QuotesConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.evm.calls.registry import digest_of
from quoteway.host.states import NotEnabled, State
from quoteway.models import NATIVE, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.secrets import Unresolved
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
TESTNET = Network("testnet", 4242, "Testnet")


# --- states ------------------------------------------------------------------------------------------------


async def test_a_plugin_goes_from_installed_to_enabled(installed):
    installed(
        "good",
        works()
        + """
    import asyncio, contextlib
    entered = asyncio.Event()
    go_on = asyncio.Event()
    left = asyncio.Event()

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        entered.set()
        await go_on.wait()
        yield
        left.set()
""",
    )
    gateway = Gateway(Config(plugins=PluginsConfig(load=("good",))))
    (entry,) = [e for e in gateway.registry.plugins if e.name == "good"]
    assert (entry.state, entry.distribution, entry.version) == (State.INSTALLED, "fake-good", "1.0")
    before = gateway.registry.revision
    gateway.load()
    assert (entry.state, entry.reason) == (State.CONFIGURED, None)
    assert gateway.registry.get(Capability.TOKENS, "fake") is None
    await gateway.start()
    await asyncio.wait_for(entry.plugin.entered.wait(), 60)
    assert gateway.readiness() == ["plugins are starting"]
    assert not gateway.ready
    entry.plugin.go_on.set()
    await asyncio.wait_for(gateway.started(), 60)
    assert entry.state is State.ENABLED
    assert gateway.ready
    assert gateway.readiness() == []
    assert gateway.registry.get(Capability.TOKENS, "fake").id == "fake"
    assert gateway.registry.revision > before
    assert not entry.plugin.left.is_set()
    await gateway.stop()
    assert entry.plugin.left.is_set()


def test_loaded_is_the_state_of_what_imports_but_cannot_be_configured(installed, load):
    installed("odd", works())
    plugins, _ = load("odd", plugin_sections={"odd": {"colour": "red"}})
    assert (plugins["odd"].state, plugins["odd"].reason) == (State.LOADED, NotEnabled.CONFIG_INVALID)


# --- reasons -----------------------------------------------------------------------------------------------


def test_not_selected_is_never_imported(installed, load):
    module = installed("unwanted", "raise AssertionError('imported')")
    installed("wanted", works())
    plugins, _ = load("wanted")
    assert plugins["unwanted"].reason is NotEnabled.NOT_SELECTED
    assert module not in sys.modules
    assert plugins["wanted"].reason is None


@pytest.mark.parametrize("group", ["quoteway.v0", "quoteway.v2"])
def test_another_api_version_is_incompatible_and_never_imported(installed, load, group):
    module = installed("other", "raise AssertionError('imported')", group=group)
    plugins, _ = load("other")
    assert plugins["other"].reason is NotEnabled.INCOMPATIBLE
    for part in (group, "quoteway.v1", "fake-other"):
        assert part in plugins["other"].detail
    assert module not in sys.modules


def test_a_plugin_of_two_api_versions_is_taken_at_ours(installed, load):
    installed("both", "raise AssertionError('imported')", group="quoteway.v2", target="no_such_module")
    installed("both", works())
    plugins, _ = load("both")
    assert plugins["both"].reason is None


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (
            "from quoteway import hookimpl\n@hookimpl\ndef quoteway_swap_providers(context, colour): ...",
            "colour",
        ),
        (
            "from quoteway import hookimpl\n@hookimpl\ndef quoteway_teleport(context): ...",
            "quoteway_teleport",
        ),
    ],
)
def test_an_argument_or_hook_that_this_core_lacks_is_incompatible(installed, load, source, named):
    installed("newer", source)
    installed("good", works())
    plugins, _ = load("newer", "good")
    assert plugins["newer"].reason is NotEnabled.INCOMPATIBLE
    assert named in plugins["newer"].detail
    assert plugins["good"].reason is None


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (UNIMPORTABLE, "ModuleNotFoundError"),
        ("import sys; sys.exit('no licence')", "SystemExit"),
        ("def broken(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("class Own(BaseException): pass\nraise Own", "Own"),
        (
            "class Mute(Exception):\n    def __str__(self): raise Mute\nraise Mute",
            "Mute: its text cannot be read",
        ),
        ("raise ValueError('x' * 10**6)", "ValueError: xxx"),
    ],
)
def test_what_cannot_be_imported_costs_only_itself(installed, load, source, error):
    installed("bad", source)
    installed("good", works())
    plugins, _ = load("bad", "good")
    assert plugins["bad"].reason is NotEnabled.IMPORT_FAILED
    assert plugins["bad"].state is State.INSTALLED
    assert error in plugins["bad"].detail
    assert len(plugins["bad"].detail) < 3_000
    assert plugins["good"].reason is None


def test_an_entry_point_to_nowhere_is_an_import_that_failed(installed, load):
    installed("lost", "", target="no_such_module_at_all:thing")
    plugins, _ = load("lost")
    assert plugins["lost"].reason is NotEnabled.IMPORT_FAILED


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("def quoteway_token_catalogs(): return []", "hookimpl"),
        (works().replace("async def profile(self, token_id): return None", ""), "profile"),
        (works().replace('id, title = "fake", "Fake"', 'title = "Fake"'), "id"),
        (works().replace('"fake"', '"Fake!"'), "Fake!"),
        (works().replace('id, title = "fake", "Fake"', 'id = "fake"'), "title"),
        (works().replace("async def tokens", "def tokens"), "tokens"),
        (works().replace("return [Catalog()]", "return [object()]"), "TokenCatalog"),
        (works().replace("return [Catalog()]", "return 'Catalog'"), "TokenCatalog"),
        (works().replace("def quoteway_token_catalogs", "async def quoteway_token_catalogs"), "async"),
        (works().replace('"fake", "Fake"', '"fake", "Fake"; networks = None'), "networks"),
        (works().replace('"fake", "Fake"', '"fake", "Fake"; networks = {"mainnet"}'), "networks"),
        (
            works().replace('"fake", "Fake"', '"fake", "Fake"; networks = property(lambda self: 1 / 0)'),
            "ZeroDivision",
        ),
    ],
)
def test_what_is_incomplete_is_named(installed, load, source, named):
    installed("bad", source)
    installed("good", works("good"))
    plugins, gateway = load("bad", "good")
    assert plugins["bad"].reason is NotEnabled.INCOMPLETE
    assert named in plugins["bad"].detail
    assert plugins["good"].reason is None
    assert [p.provider.id for p in gateway.registry.providers] == ["good"]


def test_two_claims_for_one_provider_id_refuse_both_and_name_both():
    ids = {"one": "same", "two": "same", "three": "other"}
    plugins = {name: FakePlugin([ListedTokens([], provider_id=each)]) for name, each in ids.items()}
    gateway = Gateway(Config(), plugins=plugins, discover=False)
    gateway.load()
    found = {(p.plugin.name, p.reason) for p in gateway.registry.providers}
    assert found == {
        ("one", NotEnabled.DUPLICATE_ID),
        ("two", NotEnabled.DUPLICATE_ID),
        ("three", None),
    }
    for entry in gateway.registry.providers[:2]:
        if entry.reason:
            assert "'one'" in entry.detail
            assert "'two'" in entry.detail
            assert "'same'" in entry.detail


def test_one_id_for_two_capabilities_of_one_plugin_is_no_conflict():
    class Both(FakePlugin):
        pass

    plugin = Both([MemoryRpc({1}, provider_id="same"), ListedTokens([], provider_id="same")])
    gateway = Gateway(Config(), plugins={"both": plugin}, discover=False)
    gateway.load()
    assert [entry.not_enabled for entry in gateway.registry.providers] == [None, None]


def test_a_plugin_that_is_incomplete_does_not_take_an_id_from_another(installed, load):
    greedy = works("wanted").replace("return [Catalog()]", "return [Catalog(), object()]")
    installed("greedy", greedy)
    installed("honest", works("wanted"))
    plugins, gateway = load("greedy", "honest")
    assert plugins["greedy"].reason is NotEnabled.INCOMPLETE
    assert [(p.plugin.name, p.not_enabled) for p in gateway.registry.providers] == [("honest", None)]


def test_two_distributions_that_claim_one_plugin_name_are_both_refused(installed, load):
    first = installed("same", "raise AssertionError('imported')", distribution="first")
    second = installed("same", "raise AssertionError('imported')", distribution="second")
    _, gateway = load("same")
    refused = [e for e in gateway.registry.plugins if e.distribution in ("first", "second")]
    assert len(refused) == 2
    for entry in refused:
        assert entry.reason is NotEnabled.DUPLICATE_ID
        assert "first" in entry.detail
        assert "second" in entry.detail
    assert not {first, second} & set(sys.modules)


def test_a_disabled_provider_is_loaded_and_not_enabled(installed, load):
    installed("good", works("fake"))
    _, gateway = load("good", providers={"fake": ProviderConfig(enabled=False)})
    (entry,) = gateway.registry.providers
    assert entry.reason is NotEnabled.DISABLED
    assert "providers.fake" in entry.detail


WITH_SETTINGS = (
    works()
    + """
    from marshmallow import EXCLUDE, Schema, fields
    from quoteway import SecretField

    class Settings(Schema):
        class Meta:
            unknown = EXCLUDE
        colour = fields.String()
        api_key = SecretField({required})

    @hookimpl
    def quoteway_settings():
        return Settings
"""
)


def test_a_section_the_schema_refuses_is_invalid_also_where_the_schema_would_let_unknown_keys_pass(
    installed, load
):
    installed("picky", WITH_SETTINGS.format(required=""))
    for section in ({"colour": 3}, {"color": "red"}, {"api_key": "written-out"}):
        plugins, _ = load("picky", plugin_sections={"picky": section})
        assert plugins["picky"].reason is NotEnabled.CONFIG_INVALID
        assert "[plugin.picky]" in plugins["picky"].detail
        assert "written-out" not in plugins["picky"].detail
    plugins, _ = load("picky", plugin_sections={"picky": {"colour": "red"}})
    assert plugins["picky"].context.settings == {"colour": "red"}


def test_a_plugin_may_refuse_its_configuration_in_a_hook(installed, load):
    installed(
        "picky",
        works().replace("return [Catalog()]", "from quoteway import ConfigError; raise ConfigError('no')"),
    )
    plugins, _ = load("picky")
    assert plugins["picky"].reason is NotEnabled.CONFIG_INVALID


@pytest.mark.parametrize(
    "section", [{}, {"colour": "red"}, {"api_key": Unresolved("variable API_KEY is not set")}]
)
def test_a_required_secret_that_is_not_there_is_a_missing_credential(installed, load, section):
    installed("picky", WITH_SETTINGS.format(required="required=True"))
    plugins, _ = load("picky", plugin_sections={"picky": section} if section else {})
    assert plugins["picky"].reason is NotEnabled.CREDENTIAL_MISSING
    assert "api_key" in plugins["picky"].detail or "API_KEY" in plugins["picky"].detail


@pytest.mark.parametrize("call", ["1 / 0", "import sys; sys.exit()"])
def test_a_hook_that_raises_costs_only_its_plugin(installed, load, call):
    installed("bad", works("bad").replace("return [Catalog()]", call))
    installed("good", works("good"))
    plugins, _ = load("bad", "good")
    assert plugins["bad"].reason is NotEnabled.STARTUP_FAILED
    assert plugins["good"].reason is None


# --- configuration and discovery ---------------------------------------------------------------------------


def test_a_configuration_that_names_a_plugin_nobody_installed_is_refused(installed):
    installed("good", works())
    for config in (
        Config(plugins=PluginsConfig(load=("god",))),
        Config(plugins=PluginsConfig(load=("good",)), plugin_sections={"god": {}}),
    ):
        with pytest.raises(ConfigError, match=r"'god'.*good"):
            Gateway(config).load()


def test_a_distribution_with_broken_metadata_hides_no_other(installed, load):
    broken = installed.folder / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "entry_points.txt").write_text("[quoteway.v1]\nthis line has no equals sign\n= neither name\n")
    installed("good", works())
    plugins, _ = load("good")
    assert plugins["good"].reason is None


def test_networks_that_clash_refuse_the_later_plugin_whole():
    first = FakePlugin(networks=[Network("main", 1, "Main")])
    second = FakePlugin(networks=[Network("fine", 2, "Fine"), Network("other", 1, "Other")])
    third = FakePlugin(networks=["not a network"])
    rpc = FakePlugin([MemoryRpc({1, 2})])
    gateway = Gateway(
        Config(), plugins={"first": first, "second": second, "third": third, "rpc": rpc}, discover=False
    )
    gateway.load()
    plugins = {entry.name: entry for entry in gateway.registry.plugins}
    assert plugins["second"].reason is NotEnabled.CONFIG_INVALID
    assert "'main'" in plugins["second"].detail
    assert "'other'" in plugins["second"].detail
    assert plugins["third"].reason is NotEnabled.INCOMPLETE
    assert [network.slug for network in gateway.runtime.networks] == ["main"]


# --- four bad plugins together -----------------------------------------------------------------------------


@pytest.mark.looptime
async def test_four_bad_plugins_together_cost_only_themselves(installed, no_unretrieved):
    bad = install_bad_four(installed.folder)
    honest = FakePlugin([MemoryRpc({4242}), FixedRateSwap], networks=[TESTNET], calls=[FAKE_CALLS])
    config = Config(
        plugins=PluginsConfig(load=(*bad, "honest"), startup_timeout_s=2.0),
        quotes=QuotesConfig(competition_timeout_s=0.4),
        calls=CallsConfig((digest_of([FAKE_CALLS]),)),
    )
    gateway = Gateway(config, plugins={"honest": honest})
    async with gateway.running():
        assert gateway.ready
        reasons = {
            entry.name: entry.reason for entry in gateway.registry.plugins if entry.name in (*bad, "honest")
        }
        assert reasons == {
            "bad-import": NotEnabled.IMPORT_FAILED,
            "bad-version": NotEnabled.INCOMPATIBLE,
            "bad-start": NotEnabled.STARTUP_FAILED,
            "bad-quote": None,
            "honest": None,
        }
        coin = Token(4242, NATIVE, 18, "ETH")
        token = Token(4242, "0x" + "1" * 40, 6, "USD")
        request = SwapRequest(4242, 4242, coin, token, 10**18, USER, USER, 50)
        for _ in range(3):
            loop = asyncio.get_running_loop()
            started = loop.time()
            answer = await gateway.quoting.quote(Capability.SWAP, request)
            assert loop.time() - started == pytest.approx(0.4)
            assert answer.sealed.provider == "fixed-rate"
            assert {(a.provider, a.outcome, a.reason) for a in answer.attempts} == {
                ("fixed-rate", "quoted", None),
                ("stubborn", "timeout", "provider_timeout"),
            }
    assert "hunter2" not in repr(answer)
