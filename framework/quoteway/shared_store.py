"""The Valkey or Redis servers that the replicas of a deployment share: one server or a cluster, also by TLS.

A URL is ``redis://`` or ``valkey://``, ``rediss://`` or ``valkeys://`` for TLS, with user and password where
the server needs them. ``OPTIONS`` may follow a question mark. With TLS the server's certificate is checked
against the certificates of the machine, or those in ``ssl_ca_certs``, and its name against the URL's host.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from quoteway.errors import ConfigError, UpstreamError

if TYPE_CHECKING:
    from quoteway.shared_tls import TlsFiles

STORE_TIMEOUT_S: Final = 1.0
"""How long a request waits for it. Shorter, and a busy moment would count as a failure."""
OPTIONS: Final = ("cluster", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_FILES: Final = OPTIONS[1:]
_TLS: Final = ("rediss", "valkeys")
_ADD_CLUSTER: Final = "add ?cluster=true to its URL"
_IS_CLUSTER: Final = f"it is a cluster: {_ADD_CLUSTER}"
_OF_CLUSTERS: Final = ("MOVED ", "ASK ", "CROSSSLOT ", "CLUSTERDOWN ")
_HINTS: Final = {
    "ValkeyClusterException": "no node of the cluster answers, it is incomplete, or it is no cluster",
    "SSLCertVerificationError": "its certificate is not valid for this host name, or of another authority",
    "AuthenticationError": "it refuses this user and password",
    "NoPermissionError": "its user may not do that",
}


def store_client(url: str, name: str = "the URL of a store", *, timeout_s: float = STORE_TIMEOUT_S) -> Any:
    """Returns a client that connects at its first command, and waits ``timeout_s`` for each answer.

    ``name`` is the setting that has the URL.

    Raises ``ImportError`` without its package, and ``ConfigError`` for options or files that cannot be used.
    """
    from valkey.asyncio import ConnectionPool, Valkey

    options = options_of(url, name)
    arguments = _arguments(url, options, name, timeout_s)
    if not options.get("cluster"):
        return Valkey.from_pool(ConnectionPool(**arguments))
    from quoteway.shared_cluster import ClusterStore

    return ClusterStore(arguments)


async def ask_store(url: str, name: str = "the URL of a store") -> str:
    """Asks a server whether it can be used, and returns a sentence. ``name`` is the setting that has the URL.

    Raises ``UpstreamError`` with what is wrong, and what ``store_client`` raises.
    """
    client = store_client(url, name)
    is_cluster, began = False, time.perf_counter()
    try:
        async with asyncio.timeout(2 * STORE_TIMEOUT_S):
            await client.get("quoteway/look")
            took_ms = 1_000 * (time.perf_counter() - began)
            if "cluster" not in options_of(url):
                with contextlib.suppress(*failures()):  # its user may not ask that
                    is_cluster = bool((await client.info("cluster")).get("cluster_enabled"))
    except failures() as error:
        raise UpstreamError(f"no answer: {named(error)}") from None
    finally:
        await client.aclose()
    if is_cluster:
        raise UpstreamError(f"the server is a node of a cluster: {_ADD_CLUSTER}")
    return f"answers in {took_ms:.0f} ms"


def options_of(url: str, name: str = "the URL of a store") -> Mapping[str, str]:
    """Returns the options of a URL; ``cluster`` is empty for no. Raises ``ConfigError`` for others.

    Its text never has the URL, which may hold a password.
    """
    parts = urlsplit(url)
    found = dict(parse_qsl(parts.query, keep_blank_values=True))
    for option in found:
        if option not in OPTIONS:
            raise ConfigError(f"{name} has an unknown option: expected {', '.join(OPTIONS)}")
    if found.get("cluster", "false") not in ("true", "false"):
        raise ConfigError(f'{name}: its option cluster must be "true" or "false"')
    if found.get("cluster") == "false":
        del found["cluster"]
    if parts.scheme not in _TLS and any(option in found for option in _FILES):
        raise ConfigError(f"{name} names certificates without TLS: begin it with rediss://")
    if "ssl_keyfile" in found and "ssl_certfile" not in found:
        raise ConfigError(f"{name} has ssl_keyfile without ssl_certfile")
    if found.get("cluster") and _database(parts.path, name):
        raise ConfigError(f"{name} is of a cluster and names a database: a cluster has number 0 only")
    return found


def failures() -> tuple[type[Exception], ...]:
    """Returns what clients raise where a server does not answer, or refuses."""
    from valkey.exceptions import ValkeyClusterException, ValkeyError

    return ValkeyError, ValkeyClusterException, OSError


def subscriber(client: Any) -> Any:
    """Returns a client for subscriptions, and whether the caller has to close it.

    What is published at one node of a cluster is sent to the subscribers of all.
    """
    of_cluster = getattr(client, "subscriber", None)
    return (client, False) if of_cluster is None else (of_cluster(), True)


def named(error: BaseException) -> str:
    """Returns what may be told of an error: its type, and what to do. Its text may hold the address."""
    if type(error).__name__ == "ResponseError" and str(error).startswith(_OF_CLUSTERS):
        return f"{type(error).__name__} ({_IS_CLUSTER})"
    causes = [error, error.__cause__, error.__context__]
    for cause in causes:
        for kind in type(cause).__mro__ if cause is not None else ():
            if kind.__name__ in _HINTS:
                return f"{type(error).__name__} ({_HINTS[kind.__name__]})"
    return type(error).__name__


def _arguments(url: str, options: Mapping[str, str], name: str, timeout_s: float) -> dict[str, Any]:
    """Returns the arguments of a client."""
    parts = urlsplit(url)
    given: dict[str, Any] = {
        "host": unquote(parts.hostname or "localhost"),
        "port": parts.port or 6379,
        "db": _database(parts.path, name),
        "username": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
    }
    if parts.scheme in _TLS:
        given |= _tls_arguments({option: options[option] for option in _FILES if option in options}, name)
    return given


def _database(path: str, name: str) -> int:
    text = path.strip("/")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"{name}: its path must be the number of a database")
    return int(text)


def _tls_arguments(files: Mapping[str, str], name: str) -> dict[str, Any]:
    """Raises ``ConfigError`` for files that cannot be used: now, and not at the first command."""
    from quoteway.shared_tls import TlsConnection, TlsFiles

    authority = {option: path for option, path in files.items() if option == "ssl_ca_certs"}
    if authority:
        _check(TlsFiles(authority), name, "ssl_ca_certs")
    tls_files = TlsFiles(files)
    _check(tls_files, name, "ssl_certfile and ssl_keyfile")
    return {"connection_class": TlsConnection, "tls_files": tls_files}


def _check(files: TlsFiles, name: str, what: str) -> None:
    try:
        files.get()
    except (OSError, ValueError) as error:
        text = f"{name}: {what} cannot be used ({type(error).__name__}): expected PEM files of this machine"
        raise ConfigError(text) from None
