"""Tells of the installed plugins of a gateway that is loaded and not started, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marshmallow import fields, missing

from quoteway.config.loading import redacted
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.host.explanations import EXPLANATIONS
from quoteway.host.plugin_lock import PluginLock, digest_of, hashes_of
from quoteway.host.states import NotEnabled, PluginEntry, ProviderEntry, networks_of, normalized
from quoteway.near_names import suggestion
from quoteway.secrets import SecretField

MOST_CHARS = 2_000
_TYPES = {"Dict": "table", "Nested": "table", "Raw": "any", "Url": "string"}


def shown(text: object, most_chars: int = MOST_CHARS) -> str:
    """Returns a text of a plugin on one line, with control characters escaped and its length bounded."""
    line = " ".join(str(text)[:most_chars].split())
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def providers_of(gateway: Gateway, plugin: PluginEntry) -> list[ProviderEntry]:
    """Returns the providers that a plugin has given, refused ones too."""
    return [entry for entry in gateway.registry.providers if entry.plugin is plugin]


def rows(gateway: Gateway) -> list[dict[str, Any]]:
    """Returns each installed plugin as JSON data, by name. Without details, which may quote secrets."""
    return [
        {
            "name": plugin.name,
            "version": plugin.version,
            "distribution": plugin.distribution,
            "state": plugin.state.value,
            "reason": plugin.reason,
            "capabilities": sorted({each.provider.capability.value for each in given}),
            "providers": [
                {
                    "id": each.provider.id,
                    "capability": each.provider.capability.value,
                    "networks": _slugs(gateway, each),
                    "reason": each.not_enabled,
                }
                for each in given
            ],
        }
        for plugin in sorted(gateway.registry.plugins, key=lambda each: each.name)
        for given in [providers_of(gateway, plugin)]
    ]


def table(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the lines of a table of ``rows``."""
    lines = [("PLUGIN", "VERSION", "DISTRIBUTION", "STATE", "CAPABILITIES", "PROVIDERS", "REASON")]
    for row in found:
        ids = dict.fromkeys(each["id"] for each in row["providers"])
        members = (row["name"], row["version"], row["distribution"], row["state"])
        cells = (*members, ",".join(row["capabilities"]), ",".join(ids), row["reason"] or "")
        lines.append(tuple(shown(cell, 200) or "-" for cell in cells))  # type: ignore[arg-type] # seven cells
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


def named(gateway: Gateway, name: str) -> list[PluginEntry]:
    """Returns the plugins of a name; usually one. Raises ``ConfigError`` that names the nearest ones."""
    plugins = list(gateway.registry.plugins)
    found = [each for each in plugins if each.name == name]
    found = found or [each for each in plugins if normalized(each.distribution) == normalized(name)]
    if not found:
        known = sorted({each.name for each in plugins})
        raise ConfigError(f"no plugin is named {name!r}.{suggestion(name, known, 'Installed')}")
    return found


def why(gateway: Gateway, name: str) -> Iterator[str]:
    """Yields why the plugins or providers of a name are, or are not, enabled, and what to do.

    Raises ``ConfigError`` for an unknown name.
    """
    providers = [each for each in gateway.registry.providers if each.provider.id == name]
    plugins = {id(each): each for each in gateway.registry.plugins if each.name == name}
    if not plugins and not providers:
        known = [each.provider.id for each in gateway.registry.providers]
        known += [each.name for each in gateway.registry.plugins]
        raise ConfigError(
            f"no plugin or provider is named {name!r}.{suggestion(name, sorted(set(known)), 'Known')}"
        )
    given = [each for plugin in plugins.values() for each in providers_of(gateway, plugin)]
    for plugin in plugins.values() or [each.plugin for each in providers]:
        yield from _why_plugin(plugin)
        if plugin.reason is None and not providers_of(gateway, plugin):
            yield "  It gives no provider with this configuration. Its settings are listed by"
            yield f"  `quoteway plugins info {plugin.name}`."
    for provider in {id(each): each for each in (*given, *providers)}.values():
        yield from _why_provider(gateway, provider)


def _why_plugin(plugin: PluginEntry) -> Iterator[str]:
    title = f"plugin {plugin.name} {shown(plugin.version, 64)} ({shown(plugin.distribution, 128)})"
    if plugin.reason is None:
        yield f"{title} is {plugin.state}: nothing keeps it from being enabled when the server starts."
        if plugin.name != plugin.distribution:  # not the core
            yield "  What fails during the start is in the server's log and in GET /v2/providers."
        return
    yield f"{title} is not enabled: {plugin.reason}"
    yield from _explained(plugin.reason, plugin.detail, {"<name>": plugin.name, "<plugin>": plugin.name})
    yield from plugin.trace.strip("\n").splitlines()


