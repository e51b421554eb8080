"""Prints what a server serves, once its plugins are up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway


def announce(gateway: Gateway, url: str) -> None:
    """Prints networks, providers, what is not enabled and two requests to try, to standard error."""
    registry = gateway.registry
    enabled = sorted({entry.provider.id for entry in registry.providers if entry.enabled})
    networks = [network.slug for network in gateway.runtime.networks]
    lines = [
        "",
        f"  Quoteway is serving on {url}",
        f"    networks   {', '.join(networks) or 'none (give one an RPC URL in quoteway.toml)'}",
        f"    providers  {', '.join(enabled) or 'none'}",
    ]
    for plugin in registry.plugins:
        if plugin.reason not in (None, "not_selected"):
            detail = (plugin.detail or "no detail").splitlines()[0][:160]
            lines.append(f"    not up     {plugin.name}: {plugin.reason} ({detail})")
    lines += ["", "  Try:", f"    curl -s {url}/v2/providers", f"    curl -s '{url}/v2/tokens?limit=5'", ""]
    click.echo("\n".join(lines), err=True)
