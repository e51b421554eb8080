"""The deployment's configuration, typed and frozen: one class per section of ``quoteway.toml``.

``config_schema`` has what each section may hold, ``config_loading`` reads the file and the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from quoteway.networks import Endpoint
from quoteway.secrets import Secret

MIN_KEY_BYTES = 32
"""HS256 wants a key of at least the hash's size (RFC 7518, section 3.2); PyJWT only warns."""
MIN_KEY_BITS = 192
"""What a signing key must measure by ``credentials.measured_bits``. 20,000 keys of ``openssl rand -hex 16``
measured 232 or more, words and runs repeated to the same length 128 or less."""

MIN_API_KEY_BYTES = 16
MIN_API_KEY_BITS = 112
"""As ``MIN_KEY_BITS``, for API keys. 20,000 random keys of 16 letters and digits measured 128 or more."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """``[server]``: the socket and its limits. ``metrics_port`` None: ``/metrics`` is on the main port."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    metrics_port: int | None = None
    body_limit_bytes: int = 65_536
    rpc_body_limit_bytes: int = 262_144
    max_line_bytes: int = 8_190
    body_timeout_s: float = 10.0
    keepalive_timeout_s: float = 30.0
    request_timeout_s: float = 30.0
    shutdown_timeout_s: float = 10.0
    cors_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    access_log: Literal["all", "errors"] = "errors"
    log_format: Literal["auto", "json", "console"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """``[limits]``: requests per caller in three groups. ``store`` is ``memory://`` or a Valkey/Redis URL.

    ``wrong_keys`` limits, per client address, requests with a wrong API key or none: after so many 401 they
    are answered 429. A right key is served all the same and counts for itself, so that nobody can lock out
    others behind one proxy.
    """

    enabled: bool = True
    quotes: str = "60/minute"
    catalog: str = "300/minute"
    rpc: str = "600/minute"
    wrong_keys: str = "10/minute"
    store: Secret | str = "memory://"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key of the ring. ``id`` becomes the token's ``kid``."""

    id: str
    secret: Secret


@dataclass(frozen=True, slots=True)
class QuotesConfig:
    """``[quotes]``. The first of ``keys`` signs, all verify. ``order`` breaks ties between equal quotes.

    A key has at least 32 bytes and, so that no repeated word or run of characters passes, compresses to no
    less than 192 bits. ``openssl rand -hex 32`` makes one.
    """

    lifetime_s: int = 180
    action_deadline_s: int = 1_200
    competition_timeout_s: float = 3.0
    keys: tuple[SigningKey, ...] = ()
    issuer: str = "quoteway"
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginsConfig:
    """``[plugins]``. ``load`` is applied before anything is imported: importing is execution.

    ``startup_timeout_s`` is 300 for the embedded default, whose first start fetches anvil and the contracts.
    """

    load: Literal["all"] | tuple[str, ...] = "all"
    startup_timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class AuthConfig:
    """``[auth]``. With keys, every ``/v2`` request needs one of them as a Bearer token.

    A key has at least 16 bytes and compresses to no less than 112 bits. ``openssl rand -hex 32`` makes one.
    """

    keys: tuple[Secret, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """``[providers.<id>]``."""

    enabled: bool = True


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """``[networks.<slug>]``: endpoints, and facts for a network no plugin describes (None: not given)."""

    rpc: tuple[Endpoint, ...] = ()
    chain_id: int | None = None
    name: str | None = None
    native_symbol: str | None = None
    native_name: str | None = None
    native_decimals: int | None = None
    wrapped_native: str | None = None
    explorer_url: str | None = None
    block_time_s: float | None = None
    head_poll_s: float | None = None
    testnet: bool | None = None
    token_lists: tuple[str, ...] = ()
    deployments: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """All of it. ``plugin_sections`` are as written, references resolved; each plugin's schema loads its own.

    ``embedded`` tells that nothing makes this a deployment: there is no file, and the environment and the
    command line name no network, no host beyond this machine and no key. Then the devnet runs and quotes are
    signed with a random key: ``run_key`` when several workers share one. ``worker`` is this process's index
    under ``--workers``.
    """

    server: ServerConfig = field(default_factory=ServerConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    quotes: QuotesConfig = field(default_factory=QuotesConfig)
    plugins: PluginsConfig = field(default_factory=PluginsConfig)
    auth: AuthConfig = field(default_factory=AuthConfig)
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    networks: Mapping[str, NetworkConfig] = field(default_factory=dict)
    plugin_sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    embedded: bool = True
    path: Path | None = None
    worker: int = 0
    run_key: Secret | None = None
