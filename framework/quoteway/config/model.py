"""The deployment's configuration: one frozen dataclass per section of ``quoteway.toml``.

Each setting is declared here once: type, accepted values, default and description. ``fields`` checks a table
by it, ``docs/generate.py`` writes the settings page, ``loading`` reads the file and the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from marshmallow import fields

from quoteway.config import fields as kinds
from quoteway.config.fields import Listing, Table, choice, flag, integer, seconds, setting, table, text
from quoteway.config.keys import AuthConfig
from quoteway.config.limits import LimitsConfig
from quoteway.config.network import NetworkConfig
from quoteway.config.operator import OperatorConfig
from quoteway.config.policy import PolicyConfig
from quoteway.config.server import ServerConfig, SocketsConfig
from quoteway.config.shared import SharedConfig
from quoteway.config.stream import StreamConfig
from quoteway.config.traces import TracesConfig
from quoteway.config.webhooks import WebhooksConfig
from quoteway.secrets import Secret, SecretField

MIN_KEY_BYTES = 32
"""HS256 needs a key of at least the hash's size (RFC 7518, section 3.2); PyJWT only warns."""
MIN_KEY_BITS = 192
"""What a signing key must measure by ``secrets.measured_bits``. 20,000 keys of ``openssl rand -hex 16``
measured 232 or more, words and runs repeated to the same length 128 or less."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key of the ring."""

    id: str = setting(kinds.matching(r"^[A-Za-z0-9_.-]{1,32}$"), "The `kid` of its quote tokens.")
    secret: Secret = setting(SecretField(validate=kinds.strong(MIN_KEY_BYTES, MIN_KEY_BITS)), "The key.")


@dataclass(frozen=True, slots=True)
class QuotesConfig:
    """Quotes, their tokens and the competition for them.

    A key has at least 32 bytes and, so that no repeated word or run of characters passes, compresses to no
    less than 192 bits. ``openssl rand -hex 32`` makes one.
    """

    lifetime_s: int = setting(integer(30, 900), "Time that a quote is valid.", 180)
    action_deadline_s: int = setting(integer(60, 86_400), "Time that transactions are valid.", 1_200)
    competition_timeout_s: float = setting(seconds(0.05, 60), "Time that providers have to quote.", 3.0)
    refreshable_s: int = setting(
        integer(0, 604_800), "Longest time that a quote may be refreshed. 0: no quote may be.", 86_400
    )
    keys: tuple[SigningKey, ...] = setting(
        Listing(Table(SigningKey)), "`{id, secret}` each: the first signs quotes, all verify them.", ()
    )
    issuer: str = setting(
        kinds.matching(r"^[A-Za-z0-9_.:/-]{1,64}$"), "The `iss` of quote tokens: this deployment.", "quoteway"
    )
    acknowledge_price_impact_bps: int | None = setting(
        kinds.integer_or_off(0, 10_000),
        "Price impact, in basis points, above which an action needs an acknowledgement.",
        1_500,
    )
    max_fee_bps: int = setting(
        integer(0, 1_000),
        "The most that callers may charge by `feeBps`, in basis points of the output. 0: no fees.",
        100,
    )
    order: tuple[str, ...] = setting(
        Listing(fields.String()), "Provider ids, preferred first, among equal quotes.", ()
    )


@dataclass(frozen=True, slots=True)
class ActionKey:
    """One key that signs actions."""

    id: str = setting(kinds.matching(r"^[A-Za-z0-9_.-]{1,32}$"), "The `kid` of its signatures.")
    private_key: Secret = setting(SecretField(), "An Ed25519 key in PEM.")


@dataclass(frozen=True, slots=True)
class ActionsConfig:
    """Signatures of actions, by which a signer knows what the gateway checked.

    ``openssl genpkey -algorithm ed25519`` makes a key. Needs the extra ``signing``.
    """

    keys: tuple[ActionKey, ...] = setting(
        Listing(Table(ActionKey)),
        "`{id, private_key}` each: the first signs; `/.well-known/jwks.json` has the public halves of all.",
        (),
    )


@dataclass(frozen=True, slots=True)
class PricesConfig:
    """USD prices, of which the price is the median of the sources that agree.

    More than half of the sources that know a price must agree, where those of one plugin have one vote. Where
    they do not, the preferred source's is taken, else the token has no price.
    """

    band_bps: int = setting(
        integer(1, 10_000), "How far from the median a source may be to agree, in basis points.", 500
    )
    preferred: str | None = setting(
        text(min_chars=1), "Id of the price source that decides where no majority agrees.", None
    )


