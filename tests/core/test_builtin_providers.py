"""Providers of the core itself: listed, disabled and protected like those of plugins."""

import pytest
from quoteway.config.model import Config, ProviderConfig
from quoteway.engine.gateway import Gateway
from quoteway.host.installed_plugins import core_version
from quoteway.host.states import NotEnabled
from quoteway.models import Capability
from quoteway.testing.fakes import FakePlugin, ListedTokens
from quoteway.testing.serving import served

ID = "list+list"


def gateway_of(plugins=None, **config):
    return Gateway(Config(**config), plugins=plugins or {}, discover=False)


def builtin(provider_id=ID):
    return ListedTokens([], provider_id=provider_id)


def test_a_builtin_provider_is_enabled_at_once():
    gateway = gateway_of()
    before = gateway.registry.revision
    gateway.registry.add_builtin(builtin())
    assert gateway.registry.revision > before
    assert gateway.registry.get(Capability.TOKENS, ID).id == ID
    assert list(gateway.registry.plugins) == []


async def test_it_is_listed_under_the_core():
    async with served({}) as api:
        api.gateway.registry.add_builtin(builtin())
        answer = await api.get("/v2/providers")
        await api.check("listProviders", answer)
        (row,) = [row for row in answer.body["data"] if row["id"] == ID]
        assert (row["id"], row["enabled"], row["state"]) == (ID, True, "enabled")
        assert (row["plugin"], row["package"], row["version"]) == ("quoteway", "quoteway", core_version())


def test_the_configuration_disables_it():
    gateway = gateway_of(providers={ID: ProviderConfig(enabled=False)})
    gateway.registry.add_builtin(builtin())
    (entry,) = [entry for entry in gateway.registry.providers if entry.provider.id == ID]
    assert (entry.enabled, entry.not_enabled) == (False, NotEnabled.DISABLED)
    assert gateway.registry.get(Capability.TOKENS, ID) is None


@pytest.mark.parametrize("first", [True, False])
def test_a_plugin_cannot_take_its_id_nor_cost_it_the_id(first):
    gateway = gateway_of({"squatter": FakePlugin([builtin("core-tokens")])})
    if first:
        gateway.registry.add_builtin(builtin("core-tokens"))
    gateway.load()
    if not first:
        gateway.registry.add_builtin(builtin("core-tokens"))
    reasons = {entry.plugin.name: entry.reason for entry in gateway.registry.providers}
    assert reasons == {"quoteway": None, "squatter": NotEnabled.SQUATTER}


def test_a_plugin_cannot_have_the_name_of_the_core():
    gateway = gateway_of({"quoteway": FakePlugin([builtin("other")])})
    gateway.load()
    assert gateway.registry.providers == []
    assert [entry.reason for entry in gateway.registry.plugins] == [NotEnabled.DUPLICATE_ID]
