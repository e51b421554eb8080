"""What the replicas of a deployment share of what they read from chains: ``[shared]``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from quoteway.config.model import Config
from quoteway.errors import ConfigError
from quoteway.evm.head_sharing import HeadSharing, NoSharing
from quoteway.host.shared_answers import SharedAnswersOf
from quoteway.host.shared_heads import SharedHeads
from quoteway.host.shared_server import SharedServer
from quoteway.networks import Network
from quoteway.secrets import Secret
from quoteway.shared_answers import SharedAnswers
from quoteway.shared_store import STORE_TIMEOUT_S, store_client


class SharedTier:
    """The heads of each chain and the answers of each plugin on one server; nothing without one."""

    def __init__(self, server: SharedServer | None) -> None:
        self.server = server
        self.heads_of: dict[int, SharedHeads] = {}
        self._answers: dict[str, SharedAnswersOf] = {}

    def heads(self, network: Network) -> HeadSharing:
        """Returns the shared heads of a chain."""
        if self.server is None:
            return NoSharing()
        if network.chain_id not in self.heads_of:
            self.heads_of[network.chain_id] = SharedHeads(self.server, network)
        return self.heads_of[network.chain_id]

    def answers(self, plugin: str) -> SharedAnswers | None:
        """Returns the shared answers of a plugin; None without a server."""
        if self.server is None:
            return None
        if plugin not in self._answers:
            self._answers[plugin] = SharedAnswersOf(self.server, plugin)
        return self._answers[plugin]

    async def close(self) -> None:
        """Gives back what this process holds, and closes the connections."""
        if self.server is None:
            return
        await asyncio.gather(*(heads.close() for heads in self.heads_of.values()))
        await asyncio.gather(*(answers.close() for answers in self._answers.values()))
        await self.server.close()


def open_tier(config: Config) -> SharedTier:
    """Returns the tier that ``[shared]`` names, not connected yet.

    Raises ``ConfigError`` when the client of Valkey is not installed.
    """
    store = config.shared.url
    url = store.reveal() if isinstance(store, Secret) else store
    secrets = list(_secrets(config))
    if url is None or not secrets:  # a key of this process alone: no other one could read anything
        return SharedTier(None)
    shared = config.shared
    try:
        client = store_client(url, "shared.url", timeout_s=max(shared.timeout_s, STORE_TIMEOUT_S))
    except ImportError:
        raise ConfigError(
            "shared.url names a Valkey or Redis server, and its client is not installed: "
            "pip install 'quoteway[valkey]'"
        ) from None
    return SharedTier(
        SharedServer(client, shared.prefix, secrets, timeout_s=shared.timeout_s, wait_s=shared.wait_s)
    )


def _secrets(config: Config) -> Iterator[bytes]:
    """The keys that all replicas have, the signing one first."""
    for key in config.quotes.keys:
        yield key.secret.reveal().encode()
    if not config.quotes.keys and config.run_key is not None:
        yield config.run_key.reveal().encode()