@dataclass(frozen=True, slots=True)
class PluginsConfig:
    """Which plugins run. ``load`` is applied before anything is imported, since an import runs code."""

    load: Literal["all"] | tuple[str, ...] = setting(
        kinds.LoadField(text(min_chars=1)),
        '`"all"` or names of plugins. Of two that claim one provider id, the first in the list has it.',
        "all",
    )
    lock: str | None = setting(
        fields.String(allow_none=True),
        "Lock file, written by `quoteway plugins lock`: a plugin that is not as it was locked does not run. "
        "A relative path begins in the folder of the configuration file.",
        None,
    )
    levels: str = setting(
        text(min_chars=1),
        "File of the levels of plugins, written by `quoteway check`. A level counts for the installed files "
        "that were checked. A relative path begins in the folder of the configuration file.",
        "quoteway.levels",
    )
    least_level: int = setting(
        integer(0, 3),
        "Least level of every plugin: one below it is not enabled. A plugin without a level counts as 0.",
        0,
    )
    least_levels: Mapping[str, int] = setting(
        fields.Dict(keys=text(min_chars=1), values=integer(0, 3)),
        "Least level of single plugins, in place of `least_level`: `{rpc = 1}`.",
        {},
    )
    owners: Mapping[str, str] = setting(
        fields.Dict(keys=fields.String(), values=text(min_chars=1)),
        'Whose a plugin name or provider id is, by distribution: `{uniswap = "quoteway-uniswap"}`.',
        {},
    )
    startup_timeout_s: float = setting(
        seconds(0.05, 600),
        "Time that plugins have to start; 300 in the embedded default, whose first start downloads.",
        30.0,
    )
    isolate: tuple[str, ...] = setting(
        Listing(text(min_chars=1)), "Names of plugins that each run in a process of their own.", ()
    )
    isolated_memory_mb: int = setting(
        integer(128, 1_048_576), "Memory that the process of an isolated plugin may have, in MiB.", 1_024
    )
    isolated_cpu_percent: int = setting(
        integer(1, 6_400),
        "Part of one processor that such a process may use, on average over 30 seconds.",
        90,
    )
    isolated_silence_s: float = setting(
        seconds(0.5, 600),
        "Time after which a process that does not answer is killed.",
        10.0,
    )


@dataclass(frozen=True, slots=True)
class CallsConfig:
    """Whose descriptions of contract calls count beside the core's. ``quoteway calls`` shows them."""

    pinned: tuple[str, ...] = setting(
        Listing(kinds.matching(r"^sha256:[0-9a-f]{64}$")),
        "The digests of plugins' descriptions that you have read.",
        (),
    )


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One provider, by its id."""

    enabled: bool = setting(flag(), "Whether it is asked.", True)
    opaque: Literal["refused", "simulated"] = setting(
        choice(Literal["refused", "simulated"]),
        "A swap on one network whose calldata the core cannot read: `simulated` judges it by its simulation.",
        "refused",
    )
    isolation: Literal["none", "process"] = setting(
        choice(Literal["none", "process"]),
        "`process`: as naming the plugin in `plugins.isolate`, for a provider that has its plugin's name.",
        "none",
    )


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Where plugins keep small values (``Context.store``)."""

    url: Secret | str | None = setting(
        kinds.StoreField(files=True, allow_none=True),
        "A file, which the workers of one machine share, or the URL of a Valkey or Redis server, which all "
        "replicas share. A relative path begins in the folder of the configuration file. Unset: values end "
        "with the run.",
        None,
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration. ``plugin_sections`` have their references resolved; plugins check their own.

    ``embedded``: nothing makes this a deployment (``loading``). Then the devnet runs, and a random key signs
    quotes: ``run_key`` when several workers share one. ``worker`` is the process's index with ``--workers``.
    """

    server: ServerConfig = table(ServerConfig)
    limits: LimitsConfig = table(LimitsConfig)
    sockets: SocketsConfig = table(SocketsConfig)
    stream: StreamConfig = table(StreamConfig)
    operator: OperatorConfig = table(OperatorConfig)
    webhooks: WebhooksConfig = table(WebhooksConfig)
    quotes: QuotesConfig = table(QuotesConfig)
    actions: ActionsConfig = table(ActionsConfig)
    prices: PricesConfig = table(PricesConfig)
    plugins: PluginsConfig = table(PluginsConfig)
    store: StoreConfig = table(StoreConfig)
    shared: SharedConfig = table(SharedConfig)
    auth: AuthConfig = table(AuthConfig)
    calls: CallsConfig = table(CallsConfig)
    policy: PolicyConfig = table(PolicyConfig)
    traces: TracesConfig = table(TracesConfig)
    providers: Mapping[str, ProviderConfig] = setting(kinds.Tables(values=Table(ProviderConfig)), default={})
    networks: Mapping[str, NetworkConfig] = setting(
        kinds.Tables(keys=kinds.slug(), values=Table(NetworkConfig)), default={}
    )
    plugin_sections: Mapping[str, Mapping[str, Any]] = setting(
        kinds.Tables(values=fields.Dict(error_messages={"invalid": "expected a table"}), data_key="plugin"),
        default={},
        shown=False,
    )
    embedded: bool = True
    path: Path | None = None
    worker: int = 0
    run_key: Secret | None = None

    @property
    def folder(self) -> Path:
        """Returns the folder in which relative paths begin."""
        return Path() if self.path is None else self.path.parent

    @property
    def plugin_lock(self) -> Path | None:
        """Returns the path of the lock file; None without one."""
        return None if self.plugins.lock is None else self.folder / self.plugins.lock

    @property
    def plugin_levels(self) -> Path:
        """Returns the path of the levels file, which need not exist."""
        return self.folder / self.plugins.levels

    @property
    def policy_file(self) -> Path | None:
        """Returns the path of the policy file; None without one."""
        return None if self.policy.file is None else self.folder / self.policy.file

    @property
    def policy_audit(self) -> Path | None:
        """Returns the path of the audit log of policy decisions; None without one."""
        return None if self.policy.audit is None else self.folder / self.policy.audit
