"""Writes the distribution of a new plugin from templates: a working provider with tests and configuration.

The files of a kind are those of its ``layers``, which are folders of ``templates/``, and of its own folder. A
later one replaces a file of the same name. ``package/`` becomes ``src/<module>/``, the ending ``.tmpl`` is
dropped, and ``string.Template`` fills in the names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from quoteway.errors import ConfigError
from quoteway.host.states import CORE, normalized

PREFIX = "quoteway-"
"""What the names of the plugins' distributions begin with."""

_PEP_508 = re.compile(r"[A-Za-z]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of plugin that ``quoteway new`` writes.

    ``summary`` says what its provider does. ``hook`` hands over ``provider``, a subclass of ``base``.
    ``requires`` are the requirements of its distribution (PEP 508) beside the core and marshmallow. Those of
    Quoteway's own distributions get the versions of the core.
    """

    summary: str
    hook: str
    base: str
    provider: str
    layers: tuple[str, ...] = ("base", "contracts")
    requires: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = {
    "swap": Kind(
        "Swaps through a Uniswap v2 router",
        *("quoteway_swap_providers", "SwapProvider", "RouterSwaps"),
    ),
    "vault": Kind(
        "Deposits into ERC-4626 vaults and redeems their shares",
        *("quoteway_vault_providers", "VaultProvider", "TokenizedVaults"),
    ),
    "catalog": Kind(
        "Lists the tokens of a JSON file",
        *("quoteway_token_catalogs", "TokenCatalog", "FileTokens"),
        layers=("base",),
    ),
    "price": Kind(
        "Prices tokens by Uniswap v2 pairs with dollar tokens",
        *("quoteway_price_sources", "PriceSource", "PairPrices"),
        layers=("base",),
    ),
    "rpc": Kind(
        "Sends JSON-RPC calls to the endpoints of each network",
        *("quoteway_rpc_upstreams", "RpcUpstream", "EndpointRpc"),
        layers=("base",),
        requires=("aiohttp>=3.14.1", "orjson>=3.10"),
    ),
    "pool": Kind(
        "Adds and removes the liquidity of Uniswap v2 pairs",
        *("quoteway_pool_providers", "PoolProvider", "PairShares"),
        layers=("base",),
        requires=("quoteway-amm",),
    ),
    "family": Kind(
        "Adds the pairs of a Uniswap v2 factory to the pools that swaps are routed through",
        *("quoteway_liquidity_sources", "LiquiditySource", "PairPools"),
        requires=("quoteway-amm", "quoteway-router"),
    ),
    "bridge": Kind(
        "Moves tokens to another network through Across SpokePools",
        *("quoteway_bridge_providers", "BridgeProvider", "SpokePoolDeposits"),
        layers=("base",),
    ),
}
"""The kinds, by the name that the command takes."""


def write_plugin(kind: str, name: str, into: Path) -> Path:
    """Writes a new plugin below ``into`` and returns its folder, ``quoteway-<name>``.

    Raises ``ConfigError`` for a name that cannot be one or belongs to an installed plugin, and for a folder
    that exists or cannot be written.
    """
    plugin = _checked(name)
    folder = into / f"{PREFIX}{plugin}"
    contents = dict(rendered(kind, plugin))
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for path, text in contents.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise ConfigError(f"{error.filename} exists: choose another NAME or another --into") from None
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be written: {error.strerror}") from None
    return folder


def rendered(kind: str, plugin: str) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of every file of a new plugin. ``plugin`` is a normalized name."""
    row = KINDS[kind]
    module = f"{PREFIX}{plugin}".replace("-", "_")
    names = {
        "plugin": plugin,
        "distribution": f"{PREFIX}{plugin}",
        "module": module,
        "summary": row.summary,
        "kind": kind,
        "hook": row.hook,
        "base": row.base,
        "hook_types": ", ".join(sorted(("Context", row.base))),
        "provider": row.provider,
        "requirements": ", ".join(f'"{each}"' for each in _requirements(row)),
    }
    templates = files("quoteway.server") / "templates"
    found: dict[str, Traversable] = {}
    for layer in (*row.layers, kind):
        found.update(_below(templates / layer))
    for path, file in sorted(found.items()):
        target = path.replace("package/", f"src/{module}/", 1).removesuffix(".tmpl")
        yield target, Template(file.read_text(encoding="utf-8")).substitute(names)


def _below(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{above}{entry.name}/")
        else:
            yield f"{above}{entry.name}", entry


def _checked(name: str) -> str:
    """Returns the plugin's name, normalized (PEP 503). Raises ``ConfigError``."""
    from importlib_metadata import PackageNotFoundError, distribution, entry_points

    from quoteway.hookspecs import ENTRY_POINT_GROUP

    if not _PEP_508.fullmatch(name):
        raise ConfigError(
            f"NAME {name[:60]!r} names no plugin: expected at most 40 letters, digits, '-', '_' and '.', "
            "of which the first is a letter and the last a letter or digit, such as my-dex"
        )
    plugin = normalized(name)
    if plugin == CORE:
        raise ConfigError(f"NAME {name!r} is the core's: choose another")
    if plugin.startswith(PREFIX):
        raise ConfigError(
            f"NAME {name!r}: leave {PREFIX!r} out: the distribution is named {PREFIX}<NAME> by itself"
        )
    taken = [each.dist.name for each in entry_points(group=ENTRY_POINT_GROUP, name=plugin)]
    with contextlib.suppress(PackageNotFoundError):
        taken.append(distribution(f"{PREFIX}{plugin}").name)
    if taken:
        raise ConfigError(f"NAME {name!r} is that of the installed plugin {taken[0]!r}: choose another")
    return plugin


def _requirements(kind: Kind) -> Iterator[str]:
    for each in sorted((CORE, "marshmallow>=4", *kind.requires)):
        yield f"{each}{_core_range()}" if each == CORE or each.startswith(PREFIX) else each


def _core_range() -> str:
    """Returns the versions of the core that a plugin written now works with: up to the next breaking one."""
    from importlib_metadata import version

    major, minor = map(int, version(CORE).split(".")[:2])
    return f">={major}.{minor},<{f'0.{minor + 1}' if major == 0 else major + 1}"
