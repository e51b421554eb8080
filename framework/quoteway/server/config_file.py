"""Writes the configuration of a new deployment: ``quoteway config init``."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quoteway.config.loading import load_selection
from quoteway.errors import ConfigError
from quoteway.host.known_networks import known_networks
from quoteway.host.plugins import Plugins
from quoteway.host.runtime import Runtime
from quoteway.near_names import suggestion
from quoteway.networks import Network

_KEY_BYTES = 32
_TEXT = """\
# A deployment of Quoteway. docs/reference/settings.md has every setting.
# `quoteway doctor --config {path}` checks it.

[server]
host = "127.0.0.1"   # "0.0.0.0" where a proxy on another machine passes requests on
port = 8080

[quotes]
# The key signs quotes: they do not outlive it. All replicas of a deployment have the same one.
keys = [{{ id = "{key_id}", secret = {{ file = "{key_file}" }} }}]
"""
_NETWORK = """
[networks.{slug}]   # {title}, chain id {chain_id}
rpc = [{{ env = "{variable}" }}]
# Believe no single node: name two more, of other operators, and compare them.
# rpc = [{{ env = "{variable}" }}, {{ env = "{variable}_2" }}, {{ env = "{variable}_3" }}]
# quorum = 2
"""


def describable_networks() -> dict[str, Network]:
    """Returns the networks that the plugins which may run describe for deployments, by slug."""
    config = replace(load_selection(), embedded=False)
    plugins = Plugins(Runtime(config))
    plugins.discover()
    plugins.load()
    return {network.slug: network for network in known_networks(plugins, config, {})}


def rpc_variable(slug: str) -> str:
    """Returns the environment variable that the written file reads the endpoint of a network from."""
    return f"{slug.upper().replace('-', '_')}_RPC_URL"


def write_config(path: Path, slugs: Sequence[str]) -> Path:
    """Writes a configuration with these networks, and beside it a new signing key. Returns the key's path.

    Raises ``ConfigError`` for no network, one that no plugin describes, and a file that exists.
    """
    known = describable_networks()
    if not slugs:
        raise ConfigError(f"--networks names none. Known: {', '.join(sorted(known)) or 'none'}.")
    for slug in slugs:
        if slug not in known:
            raise ConfigError(f"no plugin describes a network {slug!r}.{suggestion(slug, sorted(known))}")
    key_path = path.with_suffix(".key")
    for each in (path, key_path):
        if each.exists():
            raise ConfigError(f"{each} exists: choose another file with --output, or remove it")
    today = datetime.datetime.now(datetime.UTC).date()
    text = _TEXT.format(path=path, key_id=f"{today:%Y-%m}", key_file=key_path.name)
    for slug in dict.fromkeys(slugs):
        network = known[slug]
        names = {"slug": slug, "title": network.name, "variable": rpc_variable(slug)}
        text += _NETWORK.format(chain_id=network.chain_id, **names)
    try:
        # The key first: a configuration without it would not start.
        with open(os.open(key_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(_KEY_BYTES) + "\n")
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{error.filename or path} cannot be written ({error.strerror})") from None
    return key_path
