"""The networks of a deployment: plugin descriptions with the configuration applied over them."""

from __future__ import annotations

from dataclasses import fields, replace

from quoteway.config.model import Config
from quoteway.config.network import NetworkConfig
from quoteway.errors import ConfigError
from quoteway.evm import ens
from quoteway.evm.calls.registry import CallRegistry
from quoteway.host.plugins import Plugins
from quoteway.host.states import NotEnabled, PluginEntry
from quoteway.networks import Network, Networks

_MERGED = {"rpc", "chain_id", "contracts", "deployments", "token_lists"}
_FACTS = {f.name for f in fields(NetworkConfig)} - _MERGED


def known_networks(plugins: Plugins, config: Config, authors: dict[int, list[PluginEntry]]) -> Networks:
    """Returns the networks that plugins and the configuration describe.

    Endpoints and facts of the configuration replace those of plugins. Adds the plugins that describe each
    network to ``authors``, by chain id. Raises ``ConfigError`` when the configuration gives a network another
    chain id than a plugin does, gives no chain id for a network that no plugin describes, or gives a quorum
    above the number of its endpoints.
    """
    known = Networks()
    for entry, networks in plugins.ask("quoteway_networks"):
        with_these = Networks(known)
        try:
            for network in networks:
                # Where wallets send transactions, and whom a name means, no plugin decides.
                registry = ens.REGISTRIES.get(network.chain_id)
                with_these.add(replace(network, private_submission=None, ens_registry=registry))
                CallRegistry([network])  # checks its contracts
        except ConfigError as error:
            entry.refuse(NotEnabled.CONFIG_INVALID, str(error))
        except Exception as error:
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_networks: {error!r}", error=error)
        else:
            known = with_these
            for network in networks:
                authors.setdefault(network.chain_id, []).append(entry)
    described = {network.slug: network for network in known}
    for slug, settings in config.networks.items():
        described[slug] = _overlay(described.get(slug) or _from_config(slug, settings), settings)
    return Networks(described.values())


def _overlay(network: Network, settings: NetworkConfig) -> Network:
    if settings.chain_id not in (None, network.chain_id):
        raise ConfigError(
            f"[networks.{network.slug}]: chain_id is {settings.chain_id}, but {network.slug!r} is known "
            f"with chain id {network.chain_id}: remove the line, or give the network another name"
        )
    given = {name: value for name in _FACTS if (value := getattr(settings, name)) is not None}
    added = replace(network, endpoints=(), deployments=settings.deployments, token_lists=settings.token_lists)
    network = replace(network, contracts={**network.contracts, **settings.contracts})
    network = replace(network.with_rows_of(added), **given, endpoints=settings.rpc or network.endpoints)
    if network.quorum > 1 and network.quorum > len(network.endpoints):
        raise ConfigError(
            f"[networks.{network.slug}]: quorum is {network.quorum}, but the network has "
            f"{len(network.endpoints)} endpoints: add endpoints to rpc, or lower quorum"
        )
    return network


def _from_config(slug: str, settings: NetworkConfig) -> Network:
    if settings.chain_id is None:
        raise ConfigError(
            f"[networks.{slug}]: no plugin describes this network: give its chain_id, or correct the name"
        )
    registry = ens.REGISTRIES.get(settings.chain_id)
    return Network(slug, settings.chain_id, settings.name or slug, ens_registry=registry)
