"""Caches the built chains as anvil state dumps, keyed by a hash of their inputs."""

import gzip
import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.manifest import ChainManifest
from quoteway_devnet.packages import Toolchain, anvil_version, appearing, cache_root, exclusive, prepare
from quoteway_devnet.tables import CHAINS, ChainRow
from quoteway_devnet.vaults import HISTORY_S

_SOURCES = (
    "accounts",
    "bridge",
    "build",
    "permit2",
    "pools",
    "prices",
    "state",
    "tables",
    "transactions",
    "vaults",
)
"""The modules that determine the contents of a chain."""


@dataclass(frozen=True, slots=True)
class ReadyState:
    """The files that starting the chains needs."""

    anvil: Path
    dumps: Mapping[str, Path]
    """Slug -> file for ``anvil --load-state``."""


def ready_state(report: Callable[[str], None] | None = None) -> ReadyState:
    """Return both chains' dumps, building them when the cache lacks them.

    Raises DevnetError as ``packages.prepare`` and ``Anvil.launch`` do.
    """
    toolchain = prepare(report)
    folder = cache_root() / f"chains-{_content_hash(toolchain)}"
    if not folder.is_dir():
        with exclusive(folder):
            if not folder.is_dir():
                with appearing(folder) as scratch:
                    build_dumps(toolchain, scratch)
    return ReadyState(toolchain.anvil, {chain.slug: folder / f"{chain.slug}.json" for chain in CHAINS})


def forget() -> None:
    """Delete every cached chain; the fetched packages stay."""
    for folder in cache_root().glob("chains-*"):
        if folder.is_dir():
            shutil.rmtree(folder)


def build_dumps(toolchain: Toolchain, folder: Path) -> dict[str, ChainManifest]:
    """Build both chains in parallel, write ``<slug>.json`` into ``folder``, and return their manifests."""
    with ThreadPoolExecutor(len(CHAINS)) as threads:
        built = threads.map(
            lambda chain: _build_dump(toolchain, chain, folder / f"{chain.slug}.json"), CHAINS
        )
        return {manifest.slug: manifest for manifest in built}


def _build_dump(toolchain: Toolchain, chain: ChainRow, file: Path) -> ChainManifest:
    from quoteway_devnet.build import build_chain

    # Older than the history that every start mines on top of the dump.
    born_s = int(time.time()) - HISTORY_S - 3600
    launched = Anvil.launch(toolchain.anvil, chain.chain_id, free_port(), genesis_s=born_s)
    with launched as anvil, anvil.rpc() as rpc:
        manifest = build_chain(rpc, toolchain.bytecode, chain)
        dump = rpc("anvil_dumpState")
    file.write_bytes(gzip.decompress(bytes.fromhex(dump[2:])))
    return manifest


def _content_hash(toolchain: Toolchain) -> str:
    content = hashlib.sha256(anvil_version(toolchain.anvil).encode())
    content.update(str(toolchain.bytecode.parent.name).encode())
    package = resources.files("quoteway_devnet")
    for name in _SOURCES:
        content.update((package / f"{name}.py").read_bytes())
    for folder in ("artifacts", "borrowed"):
        for artifact in sorted((package / folder).iterdir(), key=lambda item: item.name):
            content.update(artifact.read_bytes())
    return content.hexdigest()[:16]