def _why_provider(gateway: Gateway, entry: ProviderEntry) -> Iterator[str]:
    title = f"provider {entry.provider.id} ({entry.provider.capability.value})"
    if entry.reason is not None:
        yield f"{title} is not enabled: {entry.reason}"
        names = {"<id>": entry.provider.id, "<plugin>": entry.plugin.name}
        yield from _explained(entry.reason, entry.detail, names)
    elif entry.plugin.reason is not None:
        yield f"{title} is not enabled because its plugin {entry.plugin.name} is not."
    else:
        slugs = _slugs(gateway, entry)
        yield f"{title} is enabled with its plugin; it serves {', '.join(slugs) or 'no network yet'}."


def _explained(reason: NotEnabled, detail: str | None, names: Mapping[str, str]) -> Iterator[str]:
    told = EXPLANATIONS[reason]
    if detail:
        yield f"  {shown(detail)}"
    for label, text in (("Meaning", told.meaning), ("To do", told.remedy)):
        for placeholder, name in names.items():
            text = text.replace(placeholder, name)
        yield f"  {label}: {text}"
    if told.page:
        yield f"  Read: docs/{told.page}"


def info(gateway: Gateway, plugin: PluginEntry) -> Iterator[str]:
    """Yields what is known of one plugin, its settings with the values in force, secrets hidden."""
    yield f"{plugin.name} {shown(plugin.version, 64)}"
    yield f"  distribution  {shown(plugin.distribution, 128)}"
    yield from _metadata(plugin)
    yield f"  {'state':<12}  {plugin.state}{f', not enabled: {plugin.reason}' if plugin.reason else ''}"
    if plugin.reason is not None:
        yield from _explained(plugin.reason, plugin.detail, {"<name>": plugin.name, "<plugin>": plugin.name})
    yield f"  {'lock':<12}  {_lock_state(gateway, plugin)}"
    if plugin.installed is not None:
        yield f"  {'digest':<12}  sha256:{digest_of(hashes_of(plugin))}"
    if plugin.plugin is None:
        yield "  It was not imported: its hooks, providers and settings are not known."
        return
    yield f"  {'hooks':<12}  {', '.join(gateway.registry.plugins.hooks_of(plugin)) or 'none'}"
    for entry in providers_of(gateway, plugin):
        of = f"{entry.provider.id} ({entry.provider.capability.value})"
        yield f"  {'provider':<12}  {of} on {', '.join(_slugs(gateway, entry)) or 'no network yet'}"
        if entry.provider.docs:
            yield f"  {'':<12}  {shown(entry.provider.docs, 300)}"
    yield from _settings(gateway, plugin)


def _metadata(plugin: PluginEntry) -> Iterator[str]:
    if plugin.installed is None:
        return
    facts = plugin.installed.metadata
    for label, member in (("summary", "Summary"), ("license", "License-Expression"), ("author", "Author")):
        if facts.get(member):
            yield f"  {label:<12}  {shown(facts[member], 200)}"
    for link in facts.get_all("Project-URL") or ():
        yield f"  {'link':<12}  {shown(link, 300)}"


def _lock_state(gateway: Gateway, plugin: PluginEntry) -> str:
    path = gateway.config.plugin_lock
    if path is None:
        return "not locked: no lock file is configured ([plugins] lock)"
    difference = PluginLock.read(path).difference(plugin)
    return f"as locked in {path}" if difference is None else f"{difference}: {path}"


def _settings(gateway: Gateway, plugin: PluginEntry) -> Iterator[str]:
    form = gateway.registry.plugins.settings_of(plugin)
    if form is None:
        yield f"  {'settings':<12}  none"
        return
    if not form.fields:
        yield f"  {'settings':<12}  not listed: the plugin checks them itself"
        return
    given = redacted(gateway.config)["plugin"].get(plugin.name, {})
    yield f"  {'settings':<12}  [plugin.{plugin.name}]"
    for name, member in form.fields.items():
        key = member.data_key or name
        value = f", now {shown(json.dumps(given[key], default=str), 200)}" if key in given else ""
        yield f"    {key}: {_kind(member)}, {_default(member)}{value}"


def _kind(member: fields.Field[Any]) -> str:
    if isinstance(member, SecretField):
        return 'secret, {env = "NAME"} or {file = "path"}'
    if isinstance(member, fields.List):
        return f"list of {_kind(member.inner)}"
    name = type(member).__name__
    return _TYPES.get(name, name.removesuffix("Field").lower())


def _default(member: fields.Field[Any]) -> str:
    if member.required:
        return "required"
    default = member.load_default
    default = default() if callable(default) else default
    if default is missing or default is None:
        return "unset by default"
    return f"default {shown(json.dumps(default, default=str), 200)}"


def _slugs(gateway: Gateway, entry: ProviderEntry) -> list[str]:
    """Returns the networks that a provider serves: slugs, or chain ids of networks that are not served."""
    known = {network.chain_id: network.slug for network in gateway.runtime.networks}
    return [known.get(each, str(each)) for each in sorted(networks_of(entry.provider))]
